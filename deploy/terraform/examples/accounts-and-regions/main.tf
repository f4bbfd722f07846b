# One stack for each account and region. They share Consul, and nothing in AWS: clusters, secrets and buckets belong to one
# account and region.

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

provider "aws" {
  alias  = "other_region"
  region = "eu-west-1"
}

provider "aws" {
  alias   = "other_account"
  region  = "us-east-1"
  profile = var.other_profile
}

variable "other_profile" {
  description = "The profile of the other account in the AWS configuration."
  type        = string
  default     = null
}

variable "consul_http_addr" {
  description = "The address of Consul, which all three reach: by peering, a transit gateway or a public name."
  type        = string
}

variable "consul_token_secret_arns" {
  description = "One secret in each account and region. Give each controller a token of its own, so that one can be revoked alone."
  type = object({
    here          = string
    other_region  = string
    other_account = string
  })
}

variable "package" {
  description = "The folder that make dist wrote, or an unpacked archive of a release."
  type        = string
}

locals {
  common = {
    name_prefix      = "mesh"
    ecs_cluster_arns = ["mesh-*"]
  }
}

module "here" {
  source = "../.."

  name_prefix                  = local.common.name_prefix
  ecs_cluster_arns             = local.common.ecs_cluster_arns
  consul_http_addr             = var.consul_http_addr
  consul_http_token_secret_arn = var.consul_token_secret_arns.here
  package                      = var.package
}

module "other_region" {
  source    = "../.."
  providers = { aws = aws.other_region }

  name_prefix                  = local.common.name_prefix
  ecs_cluster_arns             = local.common.ecs_cluster_arns
  consul_http_addr             = var.consul_http_addr
  consul_http_token_secret_arn = var.consul_token_secret_arns.other_region
  package                      = var.package
}

module "other_account" {
  source    = "../.."
  providers = { aws = aws.other_account }

  name_prefix                  = local.common.name_prefix
  ecs_cluster_arns             = local.common.ecs_cluster_arns
  consul_http_addr             = var.consul_http_addr
  consul_http_token_secret_arn = var.consul_token_secret_arns.other_account
  package                      = var.package
}

output "controllers" {
  value = {
    here          = module.here
    other_region  = module.other_region
    other_account = module.other_account
  }
}
