# The containers of mesh-task and gateway-task with Consul Dataplane.

locals {
  # A control plane that stays prepares the other containers, or mesh-init, which exits.
  is_control_plane = var.generation == "ControlPlane"
  first            = local.is_control_plane ? "consul-ecs-control-plane" : "consul-ecs-mesh-init"
  after_first      = [{ containerName = local.first, condition = local.is_control_plane ? "HEALTHY" : "SUCCESS" }]
  awaited = concat(
    local.is_control_plane ? local.after_first : [],
    [{ containerName = "consul-dataplane", condition = "HEALTHY" }],
  )

  containers = concat(
    local.is_gateway ? local.input.extra_container_definitions : local.apps,
    [local.init, local.proxy],
    local.is_control_plane ? [] : [local.health_sync],
  )

  # On by default. Source: the changelog of 0.8.0
  # A conditional keeps the place of the input.
  wants_transparency = local.input.enable_transparent_proxy == null ? true : local.input.enable_transparent_proxy
  is_transparent     = var.has.TransparentProxy ? local.wants_transparency : false

  init = {
    name            = local.first
    image           = local.image
    essential       = false
    command         = [local.is_control_plane ? "control-plane" : "mesh-init"]
    user            = local.is_transparent ? "0" : null
    mountPoints     = local.init_mounts
    cpu             = 0
    volumesFrom     = []
    environment     = local.environment
    secrets         = local.secrets
    linuxParameters = merge(
      { initProcessEnabled = true }, var.has.TransparentProxy ? { capabilities = local.capabilities } : {}
    )
    healthCheck = local.is_control_plane ? {
      # Source: the changelog of 0.7.1
      command  = ["CMD-SHELL", "curl ${var.has.StrictHealthCheck ? "-f " : ""}localhost:10000/consul-ecs/health"]
      interval = 30
      retries  = 10
      timeout  = 5
    } : null
  }
  capabilities = local.is_transparent ? { add = ["NET_ADMIN"], drop = [] } : { add = [], drop = [] }

  proxy = {
    name  = "consul-dataplane"
    image = local.input.consul_dataplane_image != null ? local.input.consul_dataplane_image : "hashicorp/consul-dataplane:${lookup(local.default, "dataplane", var.unknown)}"
    # Redirected traffic is told from the proxy's own by its user.
    user       = var.has.TransparentProxy ? "5995" : null
    essential  = local.is_gateway
    entryPoint = ["/consul/consul-ecs", "envoy-entrypoint"]
    command    = ["consul-dataplane", "-config-file", "/consul/consul-dataplane.json"]
    dependsOn  = local.after_first
    # A gateway's proxy also mounts the volumes that the module gets.
    mountPoints  = concat([local.data_mount], local.is_gateway && local.input.volumes != null ? [var.unknown] : [])
    portMappings = local.is_gateway ? [local.gateway_mapping] : []
    cpu          = 0
    volumesFrom  = []
    environment  = []
    ulimits      = local.ulimits
    healthCheck = {
      command  = ["/consul/consul-ecs", "net-dial", format("127.0.0.1:%s", local.input.envoy_readiness_port)]
      interval = local.is_control_plane ? 30 : 5
      retries  = local.is_control_plane ? 3 : 10
      timeout  = 5
    }
  }

  health_sync = {
    name            = "consul-ecs-health-sync"
    image           = local.image
    essential       = false
    command         = ["health-sync"]
    user            = "5996"
    dependsOn       = local.after_first
    mountPoints     = [local.data_mount]
    portMappings    = []
    cpu             = 0
    volumesFrom     = []
    environment     = local.environment
    secrets         = local.secrets
    linuxParameters = { initProcessEnabled = true }
  }

  secrets     = concat([], local.input.tls ? local.certificates : [])
  environment = [{ name = "CONSUL_ECS_CONFIG_JSON", value = jsonencode(local.configuration) }]
  configuration = merge(
    {
      bootstrapDir         = "/consul"
      consulLogin          = local.login
      consulServers        = local.servers
      healthSyncContainers = local.is_gateway ? [] : local.health_synced
    },
    local.is_gateway ? { gateway = local.gateway } : { proxy = local.proxy_settings, service = local.service },
    var.has.TransparentProxy ? { transparentProxy = local.transparent_proxy } : {},
  )

  service = merge(
    {
      name      = local.service_name
      tags      = local.input.consul_service_tags
      port      = local.input.port
      meta      = local.input.consul_service_meta
      namespace = local.namespace
      partition = local.input.consul_partition
    },
    lookup(local.input.consul_ecs_config, "service", {}),
  )
  proxy_settings = merge(
    {
      publicListenerPort = local.input.envoy_public_listener_port != null ? local.input.envoy_public_listener_port : 20000
      upstreams          = local.input.upstreams
      healthCheckPort    = local.input.envoy_readiness_port
    },
    lookup(local.input.consul_ecs_config, "proxy", {}),
  )
  gateway = {
    kind       = local.input.kind
    name       = local.service_name
    tags       = local.input.consul_service_tags
    meta       = local.gateway_meta
    namespace  = local.namespace
    partition  = local.input.consul_partition
    lanAddress = { address = local.input.lan_address, port = local.lan_port }
    wanAddress = { address = local.wan_address, port = local.wan_port }
  }
  transparent_proxy = merge(lookup(local.input.consul_ecs_config, "transparentProxy", {}), {
    enabled              = local.is_transparent
    excludeInboundPorts  = local.input.exclude_inbound_ports
    excludeOutboundPorts = local.input.exclude_outbound_ports
    excludeOutboundCIDRs = local.input.exclude_outbound_cidrs
    excludeUIDs          = local.input.exclude_uids
    consulDNS            = { enabled = local.input.enable_consul_dns }
  })
}
