# A new mesh: one ECS cluster, and the controller in the VPC of Consul's servers.

terraform {
  required_providers {
    aws = {
      source = "hashicorp/aws"
    }
  }
}

provider "aws" {
  region = var.region
}

variable "region" {
  type    = string
  default = "us-east-1"
}

variable "consul_http_addr" {
  description = "https://HOST:8501; several, separated by commas, are tried in turn."
  type        = string
}

variable "consul_token_secret_arn" {
  description = "The secret with the controller's Consul token: docs/how-to/install-sam.md says how to create both."
  type        = string
}

variable "consul_ca_cert_arn" {
  description = "The secret with the certificate of Consul's CA; empty for a public CA."
  type        = string
  default     = ""
}

variable "subnets" {
  type    = list(string)
  default = []
}

variable "security_groups" {
  type    = list(string)
  default = []
}

variable "package" {
  description = "The folder that make dist wrote, or an unpacked archive of a release."
  type        = string
}

resource "aws_ecs_cluster" "mesh" {
  name = "new-mesh"
}

module "controller" {
  source = "../.."

  name_prefix                  = "new-mesh"
  ecs_cluster_arns             = [aws_ecs_cluster.mesh.arn]
  consul_http_addr             = var.consul_http_addr
  consul_http_token_secret_arn = var.consul_token_secret_arn
  consul_ca_cert_arn           = var.consul_ca_cert_arn
  subnets                      = var.subnets
  security_groups              = var.security_groups
  package                      = var.package
}

output "controller" {
  value = module.controller
}
