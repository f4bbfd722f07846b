//! Mistakes in the inputs of `HashiCorp`'s modules: each that an input can express is found, at the input.
//!
//! The modules prevent the others. They make the network mode, the volumes, the tags of the mesh, the containers of the
//! mesh with their commands, mounts, users, limits, health checks and dependencies, and the app's dependency on the
//! proxy. With `precondition` and `validation`, they refuse before a plan: a port of 0 without `outbound_only`, equal
//! listener and readiness ports, a partition without a namespace and the reverse, transparent proxy on anything but EC2,
//! Consul's DNS without transparent proxy, names of services that are not lower-case, other fields of `upstreams` and
//! `consul_ecs_config`, and other kinds of gateways. The auditor finds some of these as well.

use std::{fmt::Write as _, fs};

use audit::finding::Finding;

use crate::reading::{findings_in, shown};

/// A mistake: the call that it is planted into, what is replaced by what, the rule that finds it, and the text of the
/// line that the finding points at.
type Mistake<'t> = (&'t str, &'t str, &'t str, &'t str, &'t str);

const MESH: &str = "mesh-task-0.9-acls-tls";
const OLD: &str = "mesh-task-0.6-acls-tls-gossip";
const API: &str = "gateway-task-0.9-api-gateway";

const UPSTREAM: &str = "    localBindPort   = 1234\n";

#[rustfmt::skip]
const MISTAKES: [Mistake<'static>; 27] = [
    (MESH, "essential        = true", "essential        = false", "consul-app-essential", "essential        = false"),
    (MESH, "consul_server_hosts = ", "consul_service_name = \"Web\"\n  consul_server_hosts = ", "consul-service-name", "consul_service_name = \"Web\""),
    (MESH, "cpu              = 0", "dependsOn = [{ containerName = \"db\", condition = \"START\" }]\n    cpu              = 0", "ecs-dependency-unknown", "dependsOn = [{"),
    (MESH, "cpu              = 0", "dependsOn = [{ containerName = \"consul-dataplane\", condition = \"READY\" }]\n    cpu              = 0", "ecs-dependency-condition", "dependsOn = [{"),
    (MESH, "cpu              = 0", "stopTimeout = 500\n    cpu              = 0", "ecs-timeout-range", "stopTimeout = 500"),
    (MESH, "cpu              = 0", "startTimeout = 5000\n    cpu              = 0", "ecs-timeout-range", "startTimeout = 5000"),
    (MESH, "interval = 30", "interval = 3000", "ecs-health-check-range", "interval = 3000"),
    (MESH, "[\"CMD-SHELL\", \"curl -f http://localhost:9090/health\"]", "[\"CMD-SHELL\", \"curl\", \"localhost\"]", "ecs-health-check-command", "command  = ["),
    (MESH, "hostPort = 9090", "hostPort = 9091", "ecs-host-port", "hostPort = 9091"),
    (MESH, "name             = \"example-client-app\"", "name             = \"consul-dataplane\"", "ecs-container-name-duplicate", "module \"example_client_app\""),
    (MESH, UPSTREAM, "    localBindPort   = 20000\n", "consul-upstream-port", "localBindPort   = 20000"),
    (MESH, UPSTREAM, "    localBindPort   = 22000\n", "consul-upstream-port", "localBindPort   = 22000"),
    (MESH, UPSTREAM, "    localBindPort   = 9090\n", "consul-upstream-port", "localBindPort   = 9090"),
    (MESH, UPSTREAM, "    localBindPort   = \"1234\"\n", "consul-config-schema", "localBindPort   = \"1234\""),
    (MESH, UPSTREAM, "    localBindPort   = 70000\n", "consul-config-schema", "localBindPort   = 70000"),
    (MESH, "containerPort = 9090, hostPort = 9090", "containerPort = 20000, hostPort = 20000", "consul-app-port", "containerPort = 20000"),
    (MESH, "port = \"9090\"", "port = 70000", "consul-config-schema", "port = 70000"),
    (MESH, "acls               = true", "create_task_role = false\n  acls               = true", "consul-task-role", "family            ="),
    (MESH, "environment      = [{ name = \"NAME\"", "environment      = [{ name = \"CONSUL_HTTP_TOKEN\"", "consul-credential-in-plain", "environment      = [{"),
    (MESH, "consul_ca_cert_arn = \"arn:aws:secretsmanager:us-east-1:123456789012:secret:dev-ca-cert-AbCdEf\"", "consul_ca_cert_arn = \"arn:aws:s3:::certificates\"", "ecs-secret-reference", "consul_ca_cert_arn = "),
    (MESH, "acls               = true", "application_shutdown_delay_seconds = 60\n  acls               = true", "consul-app-shutdown-delay", "name             = \"example-client-app\""),
    (MESH, "propagate_tags  = \"TASK_DEFINITION\"", "propagate_tags  = \"NONE\"", "consul-tags-not-propagated", "propagate_tags  = \"NONE\""),
    (OLD, "essential        = true", "essential        = false", "consul-app-essential", "essential        = false"),
    (OLD, UPSTREAM, "    localBindPort   = 20000\n", "consul-upstream-port", "localBindPort   = 20000"),
    (OLD, "hostPort = 9090", "hostPort = 9091", "ecs-host-port", "hostPort = 9091"),
    (API, "kind            = \"api-gateway\"", "kind            = \"api-gateway\"\n  lan_port        = 22000", "consul-readiness-port", "lan_port        = 22000"),
    (API, "kind            = \"api-gateway\"", "kind            = \"ingress-gateway\"", "consul-config-schema", "kind            = \"ingress-gateway\""),
];

/// Inputs that are mistakes by themselves, and the rule that finds each.
#[rustfmt::skip]
const ADDED: [(&str, &str); 6] = [
    ("consul_service_tags = [1]", "consul-config-schema"),
    ("http_config = { port = 0.5 }", "consul-config-schema"),
    ("consul_ecs_config = { consulLogin = { method = 7 } }", "consul-config-schema"),
    ("consul_ecs_image = \"hashicorp/consul:1.20.0\"", "consul-ecs-image"),
    ("consul_ecs_image = \"public.ecr.aws/hashicorp/consul-ecs:0.4.1\"", "consul-image-generation"),
    ("tags = { \"consul.hashicorp.com/namespace\" = \"team\" }", "consul-tenancy-tags"),
];

/// Plants a mistake, and returns what was found instead if `rule` does not point at a line with `line`.
fn missed((call, from, to, rule, line): Mistake<'_>) -> Option<String> {
    let path = format!("{}/tests/audit/terraform_source/modules/{call}.tf", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{call} lacks {from}");
    let text = text.replacen(from, to, 1);
    let found = findings_in("main.tf", &text);
    let line_of = |finding: &Finding| finding.file.position(finding.span.start).line;
    let is_there = found.iter().any(|finding| {
        finding.rule.id == rule && text.lines().nth(line_of(finding) - 1).is_some_and(|pointed| pointed.contains(line))
    });
    let lines: Vec<_> = found.iter().map(|finding| (finding.rule.id, line_of(finding))).collect();
    (!is_there).then(|| format!("{call} {to}: no {rule} at {line}: {lines:?} {:#?}", shown(&found)))
}

#[test]
fn mistakes_in_inputs_are_found_at_the_input() {
    let acls = "  acls               = true\n";
    let planted = MISTAKES.into_iter().filter_map(missed);
    let added =
        ADDED.into_iter().filter_map(|(input, rule)| missed((MESH, acls, &format!("  {input}\n{acls}"), rule, input)));
    let wrong: Vec<String> = planted.chain(added).collect();
    assert!(wrong.is_empty(), "{} not found:\n{}", wrong.len(), wrong.join("\n"));
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
