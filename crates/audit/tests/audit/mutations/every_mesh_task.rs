//! Every task of Consul's mesh: network mode, volumes, tags, roles, mesh-init.

pub(super) const TABLE: &str = r#"
[Client ClientGateway ControlPlane Dataplane MeshGateway ApiGateway TerminatingGateway]
// The only supported network mode is awsvpc.
consul-network-mode: networkMode = absent "bridge" "host" "none"
// Volumes consul_data and consul_binary. Without any, both are missing.
consul-volumes: volumes = [{"name": "consul_binary"}] [{"name": "consul_data"}]
  or [{"name": "consul-data"}, {"name": "consul_binary"}]
ok: volumes = [{"name": "data"}, {"name": "consul_data"}, {"name": "consul_binary"}]
consul-volumes consul-volumes: volumes = absent []
// Secrets are read by the execution role.
ecs-secrets-execution-role: executionRoleArn = absent
consul-mesh-tag-missing: tags[consul.hashicorp.com/mesh] = absent
consul-mesh-tag-missing: tags = []
// Excluded from the controller on purpose.
ok: tags[consul.hashicorp.com/mesh].value = "false"
consul-mesh-tag-value: tags[consul.hashicorp.com/mesh].value = "True" ""
consul-mesh-tag-missing: tags[consul.hashicorp.com/mesh].key = "consul.hashicorp.com.mesh"
// Absent: the family is the name, which is the same here.
ok: tags[consul.hashicorp.com/service-name], tags[consul.hashicorp.com/module] = absent
ok: tags[consul.hashicorp.com/module-version] = absent
consul-service-name-tag: tags[consul.hashicorp.com/service-name].value = "another"
// The module's own tags do not matter.
ok: tags[team] = {"key": "team", "value": "x"}
// Partition and namespace: both or neither.
consul-tenancy-tags: tags[consul.hashicorp.com/partition] = {"key": "consul.hashicorp.com/partition", "value": "default"}
consul-tenancy-tags: tags[consul.hashicorp.com/namespace] = {"key": "consul.hashicorp.com/namespace", "value": "default"}
ecs-role-arn: executionRoleArn = "arn:aws:iam::123456789012:instance-profile/web" "arn:aws:sts::123456789012:assumed-role/web/x"
  or "arn:aws:iam:us-east-1:123456789012:role/web" "consul-ecs/web"
ok: executionRoleArn = "arn:aws-cn:iam::123456789012:role/a/b/web" "web-execution" "arn:aws:iam::ACCOUNT:role/web"
// Unknown fields, in any place.
consul-config-schema: config.bootstrapdir = "/consul"
consul-config-schema: config.bootstrapDir = absent

[ClientGateway ControlPlane]
consul-config-json: `"{\"bootstrapDir\"` becomes `"{bootstrapDir\"`

[Client Dataplane MeshGateway ApiGateway TerminatingGateway]
consul-config-json consul-config-json: `"{\"bootstrapDir\"` becomes `"{bootstrapDir\"`

[Client ControlPlane Dataplane]
consul-service-name-case: tags[consul.hashicorp.com/service-name].value = "Web"
consul-service-name-tag: tags[consul.hashicorp.com/service-name].value = ""
// If the tag is absent, the family in lower case replaces it; otherwise the family may be anything.
ok: family = "Web" "shop-web"
// Lower-case alphanumerics, `-` and `_`, starting and ending with an alphanumeric.
consul-service-name: config.service.name = "web-"
  given tags[consul.hashicorp.com/service-name].value = "web-"
consul-service-name: config.service.name = "_web"
  given tags[consul.hashicorp.com/service-name].value = "_web"
consul-service-name: config.service.name = "we.b"
  given tags[consul.hashicorp.com/service-name].value = "we.b"
consul-service-name: config.service.name = "WEB"
  given tags[consul.hashicorp.com/service-name].value = "WEB"
// A service that listens has its port; one that only sends requests has port 0.
consul-service-port: config.service.port = 0
consul-config-schema: config.service.port = -1 65536
// Only one of the two exists.
consul-tenancy-pair: config.service.partition, config.service.namespace = "default"
// A service and a gateway at once.
consul-service-or-gateway: config.service = absent
// Every upstream has a different port.
consul-upstream-port: config.proxy.upstreams = [{"destinationName": "a", "localBindPort": 1234}, {"destinationName": "b", "localBindPort": 1234}]
ok: config.proxy.upstreams = [{"destinationName": "a", "localBindPort": 1234}, {"destinationName": "b", "localBindPort": 1235}]
  or []
consul-upstream-port: config.proxy.upstreams[0].localBindPort = 9090 20000
consul-config-schema: config.proxy.upstreams[0].destinationName = absent
// An upstream is a service in the catalog.
consul-upstream-name: config.proxy.upstreams[0].destinationName = "orders.service.consul" "orders:8080" "http://orders" "a b"
ok: config.proxy.upstreams[0].destinationName = "Orders_2.a"
ok: config.proxy.upstreams[0].destinationName = "a query"
  given config.proxy.upstreams[0].destinationType = "prepared_query"
// Consul cannot send it.
consul-config-null: config.proxy.config = {"a": [null]} {"a": {"b": [["x", null]]}}
consul-config-null: config.proxy.upstreams[0].config = {"a": [null, 1]}
ok: config.proxy.config = {"a": null} {"a": [{"b": null}]}
// An essential app container that waits for the proxy.
consul-app-essential: web / essential = false
ok: web / essential = absent
consul-app-order: web / dependsOn = absent []
// Health: synced containers exist and have a check, and checked containers are synced.
consul-health-unsynced: config.healthSyncContainers = absent []
consul-health-sync-containers: web / healthCheck = absent
consul-health-sync-containers: config.healthSyncContainers = ["web", "missing"]
// An app that stops more slowly than its proxy.
ok: web / stopTimeout = 90
// No credential in plain text.
consul-credential-in-plain: web / environment = [{"name": "CONSUL_HTTP_TOKEN", "value": "x"}]
ok: web / environment = [{"name": "CONSUL_HTTP_ADDR", "value": "x"}]

[ClientGateway ControlPlane Dataplane MeshGateway ApiGateway TerminatingGateway]
consul-task-role: taskRoleArn = absent

[Client ClientGateway Dataplane MeshGateway ApiGateway TerminatingGateway]
consul-mesh-init-missing: consul-ecs-mesh-init / = absent
consul-ecs-image: consul-ecs-mesh-init / image = "hashicorp/consul:1.15.3"
// A mirror may use any name.
ok: consul-ecs-mesh-init / image = "example/mirror-of-consul:1"
consul-mesh-init-essential: consul-ecs-mesh-init / essential = absent true
consul-mesh-init-command: consul-ecs-mesh-init / command = absent [] ["health-sync"] ["mesh_init"]
consul-config-missing: consul-ecs-mesh-init / environment = absent
consul-config-missing: consul-ecs-mesh-init / environment[CONSUL_ECS_CONFIG_JSON] = absent
consul-config-json: consul-ecs-mesh-init / environment[CONSUL_ECS_CONFIG_JSON].value = ""
consul-config-schema: consul-ecs-mesh-init / environment[CONSUL_ECS_CONFIG_JSON].value = "true"
// consul_data at /consul, writable; consul_binary at /bin/consul-inject.
consul-mesh-init-mounts: consul-ecs-mesh-init / mountPoints[consul_data] = absent
consul-mesh-init-mounts: consul-ecs-mesh-init / mountPoints[consul_data].readOnly = true
ok: consul-ecs-mesh-init / mountPoints[consul_data].readOnly = absent
consul-mesh-init-mounts: consul-ecs-mesh-init / mountPoints[consul_data].containerPath = "/data"
ok: consul-ecs-mesh-init / mountPoints[consul_binary].readOnly = false
// The environment must not contain its token.
consul-credential-in-plain: consul-ecs-mesh-init / environment[CONSUL_HTTP_TOKEN] = {"name": "CONSUL_HTTP_TOKEN", "value": "x"}
// No container may wait for itself.
ecs-dependency-cycle: consul-ecs-mesh-init / dependsOn = [{"containerName": "consul-ecs-mesh-init", "condition": "START"}]
"#;
