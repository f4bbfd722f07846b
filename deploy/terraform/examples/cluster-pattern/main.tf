# One controller for all clusters whose names begin with prod-, also for those that are created later.

terraform {
  required_providers {
    aws = {
      source = "hashicorp/aws"
    }
  }
}

provider "aws" {
  region = "us-east-1"
}

variable "consul_http_addr" {
  type = string
}

variable "consul_token_secret_arn" {
  type = string
}

variable "package" {
  description = "The folder that make dist wrote, or an unpacked archive of a release."
  type        = string
}

module "controller" {
  source = "../.."

  name_prefix                  = "prod"
  ecs_cluster_arns             = ["prod-*"]
  consul_http_addr             = var.consul_http_addr
  consul_http_token_secret_arn = var.consul_token_secret_arn
  # For clusters that also run tasks of consul-ecs 0.2 to 0.4, which read their tokens from Secrets Manager.
  token_mode         = "auto"
  secret_name_prefix = "prod"
  package            = var.package
}

output "controller" {
  value = module.controller
}
