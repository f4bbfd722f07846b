//! Arguments of calls of `HashiCorp`'s modules that a module does not have, lacks or ignores.

use audit::severity::Severity;
use audit_read::{Material, input::read_source};
use document::SourceFile;

/// What the rule says of a call of a module: its severity, and its message.
fn judged(text: &str) -> Vec<(Severity, String)> {
    let mut material = Material::default();
    read_source(SourceFile::new("main.tf", text).into(), true, &mut material).unwrap();
    let found = audit::audit(&material).into_iter().filter(|finding| finding.rule.id == "consul-module-arguments");
    found.map(|finding| (finding.severity, finding.message)).collect()
}

fn call_of(name: &str) -> String {
    super::modules::calls().into_iter().find(|(known, ..)| known == name).unwrap().1
}

#[test]
fn a_call_of_an_older_release_without_a_version_is_found_once() {
    let pinned = call_of("mesh-task-0.6-acls-tls-gossip");
    let open = pinned.replace("  version = \"0.6.0\"\n", "");
    assert_ne!(pinned, open);
    let names = "retry_join, gossip_key_secret_arn, consul_server_ca_cert_arn, consul_http_addr";
    let message =
        format!("without a version, Terraform takes the module mesh-task 0.10, which has no arguments {names}");
    assert_eq!(judged(&open), [(Severity::Error, message)]);
    assert_eq!(judged(&pinned), []);

    // One argument is a mistake of its own.
    let newest = call_of("mesh-task-0.9-acls-tls").replace("  version = \"0.9.0\"\n", "");
    assert_eq!(judged(&newest), []);
    let with_one = newest.replace("  upstreams = [{\n", "  retry_join = [\"consul\"]\n  upstreams = [{\n");
    let message = "the module mesh-task 0.10 has no argument retry_join".to_owned();
    assert_eq!(judged(&with_one), [(Severity::Error, message)]);
}

#[test]
fn a_role_that_a_module_ignores_is_a_warning_and_a_null_role_is_none() {
    let call = call_of("mesh-task-0.9-acls-tls");
    let with = |inputs: &str| judged(&call.replace("  upstreams = [{\n", &format!("{inputs}  upstreams = [{{\n")));
    for role in ["task_role", "execution_role"] {
        let message = format!("{role} has no effect: the module creates a role unless create_{role} is false");
        let given = format!("  {role} = {{ id = \"web\", arn = \"arn:aws:iam::123456789012:role/web\" }}\n");
        assert_eq!(with(&given), [(Severity::Warning, message)]);
        assert_eq!(with(&format!("{given}  create_{role} = false\n")), []);
        for none in ["null", "{ id = null, arn = null }", "var.role"] {
            assert_eq!(with(&format!("  {role} = {none}\n")), [], "{none}");
        }
    }
}

/// Source: <https://github.com/hashicorp/terraform-aws-consul-ecs/blob/main/modules/gateway-task/variables.tf>
#[test]
fn each_module_has_its_own_arguments() {
    let gateway = call_of("gateway-task-0.9-mesh-gateway");
    let with = |input: &str| judged(&gateway.replace("  kind ", &format!("  {input}\n  kind ")));
    assert_eq!(with("consul_image = \"hashicorp/consul:1.17.0\""), []);
    assert_eq!(with("health_check_port = 9090"), [], "it is like no argument of a gateway");
    let found = with("container_definitions = []");
    let message = "the module gateway-task 0.9.0 has no argument container_definitions".to_owned();
    assert_eq!(found, [(Severity::Error, message)]);
    for (call, argument) in [
        ("controller-0.9", "consul_server_hosts"),
        ("controller-0.9", "consul_bootstrap_token_secret_arn"),
        ("acl-controller-0.4", "consul_server_http_addr"),
        ("mesh-task-0.9-acls-tls", "consul_server_hosts"),
    ] {
        let whole = call_of(call);
        let lines = whole.lines().filter(|line| !line.trim_start().starts_with(argument));
        let found = judged(&lines.flat_map(|line| [line, "\n"]).collect::<String>());
        let message = format!("the argument {argument} is missing, which the module");
        assert!(found.len() == 1 && found[0].1.starts_with(&message), "{call}: {found:?}");
        assert_eq!(judged(&whole), [], "{call}");
    }
}

/// Source: <https://github.com/hashicorp/terraform-aws-consul-ecs/blob/main/CHANGELOG.md>
#[test]
fn roles_were_arns_in_old_releases() {
    let call = |release: &str, roles: &str| {
        let inputs = "  family = \"web\"\n  outbound_only = true\n  retry_join = [\"consul\"]\n";
        let source = "source = \"hashicorp/consul-ecs/aws//modules/mesh-task\"";
        let containers = "container_definitions = [{ name = \"web\", image = \"example/web:1\" }]";
        judged(&format!(
            "module \"web\" {{\n  {source}\n  version = \"{release}\"\n{inputs}  {containers}\n{roles}}}\n"
        ))
    };
    let arn = "\"arn:aws:iam::123456789012:role/web\"";
    let roles = format!("  task_role_arn = {arn}\n  execution_role_arn = {arn}\n");
    for release in ["0.3.0", "0.4.1", "~> 0.4.0"] {
        assert_eq!(call(release, &roles), call(release, ""), "{release}");
    }
    let found = call("0.6.0", &roles);
    for role in ["task_role_arn", "execution_role_arn"] {
        let message = format!("the module mesh-task 0.6.0 has no argument {role}");
        assert!(found.contains(&(Severity::Error, message)), "{found:?}");
    }
}
