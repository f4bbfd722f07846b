//! App Mesh on ECS: the proxy configuration, Envoy, X-Ray, virtual gateways.

use audit::example::Base;

use super::tables::{Mutation, Table, with, without};

const NODE: &[Base] = &[Base::AppMesh];
const BOTH: &[Base] = &[Base::AppMesh, Base::AppMeshGateway];

pub(super) const TABLES: &[Table] = &[
    Table { bases: BOTH, rows: TASK },
    Table { bases: BOTH, rows: ENVOY },
    Table { bases: NODE, rows: PROXY_CONFIGURATION },
    Table { bases: NODE, rows: PROPERTIES },
    Table { bases: NODE, rows: APP },
    Table { bases: NODE, rows: XRAY },
    Table { bases: &[Base::AppMeshGateway], rows: GATEWAY },
];

const TASK: &[Mutation] = &[
    // Envoy's credentials, and the private registry.
    without("taskRoleArn", "appmesh-task-role"),
    without("executionRoleArn", "appmesh-execution-role"),
    without("executionRoleArn", "")
        .given(&[("envoy / image", r#""public.ecr.aws/appmesh/aws-appmesh-envoy:v1.29.12.1-prod""#)]),
    with("requiresCompatibilities", r#"["EC2"]"#, ""),
];

const ENVOY: &[Mutation] = &[
    with(
        "envoy / image",
        r#""840364872350.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.16.1.1-prod""#,
        "appmesh-envoy-version",
    ),
    with("envoy / image", r#""envoyproxy/envoy:v1.29.0""#, "appmesh-envoy-image"),
    // A mirror.
    with("envoy / image", r#""123456789012.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod""#, ""),
    with("envoy / image", r#""840364872350.dkr.ecr.eu-west-3.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod""#, ""),
    with("envoy / image", r#""public.ecr.aws/appmesh/aws-appmesh-envoy:v1.29.12.1-prod""#, ""),
    with("envoy / healthCheck.interval", "4", "ecs-health-check-range"),
    with("envoy / healthCheck.interval", "301", "ecs-health-check-range"),
    with("envoy / healthCheck.timeout", "1", "ecs-health-check-range"),
    with("envoy / healthCheck.timeout", "61", "ecs-health-check-range"),
    with("envoy / healthCheck.retries", "0", "ecs-health-check-range"),
    with("envoy / healthCheck.retries", "11", "ecs-health-check-range"),
    with("envoy / healthCheck.startPeriod", "301", "ecs-health-check-range"),
    without("envoy / healthCheck.startPeriod", ""),
    without("envoy / environment[APPMESH_RESOURCE_ARN]", "appmesh-envoy-resource"),
    with("envoy / environment[APPMESH_RESOURCE_ARN].value", r#""orders""#, "appmesh-envoy-resource"),
    with("envoy / environment[APPMESH_RESOURCE_ARN].value", r#""mesh/shop""#, "appmesh-envoy-resource"),
    with(
        "envoy / environment[APPMESH_RESOURCE_ARN].value",
        r#""mesh/shop/virtualRouter/orders""#,
        "appmesh-envoy-resource",
    ),
];

const PROXY_CONFIGURATION: &[Mutation] = &[
    with("networkMode", r#""bridge""#, "appmesh-network-mode"),
    without("networkMode", "appmesh-network-mode"),
    without("proxyConfiguration", "appmesh-proxy-configuration"),
    with("proxyConfiguration.type", r#""ENVOY""#, "appmesh-proxy-type"),
    without("proxyConfiguration.type", ""),
    with("proxyConfiguration.containerName", r#""proxy""#, "appmesh-proxy-container"),
    with("proxyConfiguration.containerName", r#""orders""#, "appmesh-proxy-container"),
    with("envoy / essential", "false", "appmesh-envoy-essential"),
    without("envoy / essential", ""),
    with(
        "envoy / environment[APPMESH_RESOURCE_ARN].value",
        r#""arn:aws:appmesh:us-east-1:123456789012:mesh/shop/virtualNode/orders""#,
        "",
    ),
    // Before v1.15, only the old variable is read.
    with("envoy / environment[APPMESH_RESOURCE_ARN].name", r#""APPMESH_VIRTUAL_NODE_NAME""#, ""),
    with("envoy / environment[APPMESH_RESOURCE_ARN].name", r#""APPMESH_RESOURCE""#, "appmesh-envoy-resource"),
    with(
        "envoy / image",
        r#""840364872350.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.12.2.1-prod""#,
        "appmesh-envoy-variable",
    ),
];

const PROPERTIES: &[Mutation] = &[
    without("proxyConfiguration.properties[IgnoredUID]", "appmesh-ignored-user"),
    without("proxyConfiguration.properties[IgnoredUID]", "").given(&[
        ("proxyConfiguration.properties[IgnoredGID]", r#"{"name": "IgnoredGID", "value": "1337"}"#),
        ("envoy / user", r#""1337:1337""#),
        ("xray-daemon / user", r#""1337:1337""#),
    ]),
    with("proxyConfiguration.properties[IgnoredUID].value", r#""1338""#, "appmesh-ignored-user"),
    with("proxyConfiguration.properties[IgnoredUID].value", r#""envoy""#, "appmesh-ignored-user"),
    without("envoy / user", "appmesh-ignored-user"),
    with("envoy / user", r#""0""#, "appmesh-ignored-user"),
    with("envoy / user", r#""1338""#, "appmesh-ignored-user"),
    without("proxyConfiguration.properties[ProxyIngressPort]", "appmesh-proxy-ports"),
    with("proxyConfiguration.properties[ProxyIngressPort].value", r#""15001""#, "appmesh-proxy-ports"),
    with("proxyConfiguration.properties[ProxyIngressPort].value", r#""""#, "appmesh-proxy-ports"),
    without("proxyConfiguration.properties[ProxyEgressPort]", "appmesh-proxy-ports"),
    with("proxyConfiguration.properties[ProxyEgressPort].value", r#""15000""#, "appmesh-proxy-ports"),
    without("proxyConfiguration.properties[AppPorts]", "appmesh-app-ports"),
    with("proxyConfiguration.properties[AppPorts].value", r#""""#, "appmesh-app-ports"),
    with("proxyConfiguration.properties[AppPorts].value", r#""http""#, "appmesh-app-ports"),
    with("proxyConfiguration.properties[AppPorts].value", r#""70000""#, "appmesh-app-ports"),
    with("proxyConfiguration.properties[AppPorts].value", r#""9081""#, "appmesh-app-port-mapping"),
    with("proxyConfiguration.properties[AppPorts].value", r#""9080,9081""#, "appmesh-app-port-mapping"),
    without("proxyConfiguration.properties[EgressIgnoredIPs]", "appmesh-egress-ignored-ips"),
    with("proxyConfiguration.properties[EgressIgnoredIPs].value", r#""169.254.170.2""#, "appmesh-egress-ignored-ips"),
    with("proxyConfiguration.properties[EgressIgnoredIPs].value", r#""169.254.169.254""#, "appmesh-egress-ignored-ips"),
    with("proxyConfiguration.properties[EgressIgnoredIPs].value", r#""169.254.169.254, 169.254.170.2""#, ""),
    with(
        "proxyConfiguration.properties[EgressIgnoredPorts]",
        r#"{"name": "EgressIgnoredPorts", "value": "22,3306"}"#,
        "",
    ),
    with(
        "proxyConfiguration.properties[EgressIgnoredPorts]",
        r#"{"name": "EgressIgnoredPorts", "value": "ssh"}"#,
        "appmesh-egress-ignored-ports",
    ),
    with(
        "proxyConfiguration.properties[IgnoredPorts]",
        r#"{"name": "IgnoredPorts", "value": "22"}"#,
        "appmesh-proxy-property",
    ),
];

const APP: &[Mutation] = &[
    // No container waits for a gateway's Envoy.
    without("envoy / healthCheck", "appmesh-envoy-health-check"),
    without("envoy / environment", "appmesh-envoy-resource appmesh-xray-tracing"),
    without("orders / dependsOn", "appmesh-app-dependency"),
    with("orders / dependsOn[envoy].condition", r#""START""#, "appmesh-app-dependency"),
    with("orders / dependsOn[envoy].condition", r#""COMPLETE""#, "appmesh-app-dependency"),
    // In awsvpc mode, a port is reachable without a mapping.
    without("orders / portMappings", ""),
    with("orders / portMappings[0].containerPort", "9081", "appmesh-app-port-mapping")
        .given(&[("orders / portMappings[0].hostPort", "9081")]),
    without("orders / portMappings[0].protocol", ""),
];

const XRAY: &[Mutation] = &[
    without("xray-daemon / ", "appmesh-xray-daemon"),
    without("envoy / environment[ENABLE_ENVOY_XRAY_TRACING]", "appmesh-xray-tracing"),
    with("envoy / environment[ENABLE_ENVOY_XRAY_TRACING].value", r#""0""#, "appmesh-xray-tracing"),
    without("xray-daemon / user", "appmesh-xray-user"),
    with("xray-daemon / user", r#""0""#, "appmesh-xray-user"),
    without("xray-daemon / portMappings", ""),
];

const GATEWAY: &[Mutation] = &[
    // There are only Envoy and no proxy configuration.
    with(
        "containerDefinitions[app]",
        r#"{"name": "app", "image": "example/app:1", "portMappings": [{"containerPort": 80}]}"#,
        "appmesh-gateway-mixed",
    ),
    with(
        "proxyConfiguration",
        r#"{"type": "APPMESH", "containerName": "envoy", "properties": [
            {"name": "IgnoredUID", "value": "1337"},
            {"name": "ProxyIngressPort", "value": "15000"},
            {"name": "ProxyEgressPort", "value": "15001"},
            {"name": "AppPorts", "value": "8080"},
            {"name": "EgressIgnoredIPs", "value": "169.254.170.2,169.254.169.254"}
        ]}"#,
        "appmesh-gateway-mixed",
    ),
    with(
        "envoy / environment[APPMESH_RESOURCE_ARN].value",
        r#""mesh/shop/virtualNode/ingress""#,
        "appmesh-proxy-configuration",
    ),
];
