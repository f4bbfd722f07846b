# Which module and release is called, and the image of that release.
# Source: https://github.com/hashicorp/terraform-aws-consul-ecs

variable "module" {}
variable "minor" {}
variable "patch" {}   # null if a version constraint leaves it open
variable "version" {} # the same as a text
variable "unknown" {} # what differs from patch to patch and no input changes, so that no rule judges it

locals {
  input = var.input

  # 0.7 to 0.9 take the image from another registry.
  # Source: https://github.com/hashicorp/terraform-aws-consul-ecs/pull/412
  registry = var.minor >= 7 && var.minor < 10 ? "" : "public.ecr.aws/"
  image = (
    local.input.consul_ecs_image != null ? local.input.consul_ecs_image
    : "${local.registry}hashicorp/consul-ecs:${var.version}"
  )
}
