# The containers of mesh-task and gateway-task with a Consul client agent. The agent's script and secrets are
# the module's own.

locals {
  after_init = [{ containerName = "consul-ecs-mesh-init", condition = "SUCCESS" }]
  awaited    = concat(local.after_init, [{ containerName = "sidecar-proxy", condition = "HEALTHY" }])

  containers = concat(
    local.is_gateway ? [] : local.apps,
    [local.init, local.agent, local.proxy],
    local.has_health_sync ? [local.health_sync] : [],
  )

  # With Consul's own checks, no container's health is synced. health-sync is there only if there is something to report,
  # or a login to end.
  synced          = local.input.checks == [] ? local.health_synced : []
  has_synced      = local.input.checks == [] && length(local.synced_containers) > 0
  has_health_sync = local.is_gateway ? local.input.acls : local.has_synced || (var.has.Login && local.input.acls)

  init = {
    name            = "consul-ecs-mesh-init"
    image           = local.image
    essential       = false
    command         = var.has.ConfiguredModules ? ["mesh-init"] : var.unknown
    mountPoints     = local.init_mounts
    cpu             = 0
    volumesFrom     = []
    environment     = local.environment
    secrets         = local.secrets
    linuxParameters = local.linux_parameters
  }

  agent = {
    name            = "consul-client"
    image           = local.input.consul_image != null ? local.input.consul_image : "public.ecr.aws/hashicorp/consul:${lookup(local.default, "consul", var.unknown)}"
    essential       = false
    entryPoint      = var.unknown
    command         = var.unknown
    environment     = var.unknown
    secrets         = var.unknown
    portMappings    = var.unknown
    cpu             = 0
    volumesFrom     = []
    linuxParameters = { initProcessEnabled = true }
    mountPoints = [
      { sourceVolume = "consul_data", containerPath = "/consul", readOnly = false },
      { sourceVolume = "consul_binary", containerPath = "/bin/consul-inject" },
    ]
  }

  proxy_port = local.is_gateway ? local.lan_port : local.input.envoy_public_listener_port != null ? local.input.envoy_public_listener_port : 20000
  proxy = {
    name      = "sidecar-proxy"
    image     = local.input.envoy_image != null ? local.input.envoy_image : "envoyproxy/envoy${lookup(local.default, "envoy", var.unknown)}"
    essential = local.is_gateway
    # Otherwise it has the entry point of the image.
    entryPoint   = var.has.EnvoyEntryPoint && !local.is_gateway ? ["/consul/consul-ecs", "envoy-entrypoint"] : null
    command      = ["envoy", "--config-path", "/consul/envoy-bootstrap.json"]
    dependsOn    = local.after_init
    mountPoints  = [local.data_mount]
    portMappings = local.is_gateway ? [local.gateway_mapping] : var.has.ConfiguredModules ? [] : var.unknown
    cpu          = 0
    volumesFrom  = []
    environment  = []
    ulimits      = local.ulimits
    healthCheck = {
      command  = ["nc", "-z", "127.0.0.1", format("%s", local.proxy_port)]
      interval = 30
      retries  = 3
      timeout  = 5
    }
  }

  health_sync = {
    name            = "consul-ecs-health-sync"
    image           = local.image
    essential       = false
    command         = var.has.ConfiguredModules ? ["health-sync"] : var.unknown
    dependsOn       = local.after_init
    mountPoints     = var.has.Login ? [local.data_mount] : []
    portMappings    = []
    cpu             = 0
    volumesFrom     = []
    environment     = local.environment
    secrets         = local.secrets
    linuxParameters = local.linux_parameters
  }

  # Without a login, the token is from a secret that the controller creates.
  linux_parameters = var.has.InitProcess ? { initProcessEnabled = true } : var.unknown
  secrets          = var.has.Login ? [] : var.unknown
  environment = var.has.ConfiguredModules ? [
    { name = "CONSUL_ECS_CONFIG_JSON", value = jsonencode(local.configuration) }
  ] : var.unknown

  # The modules leave empty values out.
  configuration = merge(
    local.is_gateway
    ? { bootstrapDir = "/consul", gateway = without_empty(local.gateway) }
    : without_empty({
      bootstrapDir         = "/consul"
      healthSyncContainers = local.synced
      proxy                = local.proxy_settings
      service              = local.service
    }),
    var.has.Login ? local.servers : {},
  )
  # The service gets its token by a login at the servers.
  servers = without_empty({
    consulHTTPAddr   = local.input.consul_http_addr
    consulCACertFile = local.input.consul_https_ca_cert_arn == "" ? "" : "/consul/consul-https-ca-cert.pem"
    consulLogin      = local.login
  })
  service = merge(
    without_empty({
      name      = local.service_name
      port      = local.input.port
      tags      = local.input.consul_service_tags
      meta      = local.input.consul_service_meta
      checks    = local.input.checks
      namespace = local.input.consul_namespace
      partition = local.input.consul_partition
    }),
    lookup(local.input.consul_ecs_config, "service", {}),
  )
  proxy_settings = merge(
    without_empty({
      publicListenerPort = local.input.envoy_public_listener_port
      upstreams          = local.input.upstreams
    }),
    lookup(local.input.consul_ecs_config, "proxy", {}),
  )
  gateway = {
    kind       = local.input.kind
    name       = local.service_name
    lanAddress = without_empty({ address = local.input.lan_address, port = local.lan_port })
    wanAddress = without_empty({ address = local.wan_address, port = local.wan_port })
    meta       = local.gateway_meta
    namespace  = local.namespace
    partition  = local.input.consul_partition
  }
}
