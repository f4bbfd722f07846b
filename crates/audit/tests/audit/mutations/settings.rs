//! Settings of the mesh's containers and of consul-ecs, each with a neighbour that works.

pub(super) const TABLE: &str = r#"
@transparent requiresCompatibilities = ["EC2"]
@transparent config.transparentProxy = {"enabled": true}
@transparent consul-ecs-mesh-init / user = "0"
@transparent consul-ecs-mesh-init / linuxParameters.capabilities = {"add": ["NET_ADMIN"]}

[Dataplane]
// The check of the proxy.
consul-dataplane-health-check: consul-dataplane / healthCheck.command = ["CMD", "/consul/consul-ecs", "net-dial", "127.0.0.1"]
  or ["/consul/consul-ecs", "net-dial"] ["/consul/consul-ecs", "net-dial", "127.0.0.1", "22000"]
  or ["/consul/consul-ecs", "netdial", "127.0.0.1:22000"] ["/consul/consul-ecs", "net-dial", "10.0.0.1:22000"]
  or ["/bin/consul-ecs", "net-dial", "127.0.0.1:22000"] ["CMD", "/consul-ecs", "net-dial", "127.0.0.1:22000"]
ok: consul-dataplane / healthCheck.command = ["CMD", "/consul/consul-ecs", "net-dial", "localhost:22000"]
  or ["CMD", "/consul/consul-ecs", "net-dial", "0.0.0.0:22000"]
// The programs of consul-ecs have no arguments.
consul-mesh-init-command: consul-ecs-mesh-init / command = ["mesh-init", "-config", "x"] ["consul-ecs", "mesh-init"] ["/bin/consul-ecs", "mesh-init"]
consul-health-sync-command: consul-ecs-health-sync / command = ["health-sync", "-log-level=debug"] ["health-sync", "web"]
consul-ecs-entry-point: consul-ecs-mesh-init / entryPoint = ["/consul-ecs"] ["/usr/bin/consul-ecs"]
ok: consul-ecs-mesh-init / entryPoint = ["/tools/consul-ecs"]
  given volumes[tools] = {"name": "tools"}
  given consul-ecs-mesh-init / mountPoints[tools] = {"sourceVolume": "tools", "containerPath": "/tools"}
consul-dataplane-entry-point: consul-dataplane / entryPoint = ["/consul-ecs", "envoy-entrypoint"] ["consul-ecs", "envoy-entrypoint"]
  or ["/consul/consul-ecs envoy-entrypoint"]
consul-dataplane-command: consul-dataplane / entryPoint = ["/consul/consul-ecs", "envoy-entrypoint", "consul-dataplane"]
// The copy of consul-ecs in the shared directory.
consul-ecs-entry-point: consul-dataplane / entryPoint = ["/consul/consul_ecs", "envoy-entrypoint"]
consul-dataplane-health-check: consul-dataplane / healthCheck.command = ["CMD", "/consul/consul_ecs", "net-dial", "127.0.0.1:22000"]
consul-ecs-entry-point: web / entryPoint = ["/consul/consul-ecs", "app-entry-point", "-shutdown-delay", "10s"] ["/consul/consulecs", "app-entrypoint"]
  or ["/consul/consul-ecs", "app-entrypoint", "-shutdown-delays", "10s"]
  given web / mountPoints = [{"sourceVolume": "consul_data", "containerPath": "/consul", "readOnly": true}]
  given web / command = ["serve"]
ok: web / entryPoint = ["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay", "10s"]
  given web / mountPoints = [{"sourceVolume": "consul_data", "containerPath": "/consul", "readOnly": true}]
  given web / command = ["serve"]
consul-ecs-entry-point: consul-ecs-mesh-init / entryPoint = ["/bin/sh"] ["/bin/consul_ecs"]
// A container of the mesh that never ends.
ecs-dependency-essential: web / dependsOn[consul-ecs-health-sync] = {"containerName": "consul-ecs-health-sync", "condition": "COMPLETE"}
// Certificates, and hosts of no server.
consul-ca-certificates: consul-ecs-mesh-init / environment[CONSUL_GRPC_CACERT_PEM] = {"name": "CONSUL_GRPC_CACERT_PEM", "value": "/certs/ca.pem"} {"name": "CONSUL_GRPC_CACERT_PEM", "value": "arn:aws:s3:::ca"}
  given consul-ecs-mesh-init / secrets = [{"name": "CONSUL_HTTPS_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl"}]
ok: consul-ecs-mesh-init / environment[CONSUL_GRPC_CACERT_PEM] = {"name": "CONSUL_GRPC_CACERT_PEM", "value": "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----"}
  given consul-ecs-mesh-init / secrets = [{"name": "CONSUL_HTTPS_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl"}]
consul-server-hosts: config.consulServers.hosts = "exec=" "0.0.0.0" "10.0.0.300" "consul..example" "*.example.internal" "255.255.255.255"
  given config.consulServers.defaults.tlsServerName = "server.dc1.consul"
ok: config.consulServers.hosts = "10.0.0.30" "consul_servers.example" "consul.example.internal."
  given config.consulServers.defaults.tlsServerName = "server.dc1.consul"
consul-config-json consul-config-json: `\"consulLogin\"` becomes `/* here */ \"consulLogin\"`
ecs-role-arn: taskRoleArn = "the web task"
// Images of HashiCorp that are none of these programs.
consul-dataplane-image: consul-dataplane / image = "hashicorp/consul-data-plane:2.0.1" "public.ecr.aws/hashicorp/consul-k8s-control-plane:1.4.0"
consul-ecs-image: consul-ecs-mesh-init / image = "public.ecr.aws/hashicorp/consul-esc:0.10.1"
ok: consul-dataplane / image = "mirror.example.com/data-plane:2.0.1"
ok: consul-ecs-mesh-init / image = "mirror.example.com/mesh/ecs:0.10.1"
// Ports.
consul-service-port: config.service.port = 20000 22000
  given web / portMappings = []
ecs-port-twice: containerDefinitions[side] = {"name": "side", "image": "x:1", "essential": false, "portMappings": [{"containerPort": 9090}], "dependsOn": [{"containerName": "consul-dataplane", "condition": "HEALTHY"}]}
consul-server-ports: config.consulServers.grpc.port = 8300 8301 8502
consul-server-ports: config.consulServers.http.port = 8300 8600 8500
ok: config.consulServers.http.port = 443 9501
consul-server-hosts: config.consulServers.hosts = "consul.example.internal/v1"
consul-ca-certificates: config.consulServers.defaults.caCertFile = "/etc/consul.d/tls/ca.pem"
ok: config.consulServers.defaults.caCertFile = "/consul/ca.pem" "/etc/ssl/certs/ca-certificates.crt"
consul-health-sync-containers: web / healthCheck = {"command": ["NONE"]}
consul-login-method: config.consulLogin.method = "iam-ecs-service-tokens" "iam-ecs-servce-token"
ok: config.consulLogin.method = "tasks"
// What Envoy and Consul get of the proxy.
consul-registration: config.proxy.upstreams = [{"destinationName": "orders", "localBindPort": 1234}, {"destinationName": "orders", "destinationType": "service", "localBindPort": 1235}]
ok: config.proxy.upstreams = [{"destinationName": "orders", "localBindPort": 1234}, {"destinationName": "orders", "localBindPort": 1235, "datacenter": "dc2"}]
consul-registration: config.proxy.expose = {"paths": [{"path": "metrics", "listenerPort": 20200, "localPathPort": 9090, "protocol": "http"}]}
ok: config.proxy.expose = {"paths": [{"path": "/metrics", "listenerPort": 20200, "localPathPort": 9090, "protocol": "http"}]}
consul-proxy-config: config.proxy.config = {"protocol": "https"} {"local_connect_timeout": 500} {"envoy_prometheus_bind_addr": "9102"}
  or {"envoy_prometheus_bind_adr": "0.0.0.0:9102"} {"balance_inbound_connections": "exact"} {"max_inbound_connections": "many"}
consul-proxy-config: config.proxy.upstreams[0].config = {"protocol": "htpp"} {"connect_timeout": 500}
ok: config.proxy.config = {"protocol": "grpc", "envoy_prometheus_bind_addr": "0.0.0.0:9102", "own_setting": 1}
  or {"balance_inbound_connections": "exact_balance", "max_inbound_connections": "100", "local_connect_timeout_ms": 500}
// Transparent proxy.
consul-transparent-proxy-exclusions: config.transparentProxy.excludeOutboundCIDRs = ["10.0.0.0/33"] ["10.0.0/8"] ["10.0.0"] ["vpc/16"] ["0.0.0.0/0"]
  given @transparent
ok: config.transparentProxy.excludeOutboundCIDRs = ["10.0.0.0/8", "10.1.2.3", "consul.example.com"]
  given @transparent
consul-transparent-proxy-exclusions: config.transparentProxy.excludeUIDs = ["envoy"] ["1000-"]
  given @transparent
consul-transparent-proxy-exclusions: config.transparentProxy.excludeUIDs = ["1000"]
  given @transparent
  given web / user = "1000:1000"
ok: config.transparentProxy.excludeUIDs = ["1001", "2000-2010"]
  given @transparent
  given web / user = "1000"

[MeshGateway]
consul-gateway-wan-address: config.gateway.wanAddress = {"address": "https://gateway.example.com", "port": 443} {"address": "gateway.example.com:443", "port": 443}
consul-gateway-wan-address: config.gateway.wanAddress = {"address": "127.0.0.1", "port": 443}
ok: config.gateway.wanAddress = {"address": "gateway.example.com", "port": 443} {"address": "2001:db8::1", "port": 443}
"#;
