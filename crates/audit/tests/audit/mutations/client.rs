//! The client generation: the agent, the sidecar proxy, health-sync.

pub(super) const TABLE: &str = r#"
[Client]
consul-duration consul-health-native-and-synced: config.service.checks = [{"name": "web", "http": "http://localhost:9090", "interval": "10"}]
  or [{"name": "web", "ttl": "10 s"}]
consul-health-native-and-synced: config.service.checks = [{"name": "web", "http": "http://localhost:9090", "interval": "10s", "timeout": "1.5s"}]
  or [{"name": "web", "tcp": "localhost:9090", "interval": "10s"}] [{"name": "web", "grpc": "localhost:9090/web", "interval": "10s"}]
  or [{"name": "web", "ttl": "30s"}] [{"name": "web", "aliasService": "db"}]
consul-health-native-and-synced consul-service-checks: config.service.checks = [{"name": "web", "http": "http://localhost:9090"}]
  or [{"name": "web", "interval": "10s"}] [{"name": "web", "ttl": "10s", "interval": "10s"}]
  or [{"name": "web", "http": "http://localhost:9090", "tcp": "localhost:9090", "interval": "10s"}]
  or [{"name": "web", "http": "localhost:9090", "interval": "10s"}] [{"name": "web", "tcp": "localhost", "interval": "10s"}]
  or [{"name": "web", "grpc": "http://localhost:9090", "interval": "10s"}]

[Client ClientGateway]
consul-client-missing: consul-client / = absent
consul-client-image: consul-client / image = "hashicorp/consul-ecs:0.4.3"
consul-helper-essential: consul-client / essential = absent true
// A shell runs the script, which uses exec.
consul-client-shell: consul-client / entryPoint = absent ["consul"]
ok: consul-client / entryPoint = ["/bin/bash", "-c"]
consul-client-exec: `exec consul agent` becomes `consul agent`
consul-client-leave: `leave_on_terminate = true` becomes `leave_on_terminate = false`
// The default of an agent in client mode.
ok: `leave_on_terminate = true\n` becomes ``
consul-client-retry-join: `retry_join = [\"consul.example.internal\"]\n` becomes ``
consul-client-retry-join: `retry_join = [\"consul.example.internal\"]` becomes `retry_join = []`
consul-client-retry-join: `retry_join` becomes `start_join`
// What the agent refuses, and what has a harmless neighbour.
consul-client-configuration: `datacenter = \"dc1\"` becomes `datacenter = \"dc1`
// The shell may replace a line by any text, and no rule reads a here-document of HCL.
ok: `verify_outgoing = true` becomes `verify_outgoing = true\n$(cat /etc/extra.hcl)`
ok: `verify_outgoing = true` becomes `verify_outgoing = true\nnode_meta {\n  note = <<X\n  web\nX\n}`
consul-client-configuration: `datacenter = \"dc1\"` becomes `datacentre = \"dc1\"`
consul-client-configuration: `advertise_reconnect_timeout = \"15m\"` becomes `advertise_reconnect_timeout = \"15\"`
ok: `advertise_reconnect_timeout = \"15m\"` becomes `advertise_reconnect_timeout = \"1h30m\"`
consul-client-configuration: `  grpc = 8502\n` becomes `  http = 8500\n`
consul-client-configuration: `grpc = 8502` becomes `grpc = 8503`
ok: `grpc = 8502` becomes `grpc = 8502\n  http = 8500\n  serf_lan = 8301`
consul-client-configuration: `-data-dir /consul/data ` becomes ``
ok: `datacenter = \"dc1\"` becomes `datacenter = \"dc1\"\ndata_dir = \"/consul/data\"`
consul-client-configuration: `retry_join = [\"consul.example.internal\"]` becomes `retry_join = [\"https://consul.example.internal\"]`
ok: `retry_join = [\"consul.example.internal\"]` becomes `retry_join = [\"consul.example.internal:8301\", \"provider=aws tag_key=x tag_value=y\"]`
consul-client-configuration: `-config-file /consul/agent-defaults.hcl` becomes `-config-file /consul/agent-default.hcl`
consul-client-configuration: `cat << EOF` becomes `cat << 'EOF'`
consul-client-configuration: `verify_outgoing = true` becomes `verify_outgoing = true\nnode_name = \"web\"`
ok: `verify_outgoing = true` becomes `verify_outgoing = true\nnode_name = \"web-$ECS_IPV4\"\nlog_level = \"WARN\"\nconnect { enabled = true }`
consul-client-configuration: `verify_outgoing = true` becomes `verify_outgoing = true\nlog_level = \"verbose\"`
consul-client-script: `.Networks[0].IPv4Addresses[0]` becomes `.Networks[0].IPV4Addresses[0]`
consul-client-script: `advertise_addr = \"$ECS_IPV4\"` becomes `advertise_addr = \"$ECS_IP4\"`
consul-client-script: `exec consul agent` becomes `if true; then exec consul agent`
ok: `exec consul agent` becomes `if true; then echo it; fi\nexec consul agent`
consul-client-script: `exec consul agent` becomes `echo \"it\nexec consul agent`
consul-client-advertise: `advertise_addr = \"$ECS_IPV4\"\n` becomes ``
consul-client-advertise: `advertise_addr = \"$ECS_IPV4\"` becomes `advertise_addr = \"10.0.0.1\"`
consul-client-http-exposed: `  http = \"127.0.0.1\"\n` becomes ``
consul-client-http-exposed: `http = \"127.0.0.1\"` becomes `http = \"0.0.0.0\"`
// Both volumes, writable.
consul-client-mounts: consul-client / mountPoints[consul_data], consul-client / mountPoints[consul_binary] = absent
consul-client-mounts consul-client-mounts: consul-client / mountPoints = absent
consul-client-mounts: consul-client / mountPoints[consul_data].readOnly = true
consul-client-mounts: consul-client / mountPoints[consul_binary].readOnly = true
ok: consul-client / mountPoints[consul_data].readOnly, consul-client / mountPoints[consul_binary].readOnly = absent
consul-client-mounts: consul-client / mountPoints[consul_data].containerPath = "/data"
consul-client-mounts: consul-client / mountPoints[consul_binary].containerPath = "/bin/inject"
// The variables of the script are set.
consul-client-secrets: consul-client / secrets[CONSUL_CACERT] = absent
consul-client-secrets: consul-client / secrets[CONSUL_GOSSIP_ENCRYPTION_KEY] = absent
consul-credential-in-plain: consul-client / environment = [{"name": "CONSUL_HTTP_TOKEN", "value": "x"}]
// Only the mesh uses its ports.
consul-client-ports: consul-client / portMappings = [{"containerPort": 8301}] [{"containerPort": 8500}]
  or [{"containerPort": 8502}]
ok: consul-client / portMappings = []
consul-sidecar-proxy-missing: sidecar-proxy / = absent
consul-sidecar-proxy-image: sidecar-proxy / image = "hashicorp/consul:1.11.11"
consul-sidecar-proxy-command: sidecar-proxy / command = absent ["envoy", "--config-path", "/etc/envoy.json"]
ok: sidecar-proxy / command = ["envoy", "-c", "/consul/envoy-bootstrap.json"]
consul-proxy-order: sidecar-proxy / dependsOn = absent
consul-proxy-order: sidecar-proxy / dependsOn[consul-ecs-mesh-init].condition = "START" "COMPLETE" "HEALTHY"
ecs-dependency-condition: sidecar-proxy / dependsOn[consul-ecs-mesh-init].condition = "success"
consul-sidecar-proxy-health-check: sidecar-proxy / healthCheck = absent
consul-sidecar-proxy-health-check: sidecar-proxy / healthCheck.command = ["nc", "-z", "127.0.0.1", "20001"]
ecs-health-check-command: sidecar-proxy / healthCheck.command = []
consul-proxy-mount: sidecar-proxy / mountPoints = absent
consul-proxy-mount: sidecar-proxy / mountPoints[consul_data].containerPath = "/data"
consul-proxy-mount: sidecar-proxy / mountPoints[consul_data].sourceVolume = "consul_binary"
consul-proxy-mount-read-only: sidecar-proxy / mountPoints[consul_data].readOnly = absent false
consul-proxy-open-files-default: sidecar-proxy / ulimits = absent
consul-proxy-open-files: sidecar-proxy / ulimits[nofile].softLimit = 1048577
  given sidecar-proxy / ulimits[nofile].hardLimit = 1048576
consul-proxy-open-files: sidecar-proxy / ulimits[nofile].hardLimit = 2097152
consul-proxy-open-files-default: sidecar-proxy / ulimits[nofile].name = "nproc"

[ClientGateway]
consul-client-script: `-aws-include-entity ` becomes ``
consul-client-script: `-aws-auto-bearer-token ` becomes ``
consul-client-script: `-method iam-ecs-client-token` becomes `-method iam-ecs-service-token`
consul-client-configuration consul-client-script: `cat /consul/client-token` becomes `cat /consul/agent-token`

[Client]
consul-sidecar-proxy-image: sidecar-proxy / image = "nginx:1.27"
ok: sidecar-proxy / image = "mirror/nginx:v1.20.7"
// The name differs from the tag's and from the secret's.
consul-service-name-tag consul-service-secret: config.service.name = "shop"
consul-service-token: consul-ecs-mesh-init / secrets[CONSUL_HTTP_TOKEN] = absent
consul-token-secret-key: consul-ecs-mesh-init / secrets[CONSUL_HTTP_TOKEN].valueFrom = "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf"
  or "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf:accessor_id::"
consul-service-secret: consul-ecs-mesh-init / secrets[CONSUL_HTTP_TOKEN].valueFrom = "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-orders-AbCdEf:token::"
// A secret that the controller does not write may be plain text.
ok: consul-ecs-mesh-init / secrets[CONSUL_HTTP_TOKEN].valueFrom = "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/consul/web-token-AbCdEf"
consul-client-secrets: consul-client / secrets[AGENT_TOKEN] = absent
consul-token-secret-key: consul-client / secrets[AGENT_TOKEN].valueFrom = "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-consul-client-token-MnOpQr"
consul-image-generation: consul-ecs-mesh-init / image = "hashicorp/consul-ecs:0.10.1"
  given consul-ecs-health-sync / image = "hashicorp/consul-ecs:0.10.1"
consul-image-versions: consul-ecs-health-sync / image = "public.ecr.aws/hashicorp/consul-ecs:0.4.1"
consul-sidecar-proxy-health-check: config.proxy.publicListenerPort = 20001
  given consul-ecs-mesh-init / image = "hashicorp/consul-ecs:0.6.0"
  given consul-ecs-health-sync / image = "hashicorp/consul-ecs:0.6.0"
  given consul-client / image = "hashicorp/consul:1.15.3"
  given sidecar-proxy / image = "envoyproxy/envoy:v1.23.10"
consul-health-sync-missing: consul-ecs-health-sync / = absent
consul-ecs-image: consul-ecs-health-sync / image = "hashicorp/consul:1.11.11"
consul-helper-essential: consul-ecs-health-sync / essential, sidecar-proxy / essential = absent true
consul-health-sync-command: consul-ecs-health-sync / command = absent ["mesh-init"]
consul-config-missing: consul-ecs-health-sync / environment = absent
consul-health-sync-configuration: config@consul-ecs-health-sync.service.port = 9091
consul-health-sync-configuration: config@consul-ecs-health-sync.healthSyncContainers = []
consul-health-sync-order: consul-ecs-health-sync / dependsOn = absent
consul-health-sync-order: consul-ecs-health-sync / dependsOn[consul-ecs-mesh-init].condition = "START"
consul-service-token: consul-ecs-health-sync / secrets[CONSUL_HTTP_TOKEN] = absent
// Consul checks and synced containers exclude each other.
consul-health-native-and-synced: config.service.checks = [{"checkId": "web", "name": "web", "http": "http://localhost:9090/health", "interval": "10s"}]
// Gateways have no app: their Envoy may have any entry point.
consul-sidecar-proxy-entry-point: sidecar-proxy / entryPoint = absent ["/consul/consul-ecs"]
ecs-dependency-unknown: sidecar-proxy / dependsOn[consul-ecs-mesh-init].containerName = "init"
consul-config-version: config.gateway = {"kind": "mesh-gateway", "name": "web"}
// Envoy itself waits for mesh-init.
ok: web / dependsOn[consul-ecs-mesh-init] = absent
consul-app-order: web / dependsOn[sidecar-proxy] = absent
consul-app-order: web / dependsOn[sidecar-proxy].condition = "START"
ecs-dependency-unknown: web / dependsOn[sidecar-proxy].containerName = "sidecar"
consul-client-ports: web / portMappings = [{"containerPort": 8500}]
ok: sidecar-proxy / stopTimeout = 10
ecs-timeout-range: web / stopTimeout = 121
  given sidecar-proxy / stopTimeout = 120
"#;
