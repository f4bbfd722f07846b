# How the controller and the containers with Consul Dataplane reach the Consul servers.

locals {
  servers = {
    hosts           = local.input.consul_server_hosts != null ? local.input.consul_server_hosts : local.input.consul_server_address
    skipServerWatch = local.input.skip_server_watch
    defaults = {
      tls           = local.input.tls
      tlsServerName = local.input.tls_server_name
      caCertFile    = local.input.ca_cert_file
    }
    http = merge(
      { port = lookup({ true = 8501, false = 8500 }, local.input.tls), https = local.input.tls },
      local.input.http_config,
    )
    grpc = merge({ port = lookup({ true = 8503, false = 8502 }, local.input.tls) }, local.input.grpc_config)
  }
  certificates = [
    for secret in [
      {
        name      = "CONSUL_HTTPS_CACERT_PEM"
        valueFrom = try(coalesce(local.input.consul_https_ca_cert_arn, local.input.consul_ca_cert_arn), "")
      },
      {
        name      = "CONSUL_GRPC_CACERT_PEM"
        valueFrom = try(coalesce(local.input.consul_grpc_ca_cert_arn, local.input.consul_ca_cert_arn), "")
      },
    ] : secret if secret.valueFrom != ""
  ]
}
