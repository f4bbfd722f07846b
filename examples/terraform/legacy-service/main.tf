# A service of the mesh on Fargate, with consul-ecs 0.4: a Consul client agent, and ACL tokens from Secrets Manager. HashiCorp
# no longer supports these releases (consul-end-of-support): for services that cannot move yet. Start a new one with ../service.
#
# Replace: the variables; the container app, with its port and health check; the upstream orders, which the app calls at
# 127.0.0.1:1234. Consul's servers give the client agent its certificate: they need auto_encrypt { allow_tls = true }.
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

variable "name" {
  description = "The service's name in Consul."
  type        = string
  default     = "web"
}

variable "cluster" {
  description = "The ARN of an ECS cluster that the controller manages."
  type        = string
}

variable "subnets" {
  description = "Private subnets with a route to Consul's servers and to the images' registries."
  type        = list(string)
}

variable "security_groups" {
  description = "They permit ports 20000 and 8301 (TCP and UDP) between tasks, 8301 (TCP and UDP) from Consul's servers, and 8300 and 8301 to them."
  type        = list(string)
}

variable "image" {
  description = "The app's image. The health check needs curl in it."
  type        = string
}

variable "consul_hosts" {
  description = "The host of Consul's servers, which the client agent joins."
  type        = string
  default     = "consul.example.internal"
}

variable "datacenter" {
  type    = string
  default = "dc1"
}

variable "consul_ca_cert_arn" {
  description = "The secret with the certificate of Consul's CA."
  type        = string
}

variable "gossip_key_arn" {
  description = "The secret with the gossip encryption key."
  type        = string
}

variable "secret_name_prefix" {
  description = "SecretNamePrefix of the controller."
  type        = string
  default     = "consul-ecs"
}

variable "client_token_secret_arn" {
  description = "The secret PREFIX-consul-client-token of all services. Create it with the value {}."
  type        = string
}

# The controller writes the service's token into it when a task reads it: the name must be PREFIX-SERVICE.
resource "aws_secretsmanager_secret" "token" {
  name                    = "${var.secret_name_prefix}-${var.name}"
  recovery_window_in_days = 0
}

resource "aws_secretsmanager_secret_version" "token" {
  secret_id     = aws_secretsmanager_secret.token.id
  secret_string = "{}"

  lifecycle {
    ignore_changes = [secret_string]
  }
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/ecs/${var.name}"
  retention_in_days = 30
}

# The tokens come from the secrets, so the mesh needs no task role: add one if the app needs it.
resource "aws_iam_role" "execution" {
  name_prefix        = "${var.name}-execution-"
  assume_role_policy = data.aws_iam_policy_document.assumed_by_tasks.json
}

data "aws_iam_policy_document" "assumed_by_tasks" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"]
    }
  }
}

resource "aws_iam_role_policy" "execution" {
  name   = "start"
  role   = aws_iam_role.execution.id
  policy = data.aws_iam_policy_document.execution.json
}

data "aws_caller_identity" "this" {}

data "aws_partition" "this" {}

data "aws_iam_policy_document" "execution" {
  statement {
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.this.arn}:*"]
  }

  statement {
    actions = ["secretsmanager:GetSecretValue"]
    resources = [
      aws_secretsmanager_secret.token.arn,
      var.client_token_secret_arn,
      var.consul_ca_cert_arn,
      var.gossip_key_arn,
    ]
  }

  # Only for an image in ECR.
  statement {
    actions   = ["ecr:GetAuthorizationToken"]
    resources = ["*"]
  }

  statement {
    actions = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
    resources = [
      "arn:${data.aws_partition.this.partition}:ecr:${var.region}:${data.aws_caller_identity.this.account_id}:repository/*"
    ]
  }
}

locals {
  configuration = jsonencode({
    bootstrapDir         = "/consul"
    healthSyncContainers = ["app"]
    service              = { name = var.name, port = 9090 }
    proxy                = { upstreams = [{ destinationName = "orders", localBindPort = 1234 }] }
  })
  configured = [{ name = "CONSUL_ECS_CONFIG_JSON", value = local.configuration }]
  own_token  = [{ name = "CONSUL_HTTP_TOKEN", valueFrom = "${aws_secretsmanager_secret.token.arn}:token::" }]

  data          = { sourceVolume = "consul_data", containerPath = "/consul", readOnly = false }
  read_data     = { sourceVolume = "consul_data", containerPath = "/consul", readOnly = true }
  binaries      = { sourceVolume = "consul_binary", containerPath = "/bin/consul-inject", readOnly = false }
  read_binaries = { sourceVolume = "consul_binary", containerPath = "/bin/consul-inject", readOnly = true }

  after_mesh_init = { containerName = "consul-ecs-mesh-init", condition = "SUCCESS" }
  log = {
    logDriver = "awslogs"
    options = {
      awslogs-group         = aws_cloudwatch_log_group.this.name
      awslogs-region        = var.region
      awslogs-stream-prefix = var.name
    }
  }
}

resource "aws_ecs_task_definition" "this" {
  family                   = var.name
  network_mode             = "awsvpc"
  requires_compatibilities = ["FARGATE"]
  cpu                      = 256
  memory                   = 512
  execution_role_arn       = aws_iam_role.execution.arn

  volume {
    name = "consul_data"
  }

  volume {
    name = "consul_binary"
  }

  tags = {
    "consul.hashicorp.com/mesh"         = "true"
    "consul.hashicorp.com/service-name" = var.name
  }

  container_definitions = jsonencode([
    {
      name         = "app"
      image        = var.image
      essential    = true
      portMappings = [{ containerPort = 9090, protocol = "tcp" }]
      healthCheck = {
        command  = ["CMD-SHELL", "curl -sf http://localhost:9090/health || exit 1"]
        interval = 10
        timeout  = 5
        retries  = 3
      }
      dependsOn        = [local.after_mesh_init, { containerName = "sidecar-proxy", condition = "HEALTHY" }]
      logConfiguration = local.log
    },
    # Registers the service and its proxy, and ends.
    {
      name             = "consul-ecs-mesh-init"
      image            = "public.ecr.aws/hashicorp/consul-ecs:0.4.3"
      essential        = false
      command          = ["mesh-init"]
      environment      = local.configured
      secrets          = local.own_token
      linuxParameters  = { initProcessEnabled = true }
      mountPoints      = [local.data, local.read_binaries]
      logConfiguration = local.log
    },
    {
      name       = "consul-client"
      image      = "public.ecr.aws/hashicorp/consul:1.11.11"
      essential  = false
      entryPoint = ["/bin/sh", "-ec"]
      command = [<<-EOT
        cp /bin/consul /bin/consul-inject/consul

        ECS_IPV4=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')

        echo "$CONSUL_CACERT" > /consul/consul-ca-cert.pem

        cat << EOF > /consul/agent-defaults.hcl
        addresses = {
          dns  = "127.0.0.1"
          grpc = "127.0.0.1"
          http = "127.0.0.1"
        }
        advertise_addr                = "$ECS_IPV4"
        advertise_reconnect_timeout   = "15m"
        client_addr                   = "0.0.0.0"
        datacenter                    = "${var.datacenter}"
        enable_central_service_config = true
        leave_on_terminate            = true
        ports {
          grpc = 8502
        }
        retry_join      = ["${var.consul_hosts}"]
        encrypt         = "$CONSUL_GOSSIP_ENCRYPTION_KEY"
        ca_file         = "/consul/consul-ca-cert.pem"
        verify_outgoing = true
        auto_encrypt {
          tls    = true
          ip_san = ["$ECS_IPV4"]
        }
        acl {
          enabled        = true
          default_policy = "deny"
          down_policy    = "async-cache"
          tokens {
            agent = "$AGENT_TOKEN"
          }
        }
        EOF

        exec consul agent -data-dir /consul/data -config-file /consul/agent-defaults.hcl
      EOT
      ]
      secrets = [
        { name = "AGENT_TOKEN", valueFrom = "${var.client_token_secret_arn}:token::" },
        { name = "CONSUL_CACERT", valueFrom = var.consul_ca_cert_arn },
        { name = "CONSUL_GOSSIP_ENCRYPTION_KEY", valueFrom = var.gossip_key_arn },
      ]
      linuxParameters  = { initProcessEnabled = true }
      mountPoints      = [local.data, local.binaries]
      logConfiguration = local.log
    },
    {
      name       = "sidecar-proxy"
      image      = "envoyproxy/envoy-alpine:v1.20.7"
      essential  = false
      entryPoint = ["/consul/consul-ecs", "envoy-entrypoint"]
      command    = ["envoy", "--config-path", "/consul/envoy-bootstrap.json"]
      healthCheck = {
        command  = ["CMD", "nc", "-z", "127.0.0.1", "20000"]
        interval = 30
        timeout  = 5
        retries  = 3
      }
      ulimits          = [{ name = "nofile", softLimit = 1048576, hardLimit = 1048576 }]
      mountPoints      = [local.read_data]
      dependsOn        = [local.after_mesh_init]
      logConfiguration = local.log
    },
    # Writes the health of the app to Consul.
    {
      name             = "consul-ecs-health-sync"
      image            = "public.ecr.aws/hashicorp/consul-ecs:0.4.3"
      essential        = false
      command          = ["health-sync"]
      environment      = local.configured
      secrets          = local.own_token
      linuxParameters  = { initProcessEnabled = true }
      mountPoints      = [local.read_data]
      dependsOn        = [local.after_mesh_init]
      logConfiguration = local.log
    },
  ])
}

resource "aws_ecs_service" "this" {
  name            = var.name
  cluster         = var.cluster
  task_definition = aws_ecs_task_definition.this.arn
  launch_type     = "FARGATE"
  desired_count   = 2
  propagate_tags  = "TASK_DEFINITION"

  depends_on = [aws_iam_role_policy.execution, aws_secretsmanager_secret_version.token]

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  network_configuration {
    subnets         = var.subnets
    security_groups = var.security_groups
  }
}
