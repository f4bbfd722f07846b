# From HashiCorp's controller to this one, step by step: terraform apply -var-file 1-before.tfvars, then 2, 3 and 4. The old
# controller stops before this one acts. Back: in the reverse order.

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

variable "has_old_call" {
  description = "Whether the call of HashiCorp's module exists. In your configuration, delete the call instead."
  type        = bool
}

variable "mode" {
  description = "The mode of this controller; null while it is not called."
  type        = string
}

variable "consul_server_hosts" {
  type = string
}

variable "consul_http_port" {
  type    = number
  default = 8501
}

variable "tls" {
  type    = bool
  default = true
}

variable "consul_bootstrap_token_secret_arn" {
  type = string
}

variable "subnets" {
  type = list(string)
}

variable "package" {
  description = "The folder that make dist wrote, or an unpacked archive of a release."
  type        = string
}

resource "aws_ecs_cluster" "move" {
  name = "move"
}

# The call of HashiCorp's module, version 0.7 to 0.10.
module "consul_ecs_controller" {
  count  = var.has_old_call ? 1 : 0
  source = "./stand-in" # yours: hashicorp/consul-ecs/aws//modules/controller

  name_prefix                       = "move"
  ecs_cluster_arn                   = aws_ecs_cluster.move.arn
  region                            = "us-east-1"
  subnets                           = var.subnets
  launch_type                       = "FARGATE"
  consul_bootstrap_token_secret_arn = var.consul_bootstrap_token_secret_arn
  consul_server_hosts               = var.consul_server_hosts
  tls                               = var.tls
  http_config                       = { port = var.consul_http_port }
  skip_server_watch                 = true
}

# The same call with another source, and with the mode.
module "ecs_mesh_controller" {
  count  = var.mode == null ? 0 : 1
  source = "../.."

  mode    = var.mode
  package = var.package

  name_prefix                       = "move"
  ecs_cluster_arn                   = aws_ecs_cluster.move.arn
  region                            = "us-east-1"
  subnets                           = var.subnets
  launch_type                       = "FARGATE"
  consul_bootstrap_token_secret_arn = var.consul_bootstrap_token_secret_arn
  consul_server_hosts               = var.consul_server_hosts
  tls                               = var.tls
  http_config                       = { port = var.consul_http_port }
  skip_server_watch                 = true
}

output "controller" {
  value = one(module.ecs_mesh_controller)
}
