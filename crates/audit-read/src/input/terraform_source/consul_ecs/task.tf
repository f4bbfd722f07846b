# What mesh-task and gateway-task have in common in all releases. dataplane.tf and client.tf make their containers.
# Source: https://github.com/hashicorp/terraform-aws-consul-ecs

locals {
  role       = "arn:${var.unknown}"
  is_gateway = var.module == "gateway-task"

  # A null counts as a key.
  synced_containers = [
    for container in local.input.container_definitions : container
    if contains(keys(container), "essential") && contains(keys(container), "healthCheck") && (
      # Source: the changelog of 0.6.0
      !var.has.NullHealthCheck || container.healthCheck != null
    )
  ]
  # Unknown as a whole if it is not known which containers have a health check.
  health_synced = length(local.synced_containers) < 0 ? [] : [
    for container in local.synced_containers : container.name if contains(keys(container), "name")
  ]

  # Each waits for the containers of the module, and gets the entry point that delays its stop.
  apps = try([
    for container in local.input.container_definitions : extended(container, {
      dependsOn = try(concat(lookup(container, "dependsOn", []), local.awaited), var.unknown)
      entryPoint = contains(keys(container), "entryPoint") || local.delay == 0 ? null : [
        "/consul/consul-ecs", "app-entrypoint", "-shutdown-delay", format("%ss", local.delay)
      ]
      mountPoints = try(
        concat(lookup(container, "mountPoints", []), local.delay == 0 ? [] : [local.data_mount]), var.unknown
      )
    })
  ], local.input.container_definitions)
  delay = max(local.input.application_shutdown_delay_seconds, 0)

  data_mount = { sourceVolume = "consul_data", containerPath = "/consul", readOnly = true }
  init_mounts = [
    { sourceVolume = "consul_data", containerPath = "/consul", readOnly = false },
    { sourceVolume = "consul_binary", containerPath = "/bin/consul-inject", readOnly = true },
  ]
  ulimits         = [{ name = "nofile", softLimit = 1048576, hardLimit = 1048576 }]
  gateway_mapping = { containerPort = local.lan_port, hostPort = local.lan_port, protocol = "tcp" }

  # Only mesh-task makes the family lower-case.
  is_lower_case = !local.is_gateway && var.has.LowerCaseFamily
  family        = local.is_lower_case ? lower(local.input.family) : local.input.family
  service_name  = local.input.consul_service_name != "" ? local.input.consul_service_name : local.family

  # A gateway is in the namespace `default` of its partition.
  gateway_namespace = local.input.consul_partition == "" ? "" : "default"
  namespace         = local.is_gateway ? local.gateway_namespace : local.input.consul_namespace

  # 0 counts as not set. With a load balancer of the module, the WAN address is the balancer's.
  lan_port    = local.input.lan_port == 0 ? 8443 : local.input.lan_port
  wan_port    = local.input.wan_port == 0 ? local.lan_port : local.input.wan_port
  wan_address = local.input.lb_enabled ? var.unknown : local.input.wan_address
  gateway_meta = merge(
    local.input.consul_service_meta,
    local.input.enable_mesh_gateway_wan_federation ? { consul-wan-federation = "1" } : {},
  )

  # A role whose ID and ARN are null is the default of the input.
  is_role_given = local.input.task_role == null ? false : anytrue([
    for key in ["arn", "id"] : lookup(local.input.task_role, key, null) != null
  ])
  is_execution_role_given = local.input.execution_role == null ? false : anytrue([
    for key in ["arn", "id"] : lookup(local.input.execution_role, key, null) != null
  ])

  creates_role           = coalesce(local.input.create_task_role, !local.is_role_given)
  creates_execution_role = coalesce(local.input.create_execution_role, !local.is_execution_role_given)

  # What the module refuses or ignores: an input, whether it is so, and what is wrong. Sources: validation.tf and
  # variables.tf of mesh-task and gateway-task
  refused = concat(local.refused_releases, [
    {
      input = "additional_task_role_policies"
      is    = local.input.create_task_role == false && length(local.input.additional_task_role_policies) > 0
      what  = "additional_task_role_policies are for the role of the module, but create_task_role is false"
      help  = "attach the policies to your own role, and remove the argument"
    },
    {
      input = "additional_execution_role_policies"
      is    = local.input.create_execution_role == false && length(local.input.additional_execution_role_policies) > 0
      what  = "additional_execution_role_policies are for the role of the module, but create_execution_role is false"
      help  = "attach the policies to your own role, and remove the argument"
    },
    {
      input      = "task_role"
      is         = var.has.Dataplane && local.is_role_given && local.input.create_task_role != false
      is_ignored = true
      what       = "task_role has no effect: the module creates a role unless create_task_role is false"
      help       = "set create_task_role to false"
    },
    {
      input      = "execution_role"
      is         = var.has.Dataplane && local.is_execution_role_given && local.input.create_execution_role != false
      is_ignored = true
      what       = "execution_role has no effect: the module creates a role unless create_execution_role is false"
      help       = "set create_execution_role to false"
    },
    # The module wants a slash at the beginning, and IAM wants both slashes for a role that the module creates.
    {
      input = "iam_role_path"
      is    = !startswith(local.input.iam_role_path, "/")
      what  = "iam_role_path has no slash at its beginning"
      help  = "write it as a path of IAM: /consul-ecs/"
    },
    {
      input = "iam_role_path"
      is = (
        startswith(local.input.iam_role_path, "/") && !endswith(local.input.iam_role_path, "/")
        && anytrue([local.creates_role, local.creates_execution_role])
      )
      what = "iam_role_path has no slash at its end"
      help = "write it as a path of IAM: /consul-ecs/"
    },
    {
      input = "consul_ecs_config"
      is = anytrue([
        for key in keys(local.input.consul_ecs_config) :
        contains(["bootstrapDir", "consulServers", "controller", "gateway", "healthSyncContainers"], key)
      ])
      what = "consul_ecs_config has a section that the module writes itself"
      help = "remove it: the module has inputs for it"
    },
    {
      input = "consul_ecs_config"
      is = anytrue(concat(
        [
          for key in keys(lookup(local.input.consul_ecs_config, "service", {})) :
          contains(["name", "port", "tags", "meta", "checks", "namespace", "partition"], key)
        ],
        [
          for key in keys(lookup(local.input.consul_ecs_config, "proxy", {})) :
          contains(["upstreams", "publicListenerPort", "healthCheckPort"], key)
        ],
      ))
      what = "consul_ecs_config has a setting that the module takes from another input"
      help = "move it to that input, such as port, upstreams or consul_service_name"
    },
    {
      input = "wan_address"
      is    = local.is_gateway && local.input.lb_enabled && local.input.wan_address != ""
      what  = "wan_address and lb_enabled are both set"
      help  = "remove one of the two: with lb_enabled, the address is the one of the load balancer"
    },
    {
      input = "lb_enabled"
      is    = local.is_gateway && local.input.lb_enabled && length(local.input.lb_subnets) == 0
      what  = "lb_enabled is true, but lb_subnets is empty"
      help  = "set lb_subnets to the subnets of the load balancer"
    },
    {
      input = "lb_enabled"
      is    = local.is_gateway && local.input.lb_enabled && local.input.lb_vpc_id == ""
      what  = "lb_enabled is true, but lb_vpc_id is empty"
      help  = "set lb_vpc_id to the VPC of the load balancer"
    },
    {
      input = "custom_load_balancer_config"
      is    = local.is_gateway && local.input.lb_enabled && length(local.input.custom_load_balancer_config) > 0
      what  = "custom_load_balancer_config and lb_enabled are both set"
      help  = "remove one of the two"
    },
    {
      input = "lb_modify_security_group"
      is    = local.is_gateway && local.input.lb_modify_security_group && local.input.lb_create_security_group
      what  = "lb_modify_security_group is true, but lb_create_security_group is true as well"
      help  = "set lb_create_security_group to false"
    },
    {
      input = "lb_modify_security_group"
      is    = local.is_gateway && local.input.lb_modify_security_group && local.input.lb_modify_security_group_id == ""
      what  = "lb_modify_security_group is true, but lb_modify_security_group_id is empty"
      help  = "set lb_modify_security_group_id to the group of the gateway"
    },
    {
      input = "acls"
      is    = !var.has.Login && local.input.acls && local.input.consul_client_token_secret_arn == ""
      what  = "acls is true, but consul_client_token_secret_arn is empty"
      help  = "set it to the output client_token_secret_arn of the module acl-controller"
    },
    {
      input = "acls"
      is    = !var.has.Login && local.input.acls && local.input.acl_secret_name_prefix == ""
      what  = "acls is true, but acl_secret_name_prefix is empty"
      help  = "set it to name_prefix of the module acl-controller"
    },
    {
      input = "acls"
      is    = var.has.Login && !var.has.Dataplane && local.input.acls && local.input.consul_http_addr == ""
      what  = "acls is true, but consul_http_addr is empty"
      help  = "set it to the address of the servers' HTTP API"
    },
    {
      input = "tls"
      is    = !var.has.Dataplane && local.input.tls && local.input.consul_server_ca_cert_arn == ""
      what  = "tls is true, but consul_server_ca_cert_arn is empty"
      help  = "set it to the secret with the certificate of the servers' CA"
    },
  ])

  login = merge(
    local.input.acls ? { enabled = local.input.acls, method = local.input.service_token_auth_method_name } : {},
    local.input.acls && !var.has.Dataplane ? { includeEntity = true } : {},
    lookup(local.input.consul_ecs_config, "consulLogin", {}),
  )
}

resource "aws_ecs_task_definition" "this" {
  family                   = local.input.family
  network_mode             = "awsvpc"
  requires_compatibilities = local.input.requires_compatibilities
  container_definitions    = jsonencode(local.containers)
  volume = concat(
    [{ name = "consul_data" }, { name = "consul_binary" }],
    local.input.volumes == null ? [] : local.input.volumes,
  )

  # The module creates a role unless it gets one.
  task_role_arn = (
    local.input.create_task_role == null ? local.input.task_role == null ? local.role : var.unknown
    : local.input.create_task_role ? local.role
    : local.input.task_role == null ? null : lookup(local.input.task_role, "arn", null)
  )
  execution_role_arn = (
    local.input.create_execution_role == null ? local.input.execution_role == null ? local.role : var.unknown
    : local.input.create_execution_role ? local.role
    : local.input.execution_role == null ? null : lookup(local.input.execution_role, "arn", null)
  )

  tags = merge(
    local.input.tags,
    !var.has.ServiceTags || local.input.consul_partition == "" ? {} : {
      "consul.hashicorp.com/partition" = local.input.consul_partition
    },
    !var.has.ServiceTags || local.namespace == "" ? {} : { "consul.hashicorp.com/namespace" = local.namespace },
    { "consul.hashicorp.com/mesh" = "true" },
    !var.has.ServiceTags ? {} : {
      "consul.hashicorp.com/service-name"   = local.service_name
      "consul.hashicorp.com/module"         = "terraform-aws-consul-ecs"
      "consul.hashicorp.com/module-version" = var.version
    },
  )
}

variable "input" {
  type = object({
    family                             = optional(string, "")
    requires_compatibilities           = optional(any, ["EC2", "FARGATE"])
    launch_type                        = optional(string, "FARGATE")
    container_definitions              = optional(any, [])
    extra_container_definitions        = optional(any, [])
    application_shutdown_delay_seconds = optional(number, 0)
    volumes                            = optional(any)
    tags                               = optional(map(string), {})
    create_task_role                   = optional(bool)
    task_role                          = optional(any)
    create_execution_role              = optional(bool)
    execution_role                     = optional(any)
    additional_task_role_policies      = optional(any, [])
    additional_execution_role_policies = optional(any, [])
    iam_role_path                      = optional(string, "/consul-ecs/")

    consul_ecs_image           = optional(string)
    consul_image               = optional(string)
    consul_dataplane_image     = optional(string)
    envoy_image                = optional(string)
    envoy_public_listener_port = optional(number)
    envoy_readiness_port       = optional(number, 22000)

    consul_service_name      = optional(string, "")
    consul_service_tags      = optional(list(string), [])
    consul_service_meta      = optional(map(string), {})
    consul_namespace         = optional(string, "")
    consul_partition         = optional(string, "")
    consul_ecs_config        = optional(any, {})
    port                     = optional(number, 0)
    checks                   = optional(any, [])
    upstreams                = optional(any, [])
    enable_transparent_proxy = optional(bool)
    enable_consul_dns        = optional(bool, false)
    exclude_inbound_ports    = optional(any, [])
    exclude_outbound_ports   = optional(any, [])
    exclude_outbound_cidrs   = optional(any, [])
    exclude_uids             = optional(any, [])

    kind                               = optional(string, "")
    lan_address                        = optional(string, "")
    lan_port                           = optional(number, 0)
    wan_address                        = optional(string, "")
    wan_port                           = optional(number, 0)
    lb_enabled                         = optional(bool, false)
    lb_subnets                         = optional(any, [])
    lb_vpc_id                          = optional(string, "")
    lb_create_security_group           = optional(bool, true)
    lb_modify_security_group           = optional(bool, false)
    lb_modify_security_group_id        = optional(string, "")
    custom_load_balancer_config        = optional(any, [])
    enable_mesh_gateway_wan_federation = optional(bool, false)

    acls                           = optional(bool, false)
    service_token_auth_method_name = optional(string, "iam-ecs-service-token")
    tls                            = optional(bool, false)
    tls_server_name                = optional(string, "")
    ca_cert_file                   = optional(string, "")
    consul_ca_cert_arn             = optional(string, "")
    consul_server_ca_cert_arn      = optional(string, "")
    consul_client_token_secret_arn = optional(string, "")
    acl_secret_name_prefix         = optional(string, "")
    consul_https_ca_cert_arn       = optional(string, "")
    consul_grpc_ca_cert_arn        = optional(string, "")
    consul_server_hosts            = optional(string)
    consul_server_address          = optional(string, "")
    consul_http_addr               = optional(string, "")
    skip_server_watch              = optional(bool, false)
    http_config                    = optional(any, {})
    grpc_config                    = optional(any, {})
  })
}
