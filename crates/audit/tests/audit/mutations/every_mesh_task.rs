//! Every task of Consul's mesh: network mode, volumes, tags, roles, mesh-init.

use audit::example::Base;

use super::tables::{Mutation, Table, text, with, without};

const EVERY: &[Base] = &[
    Base::Client,
    Base::ClientGateway,
    Base::ControlPlane,
    Base::Dataplane,
    Base::MeshGateway,
    Base::ApiGateway,
    Base::TerminatingGateway,
];
const SERVICES: &[Base] = &[Base::Client, Base::ControlPlane, Base::Dataplane];
const WITH_MESH_INIT: &[Base] = &[
    Base::Client,
    Base::ClientGateway,
    Base::Dataplane,
    Base::MeshGateway,
    Base::ApiGateway,
    Base::TerminatingGateway,
];
const WITH_LOGIN: &[Base] = &[
    Base::ClientGateway,
    Base::ControlPlane,
    Base::Dataplane,
    Base::MeshGateway,
    Base::ApiGateway,
    Base::TerminatingGateway,
];

pub(super) const TABLES: &[Table] = &[
    Table { bases: EVERY, rows: FRAME },
    Table { bases: EVERY, rows: TAGS },
    Table { bases: EVERY, rows: CONFIGURATION },
    Table {
        bases: &[Base::ClientGateway, Base::ControlPlane],
        rows: &[text(r#""{\"bootstrapDir\""#, r#""{bootstrapDir\""#, "consul-config-json")],
    },
    // Both mesh-init and health-sync have the defect.
    Table {
        bases: &[Base::Client, Base::Dataplane, Base::MeshGateway, Base::ApiGateway, Base::TerminatingGateway],
        rows: &[text(r#""{\"bootstrapDir\""#, r#""{bootstrapDir\""#, "consul-config-json consul-config-json")],
    },
    Table { bases: SERVICES, rows: NAMES },
    Table { bases: WITH_LOGIN, rows: &[without("taskRoleArn", "consul-task-role")] },
    Table { bases: WITH_MESH_INIT, rows: MESH_INIT },
];

const FRAME: &[Mutation] = &[
    // The only supported network mode is awsvpc.
    without("networkMode", "consul-network-mode"),
    with("networkMode", r#""bridge""#, "consul-network-mode"),
    with("networkMode", r#""host""#, "consul-network-mode"),
    with("networkMode", r#""none""#, "consul-network-mode"),
    // Volumes consul_data and consul_binary. Without any, both are missing.
    with("volumes", r#"[{"name": "consul_binary"}]"#, "consul-volumes"),
    with("volumes", r#"[{"name": "consul_data"}]"#, "consul-volumes"),
    with("volumes", r#"[{"name": "consul-data"}, {"name": "consul_binary"}]"#, "consul-volumes"),
    with("volumes", r#"[{"name": "data"}, {"name": "consul_data"}, {"name": "consul_binary"}]"#, ""),
    without("volumes", "consul-volumes consul-volumes"),
    with("volumes", "[]", "consul-volumes consul-volumes"),
    // Secrets are read by the execution role.
    without("executionRoleArn", "ecs-secrets-execution-role"),
];

const TAGS: &[Mutation] = &[
    without("tags[consul.hashicorp.com/mesh]", "consul-mesh-tag-missing"),
    with("tags", "[]", "consul-mesh-tag-missing"),
    // Excluded from the controller on purpose.
    with("tags[consul.hashicorp.com/mesh].value", r#""false""#, ""),
    with("tags[consul.hashicorp.com/mesh].value", r#""True""#, "consul-mesh-tag-value"),
    with("tags[consul.hashicorp.com/mesh].value", r#""""#, "consul-mesh-tag-value"),
    with("tags[consul.hashicorp.com/mesh].key", r#""consul.hashicorp.com.mesh""#, "consul-mesh-tag-missing"),
    // Absent: the family is the name, which is the same here.
    without("tags[consul.hashicorp.com/service-name]", ""),
    with("tags[consul.hashicorp.com/service-name].value", r#""another""#, "consul-service-name-tag"),
    // The module's own tags do not matter.
    without("tags[consul.hashicorp.com/module]", ""),
    without("tags[consul.hashicorp.com/module-version]", ""),
    with("tags[team]", r#"{"key": "team", "value": "x"}"#, ""),
    // Partition and namespace: both or neither.
    with(
        "tags[consul.hashicorp.com/partition]",
        r#"{"key": "consul.hashicorp.com/partition", "value": "default"}"#,
        "consul-tenancy-tags",
    ),
    with(
        "tags[consul.hashicorp.com/namespace]",
        r#"{"key": "consul.hashicorp.com/namespace", "value": "default"}"#,
        "consul-tenancy-tags",
    ),
];

const NAMES: &[Mutation] = &[
    with("tags[consul.hashicorp.com/service-name].value", r#""Web""#, "consul-service-name-case"),
    with("tags[consul.hashicorp.com/service-name].value", r#""""#, "consul-service-name-tag"),
    // If the tag is absent, the family in lower case replaces it; otherwise the family may be anything.
    with("family", r#""Web""#, ""),
    with("family", r#""shop-web""#, ""),
    // Lower-case alphanumerics, `-` and `_`, starting and ending with an alphanumeric.
    with("config.service.name", r#""web-""#, "consul-service-name")
        .given(&[("tags[consul.hashicorp.com/service-name].value", r#""web-""#)]),
    with("config.service.name", r#""_web""#, "consul-service-name")
        .given(&[("tags[consul.hashicorp.com/service-name].value", r#""_web""#)]),
    with("config.service.name", r#""we.b""#, "consul-service-name")
        .given(&[("tags[consul.hashicorp.com/service-name].value", r#""we.b""#)]),
    with("config.service.name", r#""WEB""#, "consul-service-name")
        .given(&[("tags[consul.hashicorp.com/service-name].value", r#""WEB""#)]),
    // A service that listens has its port; one that only sends requests has port 0.
    with("config.service.port", "0", "consul-service-port"),
    with("config.service.port", "-1", "consul-config-schema"),
    with("config.service.port", "65536", "consul-config-schema"),
    // Only one of the two exists.
    with("config.service.partition", r#""default""#, "consul-tenancy-pair"),
    with("config.service.namespace", r#""default""#, "consul-tenancy-pair"),
    // A service and a gateway at once.
    without("config.service", "consul-service-or-gateway"),
    // Every upstream has a different port.
    with(
        "config.proxy.upstreams",
        r#"[{"destinationName": "a", "localBindPort": 1234}, {"destinationName": "b", "localBindPort": 1234}]"#,
        "consul-upstream-port",
    ),
    with(
        "config.proxy.upstreams",
        r#"[{"destinationName": "a", "localBindPort": 1234}, {"destinationName": "b", "localBindPort": 1235}]"#,
        "",
    ),
    with("config.proxy.upstreams[0].localBindPort", "9090", "consul-upstream-port"),
    with("config.proxy.upstreams[0].localBindPort", "20000", "consul-upstream-port"),
    with("config.proxy.upstreams", "[]", ""),
    without("config.proxy.upstreams[0].destinationName", "consul-config-schema"),
    // An essential app container that waits for the proxy.
    with("web / essential", "false", "consul-app-essential"),
    without("web / essential", ""),
    without("web / dependsOn", "consul-app-order"),
    with("web / dependsOn", "[]", "consul-app-order"),
    // Health: synced containers exist and have a check, and checked containers are synced.
    with("config.healthSyncContainers", "[]", "consul-health-unsynced"),
    without("config.healthSyncContainers", "consul-health-unsynced"),
    without("web / healthCheck", "consul-health-sync-containers"),
    with("config.healthSyncContainers", r#"["web", "missing"]"#, "consul-health-sync-containers"),
    // An app that stops more slowly than its proxy.
    with("web / stopTimeout", "90", ""),
    // No credential in plain text.
    with("web / environment", r#"[{"name": "CONSUL_HTTP_TOKEN", "value": "x"}]"#, "consul-credential-in-plain"),
    with("web / environment", r#"[{"name": "CONSUL_HTTP_ADDR", "value": "x"}]"#, ""),
];

const CONFIGURATION: &[Mutation] = &[
    // Unknown fields, in any place.
    with("config.bootstrapdir", r#""/consul""#, "consul-config-schema"),
    without("config.bootstrapDir", "consul-config-schema"),
];

const MESH_INIT: &[Mutation] = &[
    without("consul-ecs-mesh-init / ", "consul-mesh-init-missing"),
    with("consul-ecs-mesh-init / image", r#""hashicorp/consul:1.15.3""#, "consul-ecs-image"),
    // A mirror may use any name.
    with("consul-ecs-mesh-init / image", r#""example/mirror-of-consul:1""#, ""),
    with("consul-ecs-mesh-init / essential", "true", "consul-mesh-init-essential"),
    without("consul-ecs-mesh-init / essential", "consul-mesh-init-essential"),
    without("consul-ecs-mesh-init / command", "consul-mesh-init-command"),
    with("consul-ecs-mesh-init / command", "[]", "consul-mesh-init-command"),
    with("consul-ecs-mesh-init / command", r#"["health-sync"]"#, "consul-mesh-init-command"),
    with("consul-ecs-mesh-init / command", r#"["mesh_init"]"#, "consul-mesh-init-command"),
    without("consul-ecs-mesh-init / environment", "consul-config-missing"),
    without("consul-ecs-mesh-init / environment[CONSUL_ECS_CONFIG_JSON]", "consul-config-missing"),
    with("consul-ecs-mesh-init / environment[CONSUL_ECS_CONFIG_JSON].value", r#""""#, "consul-config-json"),
    with("consul-ecs-mesh-init / environment[CONSUL_ECS_CONFIG_JSON].value", r#""true""#, "consul-config-schema"),
    // consul_data at /consul, writable; consul_binary at /bin/consul-inject.
    without("consul-ecs-mesh-init / mountPoints[consul_data]", "consul-mesh-init-mounts"),
    with("consul-ecs-mesh-init / mountPoints[consul_data].readOnly", "true", "consul-mesh-init-mounts"),
    without("consul-ecs-mesh-init / mountPoints[consul_data].readOnly", ""),
    with("consul-ecs-mesh-init / mountPoints[consul_data].containerPath", r#""/data""#, "consul-mesh-init-mounts"),
    with("consul-ecs-mesh-init / mountPoints[consul_binary].readOnly", "false", ""),
    // The environment must not contain its token.
    with(
        "consul-ecs-mesh-init / environment[CONSUL_HTTP_TOKEN]",
        r#"{"name": "CONSUL_HTTP_TOKEN", "value": "x"}"#,
        "consul-credential-in-plain",
    ),
    // No container may wait for itself.
    with(
        "consul-ecs-mesh-init / dependsOn",
        r#"[{"containerName": "consul-ecs-mesh-init", "condition": "START"}]"#,
        "ecs-dependency-cycle",
    ),
];
