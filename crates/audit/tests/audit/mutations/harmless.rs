//! Changes that work, each with a mistake next to it.

pub(super) const TABLE: &str = r#"
@in-0-5-2 consul-ecs-mesh-init / image = "public.ecr.aws/hashicorp/consul-ecs:0.5.2"
@in-0-5-2 consul-ecs-health-sync / image = "public.ecr.aws/hashicorp/consul-ecs:0.5.2"
@in-0-5-2 consul-client / image = "public.ecr.aws/hashicorp/consul:1.12.7"
@in-0-5-2 sidecar-proxy / image = "envoyproxy/envoy-alpine:v1.21.6"
@in-0-5-2 config.consulLogin = {"enabled": true}
@in-0-5-1 consul-ecs-mesh-init / image = "public.ecr.aws/hashicorp/consul-ecs:0.5.1"
@in-0-5-1 consul-ecs-health-sync / image = "public.ecr.aws/hashicorp/consul-ecs:0.5.1"
@in-0-5-1 consul-client / image = "public.ecr.aws/hashicorp/consul:1.12.7"
@in-0-5-1 sidecar-proxy / image = "envoyproxy/envoy-alpine:v1.21.6"
@in-0-5-1 config.consulLogin = {"enabled": true}

[Client]
// 0.4.3 and 0.5.2 have the field, the releases between them have not.
ok: config.proxy.publicListenerPort = 21000
  given @in-0-5-2
  given sidecar-proxy / healthCheck.command = ["nc", "-z", "127.0.0.1", "21000"]
consul-sidecar-proxy-health-check: config.proxy.publicListenerPort = 21000
  given @in-0-5-2
consul-config-version: config.proxy.publicListenerPort = 21000
  given @in-0-5-1
// The release ignores what is the default anyway.
ok: config.proxy.publicListenerPort = 20000 0
  given @in-0-5-1
ok: config.proxy.healthCheckPort = 22000 0
ok: config.proxy.localServiceAddress = "127.0.0.1" ""
consul-config-version: config.proxy.healthCheckPort = 23000
consul-config-version: config.proxy.localServiceAddress = "10.0.0.1"

[Dataplane]
// -1 is no limit.
ok: web / ulimits = [{"name": "memlock", "softLimit": -1, "hardLimit": -1}]
consul-proxy-open-files: consul-dataplane / ulimits[nofile].hardLimit = -1
// Placeholders that another program fills in.
ok: containerDefinitions[side] = {"name": "<NAME>", "image": "<IMAGE1_NAME>", "essential": false}
  or {"name": "{{ must_env `CONTAINER` }}", "image": "x:1", "essential": false}
ok: config.service.name = "<NAME>"
ok: consul-dataplane / image = "<REGISTRY>/consul-dataplane:<TAG>"
ecs-container-name: containerDefinitions[side] = {"name": "my side", "image": "x:1", "essential": false}
// What has little to do with the mesh need not wait for it.
ok: containerDefinitions[cache] = {"name": "cache", "image": "redis:7", "essential": false}
ok: containerDefinitions[migrate] = {"name": "migrate", "image": "example/web:1", "essential": false}
  given web / dependsOn[migrate] = {"containerName": "migrate", "condition": "SUCCESS"}
ok: containerDefinitions[cache] = {"name": "cache", "image": "redis:7"}
  given web / dependsOn[cache] = {"containerName": "cache", "condition": "START"}
consul-app-order: containerDefinitions[worker] = {"name": "worker", "image": "example/worker:1"}
// A container that another one waits for may still be the service.
consul-app-order: web / dependsOn[consul-dataplane] = absent
  given containerDefinitions[late] = {"name": "late", "image": "example/late:1", "essential": false, "dependsOn": [{"containerName": "web", "condition": "START"}]}
// The image has a second program, for ports below 1024.
ok: consul-dataplane / command[0] = "privileged-consul-dataplane"
consul-dataplane-command: consul-dataplane / command[0] = "consul-ecs"
consul-dataplane-command: consul-dataplane / command[2] = "/consul/config.json"
consul-dataplane-command: consul-dataplane / command = ["-config-file", "/consul/consul-dataplane.json"]
// The images are for Linux, and external instances have no awsvpc.
ok: runtimePlatform = {"operatingSystemFamily": "LINUX", "cpuArchitecture": "ARM64"}
consul-task-platform: runtimePlatform = {"operatingSystemFamily": "WINDOWS_SERVER_2022_CORE"}
consul-task-platform: requiresCompatibilities = ["EC2", "EXTERNAL"]

[Dataplane Plain AppMesh]
ecs-awsvpc-properties: containerDefinitions[side] = {"name": "side", "image": "x:1", "essential": false, "hostname": "side"}
  or {"name": "side", "image": "x:1", "essential": false, "extraHosts": [{"hostname": "db", "ipAddress": "10.0.0.1"}]}
  or {"name": "side", "image": "x:1", "essential": false, "links": ["db"]}
  or {"name": "side", "image": "x:1", "essential": false, "dnsServers": ["10.0.0.2"]}
  or {"name": "side", "image": "x:1", "essential": false, "dnsSearchDomains": ["internal"]}
  or {"name": "side", "image": "x:1", "essential": false, "disableNetworking": true}
ok: containerDefinitions[side] = {"name": "side", "image": "x:1", "essential": false, "hostname": "", "links": [], "extraHosts": []}
  or {"name": "side", "image": "x:1", "essential": false, "dnsServers": [], "dnsSearchDomains": [], "disableNetworking": false}

[Plain]
ok: containerDefinitions[side] = {"name": "side", "image": "x:1", "essential": false, "hostname": "side", "links": ["cache"]}
  or {"name": "side", "image": "x:1", "essential": false, "dnsServers": ["10.0.0.2"], "disableNetworking": true}
  given networkMode = "bridge"
  given requiresCompatibilities = ["EC2"]
ok: runtimePlatform = {"operatingSystemFamily": "WINDOWS_SERVER_2022_CORE"}

[AppMeshGateway]
// An agent beside a gateway; an app is another matter.
ok: containerDefinitions[cwagent] = {"name": "cwagent", "image": "<AGENT>", "portMappings": [{"containerPort": 8125, "protocol": "udp"}]}
ok: containerDefinitions[dns] = {"name": "dns", "image": "example/dns:1", "portMappings": [{"containerPort": 53, "protocol": "udp"}]}
appmesh-gateway-mixed: containerDefinitions[app] = {"name": "app", "image": "<APP>", "portMappings": [{"containerPort": 9080}]}

[AppMesh]
ok: containerDefinitions[dd] = {"name": "dd", "image": "<DD_IMAGE>", "essential": false, "portMappings": [{"containerPort": 8126, "protocol": "tcp"}]}
ok: containerDefinitions[datadog-agent] = {"name": "datadog-agent", "image": "<DD_IMAGE>", "essential": false, "portMappings": [{"containerPort": 5001}]}
appmesh-app-port-mapping: containerDefinitions[admin] = {"name": "admin", "image": "<ADMIN>", "essential": false, "portMappings": [{"containerPort": 8081}]}
"#;
