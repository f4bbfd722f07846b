//! What stops a task of the mesh from starting: volumes, images, programs, ports, addresses of servers, logins.

pub(super) const TABLE: &str = r#"
@on-ec2 config.transparentProxy.enabled = true
@on-ec2 requiresCompatibilities = ["EC2"]
@on-ec2 consul-ecs-mesh-init / user = "0"
@on-ec2 consul-ecs-mesh-init / linuxParameters.capabilities = {"add": ["NET_ADMIN"]}

[Client ClientGateway ControlPlane Dataplane MeshGateway ApiGateway TerminatingGateway]
// Files of one task at a place that others have too.
consul-shared-volume: volumes[consul_data] = {"name": "consul_data", "efsVolumeConfiguration": {"fileSystemId": "fs-0123456789abcdef0"}}
consul-shared-volume: volumes[consul_data] = {"name": "consul_data", "host": {"sourcePath": "/var/lib/consul"}}
  or {"name": "consul_data", "dockerVolumeConfiguration": {"scope": "shared", "autoprovision": true}}
  given requiresCompatibilities = ["EC2"]
ok: volumes[consul_data] = {"name": "consul_data", "host": {}} {"name": "consul_data", "host": {"sourcePath": ""}}
  or {"name": "consul_data", "configuredAtLaunch": true}
ok: volumes[consul_data] = {"name": "consul_data", "dockerVolumeConfiguration": {"scope": "task"}}
  given requiresCompatibilities = ["EC2"]
// The app's own volume may be shared.
ok: volumes = [{"name": "consul_data"}, {"name": "consul_binary"}, {"name": "uploads", "efsVolumeConfiguration": {"fileSystemId": "fs-0123456789abcdef0"}}]

[Client Dataplane]
consul-ecs-entry-point: consul-ecs-mesh-init / entryPoint = ["/bin/consul"] ["consul-dataplane"] ["sh", "-c"]
  or ["/consul/consul-ecs"] ["/bin/consul-ecs", "envoy-entrypoint"]
consul-ecs-entry-point: consul-ecs-health-sync / entryPoint = ["/consul/consul-ecs", "envoy-entrypoint"] ["/bin/sh", "-ec"]
  or ["consul"] ["/bin/busybox", "sh", "-c"]
ok: consul-ecs-mesh-init / entryPoint = ["/bin/consul-ecs"] ["consul-ecs"] ["/wrapper.sh"] []
// After mesh-init, the program is there.
ok: consul-ecs-health-sync / entryPoint = ["/consul/consul-ecs"] ["/wrapper.sh"]
ok: consul-ecs-mesh-init / entryPoint = ["/bin/consul"]
  given consul-ecs-mesh-init / image = "registry.example.com/mesh:1"

[Dataplane]
consul-ecs-entry-point: consul-ecs-mesh-init / command = ["discover-servers"]
  given consul-ecs-mesh-init / entryPoint = ["sh", "-c"]
// A range of ports has the service's port, or has not.
ok: web / portMappings = [{"containerPortRange": "9085-9095"}] [{"containerPortRange": "8000-8010"}]
consul-service-port: config.service.port = 0
  given web / portMappings = [{"containerPortRange": "9085-9095"}]

[ControlPlane]
consul-ecs-entry-point: consul-ecs-control-plane / entryPoint = ["/consul/consul-ecs"] ["sh", "-c"]

[Controller]
consul-ecs-entry-point: consul-ecs-controller / entryPoint = ["/bin/consul"] ["sh", "-c"]
consul-server-hosts: config@consul-ecs-controller.consulServers.hosts = "consul.example.internal " "localhost"

[ControlPlane Dataplane MeshGateway ApiGateway TerminatingGateway]
consul-dataplane-image: consul-dataplane / image = "envoyproxy/envoy:v1.34.0" "hashicorp/consul-enterprise:2.0.1-ent"
  or "public.ecr.aws/hashicorp/consul-ecs"
ok: consul-dataplane / image = "registry.example.com/mirror-of-it:2"
// What the image does not have.
consul-dataplane-health-check: consul-dataplane / healthCheck.command = ["CMD", "nc", "-z", "127.0.0.1", "22000"]
  or ["CMD", "curl", "-f", "http://127.0.0.1:22000/ready"] ["wget", "-q", "http://127.0.0.1:22000/ready"]
ok: consul-dataplane / healthCheck.command = ["CMD", "/probe/check", "127.0.0.1:22000"] ["CMD", "envoy", "--version"]
ok: consul-dataplane / healthCheck.command = ["CMD", "nc", "-z", "127.0.0.1", "22000"]
  given consul-dataplane / image = "registry.example.com/mirror-of-it:2"
ok: consul-dataplane / healthCheck.command = ["CMD", "curl", "-f", "http://127.0.0.1:22000/ready"]
  given consul-dataplane / image = "registry.example.com/hashicorp/consul-dataplane:shell"
consul-dataplane-health-check: consul-dataplane / healthCheck.command = ["CMD", "curl", "-f", "http://127.0.0.1:22000/ready"]
  given consul-dataplane / image = "docker.io/hashicorp/consul-dataplane:main"
// Addresses of the servers.
consul-server-hosts: config.consulServers.hosts = "consul.example.internal " " consul.example.internal" "a.internal b.internal"
  or "localhost" "127.0.0.1" "::1" "localhost:8501" "http://127.0.0.1:8500" " exec=discover -q addrs provider=aws"
ok: config.consulServers.hosts = "localhost.example.internal" "[[ .consul ]]" "((consul))"
ok: config.consulServers.hosts = "localhost"
  given containerDefinitions[server] = {"name": "server", "image": "hashicorp/consul:1.22.7", "essential": false, "dependsOn": [{"containerName": "consul-dataplane", "condition": "HEALTHY"}]}
consul-server-name: config.consulServers.hosts = "10.0.0.5" "2001:db8::1"
ok: config.consulServers.hosts = "10.0.0.5"
  given config.consulServers.http.tlsServerName = "server.dc1.consul"
consul-server-name: config.consulServers.defaults.tlsServerName = "server.dc1.consul:8501" "https://server.dc1.consul" "server.dc1.consul "
consul-server-name: config.consulServers.grpc.tlsServerName = "server.dc1.consul:8503"
ok: config.consulServers.defaults.tlsServerName = "server.dc1.consul" "" "2001:db8::1"
// Servers that no longer exist, and settings that discover does not know.
consul-hcp-servers: config.consulServers.hosts = "mesh.private.consul.0f0f0f0f.aws.hashicorp.cloud"
ok: config.consulServers.hosts = "mesh.hashicorp.cloud.example.com"
consul-server-discover: config.consulServers.hosts = "exec=discover -q addrs provider=aws tag_name=role tag_value=server"
  or "exec=discover -q addrs provider=aws service=ecs ecs_cluster=consul ecs_family=consul-server"
  given config.consulServers.defaults.tlsServerName = "server.dc1.consul"
ok: config.consulServers.hosts = "exec=discover -q addrs provider=aws service=ecs ecs_cluster=consul tag_key=role tag_value=server"
  given config.consulServers.defaults.tlsServerName = "server.dc1.consul"
// The login.
consul-login-method: config.consulLogin.includeEntity = false
ok: config.consulLogin.includeEntity = true
ok: config.consulLogin.includeEntity = false
  given config.consulLogin.method = "ours"
ok: config.consulLogin.method = "iam-ecs-service-token" "ours" ""
consul-login-method: config.consulLogin.method = "iam-ecs-client-token"
consul-login-endpoint: config.consulLogin.region = "eu-west1" "us-east-1a" "EU-WEST-1"
ok: config.consulLogin.region = "eu-west-1" "us-gov-west-1" ""
// What another program replaces.
  or "REGION" "__REGION__" "[[REGION]]" "((region))" "$[REGION]" "%{REGION}"
consul-login-endpoint: config.consulLogin.stsEndpoint = "sts.us-east-1" "sts.us-east-1.amazonaws.com"
ok: config.consulLogin.stsEndpoint = "https://sts.us-east-1.amazonaws.com" "https://proxy.example.internal:8443/sts"
  or "HTTPS://STS.us-east-1.amazonaws.com"
consul-login-endpoint: config.consulLogin.stsEndpoint = "https://sts.us-east-1.amazonaws.com"
  given config.consulLogin.region = "eu-west-1"

[Client ControlPlane Dataplane]
// Every listener of the proxy, and every port of a range.
consul-readiness-port: config.proxy.expose = {"paths": [{"listenerPort": 19000, "path": "/health", "localPathPort": 9090}]}
  or {"paths": [{"listenerPort": 20000, "path": "/health", "localPathPort": 9090}]}
consul-app-port: config.proxy.expose = {"paths": [{"listenerPort": 9090, "path": "/health", "localPathPort": 9091}]}
consul-app-port: config.proxy.config = {"envoy_prometheus_bind_addr": "0.0.0.0:9090"} {"envoy_stats_bind_addr": "127.0.0.1:9090"}
consul-upstream-port: config.proxy.expose = {"paths": [{"listenerPort": 1234, "path": "/health", "localPathPort": 9090}]}
ok: config.proxy.expose = {"paths": [{"listenerPort": 20200, "path": "/health", "localPathPort": 9090}]}
consul-readiness-port: config.proxy.config = {"envoy_prometheus_bind_addr": "0.0.0.0:20000"} {"envoy_stats_bind_addr": "0.0.0.0:19000"}
ok: config.proxy.config = {"envoy_prometheus_bind_addr": "0.0.0.0:20200"}
consul-app-port: web / portMappings = [{"containerPort": 9090}, {"containerPortRange": "19990-20010"}]
  or [{"containerPort": 9090}, {"containerPortRange": "18000-19000", "protocol": "tcp"}]
ok: web / portMappings = [{"containerPort": 9090}, {"containerPortRange": "20001-20010"}]
  or [{"containerPort": 9090}, {"containerPortRange": "19990-20010", "protocol": "udp"}]
consul-upstream-port: web / portMappings = [{"containerPort": 9090}, {"containerPortRange": "1230-1240"}]

[Dataplane]
// Consul has these, and consul-ecs has no field for them.
consul-config-schema: config.service.ports = [{"name": "http", "port": 9090, "default": true}]
consul-config-schema: config.service = {"name": "web", "ports": [{"name": "http", "port": 9090}]}
consul-config-schema: config.proxy.upstreams[0].destinationPort = "grpc"
// Nanoseconds.
consul-outlier-interval: config.service.networkResilienceConfig = {"enabled": true, "outlierDetection": {"interval": 10}}
  or {"enabled": true, "outlierDetection": {"interval": 999999}}
ok: config.service.networkResilienceConfig = {"enabled": true, "outlierDetection": {"interval": 10000000000}}
  or {"enabled": true, "outlierDetection": {"interval": 0}}

[ControlPlane Dataplane]
consul-readiness-port: config.proxy.publicListenerPort = 19000
consul-readiness-port: config.proxy.healthCheckPort = 19000
  given consul-dataplane / healthCheck.command = ["/consul/consul-ecs", "net-dial", "127.0.0.1:19000"]

[MeshGateway ApiGateway TerminatingGateway]
consul-readiness-port: config.gateway.healthCheckPort = 19000
  given consul-dataplane / healthCheck.command = ["/consul/consul-ecs", "net-dial", "127.0.0.1:19000"]

[Dataplane]
ok: web / portMappings = [{"containerPort": 9090}, {"containerPort": 15001}, {"containerPort": 8600, "protocol": "udp"}]
  or [{"containerPort": 9090}, {"containerPort": 8653, "protocol": "udp"}]

[Dataplane]
  given @on-ec2
// Managed instances grant NET_ADMIN, Fargate does not.
ok: requiresCompatibilities = ["MANAGED_INSTANCES"] ["EC2", "MANAGED_INSTANCES"]
consul-transparent-proxy-launch-type: requiresCompatibilities = ["FARGATE", "MANAGED_INSTANCES"]
consul-app-port: web / portMappings = [{"containerPort": 9090}, {"containerPort": 15001}]
ok: web / portMappings = [{"containerPort": 9090}, {"containerPort": 8600, "protocol": "udp"}, {"containerPort": 8600}]
consul-app-port: web / portMappings = [{"containerPort": 9090}, {"containerPort": 8600, "protocol": "udp"}]
  or [{"containerPort": 9090}, {"containerPort": 8600}]
  given config.transparentProxy.consulDNS = {"enabled": true}
consul-upstream-port: config.proxy.upstreams[0].localBindPort = 15001
consul-upstream-port: config.proxy.upstreams[0].localBindPort = 8600
  given config.transparentProxy.consulDNS = {"enabled": true}
consul-readiness-port: config.proxy.publicListenerPort = 15001
consul-dns-port: web / portMappings = [{"containerPort": 9090}, {"containerPort": 8654, "protocol": "udp"}]
ok: web / portMappings = [{"containerPort": 9090}, {"containerPort": 8654}]

[Client ClientGateway]
consul-client-script: `\nEOF\n` becomes `\n`
consul-client-script: `exec consul agent -data-dir` becomes `exec consul agent -server -bootstrap -data-dir`
consul-client-script: `exec consul agent -data-dir` becomes `exec consul agent -dev -data-dir`
consul-client-script: `grpc = 8502` becomes `grpc = -1`
consul-client-script: `cp /bin/consul /bin/consul-inject/consul\n` becomes ``
consul-client-script: `datacenter = \"dc1\"` becomes `datacenter = \"$CONSUL_DATACENTER\"`
ok: `datacenter = \"dc1\"` becomes `datacenter = \"${CONSUL_DATACENTER:-dc1}\"`

[Client]
consul-hcp-servers: `retry_join = [\"consul.example.internal\"]` becomes `retry_join = [\"mesh.consul.aws.hashicorp.cloud\"]`

[ClientGateway]
consul-http-address: config.consulHTTPAddr = "consul.example.internal:8501"
ok: config.consulHTTPAddr = "https://consul.example.internal:8501" "consul.example.internal:8500"
consul-client-ports: consul-client / portMappings = [{"containerPortRange": "8300-8302"}]
"#;
