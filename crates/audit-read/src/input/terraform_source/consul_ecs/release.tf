# Which module and release is called, and the image of that release.
# Source: https://github.com/hashicorp/terraform-aws-consul-ecs

variable "module" {}
variable "version" {}    # its end is unknown if a version constraint leaves the patch open
variable "generation" {} # Client, ControlPlane or Dataplane
variable "has" {}        # what the release has: Feature in crates/mesh/src/consul_ecs/release.rs
variable "unknown" {}    # what differs from patch to patch and no input changes, so that no rule judges it

locals {
  input = var.input

  registry = var.has.DockerHub ? "" : "public.ecr.aws/"
  image = (
    local.input.consul_ecs_image != null ? local.input.consul_ecs_image
    : "${local.registry}hashicorp/consul-ecs:${var.version}"
  )
}
