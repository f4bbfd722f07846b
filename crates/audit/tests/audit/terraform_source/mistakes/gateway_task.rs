//! The module `gateway-task` 0.9.

use audit::rule::Applies;

use super::{MADE, MADE_WITH_DATAPLANE, Mistake, Module, Planted, added, replaced};

pub(super) const TODAY: Module = Module {
    name: "gateway-task 0.9",
    foreign: &[Applies::Controller, Applies::ConsulClient],
    planted: &[
        Planted { call: "gateway-task-0.9-mesh-gateway", mistakes: MESH },
        Planted { call: "gateway-task-0.9-api-gateway", mistakes: API },
        Planted { call: "gateway-task-0.9-terminating-gateway", mistakes: TERMINATING },
    ],
    prevented: &[MADE, MADE_WITH_DATAPLANE, OF_SERVICES, MADE_FOR_GATEWAYS],
};

/// Of services.
const OF_SERVICES: &[&str] = &[
    "consul-app-entry-point-mount",
    "consul-app-essential",
    "consul-app-port",
    "consul-app-shutdown-delay",
    "consul-client-image",
    "consul-client-ports",
    "consul-health-native-and-synced",
    "consul-health-unsynced",
    "consul-helper-essential",
    "consul-resilience-off",
    "consul-resilience-refused",
    "consul-service-port",
    "consul-sidecar-proxy-image",
    "consul-upstream-port",
];

/// The module makes the roles, the proxy with the port mapping, the namespace `default`, and a service that propagates
/// tags. The image of consul-ecs knows all fields that the inputs become. mesh-init sets up no transparent proxy for a gateway.
const MADE_FOR_GATEWAYS: &[&str] = &[
    "consul-config-version",
    "consul-gateway-lan-port",
    "consul-gateway-namespace",
    "consul-gateway-proxy-essential",
    "consul-tags-not-propagated",
    "consul-task-role",
    "consul-task-role-shared",
    "consul-tenancy-pair",
    "consul-transparent-proxy-launch-type",
    "ecs-secrets-execution-role",
];

/// A line of all calls, before which inputs are added.
const INPUTS: &str = "  acls                = true\n";
const CA: &str = "consul_ca_cert_arn  = ";
const CA_ARN: &str = "\"arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-ca-cert-AbCdEf\"";

const MESH: &[Mistake] = &[
    replaced("consul-config-schema", "\"mesh-gateway\"", "\"ingress-gateway\"", "\"ingress-gateway\""),
    replaced("consul-gateway-wan-address", "  wan_address = \"gw.example.com\"\n", "", "module \"gateway\""),
    replaced("consul-gateway-federation-tls", "tls                 = true", "tls = false", "tls = false"),
    replaced("consul-service-name", "\"dc1-mesh-gateway\"", "\"DC1\"", "family          ="),
    added("consul-service-name", INPUTS, "  consul_service_name = \"Gateway\"\n"),
    added("consul-readiness-port", INPUTS, "  lan_port = 22000\n"),
    added("consul-config-schema", INPUTS, "  lan_port = 70000\n"),
    added("consul-config-json", INPUTS, "  wan_port = \"https\"\n"),
    added("consul-config-schema", INPUTS, "  consul_service_tags = [[]]\n"),
    added("consul-config-schema", INPUTS, "  consul_ecs_config = { consulLogin = { method = 7 } }\n"),
    added("consul-config-ignored", INPUTS, "  grpc_config = { https = true }\n"),
    added("consul-ecs-image", INPUTS, "  consul_ecs_image = \"hashicorp/consul:latest\"\n"),
    added("consul-image-generation", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.6.0\"\n"),
    added("consul-release-defect", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.9.1\"\n"),
    added("consul-fips-tag", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.10.1-fips1402\"\n"),
    added(
        "consul-release-pair consul-end-of-support",
        INPUTS,
        "  consul_dataplane_image = \"hashicorp/consul-dataplane:1.3.5\"\n",
    ),
    replaced("consul-ca-certificates", CA, "consul_https_ca_cert_arn = ", "module \"gateway\""),
    replaced("ecs-secret-reference", CA_ARN, "\"arn:aws:s3:::certificates\"", CA),
    added("consul-tenancy-tags", INPUTS, "  tags = { \"consul.hashicorp.com/namespace\" = \"default\" }\n"),
    added(
        "consul-tenancy-tags-match",
        INPUTS,
        "  tags = { \"consul.hashicorp.com/namespace\" = \"default\", \"consul.hashicorp.com/partition\" = \"a\" }\n",
    ),
];

/// A container beside the gateway's.
macro_rules! beside {
    ($rule:literal, $values:literal) => {
        added(
            $rule,
            INPUTS,
            concat!(
                "  extra_container_definitions = [{ name = \"logs\", image = \"example/logs:1\", essential = true, ",
                $values,
                " }]\n"
            ),
        )
    };
}

const API: &[Mistake] = &[
    beside!("consul-gateway-app", "portMappings = [{ containerPort = 80, hostPort = 80 }]"),
    beside!("consul-credential-in-plain", "environment = [{ name = \"CONSUL_HTTP_TOKEN\", value = \"x\" }]"),
    beside!("ecs-dependency-unknown", "dependsOn = [{ containerName = \"db\", condition = \"START\" }]"),
    beside!("ecs-dependency-cycle", "dependsOn = [{ containerName = \"logs\", condition = \"START\" }]"),
    beside!("ecs-dependency-condition", "dependsOn = [{ containerName = \"consul-dataplane\", condition = \"UP\" }]"),
    beside!(
        "ecs-dependency-essential",
        "dependsOn = [{ containerName = \"consul-dataplane\", condition = \"SUCCESS\" }]"
    ),
    beside!(
        "ecs-dependency-health",
        "dependsOn = [{ containerName = \"consul-ecs-health-sync\", condition = \"HEALTHY\" }]"
    ),
    beside!("ecs-health-check-command", "healthCheck = { command = [\"CMD-SHELL\", \"curl\", \"localhost\"] }"),
    beside!("ecs-health-check-range", "healthCheck = { command = [\"CMD\", \"true\"], interval = 3000 }"),
    beside!("ecs-host-port consul-gateway-app", "portMappings = [{ containerPort = 80, hostPort = 81 }]"),
    beside!("ecs-secret-reference", "secrets = [{ name = \"KEY\", valueFrom = \"arn:aws:s3:::keys\" }]"),
    beside!("ecs-shell-entry-point", "entryPoint = [\"sh\", \"-c\", \"prepare && serve\"]"),
    beside!("ecs-start-timeout-unused", "startTimeout = 30"),
    beside!("ecs-timeout-range", "stopTimeout = 500"),
    added(
        "ecs-start-timeout-too-short",
        INPUTS,
        "  extra_container_definitions = [\n    { name = \"db\", image = \"db:1\", startTimeout = 2, \
         healthCheck = { command = [\"CMD\", \"true\"] } },\n    { name = \"logs\", image = \"example/logs:1\", \
         dependsOn = [{ containerName = \"db\", condition = \"HEALTHY\" }] }]\n",
    )
    .at("startTimeout = 2"),
    added(
        "ecs-container-name-duplicate",
        INPUTS,
        "  extra_container_definitions = [\n    { name = \"logs\", image = \"example/logs:1\" },\n    \
         { name = \"logs\", image = \"example/logs:1\" }]\n",
    )
    .at("{ name = \"logs\""),
    added(
        "consul-mixed-generations",
        INPUTS,
        "  extra_container_definitions = [{ name = \"consul-client\", image = \"c:1\", essential = false }]\n",
    ),
];

const TERMINATING: &[Mistake] = &[replaced(
    "consul-dns-without-transparent-proxy",
    "  enable_transparent_proxy = true\n",
    "  enable_transparent_proxy = false\n",
    "enable_consul_dns",
)];
