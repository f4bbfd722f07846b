# A service of the mesh on EC2, with consul-ecs 0.10, Consul Dataplane and transparent proxy: the app calls
# http://orders.virtual.consul. HashiCorp's module makes the task definition and its roles.
#
# Replace: the variables; the name web; the container app, with its port and health check. If IamRolePath of the controller is
# not /consul-ecs/, pass it to the module as iam_role_path. If Consul's certificate does not name consul_hosts, pass the name
# that it has as tls_server_name, such as server.dc1.consul.
# Check and deploy: ecs-mesh check . && terraform init && terraform apply

terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
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

variable "cluster" {
  description = "The ARN of an ECS cluster that the controller manages, with container instances."
  type        = string
}

variable "subnets" {
  description = "Private subnets with a route to Consul's servers and to the images' registries."
  type        = list(string)
}

variable "security_groups" {
  description = "They permit port 20000 between tasks of the mesh, and ports 8501 and 8503 of Consul's servers."
  type        = list(string)
}

variable "image" {
  description = "The app's image. The health check needs curl in it."
  type        = string
}

variable "consul_hosts" {
  description = "The host of Consul's servers, the same as in consul_http_addr of the controller."
  type        = string
  default     = "consul.example.internal"
}

variable "consul_ca_cert_arn" {
  description = "The secret with the certificate of Consul's CA."
  type        = string
}

data "aws_partition" "current" {}

locals {
  log_configuration = {
    logDriver = "awslogs"
    options = {
      awslogs-group         = aws_cloudwatch_log_group.web.name
      awslogs-region        = var.region
      awslogs-stream-prefix = "web"
    }
  }
}

resource "aws_cloudwatch_log_group" "web" {
  name              = "/ecs/web"
  retention_in_days = 30
}

module "web" {
  source  = "hashicorp/consul-ecs/aws//modules/mesh-task"
  version = "0.10.0"

  family                   = "web"
  port                     = 9090
  requires_compatibilities = ["EC2"]
  cpu                      = 256
  memory                   = 512
  log_configuration        = local.log_configuration

  container_definitions = [{
    name             = "app"
    image            = var.image
    essential        = true
    portMappings     = [{ containerPort = 9090, hostPort = 9090, protocol = "tcp" }]
    logConfiguration = local.log_configuration
    healthCheck = {
      command  = ["CMD-SHELL", "curl -sf http://localhost:9090/health || exit 1"]
      interval = 10
      retries  = 3
      timeout  = 5
    }
  }]

  # Only for an image in ECR.
  additional_execution_role_policies = ["arn:${data.aws_partition.current.partition}:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy"]

  acls                     = true
  tls                      = true
  consul_server_hosts      = var.consul_hosts
  consul_ca_cert_arn       = var.consul_ca_cert_arn
  enable_transparent_proxy = true
  enable_consul_dns        = true
}

resource "aws_ecs_service" "web" {
  name            = "web"
  cluster         = var.cluster
  task_definition = module.web.task_definition_arn
  launch_type     = "EC2"
  desired_count   = 2
  propagate_tags  = "TASK_DEFINITION"

  # With the policies of its roles.
  depends_on = [module.web]

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  network_configuration {
    subnets         = var.subnets
    security_groups = var.security_groups
  }
}
