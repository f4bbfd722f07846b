//! Gateways of both generations.

pub(super) const TABLE: &str = r#"
[ClientGateway MeshGateway ApiGateway TerminatingGateway]
consul-config-schema: config.gateway.kind = absent "ingress-gateway"
// A gateway is in the namespace default.
consul-gateway-namespace: config.gateway.namespace = "team"
  given config.gateway.partition = "default"
ok: config.gateway.namespace = "default"
  given config.gateway.partition = "default"
consul-tenancy-pair: config.gateway.partition = "default"
// The proxy maps its LAN port.
consul-config-schema: config.gateway.lanAddress.port = 70000
// No app runs in its task, but a helper may.
ok: containerDefinitions[logs] = {"name": "logs", "image": "example/logs:1", "essential": false}
consul-gateway-app: containerDefinitions[web] = {"name": "web", "image": "example/web:1", "essential": true, "portMappings": [{"containerPort": 80}]}
consul-service-or-gateway: config.service = {"name": "x", "port": 1}
consul-service-or-gateway: config.gateway = absent

[MeshGateway ApiGateway TerminatingGateway]
consul-gateway-proxy-essential: consul-dataplane / essential = false
ok: consul-dataplane / essential, config.gateway.lanAddress = absent
// 8443 is the default of consul-ecs.

[MeshGateway ApiGateway]
// Requests from outside come through a load balancer, which needs a port mapping.
consul-gateway-lan-port: consul-dataplane / portMappings = absent
consul-gateway-lan-port: consul-dataplane / portMappings[0].containerPort = 8444
  given consul-dataplane / portMappings[0].hostPort = 8444
consul-gateway-lan-port: config.gateway.lanAddress.port = 8444
consul-readiness-port: config.gateway.lanAddress.port = 22000
  given consul-dataplane / portMappings[0].containerPort = 22000
  given consul-dataplane / portMappings[0].hostPort = 22000

[TerminatingGateway]
// Requests through a terminating gateway come from the mesh, to the task's own address.
ok: consul-dataplane / portMappings = absent []
ok: consul-dataplane / portMappings[0].containerPort = 8444
  given consul-dataplane / portMappings[0].hostPort = 8444
ok: config.gateway.lanAddress.port = 8444

[ClientGateway]
consul-gateway-proxy-essential: sidecar-proxy / essential = false
consul-gateway-lan-port: sidecar-proxy / portMappings = absent
consul-sidecar-proxy-health-check: sidecar-proxy / healthCheck.command = ["nc", "-z", "127.0.0.1", "20000"]

[MeshGateway]
ok: config.gateway.meta = {"consul-wan-federation": "1"}
consul-gateway-federation-tls consul-server-plain: config.consulServers.defaults.tls = false
  given config.gateway.meta = {"consul-wan-federation": "1"}
  given config.consulServers.http.https = false
consul-gateway-wan-address: config.gateway.wanAddress = absent
  given config.gateway.meta = {"consul-wan-federation": "1"}
ok: config.gateway.wanAddress = absent
"#;
