//! Defects in a correct definition, and the definition without them: with the defect, there is exactly the expected
//! finding; without it, or with the repaired value, there is none.

use audit::example::Base;

use super::tables::{Mutation, Table, with, without};

pub(super) const TABLES: &[Table] = &[
    Table { bases: &[Base::Client], rows: CLIENT },
    Table { bases: &[Base::ClientGateway], rows: CLIENT_GATEWAY },
    Table { bases: &[Base::ControlPlane], rows: CONTROL_PLANE },
    Table { bases: &[Base::Dataplane], rows: DATAPLANE },
    Table { bases: &[Base::MeshGateway], rows: MESH_GATEWAY },
    Table { bases: &[Base::ApiGateway], rows: API_GATEWAY },
    Table { bases: &[Base::Controller], rows: CONTROLLER },
    Table { bases: &[Base::AppMesh], rows: APP_MESH },
    Table { bases: &[Base::AppMeshGateway], rows: APP_MESH_GATEWAY },
    Table { bases: &[Base::AppMeshResources], rows: APP_MESH_RESOURCES },
    Table { bases: &[Base::Plain], rows: PLAIN },
];

/// Changes the client base to consul-ecs 0.2, whose commands had flags instead of a configuration, and to the Consul and
/// Envoy that go with it.
const FLAGS: &[(&str, &str)] = &[
    ("consul-client / image", r#""public.ecr.aws/hashicorp/consul:1.10.4""#),
    ("sidecar-proxy / image", r#""envoyproxy/envoy-alpine:v1.18.4""#),
    ("consul-ecs-mesh-init / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.2.0""#),
    (
        "consul-ecs-mesh-init / command",
        r#"["mesh-init", "-envoy-bootstrap-dir=/consul", "-port=9090", "-upstreams=orders:1234"]"#,
    ),
    ("consul-ecs-mesh-init / environment", "[]"),
    ("consul-ecs-health-sync / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.2.0""#),
    ("consul-ecs-health-sync / command", r#"["health-sync", "-health-sync-containers=web"]"#),
    ("consul-ecs-health-sync / environment", "[]"),
];

/// A correct script of `consul-client` without a configuration file.
const SCRIPT: &str = r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -hcl 'leave_on_terminate = true' -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY\n"]"#;

/// Changes a service of the client generation to consul-ecs 0.6.
const IN_0_6: &[(&str, &str)] = &[
    ("consul-ecs-mesh-init / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.6.0""#),
    ("consul-client / image", r#""public.ecr.aws/hashicorp/consul:1.15.3""#),
    ("sidecar-proxy / image", r#""envoyproxy/envoy:v1.23.10""#),
    ("consul-ecs-health-sync / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.6.0""#),
];

/// Mounts the shared volume at another path.
const IN_DATA: &[(&str, &str)] = &[
    ("config.bootstrapDir", r#""/data""#),
    ("consul-ecs-mesh-init / mountPoints", r#"[{ "sourceVolume": "consul_data", "containerPath": "/data" }]"#),
    (
        "consul-dataplane / mountPoints",
        r#"[{ "sourceVolume": "consul_data", "containerPath": "/data", "readOnly": true }]"#,
    ),
    (
        "consul-ecs-health-sync / mountPoints",
        r#"[{ "sourceVolume": "consul_data", "containerPath": "/data", "readOnly": true }]"#,
    ),
    ("consul-dataplane / entryPoint", r#"["/data/consul-ecs", "envoy-entrypoint"]"#),
    ("consul-dataplane / command", r#"["consul-dataplane", "-config-file", "/data/consul-dataplane.json"]"#),
    ("consul-dataplane / healthCheck.command", r#"["/data/consul-ecs", "net-dial", "127.0.0.1:22000"]"#),
];

const SERVICE_SECRET: &str =
    r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-consul-client-token-MnOpQr:token::""#;

const SERVICE_SECRET_REPAIRED: &str =
    r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-default-default-AbCdEf:token::""#;

const CREDENTIAL_IN_PLAIN: &str = r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -encrypt AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"]"#;

const CREDENTIAL_IN_PLAIN_REPAIRED: &str = r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY\n"]"#;

const CREDENTIAL_IN_PLAIN_2: &str = r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY -hcl 'acl { tokens { agent = \"00000000-0000-0000-0000-00000000beef\" } }'\n"]"#;

const CREDENTIAL_IN_PLAIN_REPAIRED_2: &str = r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY -hcl 'acl { tokens { agent = \"$AGENT_TOKEN\" } }'\n"]"#;

const CLIENT_LEAVE: &str = r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\ncat << EOF > /consul/a.hcl\nleave_on_terminate = true\nadvertise_addr = \"$IP\"\nretry_join = [\"consul.example.internal\"]\nEOF\ncat << EOF > /consul/b.hcl\nleave_on_terminate = false\nEOF\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY -config-file /consul/a.hcl -config-file /consul/b.hcl\n"]"#;

const CLIENT_LEAVE_REPAIRED: &str = r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\ncat << EOF > /consul/a.hcl\nleave_on_terminate = true\nadvertise_addr = \"$IP\"\nretry_join = [\"consul.example.internal\"]\nEOF\ncat << EOF > /consul/b.hcl\nleave_on_terminate = true\nEOF\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY -config-file /consul/a.hcl -config-file /consul/b.hcl\n"]"#;

const CLIENT_RETRY_JOIN: &str = r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\ncat << EOF > /consul/agent.hcl\nadvertise_addr = \"$IP\"\nretry_join = [\n]\nEOF\nexec consul agent -data-dir /consul/data -config-file /consul/agent.hcl\n"]"#;

const CLIENT_RETRY_JOIN_REPAIRED: &str = r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\ncat << EOF > /consul/agent.hcl\nadvertise_addr = \"$IP\"\nretry_join = [\n  \"consul.example.internal\",\n]\nEOF\nexec consul agent -data-dir /consul/data -config-file /consul/agent.hcl\n"]"#;

const CLIENT_ADVERTISE: &str = r#"["cp /bin/consul /bin/consul-inject/consul\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise=127.0.0.1 -retry-join consul.example.internal\n"]"#;

const CLIENT_ADVERTISE_2: &str = r#"["cp /bin/consul /bin/consul-inject/consul\ncat << EOF > /consul/agent.hcl\nadvertise_addr = \"10.0.1.12\"\nretry_join = [\"consul.example.internal\"]\nEOF\nexec consul agent -data-dir /consul/data -config-file /consul/agent.hcl\n"]"#;

const CLIENT_ADVERTISE_3: &str = r#"["cp /bin/consul /bin/consul-inject/consul\ncat << EOF > /consul/agent.hcl\nadvertise_reconnect_timeout = \"15m\"\nretry_join = [\"consul.example.internal\"]\nEOF\nexec consul agent -data-dir /consul/data -config-file /consul/agent.hcl\n"]"#;

const TOKEN_SECRET_KEY: &str =
    r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-consul-client-token-MnOpQr:accessor_id::""#;

const TOKEN_SECRET_VERSION: &str = r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-consul-client-token-MnOpQr:token::01234567-89ab-cdef-0123-456789abcdef""#;

const GATEWAY_APP: &str = r#"{"name": "web", "image": "example/web:1.4.2", "essential": false, "portMappings": [{"containerPort": 9090, "protocol": "tcp"}], "dependsOn": [{"containerName": "consul-ecs-mesh-init", "condition": "SUCCESS"}]}"#;

const MIXED_GENERATIONS: &str = r#"{"name": "consul-ecs-mesh-init", "image": "public.ecr.aws/hashicorp/consul-ecs:0.7.2", "essential": false, "command": ["mesh-init"], "environment": [{"name": "CONSUL_ECS_CONFIG_JSON", "value": "{\"bootstrapDir\":\"/consul\",\"consulServers\":{\"hosts\":\"consul.example.internal\"},\"service\":{\"name\":\"web\",\"port\":9090}}"}], "mountPoints": [{"sourceVolume": "consul_data", "containerPath": "/consul", "readOnly": false}, {"sourceVolume": "consul_binary", "containerPath": "/bin/consul-inject", "readOnly": true}], "secrets": [{"name": "CONSUL_HTTPS_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl"}, {"name": "CONSUL_GRPC_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl"}]}"#;

const APP_ESSENTIAL: &str =
    r#"{ "name": "logs", "image": "example/logs:1.4.2", "firelensConfiguration": { "type": "fluentbit" } }"#;

const APP_ESSENTIAL_REPAIRED: &str = r#"{ "name": "web", "image": "example/web:1.4.2", "portMappings": [{ "containerPort": 9090 }], "dependsOn": [{ "containerName": "consul-dataplane", "condition": "HEALTHY" }] }"#;

const APP_ORDER_REPAIRED: &str = r#"{ "name": "cache", "image": "redis:7", "essential": false, "dependsOn": [{ "containerName": "web", "condition": "START" }] }"#;

const HEALTH_UNSYNCED: &str = r#"{"name": "agent", "healthCheck": {"command": ["CMD-SHELL", "agent health"]}, "dependsOn": [{"containerName": "consul-dataplane", "condition": "HEALTHY"}]}"#;

const CREDENTIAL_IN_PLAIN_3: &str = r#"["consul-dataplane", "-config-file", "/consul/consul-dataplane.json", "-static-token=00000000-0000-0000-0000-00000000beef"]"#;

const MIXED_GENERATIONS_2: &str =
    r#"{ "name": "consul-client", "image": "public.ecr.aws/hashicorp/consul:1.15.3", "essential": false }"#;

const CREDENTIAL_IN_PLAIN_4: &str =
    r#"[{ "name": "DP_CREDENTIAL_STATIC_TOKEN", "value": "00000000-0000-0000-0000-00000000beef" }]"#;

const DEPENDENCY_ESSENTIAL: &str = r#"{ "name": "report", "image": "example/report:1", "essential": false, "dependsOn": [{ "containerName": "consul-dataplane", "condition": "COMPLETE" }] }"#;

const DEPENDENCY_ESSENTIAL_REPAIRED: &str = r#"{ "name": "report", "image": "example/report:1", "essential": false, "dependsOn": [{ "containerName": "consul-dataplane", "condition": "HEALTHY" }] }"#;

const APP_PORT_MAPPING: &str = r#"{"name": "agent", "portMappings": [{"containerPort": 8126}], "dependsOn": [{"containerName": "envoy", "condition": "HEALTHY"}]}"#;

const GATEWAY_MIXED: &str =
    r#"{ "name": "web", "image": "example/web:1.4.2", "portMappings": [{ "containerPort": 9090 }] }"#;

const GATEWAY_MIXED_REPAIRED: &str = r#"{ "name": "web", "image": "public.ecr.aws/aws-observability/aws-for-fluent-bit:stable", "portMappings": [{ "containerPort": 24224 }] }"#;

const DEFINITION_RESOURCE: &str = r#"{"family": "orders", "networkMode": "awsvpc", "requiresCompatibilities": ["FARGATE"], "cpu": "256", "memory": "512", "taskRoleArn": "arn:aws:iam::123456789012:role/orders-task", "executionRoleArn": "arn:aws:iam::123456789012:role/orders-execution", "proxyConfiguration": {"type": "APPMESH", "containerName": "envoy", "properties": [{"name": "IgnoredUID", "value": "1337"}, {"name": "ProxyIngressPort", "value": "15000"}, {"name": "ProxyEgressPort", "value": "15001"}, {"name": "AppPorts", "value": "9080"}, {"name": "EgressIgnoredIPs", "value": "169.254.170.2,169.254.169.254"}]}, "containerDefinitions": [{"name": "orders", "image": "example/orders:2.0.1", "essential": true, "portMappings": [{"containerPort": 9080, "hostPort": 9080, "protocol": "tcp"}], "dependsOn": [{"containerName": "envoy", "condition": "HEALTHY"}]}, {"name": "envoy", "image": "840364872350.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod", "essential": true, "user": "1337", "environment": [{"name": "APPMESH_RESOURCE_ARN", "value": "mesh/shop/virtualNode/orders"}, {"name": "ENABLE_ENVOY_XRAY_TRACING", "value": "1"}], "healthCheck": {"command": ["CMD-SHELL", "curl -s http://localhost:9901/server_info | grep state | grep -q LIVE"], "startPeriod": 10, "interval": 5, "timeout": 2, "retries": 3}}, {"name": "xray-daemon", "image": "amazon/aws-xray-daemon", "user": "1337", "essential": true, "cpu": 32, "memoryReservation": 256, "portMappings": [{"containerPort": 2000, "protocol": "udp"}]}]}"#;

const CLIENT: &[Mutation] = &[
    with("cpu", r#""512""#, "").given(FLAGS),
    without("consul-ecs-mesh-init / mountPoints[consul_binary]", "consul-mesh-init-mounts"),
    with("sidecar-proxy / mountPoints", "[]", "consul-proxy-mount").given(FLAGS),
    with(
        "sidecar-proxy / ulimits",
        r#"[{ "name": "nofile", "softLimit": 1048576, "hardLimit": 1048577 }]"#,
        "consul-proxy-open-files",
    ),
    with("web / essential", "false", "consul-app-essential").given(FLAGS),
    with("web / dependsOn[sidecar-proxy].condition", r#""START""#, "consul-app-order").given(FLAGS),
    with(
        "web / entryPoint",
        r#"["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay=20s"]"#,
        "consul-app-shutdown-delay",
    )
    .given(&[
        ("web / mountPoints", r#"[{ "sourceVolume": "consul_data", "containerPath": "/consul" }]"#),
        ("web / command", r#"["serve"]"#),
    ])
    .repaired(r#"["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay=5s"]"#),
    with("web / mountPoints", "[]", "consul-app-entry-point-mount")
        .given(&[
            ("web / entryPoint", r#"["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay", "10s"]"#),
            ("web / command", r#"["serve"]"#),
        ])
        .repaired(r#"[{ "sourceVolume": "consul_data", "containerPath": "/consul", "readOnly": true }]"#),
    with("sidecar-proxy / essential", "true", "consul-helper-essential").given(FLAGS),
    with("config.healthSyncContainers", "[]", "consul-health-unsynced").given(&[
        ("consul-ecs-mesh-init / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.6.0""#),
        ("consul-client / image", r#""public.ecr.aws/hashicorp/consul:1.15.3""#),
        ("sidecar-proxy / image", r#""envoyproxy/envoy:v1.23.10""#),
        ("consul-ecs-health-sync / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.6.0""#),
        ("config.consulLogin", r#"{ "enabled": true }"#),
    ]),
    with("consul-ecs-mesh-init / secrets[CONSUL_HTTP_TOKEN].valueFrom", SERVICE_SECRET, "consul-service-secret")
        .repaired(SERVICE_SECRET_REPAIRED),
    with(
        "consul-client / environment",
        r#"[{ "name": "AGENT_TOKEN", "value": "00000000-0000-0000-0000-00000000beef" }]"#,
        "consul-credential-in-plain",
    )
    .repaired(r#"[{ "name": "CONSUL_DATACENTER", "value": "dc1" }]"#),
    with("consul-client / command", CREDENTIAL_IN_PLAIN, "consul-credential-in-plain")
        .repaired(CREDENTIAL_IN_PLAIN_REPAIRED),
    with("consul-client / command", CREDENTIAL_IN_PLAIN_2, "consul-credential-in-plain")
        .repaired(CREDENTIAL_IN_PLAIN_REPAIRED_2),
    with("consul-client / entryPoint", r#"["/bin/sh"]"#, "consul-client-shell").repaired(r#"["sh", "-c"]"#),
    with("consul-client / command", CLIENT_LEAVE, "consul-client-leave").repaired(CLIENT_LEAVE_REPAIRED),
    with("consul-client / command", CLIENT_RETRY_JOIN, "consul-client-retry-join").repaired(CLIENT_RETRY_JOIN_REPAIRED),
    with("consul-client / command", CLIENT_ADVERTISE, "consul-client-advertise").repaired(SCRIPT),
    with("consul-client / command", CLIENT_ADVERTISE_2, "consul-client-advertise").repaired(SCRIPT),
    with("consul-client / command", CLIENT_ADVERTISE_3, "consul-client-advertise").repaired(SCRIPT),
    with(
        "web / portMappings",
        r#"[{ "containerPort": 9090 }, { "containerPort": 8600, "protocol": "udp" }]"#,
        "consul-client-ports",
    )
    .repaired(r#"[{ "containerPort": 9090 }, { "containerPort": 8300 }]"#),
    with(
        "sidecar-proxy / entryPoint",
        r#"["/consul/consul-ecs", "app-entrypoint"]"#,
        "consul-sidecar-proxy-entry-point",
    ),
    with(
        "sidecar-proxy / command",
        r#"["envoy", "--config-path", "/etc/envoy/envoy.yaml"]"#,
        "consul-sidecar-proxy-command",
    )
    .repaired(r#"["envoy", "--config-path", "/consul/envoy-bootstrap.json", "--log-level", "debug"]"#),
    with("config.proxy.publicListenerPort", "21000", "consul-sidecar-proxy-health-check")
        .given(IN_0_6)
        .repaired("20000"),
    with(
        "sidecar-proxy / healthCheck.command",
        r#"["CMD-SHELL", "nc -z 127.0.0.1 19000"]"#,
        "consul-sidecar-proxy-health-check",
    )
    .repaired(r#"["CMD-SHELL", "nc -z 127.0.0.1 20000"]"#),
    with("config.proxy.publicListenerPort", "20001", "consul-sidecar-proxy-health-check").given(IN_0_6).repaired("0"),
    with("sidecar-proxy / healthCheck.command", r#"["NONE"]"#, "consul-sidecar-proxy-health-check")
        .repaired(r#"["CMD", "nc", "-z", "127.0.0.1", "20000"]"#),
    with(
        "sidecar-proxy / healthCheck.command",
        r#"["nc", "-z", "127.0.0.1", "19000"]"#,
        "consul-sidecar-proxy-health-check",
    )
    .given(FLAGS),
    with("config.proxy.upstreams", r#"[{ "destinationName": "orders" }]"#, "consul-config-schema"),
    with("web / portMappings", r#"[{ "containerPort": 9090 }]"#, "consul-service-port")
        .given(&[("config.service.port", "0")])
        .repaired(r#"[{ "containerPort": 8125, "protocol": "udp" }]"#),
    with("config.service.namespace", r#""team-a""#, "consul-tenancy-pair"),
    with(
        "config.proxy.upstreams",
        r#"[{ "destinationName": "orders", "localBindPort": 8500 }]"#,
        "consul-upstream-port",
    ),
    with("sidecar-proxy / image", r#""envoyproxy/envoy:v1.27.3""#, "consul-release-pair"),
    with("tags[consul.hashicorp.com/service-name].value", r#""WEB""#, "consul-service-name-case"),
    with(
        "web / dependsOn[consul-client]",
        r#"{ "containerName": "consul-client", "condition": "HEALTHY" }"#,
        "ecs-dependency-health",
    )
    .repaired(r#"{ "containerName": "consul-client", "condition": "START" }"#),
    with("consul-client / secrets[AGENT_TOKEN].valueFrom", TOKEN_SECRET_KEY, "consul-token-secret-key"),
    with("consul-client / secrets[AGENT_TOKEN].valueFrom", TOKEN_SECRET_VERSION, "consul-token-secret-version"),
];

const CLIENT_GATEWAY: &[Mutation] = &[
    with("config.consulLogin.enabled", "false", "consul-service-token"),
    with(
        "sidecar-proxy / healthCheck.command",
        r#"["nc", "-z", "127.0.0.1", "8444"]"#,
        "consul-sidecar-proxy-health-check",
    )
    .given(&[("config.gateway.lanAddress.port", "0")]),
    with("web / essential", "true", "consul-gateway-app").given(&[("web / ", GATEWAY_APP)]),
    without("config.gateway.wanAddress.address", "consul-gateway-wan-address")
        .given(&[("config.gateway.meta", r#"{ "consul-wan-federation": "1" }"#)]),
    with("config.gateway.kind", r#""api-gateway""#, "consul-config-version"),
    with("consul-client / image", r#""public.ecr.aws/hashicorp/consul:1.11.11""#, "consul-release-pair")
        .given(&[("sidecar-proxy / image", r#""registry.example.com/envoy:latest""#)]),
];

const CONTROL_PLANE: &[Mutation] = &[
    with("consul-dataplane / mountPoints[consul_data].containerPath", r#""/etc/consul""#, "consul-proxy-mount"),
    without("consul-dataplane / essential", "consul-helper-essential"),
    with(
        "consul-ecs-control-plane / command",
        r#"["control-plane", "-token", "00000000-0000-0000-0000-00000000beef"]"#,
        "consul-credential-in-plain",
    ),
    with(
        "consul-ecs-control-plane / healthCheck.command",
        r#"["CMD-SHELL", "curl -f localhost:9090/consul-ecs/health"]"#,
        "consul-control-plane-health-check",
    ),
    with("consul-ecs-control-plane / healthCheck.command", r#"["NONE"]"#, "consul-control-plane-health-check"),
    with(
        "consul-dataplane / entryPoint",
        r#"["/consul/consul-ecs", "app-entrypoint"]"#,
        "consul-dataplane-entry-point",
    ),
    with("config.proxy.healthCheckPort", "23000", "consul-dataplane-health-check"),
    with(
        "consul-ecs-control-plane / environment[CONSUL_ECS_CONFIG_JSON].name",
        r#""CONSUL_ECS_CONFIG""#,
        "consul-config-missing",
    ),
    with("config.service.port", r#""9090""#, "consul-config-schema"),
    with("config.service.name", r#""web-""#, "consul-service-name"),
    with("web / portMappings[1].containerPort", "10000", "consul-app-port")
        .given(&[("web / portMappings", r#"[{ "containerPort": 9090 }, { "containerPort": 9091 }]"#)]),
    with(
        "config.proxy.upstreams",
        r#"[{ "destinationName": "orders", "localBindPort": 10000 }]"#,
        "consul-upstream-port",
    ),
    with("consul-ecs-mesh-init / ", MIXED_GENERATIONS, "consul-mixed-generations"),
    with(
        "consul-ecs-control-plane / image",
        r#""public.ecr.aws/hashicorp/consul-ecs:0.8.4""#,
        "consul-image-generation",
    ),
    with(
        "web / dependsOn[consul-ecs-control-plane]",
        r#"{ "containerName": "consul-ecs-control-plane", "condition": "SUCCESS" }"#,
        "ecs-dependency-essential",
    )
    .repaired(r#"{ "containerName": "consul-ecs-control-plane", "condition": "HEALTHY" }"#),
];

const DATAPLANE: &[Mutation] = &[
    with("consul-ecs-mesh-init / image", r#""hashicorp/consul-dataplane:latest""#, "consul-ecs-image"),
    with("consul-ecs-health-sync / image", r#""hashicorp/consul""#, "consul-ecs-image")
        .repaired(r#""public.ecr.aws/hashicorp/consul-ecs""#),
    with("web / essential", "false", "consul-app-essential").given(&[("logs / ", APP_ESSENTIAL)]),
    without("web / ", "consul-app-essential")
        .given(&[("config.healthSyncContainers", "[]")])
        .repaired(APP_ESSENTIAL_REPAIRED),
    with("cache / ", r#"{ "name": "cache", "image": "redis:7", "essential": false }"#, "consul-app-order")
        .repaired(APP_ORDER_REPAIRED),
    with("web / entryPoint[3]", r#""1m30s""#, "consul-app-shutdown-delay")
        .given(&[
            ("web / mountPoints", r#"[{ "sourceVolume": "consul_data", "containerPath": "/consul" }]"#),
            ("web / entryPoint", r#"["/consul/consul-ecs", "app-entrypoint", "-shutdown-delay", "60s"]"#),
            ("web / command", r#"["serve"]"#),
            ("consul-dataplane / stopTimeout", "120"),
        ])
        .repaired(r#""10s""#),
    without("config@consul-ecs-health-sync.healthSyncContainers", "consul-health-sync-configuration"),
    with("agent / image", r#""example/agent:1.4.2""#, "consul-health-unsynced")
        .given(&[("agent / ", HEALTH_UNSYNCED)])
        .repaired(r#""public.ecr.aws/datadog/agent:7""#),
    with("consul-dataplane / command", CREDENTIAL_IN_PLAIN_3, "consul-credential-in-plain"),
    with(
        "consul-dataplane / entryPoint",
        r#"["/consul/consul-ecs", "envoy-entrypoint"]"#,
        "consul-dataplane-entry-point",
    )
    .given(IN_DATA),
    with(
        "consul-dataplane / command",
        r#"["consul-dataplane", "-config-file", "/consul/data/consul-dataplane.json"]"#,
        "consul-dataplane-command",
    )
    .given(IN_DATA)
    .repaired(r#"["consul-dataplane", "-config-file=/data/consul-dataplane.json"]"#),
    with("consul-dataplane / healthCheck.command", r#"["NONE"]"#, "consul-dataplane-health-check"),
    with("consul-dataplane / user", r#""root""#, "consul-dataplane-users").given(&[
        ("requiresCompatibilities", r#"["EC2"]"#),
        ("config.transparentProxy.enabled", "true"),
        ("consul-ecs-mesh-init / linuxParameters.capabilities", r#"{ "add": ["NET_ADMIN"] }"#),
        ("consul-ecs-mesh-init / user", r#""0""#),
    ]),
    with("requiresCompatibilities", r#"["EC2", "FARGATE"]"#, "consul-transparent-proxy-launch-type").given(&[
        ("requiresCompatibilities", r#"["EC2"]"#),
        ("config.transparentProxy", "{}"),
        ("consul-ecs-mesh-init / user", r#""0""#),
        ("consul-ecs-mesh-init / linuxParameters.capabilities", r#"{ "add": ["NET_ADMIN"] }"#),
    ]),
    with(
        "consul-ecs-mesh-init / linuxParameters.capabilities",
        r#"{ "drop": ["ALL"] }"#,
        "consul-transparent-proxy-privileges",
    )
    .given(&[
        ("requiresCompatibilities", r#"["EC2"]"#),
        ("config.transparentProxy.enabled", "true"),
        ("consul-ecs-mesh-init / user", r#""0""#),
    ])
    .repaired(r#"{ "add": ["NET_ADMIN"] }"#),
    with(
        "consul-ecs-health-sync / environment[CONSUL_ECS_CONFIG_JSON].name",
        r#""CONSUL_ECS_CONFIG""#,
        "consul-config-missing",
    ),
    with("consul-ecs-health-sync / environment[CONSUL_ECS_CONFIG_JSON].value", r#""""#, "consul-config-json"),
    without("config.consulServers.hosts", "consul-config-schema"),
    with("config.logLevel", r#""debug""#, "consul-config-schema").repaired(r#""DEBUG""#),
    with("config.service.weights", r#"{ "passing": 1 }"#, "consul-config-schema")
        .repaired(r#"{ "passing": 1, "warning": 1 }"#),
    with("config.consulServers.grpc.https", "true", "consul-config-ignored"),
    with("config.consulHTTPAddr", r#""https://consul.example.internal:8501""#, "consul-config-version"),
    with("config.service.port", "9091", "consul-service-port"),
    with("web / portMappings[1].containerPort", "20000", "consul-app-port")
        .given(&[("web / portMappings", r#"[{ "containerPort": 9090 }, { "containerPort": 9091 }]"#)]),
    with("web / portMappings[1].containerPort", "22000", "consul-app-port")
        .given(&[("web / portMappings", r#"[{ "containerPort": 9090 }, { "containerPort": 9091 }]"#)]),
    with("web / portMappings[1].containerPort", "19000", "consul-app-port")
        .given(&[("web / portMappings", r#"[{ "containerPort": 9090 }, { "containerPort": 9091 }]"#)]),
    with(
        "config.proxy.upstreams",
        r#"[{ "destinationName": "orders", "localBindPort": 19000 }]"#,
        "consul-upstream-port",
    ),
    with("consul-client / ", MIXED_GENERATIONS_2, "consul-mixed-generations"),
    with("consul-ecs-mesh-init / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.6.0""#, "consul-image-generation"),
    with("consul-ecs-health-sync / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.7.2""#, "consul-image-generation"),
    with("config.proxy", "null", "consul-proxy-section")
        .given(&[
            ("consul-ecs-mesh-init / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
            ("consul-ecs-health-sync / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
        ])
        .repaired("{}"),
    with("config.service.partition", r#""green""#, "consul-tenancy-tags-match").given(&[
        ("config.service.partition", r#""blue""#),
        ("config.service.namespace", r#""team-a""#),
        ("tags[consul.hashicorp.com/partition]", r#"{ "key": "consul.hashicorp.com/partition", "value": "blue" }"#),
        ("tags[consul.hashicorp.com/namespace]", r#"{ "key": "consul.hashicorp.com/namespace", "value": "team-a" }"#),
    ]),
    with("tags[consul.hashicorp.com/service-name].value", r#""shop""#, "consul-service-name-tag"),
    with(
        "web / dependsOn[consul-ecs-mesh-init]",
        r#"{ "containerName": "consul-ecs-mesh-init", "condition": "HEALTHY" }"#,
        "ecs-dependency-health",
    )
    .repaired(r#"{ "containerName": "consul-ecs-mesh-init", "condition": "SUCCESS" }"#),
    with(
        "web / dependsOn[consul-ecs-health-sync]",
        r#"{ "containerName": "consul-ecs-health-sync", "condition": "HEALTHY" }"#,
        "ecs-dependency-health",
    )
    .repaired(r#"{ "containerName": "consul-ecs-health-sync", "condition": "START" }"#),
    with("web / portMappings", r#"[{ "containerPort": 9090, "hostPort": 8080 }]"#, "ecs-host-port")
        .repaired(r#"[{ "containerPort": 9090, "hostPort": 9090 }]"#),
];

const MESH_GATEWAY: &[Mutation] = &[
    with("consul-dataplane / environment", CREDENTIAL_IN_PLAIN_4, "consul-credential-in-plain").repaired("[]"),
    with("agent / image", r#""example/agent:1.4.2""#, "consul-gateway-app")
        .given(&[("agent / ", r#"{ "name": "agent", "portMappings": [{ "containerPort": 8126 }] }"#)])
        .repaired(r#""public.ecr.aws/datadog/agent:7""#),
    with("config.gateway.lanAddress.port", "9443", "consul-gateway-lan-port"),
    with("config.gateway.namespace", r#""team-a""#, "consul-gateway-namespace").given(&[
        ("config.gateway.partition", r#""blue""#),
        ("config.gateway.namespace", r#""default""#),
        ("tags[consul.hashicorp.com/partition]", r#"{ "key": "consul.hashicorp.com/partition", "value": "blue" }"#),
        ("tags[consul.hashicorp.com/namespace]", r#"{ "key": "consul.hashicorp.com/namespace", "value": "default" }"#),
    ]),
    with("config.gateway.name", r#""Mesh-Gateway""#, "consul-service-name"),
    with("config.gateway.namespace", r#""default""#, "consul-tenancy-pair"),
    with(
        "consul-dataplane / restartPolicy",
        r#"{ "enabled": true, "restartAttemptPeriod": 60 }"#,
        "consul-restart-policy",
    )
    .repaired(r#"{ "enabled": false }"#),
    with("config.gateway.name", r#""other-gateway""#, "consul-service-name-tag"),
    with("report / ", DEPENDENCY_ESSENTIAL, "ecs-dependency-essential").repaired(DEPENDENCY_ESSENTIAL_REPAIRED),
];

const API_GATEWAY: &[Mutation] = &[
    with("config.gateway.healthCheckPort", "23000", "consul-dataplane-health-check"),
    with("web / essential", "true", "consul-gateway-app").given(&[("web / ", GATEWAY_APP)]),
];

const CONTROLLER: &[Mutation] = &[
    with(
        "consul-ecs-controller / environment[CONSUL_ECS_CONFIG_JSON].name",
        r#""CONSUL_ECS_CONFIG""#,
        "consul-config-missing",
    ),
    with("consul-ecs-controller / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.6.0""#, "consul-image-generation"),
];

const APP_MESH: &[Mutation] = &[
    with(
        "orders / portMappings",
        r#"[{ "containerPort": 9080 }, { "containerPort": 9443 }]"#,
        "appmesh-app-port-mapping",
    )
    .repaired(r#"[{ "containerPort": 9080 }, { "containerPort": 8125, "protocol": "udp" }]"#),
    with("agent / image", r#""example/agent:1.4.2""#, "appmesh-app-port-mapping")
        .given(&[("agent / ", APP_PORT_MAPPING)])
        .repaired(r#""public.ecr.aws/datadog/agent:7""#),
    with("proxyConfiguration.properties[AppPorts].value", r#""9080,9443""#, "appmesh-app-port-mapping"),
    with(
        "proxyConfiguration.properties[EgressIgnoredPorts]",
        r#"{ "name": "EgressIgnoredPorts", "value": "5432-5440" }"#,
        "appmesh-egress-ignored-ports",
    )
    .repaired(r#"{ "name": "EgressIgnoredPorts", "value": "" }"#),
    with(
        "envoy / healthCheck.command",
        r#"["CMD-SHELL", "curl -s http://localhost:9091/server_info | grep state | grep -q LIVE"]"#,
        "appmesh-envoy-health-check",
    ),
    with("envoy / image", r#""envoyproxy/envoy:v1.29.12""#, "appmesh-envoy-image")
        .repaired(r#""public.ecr.aws/appmesh/aws-appmesh-envoy:v1.29.12.1-prod""#),
    with(
        "envoy / image",
        r#""772975370895.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod""#,
        "appmesh-envoy-image",
    )
    .repaired(r#""123456789012.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod""#),
    with(
        "envoy / environment[APPMESH_RESOURCE_ARN].value",
        r#""mesh/shop/virtualnode/orders""#,
        "appmesh-envoy-resource",
    )
    .repaired(r#""arn:aws:appmesh:us-east-1:123456789012:mesh/shop/virtualNode/orders""#),
    with(
        "envoy / image",
        r#""840364872350.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.12.5.0-prod""#,
        "appmesh-envoy-variable",
    ),
    with("envoy / image", r#""public.ecr.aws/appmesh/aws-appmesh-envoy:v1.16.1.1-prod""#, "appmesh-envoy-version")
        .repaired(r#""public.ecr.aws/appmesh/aws-appmesh-envoy:v1.34.13.0-prod""#),
    with("envoy / user", r#""1337:1337""#, "appmesh-ignored-user")
        .given(&[("proxyConfiguration.properties[IgnoredUID]", r#"{ "name": "IgnoredGID", "value": "1000" }"#)])
        .repaired(r#""1337:1000""#),
    without("proxyConfiguration.containerName", "appmesh-proxy-container"),
    with("proxyConfiguration.properties[ProxyEgressPort].value", r#""15002""#, "appmesh-proxy-ports"),
    with(
        "proxyConfiguration.properties[EgressIgnoredCIDRs]",
        r#"{ "name": "EgressIgnoredCIDRs", "value": "10.0.0.0/8" }"#,
        "appmesh-proxy-property",
    )
    .repaired(r#"{ "name": "EgressIgnoredPorts", "value": "22" }"#),
];

const APP_MESH_GATEWAY: &[Mutation] = &[
    with(
        "envoy / healthCheck.command",
        r#"["CMD", "curl", "-sf", "http://localhost:8080/"]"#,
        "appmesh-envoy-health-check",
    )
    .repaired(r#"["CMD", "curl", "-sf", "http://localhost:9901/ready"]"#),
    with("web / ", GATEWAY_MIXED, "appmesh-gateway-mixed").repaired(GATEWAY_MIXED_REPAIRED),
];

const APP_MESH_RESOURCES: &[Mutation] = &[
    with(
        "[7].containerDefinitions[envoy].environment[APPMESH_RESOURCE_ARN].value",
        r#""mesh/shops/virtualNode/orders""#,
        "appmesh-definition-resource",
    )
    .given(&[("[definition]", DEFINITION_RESOURCE)])
    .repaired(r#""arn:aws:appmesh:us-east-1:123456789012:mesh/shop/virtualNode/orders""#),
    with(
        "[virtualNode orders].virtualNode.spec.listeners[0].healthCheck.timeoutMillis",
        "6000",
        "appmesh-health-check",
    )
    .repaired("4000"),
    with(
        "[virtualService stock.shop.local].virtualService.spec.provider.virtualNode.virtualNodeName",
        r#""stock-v2""#,
        "appmesh-provider-missing",
    ),
];

const PLAIN: &[Mutation] = &[
    with("report / dependsOn[migrate].condition", r#""STOPPED""#, "ecs-dependency-condition").repaired(r#""COMPLETE""#),
    with("report / dependsOn[migrate].condition", r#""COMPLETE""#, "ecs-dependency-essential")
        .given(&[("migrate / essential", "true")])
        .repaired(r#""START""#),
    with("cache / healthCheck.command", r#"["NONE"]"#, "ecs-dependency-health"),
    with("cache / healthCheck.command", r#"["CMD", "redis-cli ping || exit 1"]"#, "ecs-health-check-command")
        .repaired(r#"["CMD", "redis-cli", "ping"]"#),
    with("cache / healthCheck.command", r#"["CMD-SHELL"]"#, "ecs-health-check-command")
        .repaired(r#"["redis-cli", "ping"]"#),
    with("cache / healthCheck.timeout", "2000", "ecs-health-check-range"),
    with("cache / healthCheck.retries", "20", "ecs-health-check-range").repaired("10"),
    with("cache / healthCheck.startPeriod", "600", "ecs-health-check-range").repaired("300"),
    with("cache / portMappings", r#"[{ "containerPort": 6379, "hostPort": 6380 }]"#, "ecs-host-port")
        .given(&[("networkMode", r#""host""#), ("requiresCompatibilities", r#"["EC2"]"#)])
        .repaired(r#"[{ "containerPort": 6379, "hostPort": 0 }]"#),
    with("migrate / secrets[DATABASE_URL].valueFrom", r#""report-db:url::""#, "ecs-secret-reference")
        .repaired(r#""/report/db/url""#),
    with(
        "migrate / secrets[DATABASE_URL].valueFrom",
        r#""arn:aws:ssm:us-east-1:123456789012:report/db/url""#,
        "ecs-secret-reference",
    )
    .repaired(r#""arn:aws:ssm:us-east-1:123456789012:parameter/report/db/url""#),
    with("migrate / secrets[DATABASE_URL].valueFrom", r#""arn:aws:s3:::report/db-url""#, "ecs-secret-reference")
        .repaired(r#""arn:aws:ssm:us-east-1:123456789012:parameter/report/db/url""#),
    with("cache / startTimeout", "180", "ecs-timeout-range").repaired("120"),
    with("report / stopTimeout", "180", "ecs-timeout-range"),
    with("report / stopTimeout", "180", "").given(&[("requiresCompatibilities", r#"["EC2"]"#)]),
];
