//! The dataplane generation from 0.8 on.

pub(super) const TABLE: &str = r#"
@in-0-10-0 consul-ecs-mesh-init / image = "public.ecr.aws/hashicorp/consul-ecs:0.10.0"
@in-0-10-0 consul-ecs-health-sync / image = "public.ecr.aws/hashicorp/consul-ecs:0.10.0"
@on-ec2 config.transparentProxy.enabled = true
@on-ec2 requiresCompatibilities = ["EC2"]
@on-ec2 consul-ecs-mesh-init / user = "0"
@on-ec2 consul-ecs-mesh-init / linuxParameters.capabilities = {"add": ["NET_ADMIN"]}
@privileged config.transparentProxy.enabled = true
@privileged consul-ecs-mesh-init / user = "0"
@privileged consul-ecs-mesh-init / linuxParameters.capabilities = {"add": ["NET_ADMIN"]}

[ControlPlane Dataplane MeshGateway ApiGateway TerminatingGateway]
consul-dataplane-missing: consul-dataplane / = absent
consul-dataplane-entry-point: consul-dataplane / entryPoint = absent ["/consul/consul-ecs"] ["consul-dataplane"]
// Without an entry point, the one of the image starts the proxy, and takes flags.
consul-dataplane-entry-point: consul-dataplane / entryPoint = absent
  given consul-dataplane / command = ["-config-file=/consul/consul-dataplane.json"]
// Only the image of consul-ecs has it there.
consul-dataplane-entry-point: consul-dataplane / entryPoint = ["/bin/consul-ecs", "envoy-entrypoint"]
ok: consul-dataplane / entryPoint = ["/bin/consul-ecs", "envoy-entrypoint"]
  given consul-dataplane / image = "registry.example.com/proxy:1"
// How consul-ecs reaches Consul's servers.
consul-server-hosts: config.consulServers.hosts = "https://consul.example.internal"
  or "consul.example.internal:8501" "http://consul.example.internal:8500/" "[2001:db8::1]" "10.0.0.1,10.0.0.2" "provider=aws tag_key=consul tag_value=server"
consul-server-hosts consul-server-name: config.consulServers.hosts = "exec=/get.sh | head -1" "exec=sh -c 'echo 10.0.0.1'"
ok: config.consulServers.hosts = "2001:db8::1" "10.0.0.1" "exec=/get.sh eu"
  given config.consulServers.defaults.tlsServerName = "server.dc1.consul"
consul-server-name: config.consulServers.hosts = "exec=discover -q addrs provider=aws tag_key=consul tag_value=server"
ok: config.consulServers.grpc.tlsServerName = "server.dc1.consul"
  given config.consulServers.hosts = "exec=discover -q addrs provider=aws tag_key=consul tag_value=server"
consul-server-ports: config.consulServers.http.port = 8502 8503
consul-server-ports: config.consulServers.grpc.port = 8500 8501
ok: config.consulServers.grpc.port = 9503
consul-server-plain: config.consulServers.http.https = false
consul-server-plain: config.consulServers.defaults.tls = false
ok: config.consulServers.defaults.tls = false
  given config.consulLogin.enabled = false
consul-login-meta: config.consulLogin.meta = {"consul.hashicorp.com/cluster": "prod"}
  or {"consul.hashicorp.com/task-id": "1"}
ok: config.consulLogin.meta = {"team": "a"}
consul-dataplane-command: consul-dataplane / command = absent
  or ["consul-dataplane", "-config-file", "/data/consul-dataplane.json"] ["consul-dataplane"]
// The last of two counts.
  or ["consul-dataplane", "-config-file=/consul/consul-dataplane.json", "--config-file", "/data/consul-dataplane.json"]
ok: consul-dataplane / command = ["consul-dataplane", "--config-file", "/data/consul-dataplane.json", "-config-file=/consul/consul-dataplane.json"]
ok: consul-dataplane / user = "5995:5995"
consul-dataplane-health-check: consul-dataplane / healthCheck = absent
consul-dataplane-health-check: consul-dataplane / healthCheck.command = ["/consul/consul-ecs", "net-dial", "127.0.0.1:22001"]
  or ["/consul/consul-ecs", "net-dial", "127.0.0.1:20000"] ["CMD", "/consul/consul-ecs", "net-dial", "127.0.0.1:20000"]
  or ["CMD-SHELL", "curl -f http://127.0.0.1:22000/ready"] ["CMD", "/bin/sh", "-c", "nc -z 127.0.0.1 22000"]
// The public listener opens only when Consul knows the service: the check must use the readiness port.
consul-proxy-mount: consul-dataplane / mountPoints = absent
consul-proxy-mount: consul-dataplane / mountPoints[consul_data].containerPath = "/data"
consul-proxy-mount: consul-dataplane / mountPoints[consul_data].sourceVolume = "consul_binary"
// A volume that is not defined is one mistake, whichever container mounts it.
consul-volumes: consul-dataplane / mountPoints[consul_data].sourceVolume = "consul-data" "shared"
consul-proxy-mount-read-only: consul-dataplane / mountPoints[consul_data].readOnly = absent false
consul-proxy-open-files-default: consul-dataplane / ulimits = absent []
consul-proxy-open-files: consul-dataplane / ulimits[nofile].hardLimit = 1048577
ecs-timeout-range: consul-dataplane / stopTimeout = 200

[Dataplane MeshGateway ApiGateway TerminatingGateway]
ok: consul-dataplane / healthCheck.command = ["CMD-SHELL", "curl -f http://127.0.0.1:22000/ready"]
  given consul-dataplane / image = "hashicorp/consul-dataplane:2.0.1-ubi"
// Without transparent proxy, any user is valid.
ok: consul-dataplane / user = absent "5996" "0"
consul-proxy-order: consul-dataplane / dependsOn = absent
consul-proxy-order: consul-dataplane / dependsOn[consul-ecs-mesh-init].condition = "START" "COMPLETE" "HEALTHY"
ecs-dependency-unknown: consul-dataplane / dependsOn[consul-ecs-mesh-init].containerName = "init"
consul-health-sync-missing: consul-ecs-health-sync / = absent
consul-ecs-image: consul-ecs-health-sync / image = "hashicorp/consul:1.11.11"
consul-image-versions: consul-ecs-health-sync / image = "public.ecr.aws/hashicorp/consul-ecs:0.10.0"
consul-helper-essential: consul-ecs-health-sync / essential = absent true
ok: consul-ecs-health-sync / user = absent "5995"
consul-health-sync-command: consul-ecs-health-sync / command = absent ["mesh-init"]
consul-config-missing: consul-ecs-health-sync / environment[CONSUL_ECS_CONFIG_JSON] = absent
consul-health-sync-configuration: config@consul-ecs-health-sync.consulServers.hosts = "other"
consul-health-sync-order: consul-ecs-health-sync / dependsOn = absent
consul-health-sync-order: consul-ecs-health-sync / dependsOn[consul-ecs-mesh-init].condition = "START"
// ECS stops what waits first, and health-sync stays until the proxy has stopped.
consul-health-sync-end: consul-ecs-health-sync / dependsOn = [{"containerName": "consul-dataplane", "condition": "HEALTHY"}]
  or [{"containerName": "consul-dataplane", "condition": "START"}]
// The certificate of a private CA, in all containers and for both protocols.
consul-ca-certificates: consul-ecs-mesh-init / secrets[CONSUL_HTTPS_CACERT_PEM] = absent
consul-ca-certificates: consul-ecs-mesh-init / secrets[CONSUL_GRPC_CACERT_PEM] = absent
consul-ca-certificates: consul-ecs-health-sync / secrets[CONSUL_HTTPS_CACERT_PEM] = absent
consul-ca-certificates: consul-ecs-health-sync / secrets[CONSUL_GRPC_CACERT_PEM] = absent
consul-ca-certificates consul-ca-certificates: consul-ecs-mesh-init / secrets = absent
consul-ca-certificates consul-ca-certificates: consul-ecs-health-sync / secrets = absent
consul-ca-certificates: consul-ecs-mesh-init / secrets[CONSUL_HTTPS_CACERT_PEM].name = "CONSUL_HTTPS_CA_CERT_PEM"
// Releases that do not go together.
consul-release-pair: consul-dataplane / image = "hashicorp/consul-dataplane:1.4.2"
ok: consul-dataplane / image = "hashicorp/consul-dataplane:1.9.12" "hashicorp/consul-dataplane:2.0.99" "registry.example.com/consul-dataplane:stable"
consul-image-tag: consul-dataplane / image = "hashicorp/consul-dataplane:latest" "hashicorp/consul-dataplane"
consul-image-tag: consul-ecs-health-sync / image = "registry.example.com/consul-ecs"
// The same image under a name that nobody looks for.
consul-dataplane-missing: consul-dataplane / name = "consul-data-plane"
ok: consul-dataplane / image = "hashicorp/consul-dataplane@sha256:0000000000000000000000000000000000000000000000000000000000000000"
  or "registry.example.com/proxy:1.4.2"
// A tag that does not exist.
consul-fips-tag: consul-ecs-health-sync / image = "public.ecr.aws/hashicorp/consul-ecs:0.10.1-fips1402"
ok: consul-ecs-health-sync / image = "public.ecr.aws/hashicorp/consul-ecs:0.10.1-fips1403"
consul-image-tag: consul-ecs-mesh-init / image = "public.ecr.aws/hashicorp/consul-ecs:v0.10.1"
consul-image-tag: consul-dataplane / image = "hashicorp/consul-dataplane:v2.0.1"
ok: consul-dataplane / image = "registry.example.com/hashicorp/consul-dataplane:v2.0.1"
// Newer than the table of releases.
consul-release-unknown: consul-dataplane / image = "hashicorp/consul-dataplane:9.0.0"
// What a restart repeats.
consul-restart-policy: consul-ecs-mesh-init / restartPolicy, consul-dataplane / restartPolicy = {"enabled": true}
ok: consul-dataplane / restartPolicy = {"enabled": true}
  given config.consulLogin.enabled = false
ok: consul-ecs-health-sync / restartPolicy = {"enabled": true, "restartAttemptPeriod": 60}
// A version with other containers.
consul-image-generation: consul-ecs-mesh-init / image = "hashicorp/consul-ecs:0.6.0"
  given consul-ecs-health-sync / image = "hashicorp/consul-ecs:0.6.0"
// Containers of the other generation.
consul-mixed-generations: containerDefinitions[consul-client] = {"name": "consul-client", "image": "hashicorp/consul:1.15.3", "essential": false, "command": ["agent"]}
consul-mixed-generations: containerDefinitions[sidecar-proxy] = {"name": "sidecar-proxy", "image": "envoyproxy/envoy:v1.23.10", "essential": false}

[ControlPlane Dataplane]
consul-service-name-tag: config.service.name = "shop"
consul-service-or-gateway: config.gateway = {"kind": "mesh-gateway", "name": "web"}
ecs-timeout-range: consul-dataplane / startTimeout = 1 121
ecs-start-timeout-too-short: consul-dataplane / startTimeout = 4
ok: consul-dataplane / startTimeout = 60
consul-readiness-port: config.proxy.publicListenerPort = 22000
consul-readiness-port: config.proxy.healthCheckPort = 20000
  given consul-dataplane / healthCheck.command = ["/consul/consul-ecs", "net-dial", "127.0.0.1:20000"]
consul-dataplane-health-check: config.proxy.healthCheckPort = 22001
ok: config.proxy.healthCheckPort, config.proxy.publicListenerPort = absent
consul-upstream-port: config.proxy.upstreams[0].localBindPort = 22000
consul-helper-essential: consul-dataplane / essential = true
consul-app-order: web / dependsOn[consul-dataplane] = absent
consul-app-order: web / dependsOn[consul-dataplane].condition = "START"
ecs-dependency-unknown: web / dependsOn[consul-dataplane].containerName = "dataplane"

[Dataplane]
// Not known of 0.10.1.
ok: config.proxy = absent
consul-proxy-section: config.proxy = absent
  given @in-0-10-0
ok: config.service.networkResilienceConfig = {"enabled": true}
consul-resilience-refused: config.service.networkResilienceConfig = {"enabled": true}
  given @in-0-10-0
consul-resilience-off: config.service.networkResilienceConfig = {"outlierDetection": {}}
  given @in-0-10-0
// Consul checks exist only in the client generation.
consul-config-version: config.service.checks = [{"checkId": "web", "name": "web", "http": "http://localhost:9090/health", "interval": "10s"}]
ok: consul-dataplane / stopTimeout = 10
// Volumes of another container count as mounted.
consul-proxy-mount: consul-dataplane / volumesFrom = []
  given consul-dataplane / mountPoints = []
ok: consul-dataplane / volumesFrom = [{"sourceContainer": "consul-ecs-mesh-init"}]
  given consul-dataplane / mountPoints = []
// Hosts on EC2 may allow more.
ok: consul-dataplane / ulimits[nofile].hardLimit = 2097152
  given requiresCompatibilities = ["EC2"]
// A lone collector is the app.
ok: web / image = "otel/opentelemetry-collector:0.100.0"
ecs-timeout-range: web / stopTimeout = 121
  given consul-dataplane / stopTimeout = 120
// It needs EC2, which the base does not have. It is on by default.
consul-transparent-proxy-launch-type: config.transparentProxy.enabled = absent
  or true
consul-transparent-proxy-launch-type: config.transparentProxy = absent
ok: requiresCompatibilities = ["EC2"]
  given @privileged
consul-task-platform consul-transparent-proxy-launch-type: requiresCompatibilities = ["EXTERNAL"]
  given @privileged
consul-dns-without-transparent-proxy: config.transparentProxy.consulDNS = {"enabled": true}
ok: config.transparentProxy.consulDNS = {"enabled": false}

[Dataplane]
  given @on-ec2
ok: consul-dataplane / user = "5995:5995"
consul-dataplane-users: consul-dataplane / user = absent "5996" "0"
consul-dataplane-users: consul-ecs-health-sync / user = absent "5995"
consul-app-user: web / user = "5995" "5996:5996"
ok: web / user = "1000"
consul-transparent-proxy-launch-type: requiresCompatibilities = ["EC2", "FARGATE"]
consul-transparent-proxy-privileges: consul-ecs-mesh-init / user = absent "1000"
consul-transparent-proxy-privileges: consul-ecs-mesh-init / linuxParameters.capabilities = absent
consul-transparent-proxy-privileges: consul-ecs-mesh-init / linuxParameters.capabilities.add = []
ok: config.transparentProxy.consulDNS = {"enabled": true}

[MeshGateway ApiGateway TerminatingGateway]
consul-registration: config.gateway.meta = {"a b": "x"} {"consul-x": "1"}
ok: config.gateway.meta = {"consul-wan-federation": "1", "team_1": "x y"}
ok: config.transparentProxy.enabled = true
ok: config.transparentProxy = absent
ok: config.transparentProxy.consulDNS = {"enabled": true}
  given @on-ec2
consul-dns-without-transparent-proxy: config.transparentProxy.consulDNS = {"enabled": true}

[ControlPlane Dataplane]
// What Consul refuses of a registration, tried with Consul 1.8.
consul-registration: config.service.meta = {"a b": "x"} {"": "x"} {"consul-x": "1"}
consul-registration: config.proxy.expose = {"paths": [{"path": "/metrics", "localPathPort": 9090}]}
  or {"paths": [{"path": "", "listenerPort": 9102, "localPathPort": 9090}]}
ok: config.service.meta = {"team-1": "a b", "Version_2": ""}
ok: config.proxy.expose = {"paths": [{"path": "/metrics", "listenerPort": 9102, "localPathPort": 9090}]}
// Envoy resolves no names here.
consul-proxy-address: config.proxy.localServiceAddress = "localhost" "10.0.0.300" "127.0.0.1:9090"
consul-proxy-address: config.proxy.upstreams[0].localBindAddress = "localhost"
ok: config.proxy.localServiceAddress = "127.0.0.1" "::1" ""
ok: config.proxy.upstreams[0].localBindAddress = "0.0.0.0"
consul-timeout-milliseconds: config.proxy.config = {"local_request_timeout_ms": 60} {"local_connect_timeout_ms": "5s"}
consul-timeout-milliseconds: config.proxy.upstreams[0].config = {"connect_timeout_ms": 5}
ok: config.proxy.config = {"local_request_timeout_ms": 60000, "local_idle_timeout_ms": 0, "local_connect_timeout_ms": "1000"}
ok: config.proxy.upstreams[0].config = {"connect_timeout_ms": 500, "protocol": "http"}
// Consul's auth method admits a path.
consul-task-role-tags: taskRoleArn = "arn:aws:iam::123456789012:role/web"
ok: taskRoleArn = "arn:aws:iam::123456789012:role/mesh/web" "web"
ok: taskRoleArn = "arn:aws:iam::123456789012:role/web"
  given config.consulLogin.method = "ours"

[Dataplane]
@starts web / mountPoints = [{"sourceVolume": "consul_data", "containerPath": "/consul"}]
@starts web / command = ["serve"]
consul-duration: web / entryPoint = ["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay", "10"]
  or ["/consul/consul-ecs", "app-entrypoint", "--shutdown-delay=10 s"] ["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay=1d"]
  given @starts
ok: web / entryPoint = ["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay", "1.5s"]
  or ["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay=${DELAY}"]
  given @starts
// The name that client agents have read: the certificate is there, and no container reads it.
@older-name consul-ecs-health-sync / secrets = [{"name": "CONSUL_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-AbCdEf"}]
consul-ca-certificates consul-ca-certificates consul-ca-certificates consul-ca-certificates: consul-ecs-mesh-init / secrets = [{"name": "CONSUL_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-AbCdEf"}]
  given @older-name
ok: consul-ecs-mesh-init / secrets = []
  given consul-ecs-health-sync / secrets = []
"#;
