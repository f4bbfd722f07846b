//! The modules `controller` and `acl-controller`.

use audit::rule::Applies;

use super::{Mistake, Module, Planted, added, replaced};

pub(super) const CONTROLLER: Module = Module {
    name: "controller 0.9",
    foreign: OF_THE_MESH,
    planted: &[Planted { call: "controller-0.9", mistakes: OF_CONTROLLER }],
    prevented: &[MADE],
};

pub(super) const ACL_CONTROLLER: Module = Module {
    name: "acl-controller 0.4",
    foreign: OF_THE_MESH,
    planted: &[Planted { call: "acl-controller-0.4", mistakes: OF_ACL_CONTROLLER }],
    prevented: &[MADE, CONFIGURED],
};

const OF_THE_MESH: &[Applies] =
    &[Applies::Consul, Applies::ConsulClient, Applies::ConsulDataplane, Applies::ConsulGateway, Applies::AllTasks];

/// The modules make a task with one container, its roles, and no tags.
const MADE: &[&str] = &[
    "consul-config-json",
    "consul-config-missing",
    "consul-config-version",
    "consul-controller-command",
    "consul-credential-in-plain",
    "consul-mesh-tag-alone",
    "ecs-container-name-duplicate",
    "ecs-dependency-condition",
    "ecs-dependency-cycle",
    "ecs-dependency-essential",
    "ecs-dependency-health",
    "ecs-dependency-unknown",
    "ecs-health-check-command",
    "ecs-health-check-range",
    "ecs-host-port",
    "ecs-secrets-execution-role",
    "ecs-shell-entry-point",
    "ecs-start-timeout-too-short",
    "ecs-start-timeout-unused",
    "ecs-timeout-range",
];

/// The ACL controller has flags instead of a configuration, and one certificate.
const CONFIGURED: &[&str] = &["consul-ca-certificates", "consul-config-ignored", "consul-config-schema"];

/// A line of both calls, before which inputs are added.
const INPUTS: &str = "  region                            = \"us-east-1\"\n";
const TOKEN: &str = "\"arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-bootstrap-token-AbCdEf\"";
const CA: &str = "\"arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-ca-cert-AbCdEf\"";

const OF_CONTROLLER: &[Mistake] = &[
    added("consul-ecs-image", INPUTS, "  consul_ecs_image = \"hashicorp/consul:latest\"\n"),
    added("consul-image-generation", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.6.0\"\n"),
    added(
        "consul-release-defect consul-end-of-support",
        INPUTS,
        "  consul_ecs_image = \"hashicorp/consul-ecs:0.7.1\"\n",
    ),
    added("consul-end-of-support", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.8.0\"\n"),
    added("consul-fips-tag", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.10.1-fips1402\"\n"),
    added("consul-config-schema", INPUTS, "  http_config = { port = 0.5 }\n"),
    replaced("consul-config-schema", "\"consul.example.internal\"", "\"\"", "consul_server_hosts"),
    added("consul-config-ignored", INPUTS, "  http_config = { httpz = true }\n"),
    replaced("consul-ca-certificates", "consul_ca_cert_arn  ", "consul_https_ca_cert_arn", "module \"controller\""),
    replaced("ecs-secret-reference", TOKEN, "\"arn:aws:s3:::tokens\"", "consul_bootstrap_token_secret_arn"),
    replaced("ecs-secret-reference", CA, "\"arn:aws:s3:::certificates\"", "consul_ca_cert_arn"),
];

const OF_ACL_CONTROLLER: &[Mistake] = &[
    added("consul-ecs-image", INPUTS, "  consul_ecs_image = \"hashicorp/consul:latest\"\n"),
    added("consul-image-generation", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.7.1\"\n"),
    added("consul-release-defect", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.4.0\"\n"),
    added("consul-end-of-support", INPUTS, "  consul_ecs_image = \"hashicorp/consul-ecs:0.6.0\"\n"),
    added(
        "consul-fips-tag consul-end-of-support",
        INPUTS,
        "  consul_ecs_image = \"hashicorp/consul-ecs:0.6.0-fips1403\"\n",
    ),
    replaced("ecs-secret-reference", TOKEN, "\"arn:aws:s3:::tokens\"", "consul_bootstrap_token_secret_arn"),
    replaced("ecs-secret-reference", CA, "\"arn:aws:s3:::certificates\"", "consul_server_ca_cert_arn"),
];
