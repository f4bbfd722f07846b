# Which module and release is called, and the image of that release.
# Source: https://github.com/hashicorp/terraform-aws-consul-ecs

variable "module" {}
variable "version" {}    # its end is unknown if a version constraint leaves the patch open
variable "image" {}      # the release of consul-ecs in its image: the version but for two
variable "generation" {} # Client, ControlPlane or Dataplane
variable "has" {}        # what the release has: Feature in crates/mesh/src/consul_ecs/release.rs
variable "unknown" {}    # what differs from patch to patch and no input changes, so that no rule judges it

locals {
  input = var.input

  registry = var.has.DockerHub ? "" : "public.ecr.aws/"
  image = (
    local.input.consul_ecs_image != null ? local.input.consul_ecs_image
    : "${local.registry}hashicorp/consul-ecs:${var.image}"
  )

  # The tags of the other default images.
  # Source: https://github.com/hashicorp/terraform-aws-consul-ecs/pull/ and the number, else variables.tf of the tag
  default = lookup(local.releases, var.version, {})
  releases = {
    "0.2.0"  = { consul = "1.10.4", envoy = "-alpine:v1.18.4" } # 69
    "0.3.0"  = { consul = "1.11.2", envoy = "-alpine:v1.20.1" } # 84
    "0.4.0"  = { consul = "1.11.4", envoy = "-alpine:v1.20.2" } # 93
    "0.4.1"  = { consul = "1.11.4", envoy = "-alpine:v1.20.2" }
    "0.4.2"  = { consul = "1.11.4", envoy = "-alpine:v1.20.2" }
    "0.4.3"  = { consul = "1.11.11", envoy = "-alpine:v1.20.7" } # 149
    "0.5.0"  = { consul = "1.12.2", envoy = "-alpine:v1.21.4" }
    "0.5.1"  = { consul = "1.12.2", envoy = "-alpine:v1.21.4" }
    "0.5.2"  = { consul = "1.12.7", envoy = "-alpine:v1.21.6" } # 148
    "0.6.0"  = { consul = "1.15.1", envoy = "-distroless:v1.23.1" }
    "0.6.1"  = { consul = "1.15.4", envoy = "-distroless:v1.23.10" }
    "0.6.2"  = { consul = "1.15.10", envoy = "-distroless:v1.23.10" }
    "0.7.0"  = { dataplane = "1.3.0" }
    "0.7.1"  = { dataplane = "1.3.1" } # 247
    "0.7.2"  = { dataplane = "1.3.2" } # 276
    "0.7.3"  = { dataplane = "1.3.3" } # 290
    "0.8.0"  = { dataplane = "1.4.0" } # 299
    "0.8.1"  = { dataplane = "1.4.2" }
    "0.9.3"  = { dataplane = "1.8.2" } # 383, its review
    "0.9.4"  = { dataplane = "1.8.2" }
    "0.10.0" = { dataplane = var.module == "mesh-task" ? "2.0.1" : "1.9.6" } # 415, HashiCorp's module gateway-task 0.10.0
  }

  # Lines without support get no more releases, and the registry never got some of 0.9.
  is_of_old_line = anytrue([
    for line in ["0.2.", "0.3.", "0.4.", "0.5.", "0.6.", "0.7.", "0.8."] : startswith(var.version, line)
  ])
  refused_releases = [{
    input = "version"
    is = (
      local.is_of_old_line && !contains(keys(local.releases), var.version)
      || contains(["0.9.1", "0.9.2"], var.version)
    )
    what = "the modules have no release ${var.version}"
    help = "write one of ${join(", ", [for release in keys(local.releases) : release if startswith(release, "0.9.") || startswith(release, "0.10.")])}, or another release of the registry"
  }]
}
