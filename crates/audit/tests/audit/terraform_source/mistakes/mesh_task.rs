//! The module `mesh-task`: 0.9 with Consul Dataplane, and 0.6 with a client agent.

use audit::rule::Applies;

use super::{MADE, MADE_WITH_DATAPLANE, Mistake, Module, Planted, added, replaced};

pub(super) const WITH_DATAPLANE: Module = Module {
    name: "mesh-task 0.9",
    foreign: &[Applies::Controller, Applies::ConsulClient, Applies::ConsulGateway],
    planted: &[
        Planted { call: "mesh-task-0.9-acls-tls", mistakes: OF_BOTH },
        Planted { call: "mesh-task-0.9-acls-tls", mistakes: DATAPLANE },
    ],
    prevented: &[MADE, MADE_WITH_DATAPLANE],
};

pub(super) const WITH_CLIENT: Module = Module {
    name: "mesh-task 0.6",
    foreign: &[
        Applies::Controller,
        Applies::ConsulDataplane,
        Applies::ConsulDataplaneAndController,
        Applies::ConsulGateway,
    ],
    planted: &[
        Planted { call: "mesh-task-0.6-acls-tls-gossip", mistakes: OF_BOTH },
        Planted { call: "mesh-task-0.6-acls-tls-gossip", mistakes: CLIENT },
    ],
    prevented: &[MADE, MADE_WITH_CLIENT],
};

/// Up to 0.6, the module makes the client agent with its script and secrets, the sidecar proxy, and health-sync if it has
/// something to do. It syncs no health if there are `checks`.
const MADE_WITH_CLIENT: &[&str] = &[
    "consul-client-advertise",
    "consul-client-exec",
    "consul-client-http-exposed",
    "consul-client-leave",
    "consul-client-missing",
    "consul-client-mounts",
    "consul-client-retry-join",
    "consul-client-secrets",
    "consul-client-shell",
    "consul-health-native-and-synced",
    "consul-health-sync-needless",
    "consul-helper-essential",
    "consul-mixed-generations",
    "consul-service-secret",
    "consul-service-token",
    "consul-sidecar-proxy-command",
    "consul-sidecar-proxy-entry-point",
    "consul-sidecar-proxy-health-check",
    "consul-sidecar-proxy-missing",
    "consul-token-secret-key",
];

/// Lines of both calls: before them, inputs and values of the app are added.
const INPUTS: &str = "  upstreams = [{\n";
const APP: &str = "    cpu              = 0\n";
const APPS: &str = "  container_definitions = [{\n";

const ESSENTIAL: &str = "    essential        = true\n";
const NAME: &str = "    name             = \"example-client-app\"";
const PORTS: &str = "containerPort = 9090, hostPort = 9090";
const ENVIRONMENT: &str = "{ name = \"NAME\", value";
const CHECK: &str = "[\"CMD-SHELL\", \"curl -f http://localhost:9090/health\"]";
const UPSTREAM: &str = "localBindPort   = 1234";
const CA: &str = "consul_ca_cert_arn = ";
const CA_ARN: &str = "\"arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-ca-cert-AbCdEf\"";
const PROPAGATED: &str = "propagate_tags  = \"TASK_DEFINITION\"";

const OF_BOTH: &[Mistake] = &[
    // The app's containers.
    replaced("consul-app-essential", "essential        = true", "essential        = false", "essential        = false"),
    replaced("consul-app-port", PORTS, "containerPort = 20000, hostPort = 20000", "containerPort = 20000"),
    added("consul-app-shutdown-delay", INPUTS, "  application_shutdown_delay_seconds = 60\n").at(NAME),
    added("consul-app-entry-point-mount", APP, "    entryPoint = [\"/consul/consul-ecs\", \"app-entrypoint\"]\n")
        .at("mountPoints      = []"),
    // The module syncs the health of the containers that say whether they are essential.
    replaced("consul-health-unsynced", ESSENTIAL, "", "module \"example_client_app\""),
    replaced("consul-credential-in-plain", ENVIRONMENT, "{ name = \"CONSUL_HTTP_TOKEN\", value", "CONSUL_HTTP_TOKEN"),
    replaced(
        "ecs-container-name-duplicate",
        APPS,
        "  container_definitions = [\n    { name = \"db\", image = \"db:1\" },\n    { name = \"db\", image = \"db:1\" }, {\n",
        "{ name = \"db\"",
    ),
    added("ecs-dependency-unknown", APP, "    dependsOn = [{ containerName = \"db\", condition = \"START\" }]\n"),
    added(
        "ecs-dependency-cycle",
        APP,
        "    dependsOn = [{ containerName = \"example-client-app\", condition = \"START\" }]\n",
    ),
    added(
        "ecs-dependency-health",
        APP,
        "    dependsOn = [{ containerName = \"consul-ecs-health-sync\", condition = \"HEALTHY\" }]\n",
    ),
    replaced(
        "ecs-dependency-essential",
        APPS,
        "  container_definitions = [{ name = \"db\", image = \"db:1\", essential = true }, {\n    \
         dependsOn = [{ containerName = \"db\", condition = \"SUCCESS\" }]\n",
        "dependsOn = [{",
    ),
    replaced("ecs-health-check-command", CHECK, "[\"CMD-SHELL\", \"curl\", \"localhost\"]", "command  = ["),
    replaced("ecs-health-check-range", "interval = 30", "interval = 3000", "interval = 3000"),
    replaced("ecs-host-port", "hostPort = 9090", "hostPort = 9091", "hostPort = 9091"),
    added("ecs-shell-entry-point", APP, "    entryPoint = [\"sh\", \"-c\", \"prepare && serve\"]\n"),
    replaced(
        "ecs-start-timeout-too-short",
        APPS,
        "  container_definitions = [{\n    name = \"db\", image = \"db:1\", essential = true, startTimeout = 2,\n    \
         healthCheck = { command = [\"CMD\", \"true\"] } }, {\n    \
         dependsOn = [{ containerName = \"db\", condition = \"HEALTHY\" }]\n",
        "startTimeout = 2",
    ),
    added("ecs-start-timeout-unused", APP, "    startTimeout = 30\n"),
    added("ecs-timeout-range", APP, "    stopTimeout = 500\n"),
    added("ecs-secret-reference", APP, "    secrets = [{ name = \"KEY\", valueFrom = \"arn:aws:s3:::keys\" }]\n"),
    // The configuration.
    added("consul-service-name", INPUTS, "  consul_service_name = \"Web\"\n"),
    replaced("consul-upstream-port", UPSTREAM, "localBindPort   = 20000", "localBindPort   = 20000"),
    replaced("consul-config-schema", UPSTREAM, "localBindPort   = 70000", "localBindPort   = 70000"),
    added(
        "consul-config-version",
        INPUTS,
        "  consul_ecs_config = { service = { networkResilienceConfig = { enabled = true } } }\n",
    ),
    added("consul-task-role", INPUTS, "  create_task_role = false\n").at("family            ="),
    added("consul-tenancy-tags", INPUTS, "  tags = { \"consul.hashicorp.com/namespace\" = \"team\" }\n"),
    added(
        "consul-tenancy-tags-match",
        INPUTS,
        "  tags = { \"consul.hashicorp.com/namespace\" = \"team\", \"consul.hashicorp.com/partition\" = \"a\" }\n",
    ),
    replaced("consul-tags-not-propagated", PROPAGATED, "propagate_tags  = \"NONE\"", "propagate_tags  = \"NONE\""),
];

const DATAPLANE: &[Mistake] = &[
    replaced(
        "consul-mixed-generations consul-app-essential consul-helper-essential",
        NAME,
        "    name = \"consul-client\"",
        "name = \"consul-client\"",
    ),
    added(
        "ecs-dependency-condition",
        APP,
        "    dependsOn = [{ containerName = \"consul-dataplane\", condition = \"READY\" }]\n",
    ),
    added("ecs-timeout-range ecs-start-timeout-unused", APP, "    startTimeout = 5000\n"),
    // The images.
    added("consul-ecs-image", INPUTS, "  consul_ecs_image = \"hashicorp/consul:latest\"\n"),
    added("consul-image-generation", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.4.1\"\n"),
    added("consul-release-defect", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.9.1\"\n"),
    added("consul-fips-tag", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.10.1-fips1402\"\n"),
    added(
        "consul-release-pair consul-end-of-support",
        INPUTS,
        "  consul_dataplane_image = \"hashicorp/consul-dataplane:1.3.5\"\n",
    ),
    replaced("consul-service-port", "port = \"9090\"", "port = 0", "port = 0"),
    replaced("consul-upstream-port", UPSTREAM, "localBindPort   = 22000", "localBindPort   = 22000"),
    replaced("consul-upstream-port", UPSTREAM, "localBindPort   = 9090", "localBindPort   = 9090"),
    replaced("consul-config-schema", UPSTREAM, "localBindPort   = \"1234\"", "localBindPort   = \"1234\""),
    replaced("consul-config-schema", "port = \"9090\"", "port = 70000", "port = 70000"),
    replaced("consul-config-json", "port = \"9090\"", "port = \"http\"", "port = \"http\""),
    added("consul-config-schema", INPUTS, "  consul_service_tags = [[]]\n"),
    added("consul-config-schema", INPUTS, "  http_config = { port = 0.5 }\n"),
    added("consul-config-schema", INPUTS, "  consul_ecs_config = { consulLogin = { method = 7 } }\n"),
    added("consul-config-ignored", INPUTS, "  http_config = { httpz = true }\n"),
    added(
        "consul-resilience-off",
        INPUTS,
        "  consul_ecs_image = \"hashicorp/consul-ecs:0.10.0\"\n  consul_ecs_config = { service = { \
         networkResilienceConfig = { outlierDetection = { maxFailures = 5 } } } }\n",
    )
    .at("networkResilienceConfig"),
    added(
        "consul-resilience-refused",
        INPUTS,
        "  consul_ecs_image = \"hashicorp/consul-ecs:0.10.0\"\n  consul_ecs_config = { service = { \
         networkResilienceConfig = { enabled = true } } }\n",
    )
    .at("networkResilienceConfig"),
    added("consul-readiness-port", INPUTS, "  envoy_readiness_port = 20000\n").at("module \"example_client_app\""),
    // It is on by default.
    replaced(
        "consul-transparent-proxy-launch-type",
        "  enable_transparent_proxy = false\n",
        "",
        "requires_compatibilities",
    ),
    added("consul-dns-without-transparent-proxy", INPUTS, "  enable_consul_dns = true\n"),
    added("consul-tenancy-pair consul-tenancy-tags", INPUTS, "  consul_namespace = \"team\"\n"),
    // Roles, secrets and tags.
    replaced(
        "consul-task-role-shared",
        "  family            = \"example-client-app\"\n",
        "  for_each = toset([\"web\", \"orders\"])\n  family = each.key\n  create_task_role = false\n  \
         task_role = { id = \"shared\", arn = \"arn:aws:iam::123456789012:role/shared\" }\n",
        "task_role = {",
    ),
    added("ecs-secrets-execution-role", INPUTS, "  create_execution_role = false\n").at("family            ="),
    replaced("consul-ca-certificates", CA, "consul_https_ca_cert_arn = ", "module \"example_client_app\""),
    replaced("ecs-secret-reference", CA_ARN, "\"arn:aws:s3:::certificates\"", CA),
];

const CLIENT: &[Mistake] = &[
    replaced("consul-client-ports", PORTS, "containerPort = 8500, hostPort = 8500", "containerPort = 8500"),
    added(
        "ecs-dependency-condition",
        APP,
        "    dependsOn = [{ containerName = \"sidecar-proxy\", condition = \"READY\" }]\n",
    ),
    added("consul-ecs-image", INPUTS, "  consul_ecs_image = \"hashicorp/consul:latest\"\n"),
    added("consul-image-generation", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.9.1\"\n"),
    added("consul-fips-tag", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.6.0-fips1403\"\n"),
    added("consul-client-image", INPUTS, "  consul_image = \"hashicorp/consul-ecs:0.6.0\"\n"),
    added("consul-release-defect", INPUTS, "  consul_image = \"hashicorp/consul:1.15.1\"\n"),
    added("consul-release-pair", INPUTS, "  consul_image = \"hashicorp/consul:1.10.4\"\n"),
    added("consul-end-of-support", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.5.0\"\n"),
    added("consul-sidecar-proxy-image", INPUTS, "  envoy_image = \"hashicorp/consul:latest\"\n"),
    replaced("consul-service-port", "port = 9090\n", "port = 0\n", "port = 0"),
    replaced("consul-config-json", "port = 9090\n", "port = \"http\"\n", "port = \"http\""),
    added("consul-config-schema", INPUTS, "  checks = [{ id = \"http\" }]\n"),
    added("consul-config-ignored", INPUTS, "  consul_ecs_config = { proxy = { local_address = \"::1\" } }\n"),
    added("consul-tenancy-pair consul-tenancy-tags", INPUTS, "  consul_partition = \"a\"\n"),
    replaced(
        "consul-task-role-shared",
        "  family            = \"example_client_app\"\n",
        "  for_each = toset([\"web\", \"orders\"])\n  family = each.key\n  create_task_role = false\n  \
         task_role = { id = \"shared\", arn = \"arn:aws:iam::123456789012:role/shared\" }\n",
        "task_role = {",
    ),
    replaced(
        "ecs-secrets-execution-role",
        APPS,
        "  create_execution_role = false\n  container_definitions = [{ name = \"db\", image = \"db:1\",\n    \
         secrets = [{ name = \"KEY\", valueFrom = \"arn:aws:ssm:us-east-1:123456789012:parameter/key\" }] }, {\n",
        "family            =",
    ),
];
