//! Mistakes in the inputs of `HashiCorp`'s modules are found, at the input: one for each way in which an input becomes a part of the
//! definition. That a call has the findings of its definition is tested in `modules`.

use std::{collections::BTreeSet, fmt::Write as _, fs, sync::Arc};

use audit::{audit, finding::Finding};
use audit_read::{Material, input::read_source};
use document::SourceFile;

use self::Change::{Added, Replaced};
use crate::reading::{findings_in, shown};

/// A change of a correct call.
enum Change {
    /// A text is replaced.
    Replaced(&'static str, &'static str),
    /// A text is added before another one.
    Added(&'static str, &'static str),
}

/// A change, the rules that have findings then, and a text in the line that the first one's points at.
type Mistake = (Change, &'static str, &'static str);

/// Lines of the calls: before them, inputs and values of the app are added.
const INPUTS: &str = "  upstreams = [{\n";
const APP: &str = "    cpu              = 0\n";
const NAME: &str = "    name             = \"example-client-app\"";
const PORTS: &str = "containerPort = 9090, hostPort = 9090";
const CHECK: &str = "[\"CMD-SHELL\", \"curl -f http://localhost:9090/health\"]";
const CA: &str = "consul_ca_cert_arn = ";
const CA_ARN: &str = "\"arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-ca-cert-AbCdEf\"";
const PROPAGATED: &str = "propagate_tags  = \"TASK_DEFINITION\"";
const WHERE: &str = "  enable_transparent_proxy = false\n  consul_server_hosts = \"consul.example.internal\"\n  port = \"9090\"\n  requires_compatibilities = [\"FARGATE\"]\n";
const OF_GATEWAY: &str = "  acls                = true\n";
const OF_CONTROLLER: &str = "  region                            = \"us-east-1\"\n";
const TOKEN: &str = "\"arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-bootstrap-token-AbCdEf\"";

#[rustfmt::skip]
const WITH_DATAPLANE: &[Mistake] = &[
    // The app's containers
    (Replaced(PORTS, "containerPort = 20000, hostPort = 20000"), "consul-app-port", "containerPort = 20000"),
    (Replaced(CHECK, "[\"CMD-SHELL\", \"curl\", \"localhost\"]"), "ecs-health-check-command", "command  = ["),
    (Replaced("{ name = \"NAME\", value", "{ name = \"CONSUL_HTTP_TOKEN\", value"), "consul-credential-in-plain", "CONSUL_HTTP_TOKEN"),
    (Replaced("    essential        = true\n", ""), "consul-health-unsynced", "module \"example_client_app\""),
    (Added(APP, "    dependsOn = [{ containerName = \"db\", condition = \"START\" }]\n"), "ecs-dependency-unknown", "dependsOn"),
    (Added(APP, "    stopTimeout = 500\n"), "ecs-timeout-range", "stopTimeout"),
    (Added(APP, "    secrets = [{ name = \"KEY\", valueFrom = \"arn:aws:s3:::keys\" }]\n"), "ecs-secret-reference", "secrets"),
    (Added(INPUTS, "  application_shutdown_delay_seconds = 60\n"), "consul-app-shutdown-delay", NAME),
    // What the module does not have or refuses
    (Added(INPUTS, "  tls_enabled = true\n"), "consul-module-arguments", "tls_enabled"),
    (Added(INPUTS, "  retry_join = [\"consul.example.internal\"]\n"), "consul-module-arguments", "retry_join"),
    (Added(INPUTS, "  consul_service_tags = \"v1\"\n"), "consul-module-arguments consul-config-schema", "consul_service_tags"),
    (Added(INPUTS, "  create_execution_role = false\n  execution_role = { id = \"web\", arn = \"arn:aws:iam::123456789012:role/web\" }\n  additional_execution_role_policies = [\"arn:aws:iam::aws:policy/ReadOnlyAccess\"]\n"), "consul-module-arguments", "additional_execution_role_policies"),
    (Added(INPUTS, "  iam_role_path = \"/mesh\"\n"), "consul-module-arguments", "iam_role_path"),
    (Added(INPUTS, "  lb_enabled = true\n"), "consul-module-arguments", "lb_enabled"),
    (Added(INPUTS, "  kind = \"mesh-gateway\"\n"), "consul-module-arguments", "kind"),
    (Added(INPUTS, "  ecs_cluster_arn = aws_ecs_cluster.this.arn\n"), "consul-module-arguments", "ecs_cluster_arn"),
    (Added(INPUTS, "  task_role = { id = \"web\", arn = \"arn:aws:iam::123456789012:role/web\" }\n"), "consul-module-arguments", "task_role"),
    (Added(INPUTS, "  consul_ecs_config = { proxy = { publicListenerPort = 20001 } }\n"), "consul-module-arguments", "consul_ecs_config"),
    // The configuration
    (Replaced("port = \"9090\"", "port = 0"), "consul-service-port", "port = 0"),
    (Replaced("port = \"9090\"", "port = \"http\""), "consul-config-schema", "port = \"http\""),
    (Replaced("localBindPort   = 1234", "localBindPort   = 20000"), "consul-upstream-port", "localBindPort   = 20000"),
    (Added(INPUTS, "  consul_service_name = \"Web\"\n"), "consul-service-name", "consul_service_name"),
    (Added(INPUTS, "  consul_ecs_config = { consulLogin = { method = 7 } }\n"), "consul-config-schema", "consul_ecs_config"),
    (Added(INPUTS, "  http_config = { httpz = true }\n"), "consul-config-ignored", "http_config"),
    (Added(INPUTS, "  envoy_readiness_port = 20000\n"), "consul-readiness-port", "module \"example_client_app\""),
    (Added(INPUTS, "  enable_consul_dns = true\n"), "consul-dns-without-transparent-proxy", "enable_consul_dns"),
    // Where the task runs: a misspelt argument is the cause.
    (Replaced("enable_transparent_proxy = false", "enable_transparent_proxy = true"), "consul-transparent-proxy-launch-type", "requires_compatibilities"),
    (Replaced(WHERE, "  consul_server_hosts = \"consul.example.internal\"\n  port = \"9090\"\n  requires_compatibilites = [\"EC2\"]\n"), "consul-module-arguments", "requires_compatibilites"),
    // Images, roles, secrets and tags
    (Added(INPUTS, "  consul_ecs_image = \"hashicorp/consul:latest\"\n"), "consul-ecs-image", "consul_ecs_image"),
    (Added(INPUTS, "  create_task_role = false\n"), "consul-task-role", "family            ="),
    (Added(INPUTS, "  create_execution_role = false\n"), "ecs-secrets-execution-role", "family            ="),
    (Replaced(CA, "consul_https_ca_cert_arn = "), "consul-ca-certificates", "module \"example_client_app\""),
    (Replaced(CA_ARN, "\"arn:aws:s3:::certificates\""), "ecs-secret-reference", CA),
    (Added(INPUTS, "  consul_namespace = \"team\"\n"), "consul-tenancy-pair consul-tenancy-tags", "consul_namespace"),
    (Added(INPUTS, "  tags = { \"consul.hashicorp.com/namespace\" = \"team\" }\n"), "consul-tenancy-tags", "tags = {"),
    (Replaced(PROPAGATED, "propagate_tags  = \"NONE\""), "consul-tags-not-propagated", "propagate_tags  = \"NONE\""),
];

#[rustfmt::skip]
const WITH_CLIENT: &[Mistake] = &[
    (Replaced(PORTS, "containerPort = 8500, hostPort = 8500"), "consul-client-ports", "containerPort = 8500"),
    (Added(INPUTS, "  consul_image = \"hashicorp/consul-ecs:0.6.0\"\n"), "consul-client-image", "consul_image"),
    (Added(INPUTS, "  envoy_image = \"hashicorp/consul:latest\"\n"), "consul-sidecar-proxy-image", "envoy_image"),
    (Added(INPUTS, "  checks = [{ id = \"http\" }]\n"), "consul-config-schema", "checks"),
    (Added(INPUTS, "  consul_ecs_config = { proxy = { local_address = \"::1\" } }\n"), "consul-config-ignored", "consul_ecs_config"),
];

#[rustfmt::skip]
const MESH_GATEWAY: &[Mistake] = &[
    (Replaced("\"mesh-gateway\"", "\"ingress-gateway\""), "consul-config-schema", "\"ingress-gateway\""),
    (Replaced("  wan_address = \"gw.example.com\"\n", ""), "consul-gateway-wan-address", "module \"gateway\""),
    (Replaced("\"dc1-mesh-gateway\"", "\"DC1\""), "consul-service-name", "family          ="),
    (Added(OF_GATEWAY, "  lb_enabled = true\n  lb_subnets = [\"subnet-1\"]\n  lb_vpc_id = \"vpc-1\"\n"), "consul-module-arguments", "wan_address"),
    (Added(OF_GATEWAY, "  port = 9090\n"), "consul-module-arguments", "port = 9090"),
    (Added(OF_GATEWAY, "  lan_port = 22000\n"), "consul-readiness-port", "lan_port"),
    (Added(OF_GATEWAY, "  consul_dataplane_image = \"hashicorp/consul-dataplane:1.3.5\"\n"), "consul-release-pair consul-end-of-support", "consul_dataplane_image"),
];

#[rustfmt::skip]
const API_GATEWAY: &[Mistake] = &[
    (Added(OF_GATEWAY, "  extra_container_definitions = [{ name = \"logs\", image = \"example/logs:1\", essential = true, portMappings = [{ containerPort = 80, hostPort = 80 }] }]\n"), "consul-gateway-app", "extra_container_definitions"),
    (Added(OF_GATEWAY, "  extra_container_definitions = [\n    { name = \"logs\", image = \"x:1\" },\n    { name = \"logs\", image = \"x:1\" }]\n"), "ecs-container-name-duplicate", "{ name = \"logs\""),
];

#[rustfmt::skip]
const CONTROLLER: &[Mistake] = &[
    (Added(OF_CONTROLLER, "  consul_ecs_image = \"hashicorp/consul:latest\"\n"), "consul-ecs-image", "consul_ecs_image"),
    (Added(OF_CONTROLLER, "  http_config = { port = 0.5 }\n"), "consul-config-schema", "http_config"),
    (Replaced("\"consul.example.internal\"", "\"\""), "consul-config-schema", "consul_server_hosts"),
    (Replaced(TOKEN, "\"arn:aws:s3:::tokens\""), "ecs-secret-reference", "consul_bootstrap_token_secret_arn"),
    (Added(OF_CONTROLLER, "  container_definitions = []\n"), "consul-module-arguments", "container_definitions"),
    (Replaced("  region                            = \"us-east-1\"\n", ""), "consul-module-arguments", "module \"controller\""),
    (Added(OF_CONTROLLER, "  iam_role_path = \"/mesh\"\n"), "consul-controller-settings", "iam_role_path"),
];

#[rustfmt::skip]
const ACL_CONTROLLER: &[Mistake] = &[
    (Replaced(TOKEN, "\"arn:aws:s3:::tokens\""), "ecs-secret-reference", "consul_bootstrap_token_secret_arn"),
    (Replaced("  name_prefix                       = \"dev\"\n", "  name_prefix = \"dev\"\n  iam_role_path = \"/mesh\"\n"), "consul-module-arguments", "iam_role_path"),
];

/// The calls, and the mistakes in each.
const CALLS: [(&str, &[Mistake]); 6] = [
    ("mesh-task-0.9-acls-tls", WITH_DATAPLANE),
    ("mesh-task-0.6-acls-tls-gossip", WITH_CLIENT),
    ("gateway-task-0.9-mesh-gateway", MESH_GATEWAY),
    ("gateway-task-0.9-api-gateway", API_GATEWAY),
    ("controller-0.9", CONTROLLER),
    ("acl-controller-0.4", ACL_CONTROLLER),
];

/// What is wrong with what is found in the call with a mistake, beyond what is found in the intact one.
fn misjudged(intact: &str, (change, rules, line): &Mistake) -> Option<String> {
    let text = match change {
        Replaced(from, to) => intact.replacen(from, to, 1),
        Added(before, text) => intact.replacen(before, &format!("{text}{before}"), 1),
    };
    assert_ne!(text, intact, "nothing is changed for {rules}");
    let known: Vec<String> = shown(&all_findings(intact));
    let found = all_findings(&text);
    let new: Vec<&Finding> = found.iter().filter(|one| !known.contains(&shown(std::slice::from_ref(one))[0])).collect();
    let pointed = |finding: &Finding| text.lines().nth(finding.file.position(finding.span.start).line - 1);
    let expected: BTreeSet<&str> = rules.split(' ').collect();
    let first = rules.split(' ').next();
    let is_there =
        new.iter().any(|one| Some(one.rule.id) == first && pointed(one).is_some_and(|found| found.contains(line)));
    let is_all = new.iter().map(|one| one.rule.id).collect::<BTreeSet<_>>() == expected;
    let lines: Vec<_> = new.iter().map(|one| (one.rule.id, pointed(one))).collect();
    (!is_there || !is_all).then(|| format!("{expected:?} at {line}\nfound {lines:#?}"))
}

#[test]
fn mistakes_in_inputs_are_found_at_the_input() {
    let mut missed = Vec::new();
    for (call, mistakes) in CALLS {
        let path = format!("{}/tests/audit/terraform_source/modules/{call}.tf", env!("CARGO_MANIFEST_DIR"));
        let intact = fs::read_to_string(path).unwrap();
        missed.extend(
            mistakes.iter().filter_map(|mistake| misjudged(&intact, mistake)).map(|what| format!("{call}: {what}")),
        );
    }
    assert!(missed.is_empty(), "{} misjudged:\n{}", missed.len(), missed.join("\n"));
}

/// With those about old releases.
fn all_findings(text: &str) -> Vec<Finding> {
    let mut material = Material::default();
    read_source(Arc::new(SourceFile::new("main.tf", text)), true, &mut material).unwrap();
    audit(&material)
}

/// What is known only at deployment causes no findings.
#[test]
fn unknown_inputs_cause_no_findings() {
    for (name, call, _) in super::modules::calls() {
        let names: Vec<&str> = call
            .lines()
            .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
            .filter_map(|line| line.trim_start().split_once(" = ").map(|(name, _)| name.trim()))
            .filter(|name| !["source", "version", "task_definition", "log_config"].contains(name))
            .collect();
        for input in names {
            let is_start =
                |line: &str| line.trim_start().split_once(" = ").is_some_and(|(name, _)| name.trim() == input);
            let mut out = String::new();
            let mut depth = 0_i32;
            for line in call.lines() {
                let brackets =
                    |open: [char; 2]| i32::try_from(line.chars().filter(|c| open.contains(c)).count()).unwrap();
                let change = brackets(['[', '{']) - brackets([']', '}']);
                if depth > 0 {
                    depth += change;
                } else if is_start(line) && line.starts_with("  ") && !line.starts_with("   ") {
                    let _ = writeln!(out, "  {input} = data.example.values.{input}");
                    depth = change;
                } else {
                    out.push_str(line);
                    out.push('\n');
                }
            }
            let found = shown(&findings_in("main.tf", &out));
            assert_eq!(found, Vec::<String>::new(), "{name}: {input} unknown\n{out}");
        }
    }
}
