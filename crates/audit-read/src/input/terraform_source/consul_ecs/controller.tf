# The controllers: controller with Consul Dataplane, acl-controller before.
# Source: https://github.com/hashicorp/terraform-aws-consul-ecs

locals {
  is_current = var.module == "controller"
  name       = local.is_current ? "consul-ecs-controller" : "consul-acl-controller"

  containers = [merge(
    {
      name            = local.name
      image           = local.image
      essential       = true
      linuxParameters = { initProcessEnabled = true }
      secrets         = concat(local.token, local.is_current ? local.certificates : local.certificate)
    },
    local.is_current ? {
      command     = ["controller"]
      environment = [{ name = "CONSUL_ECS_CONFIG_JSON", value = jsonencode(local.configuration) }]
    } : {
      # The secret is one that the module creates.
      command = concat(
        ["acl-controller", "-consul-client-secret-arn=${var.unknown}"],
        local.input.consul_partitions_enabled ? ["-partitions-enabled"] : [],
      )
      environment = [{ name = "CONSUL_HTTP_ADDR", value = local.input.consul_server_http_addr }]
    },
  )]

  # What the module refuses or ignores. Sources: variables.tf and main.tf of controller and acl-controller
  refused = concat(local.refused_releases, [
    {
      input = "name_prefix"
      is    = local.input.name_prefix == ""
      what  = "name_prefix is empty"
      help  = "set it: the names of all resources of the module begin with it"
    },
    {
      # The rules judge the configuration of the module controller.
      input = "iam_role_path"
      is = !local.is_current && (
        !startswith(local.input.iam_role_path, "/") || !endswith(local.input.iam_role_path, "/")
      )
      what  = "iam_role_path has no slash at both ends"
      help  = "write it as a path of IAM: /consul-ecs/"
    },
    {
      input      = "consul_partition"
      is         = !local.input.consul_partitions_enabled && !contains(["", "default"], local.input.consul_partition)
      is_ignored = true
      what       = "consul_partition has no effect: consul_partitions_enabled is false"
      help       = "set consul_partitions_enabled to true, or remove the partition"
    },
  ])

  token = [
    for secret in [{ name = "CONSUL_HTTP_TOKEN", valueFrom = local.input.consul_bootstrap_token_secret_arn }] : secret
    if secret.valueFrom != ""
  ]
  certificate = [
    for secret in [{ name = "CONSUL_CACERT_PEM", valueFrom = local.input.consul_server_ca_cert_arn }] : secret
    if secret.valueFrom != ""
  ]

  configuration = {
    bootstrapDir  = "/consul"
    consulServers = local.servers
    controller = {
      iamRolePath       = local.input.iam_role_path
      partitionsEnabled = local.input.consul_partitions_enabled
      partition         = local.input.consul_partitions_enabled ? local.input.consul_partition : ""
    }
  }
}

resource "aws_ecs_task_definition" "this" {
  family                   = format("%s-%s", local.input.name_prefix, local.name)
  network_mode             = "awsvpc"
  requires_compatibilities = local.input.requires_compatibilities != null ? local.input.requires_compatibilities : local.is_current ? ["EC2", "FARGATE"] : ["FARGATE"]
  task_role_arn            = "arn:${var.unknown}"
  execution_role_arn       = "arn:${var.unknown}"
  container_definitions    = jsonencode(local.containers)
}

variable "input" {
  type = object({
    name_prefix                       = optional(string, "")
    requires_compatibilities          = optional(any)
    launch_type                       = optional(string, "FARGATE")
    consul_ecs_image                  = optional(string)
    iam_role_path                     = optional(string, "/consul-ecs/")
    consul_partitions_enabled         = optional(bool, false)
    consul_partition                  = optional(string, "default")
    consul_bootstrap_token_secret_arn = optional(string, "")
    consul_server_http_addr           = optional(string, "")
    consul_server_ca_cert_arn         = optional(string, "")
    tls                               = optional(bool, false)
    tls_server_name                   = optional(string, "")
    ca_cert_file                      = optional(string, "")
    consul_ca_cert_arn                = optional(string, "")
    consul_https_ca_cert_arn          = optional(string, "")
    consul_grpc_ca_cert_arn           = optional(string, "")
    consul_server_hosts               = optional(string)
    consul_server_address             = optional(string, "")
    skip_server_watch                 = optional(bool, false)
    http_config                       = optional(any, {})
    grpc_config                       = optional(any, {})
  })
}
