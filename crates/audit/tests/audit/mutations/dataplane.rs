//! The dataplane generation from 0.8 on.

use audit::example::Base;

use super::tables::{Mutation, Table, with, without};

const EVERY: &[Base] = &[Base::Dataplane, Base::MeshGateway, Base::ApiGateway, Base::TerminatingGateway];
const WITH_CONTROL_PLANE: &[Base] =
    &[Base::ControlPlane, Base::Dataplane, Base::MeshGateway, Base::ApiGateway, Base::TerminatingGateway];
const SERVICES: &[Base] = &[Base::ControlPlane, Base::Dataplane];
const GATEWAYS: &[Base] = &[Base::MeshGateway, Base::ApiGateway, Base::TerminatingGateway];
const SERVICE: &[Base] = &[Base::Dataplane];

pub(super) const TABLES: &[Table] = &[
    Table { bases: WITH_CONTROL_PLANE, rows: PROXY },
    Table { bases: EVERY, rows: HELPERS },
    Table { bases: SERVICES, rows: PORTS },
    Table { bases: SERVICE, rows: SERVICE_ONLY },
    Table { bases: SERVICE, rows: TRANSPARENT_PROXY },
    Table { bases: GATEWAYS, rows: GATEWAYS_ARE_NEVER_TRANSPARENT },
];

const PROXY: &[Mutation] = &[
    without("consul-dataplane / ", "consul-dataplane-missing"),
    without("consul-dataplane / entryPoint", "consul-dataplane-entry-point"),
    with("consul-dataplane / entryPoint", r#"["/consul/consul-ecs"]"#, "consul-dataplane-entry-point"),
    with("consul-dataplane / entryPoint", r#"["consul-dataplane"]"#, "consul-dataplane-entry-point"),
    without("consul-dataplane / command", "consul-dataplane-command"),
    with(
        "consul-dataplane / command",
        r#"["consul-dataplane", "-config-file", "/data/consul-dataplane.json"]"#,
        "consul-dataplane-command",
    ),
    with("consul-dataplane / command", r#"["consul-dataplane"]"#, "consul-dataplane-command"),
    with("consul-dataplane / user", r#""5995:5995""#, ""),
    without("consul-dataplane / healthCheck", "consul-dataplane-health-check"),
    with(
        "consul-dataplane / healthCheck.command",
        r#"["/consul/consul-ecs", "net-dial", "127.0.0.1:22001"]"#,
        "consul-dataplane-health-check",
    ),
    // The public listener opens only when Consul knows the service: the check must use the readiness port.
    with(
        "consul-dataplane / healthCheck.command",
        r#"["/consul/consul-ecs", "net-dial", "127.0.0.1:20000"]"#,
        "consul-dataplane-health-check",
    ),
    without("consul-dataplane / mountPoints", "consul-proxy-mount"),
    with("consul-dataplane / mountPoints[consul_data].containerPath", r#""/data""#, "consul-proxy-mount"),
    with("consul-dataplane / mountPoints[consul_data].sourceVolume", r#""consul_binary""#, "consul-proxy-mount"),
    with("consul-dataplane / mountPoints[consul_data].readOnly", "false", "consul-proxy-mount-read-only"),
    without("consul-dataplane / mountPoints[consul_data].readOnly", "consul-proxy-mount-read-only"),
    without("consul-dataplane / ulimits", "consul-proxy-open-files-default"),
    with("consul-dataplane / ulimits[nofile].hardLimit", "1048577", "consul-proxy-open-files"),
    with("consul-dataplane / ulimits", "[]", "consul-proxy-open-files-default"),
    with("consul-dataplane / stopTimeout", "200", "ecs-timeout-range"),
];

const HELPERS: &[Mutation] = &[
    // Without transparent proxy, any user is valid.
    without("consul-dataplane / user", ""),
    with("consul-dataplane / user", r#""5996""#, ""),
    with("consul-dataplane / user", r#""0""#, ""),
    without("consul-dataplane / dependsOn", "consul-proxy-order"),
    with("consul-dataplane / dependsOn[consul-ecs-mesh-init].condition", r#""START""#, "consul-proxy-order"),
    with("consul-dataplane / dependsOn[consul-ecs-mesh-init].condition", r#""COMPLETE""#, "consul-proxy-order"),
    with("consul-dataplane / dependsOn[consul-ecs-mesh-init].condition", r#""HEALTHY""#, "consul-proxy-order"),
    with("consul-dataplane / dependsOn[consul-ecs-mesh-init].containerName", r#""init""#, "ecs-dependency-unknown"),
    without("consul-ecs-health-sync / ", "consul-health-sync-missing"),
    with("consul-ecs-health-sync / image", r#""hashicorp/consul:1.11.11""#, "consul-ecs-image"),
    with("consul-ecs-health-sync / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#, "consul-image-versions"),
    with("consul-ecs-health-sync / essential", "true", "consul-helper-essential"),
    without("consul-ecs-health-sync / essential", "consul-helper-essential"),
    without("consul-ecs-health-sync / user", ""),
    with("consul-ecs-health-sync / user", r#""5995""#, ""),
    without("consul-ecs-health-sync / command", "consul-health-sync-command"),
    with("consul-ecs-health-sync / command", r#"["mesh-init"]"#, "consul-health-sync-command"),
    without("consul-ecs-health-sync / environment[CONSUL_ECS_CONFIG_JSON]", "consul-config-missing"),
    with("config@consul-ecs-health-sync.consulServers.hosts", r#""other""#, "consul-health-sync-configuration"),
    without("consul-ecs-health-sync / dependsOn", "consul-health-sync-order"),
    with(
        "consul-ecs-health-sync / dependsOn[consul-ecs-mesh-init].condition",
        r#""START""#,
        "consul-health-sync-order",
    ),
    // The certificate of a private CA, in all containers and for both protocols.
    without("consul-ecs-mesh-init / secrets[CONSUL_HTTPS_CACERT_PEM]", "consul-ca-certificates"),
    without("consul-ecs-mesh-init / secrets[CONSUL_GRPC_CACERT_PEM]", "consul-ca-certificates"),
    without("consul-ecs-health-sync / secrets[CONSUL_HTTPS_CACERT_PEM]", "consul-ca-certificates"),
    without("consul-ecs-health-sync / secrets[CONSUL_GRPC_CACERT_PEM]", "consul-ca-certificates"),
    without("consul-ecs-mesh-init / secrets", "consul-ca-certificates consul-ca-certificates"),
    without("consul-ecs-health-sync / secrets", "consul-ca-certificates consul-ca-certificates"),
    // Releases that do not go together.
    with("consul-dataplane / image", r#""hashicorp/consul-dataplane:1.4.2""#, "consul-release-pair"),
    with("consul-dataplane / image", r#""hashicorp/consul-dataplane:1.9.12""#, ""),
    with("consul-dataplane / image", r#""hashicorp/consul-dataplane:latest""#, ""),
    with("consul-dataplane / image", r#""registry.example.com/proxy:1.4.2""#, ""),
    // A tag that does not exist.
    with(
        "consul-ecs-health-sync / image",
        r#""public.ecr.aws/hashicorp/consul-ecs:0.10.1-fips1402""#,
        "consul-fips-tag",
    ),
    with("consul-ecs-health-sync / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.1-fips1403""#, ""),
    // What a restart repeats.
    with("consul-ecs-mesh-init / restartPolicy", r#"{"enabled": true}"#, "consul-restart-policy"),
    with("consul-dataplane / restartPolicy", r#"{"enabled": true}"#, "consul-restart-policy"),
    with("consul-dataplane / restartPolicy", r#"{"enabled": true}"#, "")
        .given(&[("config.consulLogin.enabled", "false")]),
    with("consul-ecs-health-sync / restartPolicy", r#"{"enabled": true, "restartAttemptPeriod": 60}"#, ""),
    // A version with other containers.
    with("consul-ecs-mesh-init / image", r#""hashicorp/consul-ecs:0.6.0""#, "consul-image-generation")
        .given(&[("consul-ecs-health-sync / image", r#""hashicorp/consul-ecs:0.6.0""#)]),
    // Containers of the other generation.
    with(
        "containerDefinitions[consul-client]",
        r#"{"name": "consul-client", "image": "hashicorp/consul:1.15.3", "essential": false, "command": ["agent"]}"#,
        "consul-mixed-generations",
    ),
    with(
        "containerDefinitions[sidecar-proxy]",
        r#"{"name": "sidecar-proxy", "image": "envoyproxy/envoy:v1.23.10", "essential": false}"#,
        "consul-mixed-generations",
    ),
];

const PORTS: &[Mutation] = &[
    with("config.service.name", r#""shop""#, "consul-service-name-tag"),
    with("config.gateway", r#"{"kind": "mesh-gateway", "name": "web"}"#, "consul-service-or-gateway"),
    with("consul-dataplane / startTimeout", "1", "ecs-timeout-range"),
    with("consul-dataplane / startTimeout", "4", "ecs-start-timeout-too-short"),
    with("consul-dataplane / startTimeout", "121", "ecs-timeout-range"),
    with("consul-dataplane / startTimeout", "60", ""),
    with("config.proxy.publicListenerPort", "22000", "consul-readiness-port"),
    with("config.proxy.healthCheckPort", "20000", "consul-readiness-port").given(&[(
        "consul-dataplane / healthCheck.command",
        r#"["/consul/consul-ecs", "net-dial", "127.0.0.1:20000"]"#,
    )]),
    with("config.proxy.healthCheckPort", "22001", "consul-dataplane-health-check"),
    without("config.proxy.healthCheckPort", ""),
    without("config.proxy.publicListenerPort", ""),
    with("config.proxy.upstreams[0].localBindPort", "22000", "consul-upstream-port"),
    with("consul-dataplane / essential", "true", "consul-helper-essential"),
    without("web / dependsOn[consul-dataplane]", "consul-app-order"),
    with("web / dependsOn[consul-dataplane].condition", r#""START""#, "consul-app-order"),
    with("web / dependsOn[consul-dataplane].containerName", r#""dataplane""#, "ecs-dependency-unknown"),
];

const SERVICE_ONLY: &[Mutation] = &[
    // Not known of 0.10.1.
    without("config.proxy", ""),
    without("config.proxy", "consul-proxy-section").given(IN_0_10_0),
    with("config.service.networkResilienceConfig", r#"{"enabled": true}"#, ""),
    with("config.service.networkResilienceConfig", r#"{"enabled": true}"#, "consul-resilience-refused")
        .given(IN_0_10_0),
    with("config.service.networkResilienceConfig", r#"{"outlierDetection": {}}"#, "consul-resilience-off")
        .given(IN_0_10_0),
    // Consul checks exist only in the client generation.
    with(
        "config.service.checks",
        r#"[{"checkId": "web", "name": "web", "http": "http://localhost:9090/health", "interval": "10s"}]"#,
        "consul-config-version",
    ),
    with("consul-dataplane / stopTimeout", "10", ""),
    with("web / stopTimeout", "121", "ecs-timeout-range").given(&[("consul-dataplane / stopTimeout", "120")]),
];

const IN_0_10_0: &[(&str, &str)] = &[
    ("consul-ecs-mesh-init / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
    ("consul-ecs-health-sync / image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
];

const GATEWAYS_ARE_NEVER_TRANSPARENT: &[Mutation] = &[
    with("config.transparentProxy.enabled", "true", ""),
    without("config.transparentProxy", ""),
    with("config.transparentProxy.consulDNS", r#"{"enabled": true}"#, "").given(ON_EC2),
    with("config.transparentProxy.consulDNS", r#"{"enabled": true}"#, "consul-dns-without-transparent-proxy"),
];

const TRANSPARENT_PROXY: &[Mutation] = &[
    // It needs EC2, root and NET_ADMIN, which the base does not have. It is on by default.
    with(
        "config.transparentProxy.enabled",
        "true",
        "consul-transparent-proxy-launch-type consul-transparent-proxy-privileges consul-transparent-proxy-privileges",
    ),
    without(
        "config.transparentProxy.enabled",
        "consul-transparent-proxy-launch-type consul-transparent-proxy-privileges consul-transparent-proxy-privileges",
    ),
    without(
        "config.transparentProxy",
        "consul-transparent-proxy-launch-type consul-transparent-proxy-privileges consul-transparent-proxy-privileges",
    ),
    with("consul-dataplane / user", r#""5995:5995""#, "").given(ON_EC2),
    without("consul-dataplane / user", "consul-dataplane-users").given(ON_EC2),
    with("consul-dataplane / user", r#""5996""#, "consul-dataplane-users").given(ON_EC2),
    with("consul-dataplane / user", r#""0""#, "consul-dataplane-users").given(ON_EC2),
    without("consul-ecs-health-sync / user", "consul-dataplane-users").given(ON_EC2),
    with("consul-ecs-health-sync / user", r#""5995""#, "consul-dataplane-users").given(ON_EC2),
    with("requiresCompatibilities", r#"["EC2"]"#, "").given(PRIVILEGED),
    with("requiresCompatibilities", r#"["EXTERNAL"]"#, "consul-transparent-proxy-launch-type").given(PRIVILEGED),
    with("requiresCompatibilities", r#"["EC2", "FARGATE"]"#, "consul-transparent-proxy-launch-type").given(ON_EC2),
    without("consul-ecs-mesh-init / user", "consul-transparent-proxy-privileges").given(ON_EC2),
    with("consul-ecs-mesh-init / user", r#""1000""#, "consul-transparent-proxy-privileges").given(ON_EC2),
    without("consul-ecs-mesh-init / linuxParameters.capabilities", "consul-transparent-proxy-privileges").given(ON_EC2),
    with("consul-ecs-mesh-init / linuxParameters.capabilities.add", "[]", "consul-transparent-proxy-privileges")
        .given(ON_EC2),
    with("config.transparentProxy.consulDNS", r#"{"enabled": true}"#, "").given(ON_EC2),
    with("config.transparentProxy.consulDNS", r#"{"enabled": true}"#, "consul-dns-without-transparent-proxy"),
    with("config.transparentProxy.consulDNS", r#"{"enabled": false}"#, ""),
];

const ON_EC2: &[(&str, &str)] = &[
    ("config.transparentProxy.enabled", "true"),
    ("requiresCompatibilities", r#"["EC2"]"#),
    ("consul-ecs-mesh-init / user", r#""0""#),
    ("consul-ecs-mesh-init / linuxParameters.capabilities", r#"{"add": ["NET_ADMIN"]}"#),
];

const PRIVILEGED: &[(&str, &str)] = &[
    ("config.transparentProxy.enabled", "true"),
    ("consul-ecs-mesh-init / user", r#""0""#),
    ("consul-ecs-mesh-init / linuxParameters.capabilities", r#"{"add": ["NET_ADMIN"]}"#),
];
