//! Defects in a correct definition, and the definition without them: with the defect, there is exactly the expected
//! finding; without it, or with the repaired value, there is none.

pub(super) const TABLE: &str = r#"
// Changes the client base to consul-ecs 0.2, whose commands had flags instead of a configuration, and to the Consul and
// Envoy that go with it.
@flags consul-client / image = "public.ecr.aws/hashicorp/consul:1.10.4"
@flags sidecar-proxy / image = "envoyproxy/envoy-alpine:v1.18.4"
@flags consul-ecs-mesh-init / image = "public.ecr.aws/hashicorp/consul-ecs:0.2.0"
@flags consul-ecs-mesh-init / command = ["mesh-init", "-envoy-bootstrap-dir=/consul", "-port=9090", "-upstreams=orders:1234"]
@flags consul-ecs-mesh-init / environment = []
@flags consul-ecs-health-sync / image = "public.ecr.aws/hashicorp/consul-ecs:0.2.0"
@flags consul-ecs-health-sync / command = ["health-sync", "-health-sync-containers=web"]
@flags consul-ecs-health-sync / environment = []
// Changes a service of the client generation to consul-ecs 0.6.
@in-0-6 consul-ecs-mesh-init / image = "public.ecr.aws/hashicorp/consul-ecs:0.6.0"
@in-0-6 consul-client / image = "public.ecr.aws/hashicorp/consul:1.15.3"
@in-0-6 sidecar-proxy / image = "envoyproxy/envoy:v1.23.10"
@in-0-6 consul-ecs-health-sync / image = "public.ecr.aws/hashicorp/consul-ecs:0.6.0"
// Mounts the shared volume at another path.
@in-data config.bootstrapDir = "/data"
@in-data consul-ecs-mesh-init / mountPoints = [{ "sourceVolume": "consul_data", "containerPath": "/data" }]
@in-data consul-dataplane / mountPoints = [{ "sourceVolume": "consul_data", "containerPath": "/data", "readOnly": true }]
@in-data consul-ecs-health-sync / mountPoints = [{ "sourceVolume": "consul_data", "containerPath": "/data", "readOnly": true }]
@in-data consul-dataplane / entryPoint = ["/data/consul-ecs", "envoy-entrypoint"]
@in-data consul-dataplane / command = ["consul-dataplane", "-config-file", "/data/consul-dataplane.json"]
@in-data consul-dataplane / healthCheck.command = ["/data/consul-ecs", "net-dial", "127.0.0.1:22000"]

[Client]
consul-mesh-init-mounts: consul-ecs-mesh-init / mountPoints[consul_binary] = absent
consul-proxy-open-files: sidecar-proxy / ulimits = [{ "name": "nofile", "softLimit": 1048576, "hardLimit": 1048577 }]
consul-app-shutdown-delay: web / entryPoint = ["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay=20s"]
  given web / mountPoints = [{ "sourceVolume": "consul_data", "containerPath": "/consul" }]
  given web / command = ["serve"]
  repaired ["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay=5s"]
consul-app-entry-point-mount: web / mountPoints = []
  given web / entryPoint = ["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay", "10s"]
  given web / command = ["serve"]
  repaired [{ "sourceVolume": "consul_data", "containerPath": "/consul", "readOnly": true }]
consul-health-unsynced: config.healthSyncContainers = []
  given consul-ecs-mesh-init / image = "public.ecr.aws/hashicorp/consul-ecs:0.6.0"
  given consul-client / image = "public.ecr.aws/hashicorp/consul:1.15.3"
  given sidecar-proxy / image = "envoyproxy/envoy:v1.23.10"
  given consul-ecs-health-sync / image = "public.ecr.aws/hashicorp/consul-ecs:0.6.0"
  given config.consulLogin = { "enabled": true }
// health-sync reads the token of mesh-init's login from the shared volume.
consul-service-token: consul-ecs-health-sync / mountPoints = []
  or [{ "sourceVolume": "consul_binary", "containerPath": "/consul" }] [{ "sourceVolume": "consul_data", "containerPath": "/consul-data" }]
  given @in-0-6
  given config.consulLogin = { "enabled": true }
  repaired [{ "sourceVolume": "consul_data", "containerPath": "/consul/" }]
ok: consul-ecs-health-sync / mountPoints = []
consul-service-secret: consul-ecs-mesh-init / secrets[CONSUL_HTTP_TOKEN].valueFrom = "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-consul-client-token-MnOpQr:token::"
  repaired "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-default-default-AbCdEf:token::"
consul-credential-in-plain: consul-client / environment = [{ "name": "AGENT_TOKEN", "value": "00000000-0000-0000-0000-00000000beef" }]
  repaired [{ "name": "CONSUL_DATACENTER", "value": "dc1" }]
consul-credential-in-plain: consul-client / command = ["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -grpc-port 8502 -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -encrypt AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"]
  repaired ["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -grpc-port 8502 -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY\n"]
consul-credential-in-plain: consul-client / command = ["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -grpc-port 8502 -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY -hcl 'acl { tokens { agent = \"00000000-0000-0000-0000-00000000beef\" } }'\n"]
  repaired ["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -grpc-port 8502 -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY -hcl 'acl { tokens { agent = \"$AGENT_TOKEN\" } }'\n"]
consul-client-shell: consul-client / entryPoint = ["/bin/sh"]
  repaired ["sh", "-c"]
consul-client-leave: consul-client / command = ["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\ncat << EOF > /consul/a.hcl\nleave_on_terminate = true\nadvertise_addr = \"$IP\"\nretry_join = [\"consul.example.internal\"]\nEOF\ncat << EOF > /consul/b.hcl\nleave_on_terminate = false\nEOF\nexec consul agent -grpc-port 8502 -data-dir /consul/data -client 127.0.0.1 -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY -config-file /consul/a.hcl -config-file /consul/b.hcl\n"]
  repaired ["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\ncat << EOF > /consul/a.hcl\nleave_on_terminate = true\nadvertise_addr = \"$IP\"\nretry_join = [\"consul.example.internal\"]\nEOF\ncat << EOF > /consul/b.hcl\nleave_on_terminate = true\nEOF\nexec consul agent -grpc-port 8502 -data-dir /consul/data -client 127.0.0.1 -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY -config-file /consul/a.hcl -config-file /consul/b.hcl\n"]
consul-client-retry-join: consul-client / command = ["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\ncat << EOF > /consul/agent.hcl\nadvertise_addr = \"$IP\"\nretry_join = [\n]\nEOF\nexec consul agent -grpc-port 8502 -data-dir /consul/data -config-file /consul/agent.hcl\n"]
  repaired ["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\ncat << EOF > /consul/agent.hcl\nadvertise_addr = \"$IP\"\nretry_join = [\n  \"consul.example.internal\",\n]\nEOF\nexec consul agent -grpc-port 8502 -data-dir /consul/data -config-file /consul/agent.hcl\n"]
consul-client-advertise: consul-client / command = ["cp /bin/consul /bin/consul-inject/consul\nexec consul agent -grpc-port 8502 -data-dir /consul/data -client 127.0.0.1 -advertise=127.0.0.1 -retry-join consul.example.internal\n"]
  or ["cp /bin/consul /bin/consul-inject/consul\ncat << EOF > /consul/agent.hcl\nadvertise_addr = \"10.0.1.12\"\nretry_join = [\"consul.example.internal\"]\nEOF\nexec consul agent -grpc-port 8502 -data-dir /consul/data -config-file /consul/agent.hcl\n"]
  or ["cp /bin/consul /bin/consul-inject/consul\ncat << EOF > /consul/agent.hcl\nadvertise_reconnect_timeout = \"15m\"\nretry_join = [\"consul.example.internal\"]\nEOF\nexec consul agent -grpc-port 8502 -data-dir /consul/data -config-file /consul/agent.hcl\n"]
  repaired ["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -grpc-port 8502 -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -hcl 'leave_on_terminate = true' -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY\n"]
consul-client-ports: web / portMappings = [{ "containerPort": 9090 }, { "containerPort": 8600, "protocol": "udp" }]
  repaired [{ "containerPort": 9090 }, { "containerPort": 8300 }]
consul-sidecar-proxy-entry-point: sidecar-proxy / entryPoint = ["/consul/consul-ecs", "app-entrypoint"]
consul-sidecar-proxy-command: sidecar-proxy / command = ["envoy", "--config-path", "/etc/envoy/envoy.yaml"]
  repaired ["envoy", "--config-path", "/consul/envoy-bootstrap.json", "--log-level", "debug"]
consul-sidecar-proxy-health-check: config.proxy.publicListenerPort = 21000
  given @in-0-6
  repaired 20000
consul-sidecar-proxy-health-check: sidecar-proxy / healthCheck.command = ["CMD-SHELL", "nc -z 127.0.0.1 19000"]
  repaired ["CMD-SHELL", "nc -z 127.0.0.1 20000"]
consul-sidecar-proxy-health-check: config.proxy.publicListenerPort = 20001
  given @in-0-6
  repaired 0
consul-sidecar-proxy-health-check: sidecar-proxy / healthCheck.command = ["NONE"]
  repaired ["CMD", "nc", "-z", "127.0.0.1", "20000"]
consul-config-schema: config.proxy.upstreams = [{ "destinationName": "orders" }]
  or [{ "destinationName": "orders", "local_bind_port": 1234 }]
consul-service-port: web / portMappings = [{ "containerPort": 9090 }]
  given config.service.port = 0
  repaired [{ "containerPort": 8125, "protocol": "udp" }]
consul-tenancy-pair: config.service.namespace = "team-a"
consul-upstream-port: config.proxy.upstreams = [{ "destinationName": "orders", "localBindPort": 8500 }]
consul-release-pair: sidecar-proxy / image = "envoyproxy/envoy:v1.27.3"
consul-service-name-case: tags[consul.hashicorp.com/service-name].value = "WEB"
ecs-dependency-health: web / dependsOn[consul-client] = { "containerName": "consul-client", "condition": "HEALTHY" }
  repaired { "containerName": "consul-client", "condition": "START" }
consul-token-secret-key: consul-client / secrets[AGENT_TOKEN].valueFrom = "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-consul-client-token-MnOpQr:accessor_id::"
consul-token-secret-version: consul-client / secrets[AGENT_TOKEN].valueFrom = "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-consul-client-token-MnOpQr:token::01234567-89ab-cdef-0123-456789abcdef"

[Client]
  given @flags
ok: memory = "1024"
consul-proxy-mount: sidecar-proxy / mountPoints = []
consul-app-essential: web / essential = false
consul-app-order: web / dependsOn[sidecar-proxy].condition = "START"
consul-helper-essential: sidecar-proxy / essential = true
consul-sidecar-proxy-health-check: sidecar-proxy / healthCheck.command = ["nc", "-z", "127.0.0.1", "19000"]

[ClientGateway]
consul-service-token: config.consulLogin.enabled = false
consul-sidecar-proxy-health-check: sidecar-proxy / healthCheck.command = ["nc", "-z", "127.0.0.1", "8444"]
  given config.gateway.lanAddress.port = 0
consul-gateway-app: web / essential = true
  given web / = {"name": "web", "image": "example/web:1.4.2", "essential": false, "portMappings": [{"containerPort": 9090, "protocol": "tcp"}], "dependsOn": [{"containerName": "consul-ecs-mesh-init", "condition": "SUCCESS"}]}
consul-gateway-wan-address: config.gateway.wanAddress.address = absent
  given config.gateway.meta = { "consul-wan-federation": "1" }
consul-config-version: config.gateway.kind = "api-gateway"
consul-release-pair: consul-client / image = "public.ecr.aws/hashicorp/consul:1.11.11"
  given sidecar-proxy / image = "registry.example.com/envoy:latest"

[ControlPlane]
consul-proxy-mount: consul-dataplane / mountPoints[consul_data].containerPath = "/etc/consul"
consul-helper-essential: consul-dataplane / essential = absent
consul-control-plane-command consul-credential-in-plain: consul-ecs-control-plane / command = ["control-plane", "-token", "00000000-0000-0000-0000-00000000beef"]
consul-control-plane-health-check: consul-ecs-control-plane / healthCheck.command = ["CMD-SHELL", "curl -f localhost:9090/consul-ecs/health"]
  or ["NONE"]
consul-dataplane-entry-point: consul-dataplane / entryPoint = ["/consul/consul-ecs", "app-entrypoint"]
consul-dataplane-health-check: config.proxy.healthCheckPort = 23000
consul-config-missing: consul-ecs-control-plane / environment[CONSUL_ECS_CONFIG_JSON].name = "CONSUL_ECS_CONFIG"
consul-config-schema: config.service.port = "9090"
consul-service-name: config.service.name = "web-"
consul-app-port: web / portMappings[1].containerPort = 10000
  given web / portMappings = [{ "containerPort": 9090 }, { "containerPort": 9091 }]
consul-upstream-port: config.proxy.upstreams = [{ "destinationName": "orders", "localBindPort": 10000 }]
consul-mixed-generations: consul-ecs-mesh-init / = {"name": "consul-ecs-mesh-init", "image": "public.ecr.aws/hashicorp/consul-ecs:0.7.2", "essential": false, "command": ["mesh-init"], "environment": [{"name": "CONSUL_ECS_CONFIG_JSON", "value": "{\"bootstrapDir\":\"/consul\",\"consulServers\":{\"hosts\":\"consul.example.internal\"},\"service\":{\"name\":\"web\",\"port\":9090}}"}], "mountPoints": [{"sourceVolume": "consul_data", "containerPath": "/consul", "readOnly": false}, {"sourceVolume": "consul_binary", "containerPath": "/bin/consul-inject", "readOnly": true}], "secrets": [{"name": "CONSUL_HTTPS_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl"}, {"name": "CONSUL_GRPC_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl"}]}
consul-image-generation: consul-ecs-control-plane / image = "public.ecr.aws/hashicorp/consul-ecs:0.8.4"
ecs-dependency-essential: web / dependsOn[consul-ecs-control-plane] = { "containerName": "consul-ecs-control-plane", "condition": "SUCCESS" }
  repaired { "containerName": "consul-ecs-control-plane", "condition": "HEALTHY" }

[Dataplane]
consul-ecs-image: consul-ecs-mesh-init / image = "hashicorp/consul-dataplane:latest"
consul-ecs-image: consul-ecs-health-sync / image = "hashicorp/consul"
  repaired "public.ecr.aws/hashicorp/consul-ecs:0.10.1"
consul-app-essential: web / essential = false
  given logs / = { "name": "logs", "image": "example/logs:1.4.2", "firelensConfiguration": { "type": "fluentbit" } }
consul-app-essential: web / = absent
  given config.healthSyncContainers = []
  repaired { "name": "web", "image": "example/web:1.4.2", "portMappings": [{ "containerPort": 9090 }], "dependsOn": [{ "containerName": "consul-dataplane", "condition": "HEALTHY" }] }
consul-app-order: worker / = { "name": "worker", "image": "example/worker:7" }
  repaired { "name": "worker", "image": "example/worker:7", "dependsOn": [{ "containerName": "web", "condition": "START" }] }
consul-app-shutdown-delay: web / entryPoint[3] = "1m30s"
  given web / mountPoints = [{ "sourceVolume": "consul_data", "containerPath": "/consul" }]
  given web / entryPoint = ["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay", "60s"]
  given web / command = ["serve"]
  given consul-dataplane / stopTimeout = 120
  repaired "10s"
consul-health-sync-configuration: config@consul-ecs-health-sync.healthSyncContainers = absent
consul-health-unsynced: agent / image = "example/agent:1.4.2"
  given agent / = {"name": "agent", "healthCheck": {"command": ["CMD-SHELL", "agent health"]}, "dependsOn": [{"containerName": "consul-dataplane", "condition": "HEALTHY"}]}
  repaired "public.ecr.aws/datadog/agent:7"
consul-credential-in-plain: consul-dataplane / command = ["consul-dataplane", "-config-file", "/consul/consul-dataplane.json", "-static-token=00000000-0000-0000-0000-00000000beef"]
consul-dataplane-entry-point: consul-dataplane / entryPoint = ["/consul/consul-ecs", "envoy-entrypoint"]
  given @in-data
consul-dataplane-command: consul-dataplane / command = ["consul-dataplane", "-config-file", "/consul/data/consul-dataplane.json"]
  given @in-data
  repaired ["consul-dataplane", "-config-file=/data/consul-dataplane.json"]
consul-dataplane-health-check: consul-dataplane / healthCheck.command = ["NONE"]
consul-dataplane-users: consul-dataplane / user = "root"
  given requiresCompatibilities = ["EC2"]
  given config.transparentProxy.enabled = true
  given consul-ecs-mesh-init / linuxParameters.capabilities = { "add": ["NET_ADMIN"] }
  given consul-ecs-mesh-init / user = "0"
consul-transparent-proxy-launch-type: requiresCompatibilities = ["EC2", "FARGATE"]
  given requiresCompatibilities = ["EC2"]
  given config.transparentProxy = {}
  given consul-ecs-mesh-init / user = "0"
  given consul-ecs-mesh-init / linuxParameters.capabilities = { "add": ["NET_ADMIN"] }
consul-transparent-proxy-privileges: consul-ecs-mesh-init / linuxParameters.capabilities = { "drop": ["ALL"] }
  given requiresCompatibilities = ["EC2"]
  given config.transparentProxy.enabled = true
  given consul-ecs-mesh-init / user = "0"
  repaired { "add": ["NET_ADMIN"] }
consul-config-missing: consul-ecs-health-sync / environment[CONSUL_ECS_CONFIG_JSON].name = "CONSUL_ECS_CONFIG"
consul-config-json: consul-ecs-health-sync / environment[CONSUL_ECS_CONFIG_JSON].value = ""
consul-config-schema: config.consulServers.hosts = absent
consul-config-schema: config.logLevel = "debug"
  repaired "DEBUG"
consul-config-schema: config.service.weights = { "passing": 1 }
  repaired { "passing": 1, "warning": 1 }
consul-config-ignored: config.consulServers.grpc.https = true
consul-config-version: config.consulHTTPAddr = "https://consul.example.internal:8501"
consul-service-port: config.service.port = 9091
consul-app-port: web / portMappings[1].containerPort = 20000 22000 19000
  given web / portMappings = [{ "containerPort": 9090 }, { "containerPort": 9091 }]
consul-upstream-port: config.proxy.upstreams = [{ "destinationName": "orders", "localBindPort": 19000 }]
consul-mixed-generations: consul-client / = { "name": "consul-client", "image": "public.ecr.aws/hashicorp/consul:1.15.3", "essential": false }
consul-image-generation: consul-ecs-mesh-init / image = "public.ecr.aws/hashicorp/consul-ecs:0.6.0"
consul-image-generation: consul-ecs-health-sync / image = "public.ecr.aws/hashicorp/consul-ecs:0.7.2"
consul-proxy-section: config.proxy = null
  given consul-ecs-mesh-init / image = "public.ecr.aws/hashicorp/consul-ecs:0.10.0"
  given consul-ecs-health-sync / image = "public.ecr.aws/hashicorp/consul-ecs:0.10.0"
  repaired {}
consul-tenancy-tags-match: config.service.partition = "green"
  given config.service.partition = "blue"
  given config.service.namespace = "team-a"
  given tags[consul.hashicorp.com/partition] = { "key": "consul.hashicorp.com/partition", "value": "blue" }
  given tags[consul.hashicorp.com/namespace] = { "key": "consul.hashicorp.com/namespace", "value": "team-a" }
consul-service-name-tag: tags[consul.hashicorp.com/service-name].value = "shop"
ecs-dependency-health: web / dependsOn[consul-ecs-mesh-init] = { "containerName": "consul-ecs-mesh-init", "condition": "HEALTHY" }
  repaired { "containerName": "consul-ecs-mesh-init", "condition": "SUCCESS" }
ecs-dependency-health: web / dependsOn[consul-ecs-health-sync] = { "containerName": "consul-ecs-health-sync", "condition": "HEALTHY" }
  repaired { "containerName": "consul-ecs-health-sync", "condition": "START" }
ecs-host-port: web / portMappings = [{ "containerPort": 9090, "hostPort": 8080 }]
  repaired [{ "containerPort": 9090, "hostPort": 9090 }]

[MeshGateway]
consul-credential-in-plain: consul-dataplane / environment = [{ "name": "DP_CREDENTIAL_STATIC_TOKEN", "value": "00000000-0000-0000-0000-00000000beef" }]
  repaired []
consul-gateway-app: agent / image = "example/agent:1.4.2"
  given agent / = { "name": "agent", "portMappings": [{ "containerPort": 8126 }] }
  repaired "public.ecr.aws/datadog/agent:7"
consul-gateway-lan-port: config.gateway.lanAddress.port = 9443
consul-gateway-namespace: config.gateway.namespace = "team-a"
  given config.gateway.partition = "blue"
  given config.gateway.namespace = "default"
  given tags[consul.hashicorp.com/partition] = { "key": "consul.hashicorp.com/partition", "value": "blue" }
  given tags[consul.hashicorp.com/namespace] = { "key": "consul.hashicorp.com/namespace", "value": "default" }
consul-service-name: config.gateway.name = "Mesh-Gateway"
consul-tenancy-pair: config.gateway.namespace = "default"
consul-restart-policy: consul-dataplane / restartPolicy = { "enabled": true, "restartAttemptPeriod": 60 }
  repaired { "enabled": false }
consul-service-name-tag: config.gateway.name = "other-gateway"
ecs-dependency-essential: report / = { "name": "report", "image": "example/report:1", "essential": false, "dependsOn": [{ "containerName": "consul-dataplane", "condition": "COMPLETE" }] }
  repaired { "name": "report", "image": "example/report:1", "essential": false, "dependsOn": [{ "containerName": "consul-dataplane", "condition": "HEALTHY" }] }

[ApiGateway]
consul-dataplane-health-check: config.gateway.healthCheckPort = 23000
consul-gateway-app: web / essential = true
  given web / = {"name": "web", "image": "example/web:1.4.2", "essential": false, "portMappings": [{"containerPort": 9090, "protocol": "tcp"}], "dependsOn": [{"containerName": "consul-ecs-mesh-init", "condition": "SUCCESS"}]}

[Controller]
consul-config-missing: consul-ecs-controller / environment[CONSUL_ECS_CONFIG_JSON].name = "CONSUL_ECS_CONFIG"
consul-image-generation: consul-ecs-controller / image = "public.ecr.aws/hashicorp/consul-ecs:0.6.0"

[AppMesh]
appmesh-app-port-mapping: orders / portMappings = [{ "containerPort": 9080 }, { "containerPort": 9443 }]
  repaired [{ "containerPort": 9080 }, { "containerPort": 8125, "protocol": "udp" }]
appmesh-app-port-mapping: agent / image = "example/agent:1.4.2"
  given agent / = {"name": "agent", "portMappings": [{"containerPort": 8126}], "dependsOn": [{"containerName": "envoy", "condition": "HEALTHY"}]}
  repaired "public.ecr.aws/datadog/agent:7"
appmesh-app-port-mapping: proxyConfiguration.properties[AppPorts].value = "9080,9443"
appmesh-egress-ignored-ports: proxyConfiguration.properties[EgressIgnoredPorts] = { "name": "EgressIgnoredPorts", "value": "5432-5440" }
  repaired { "name": "EgressIgnoredPorts", "value": "" }
appmesh-envoy-health-check: envoy / healthCheck.command = ["CMD-SHELL", "curl -s http://localhost:9091/server_info | grep state | grep -q LIVE"]
appmesh-envoy-image: envoy / image = "envoyproxy/envoy:v1.29.12"
  repaired "public.ecr.aws/appmesh/aws-appmesh-envoy:v1.29.12.1-prod"
appmesh-envoy-image: envoy / image = "772975370895.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod"
  repaired "123456789012.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod"
appmesh-envoy-resource: envoy / environment[APPMESH_RESOURCE_ARN].value = "mesh/shop/virtualnode/orders"
  repaired "arn:aws:appmesh:us-east-1:123456789012:mesh/shop/virtualNode/orders"
appmesh-envoy-variable: envoy / image = "840364872350.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.12.5.0-prod"
appmesh-envoy-version: envoy / image = "public.ecr.aws/appmesh/aws-appmesh-envoy:v1.16.1.1-prod"
  repaired "public.ecr.aws/appmesh/aws-appmesh-envoy:v1.34.13.0-prod"
appmesh-ignored-user: envoy / user = "1337:1337"
  given proxyConfiguration.properties[IgnoredUID] = { "name": "IgnoredGID", "value": "1000" }
  repaired "1337:1000"
appmesh-proxy-container: proxyConfiguration.containerName = absent
appmesh-proxy-ports: proxyConfiguration.properties[ProxyEgressPort].value = "15002"
appmesh-proxy-property: proxyConfiguration.properties[EgressIgnoredCIDRs] = { "name": "EgressIgnoredCIDRs", "value": "10.0.0.0/8" }
  repaired { "name": "EgressIgnoredPorts", "value": "22" }

[AppMeshGateway]
appmesh-envoy-health-check: envoy / healthCheck.command = ["CMD", "curl", "-sf", "http://localhost:8080/"]
  repaired ["CMD", "curl", "-sf", "http://localhost:9901/ready"]
appmesh-gateway-mixed: web / = { "name": "web", "image": "example/web:1.4.2", "portMappings": [{ "containerPort": 9090 }] }
  repaired { "name": "web", "image": "public.ecr.aws/aws-observability/aws-for-fluent-bit:stable", "portMappings": [{ "containerPort": 24224 }] }

[AppMeshResources]
appmesh-definition-resource: [7].containerDefinitions[envoy].environment[APPMESH_RESOURCE_ARN].value = "mesh/shops/virtualNode/orders"
  given [definition] = {"family": "orders", "networkMode": "awsvpc", "requiresCompatibilities": ["FARGATE"], "cpu": "256", "memory": "512", "taskRoleArn": "arn:aws:iam::123456789012:role/orders-task", "executionRoleArn": "arn:aws:iam::123456789012:role/orders-execution", "proxyConfiguration": {"type": "APPMESH", "containerName": "envoy", "properties": [{"name": "IgnoredUID", "value": "1337"}, {"name": "ProxyIngressPort", "value": "15000"}, {"name": "ProxyEgressPort", "value": "15001"}, {"name": "AppPorts", "value": "9080"}, {"name": "EgressIgnoredIPs", "value": "169.254.170.2,169.254.169.254"}]}, "containerDefinitions": [{"name": "orders", "image": "example/orders:2.0.1", "essential": true, "portMappings": [{"containerPort": 9080, "hostPort": 9080, "protocol": "tcp"}], "dependsOn": [{"containerName": "envoy", "condition": "HEALTHY"}]}, {"name": "envoy", "image": "840364872350.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod", "essential": true, "user": "1337", "environment": [{"name": "APPMESH_RESOURCE_ARN", "value": "mesh/shop/virtualNode/orders"}, {"name": "ENABLE_ENVOY_XRAY_TRACING", "value": "1"}], "healthCheck": {"command": ["CMD-SHELL", "curl -s http://localhost:9901/server_info | grep state | grep -q LIVE"], "startPeriod": 10, "interval": 5, "timeout": 2, "retries": 3}}, {"name": "xray-daemon", "image": "amazon/aws-xray-daemon", "user": "1337", "essential": true, "cpu": 32, "memoryReservation": 256, "portMappings": [{"containerPort": 2000, "protocol": "udp"}]}]}
  repaired "arn:aws:appmesh:us-east-1:123456789012:mesh/shop/virtualNode/orders"
appmesh-health-check: [virtualNode orders].virtualNode.spec.listeners[0].healthCheck.timeoutMillis = 6000
  repaired 4000
appmesh-provider-missing: [virtualService stock.shop.local].virtualService.spec.provider.virtualNode.virtualNodeName = "stock-v2"

[Plain]
ecs-dependency-condition: report / dependsOn[migrate].condition = "STOPPED"
  repaired "COMPLETE"
ecs-dependency-essential: report / dependsOn[migrate].condition = "COMPLETE"
  given migrate / essential = true
  repaired "START"
ecs-dependency-health: cache / healthCheck.command = ["NONE"]
ecs-health-check-command: cache / healthCheck.command = ["CMD", "redis-cli ping || exit 1"]
  repaired ["CMD", "redis-cli", "ping"]
ecs-health-check-command: cache / healthCheck.command = ["CMD-SHELL"]
  repaired ["redis-cli", "ping"]
ecs-health-check-range: cache / healthCheck.timeout = 2000
ecs-health-check-range: cache / healthCheck.retries = 20
  repaired 10
ecs-health-check-range: cache / healthCheck.startPeriod = 600
  repaired 300
ecs-host-port: cache / portMappings = [{ "containerPort": 6379, "hostPort": 6380 }]
  given networkMode = "host"
  given requiresCompatibilities = ["EC2"]
  repaired [{ "containerPort": 6379, "hostPort": 0 }]
ecs-secret-reference: migrate / secrets[DATABASE_URL].valueFrom = "report-db:url::"
  repaired "/report/db/url"
ecs-secret-reference: migrate / secrets[DATABASE_URL].valueFrom = "arn:aws:ssm:us-east-1:123456789012:report/db/url"
  or "arn:aws:s3:::report/db-url"
  repaired "arn:aws:ssm:us-east-1:123456789012:parameter/report/db/url"
ecs-timeout-range: cache / startTimeout = 180
  repaired 120
ecs-timeout-range: report / stopTimeout = 180
ok: report / stopTimeout = 180
  given requiresCompatibilities = ["EC2"]
"#;
