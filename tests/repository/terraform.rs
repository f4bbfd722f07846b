//! The Terraform module joins the template: its parameters, groups, constraints and outputs, and docs/reference/parameters.md.

use std::collections::{BTreeMap, BTreeSet};

use document::{Entry, Node, Value};
use hcl_edit::{
    expr::{Expression, ObjectKey},
    structure::{Block, Body},
};

use crate::resolved::TEMPLATE;

const VARIABLES: &str = include_str!("../../deploy/terraform/variables.tf");
const MAIN: &str = include_str!("../../deploy/terraform/main.tf");
const HASHICORP: &str = include_str!("../../deploy/terraform/hashicorp.tf");
const OUTPUTS: &str = include_str!("../../deploy/terraform/outputs.tf");
const STAND_IN: &str = include_str!("../../deploy/terraform/examples/move-from-hashicorp/stand-in/variables.tf");
const PAGE: &str = include_str!("../../docs/reference/parameters.md");

/// The variables that are lists, where the template has texts with commas.
const LISTS: [&str; 4] = ["cluster_partitions", "ecs_cluster_arns", "security_groups", "subnets"];
/// Variables whose default differs, so their description does too.
const OTHERS: [&str; 2] = ["consul_partition", "architecture"];

fn body(text: &str) -> Body {
    text.parse().expect("HCL")
}

/// The blocks of a kind, by their label.
fn blocks<'a>(body: &'a Body, kind: &'a str) -> BTreeMap<&'a str, &'a Block> {
    body.get_blocks(kind).map(|block| (block.labels[0].as_str(), block)).collect()
}

fn attribute<'a>(block: &'a Block, name: &str) -> Option<&'a Expression> {
    block.body.get_attribute(name).map(|attribute| &attribute.value)
}

/// An expression as it is written, without the blanks around it.
fn written(expression: &Expression) -> String {
    expression.to_string().trim().to_owned()
}

/// The arguments of an object in `locals`.
fn arguments(body: &Body, local: &str) -> BTreeMap<String, String> {
    let locals = body.get_blocks("locals").find_map(|block| attribute(block, local)).expect("a local value");
    let key = |key: &ObjectKey| key.as_ident().expect("a name").to_string();
    let object = locals.as_object().expect("an object");
    object.iter().map(|(name, value)| (key(name), written(value.expr()))).collect()
}

fn section(name: &str) -> &'static [Entry] {
    TEMPLATE.get(name).expect("a section").entries()
}

fn plain(node: &Node) -> String {
    match &node.value {
        Value::Number(number) => number.clone(),
        _ => node.text().expect("a text").to_owned(),
    }
}

/// A name in the style of Terraform.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for (place, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && place > 0 {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// The table of docs/reference/parameters.md: parameter → variable and its default, where they differ.
fn differences() -> BTreeMap<&'static str, (&'static str, &'static str)> {
    let (_, section) = PAGE.split_once("\n## In Terraform\n").expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    let cells = rows.map(|row| row.split(" | ").map(|cell| cell.trim_matches('`')).collect::<Vec<_>>());
    cells.map(|cells| (cells[0], (cells[1], cells[2]))).collect()
}

/// The variable of a parameter.
fn variable(parameter: &str) -> String {
    differences().get(parameter).map_or_else(|| snake_case(parameter), |(variable, _)| (*variable).to_owned())
}

/// A text of the template with the names of variables.
fn in_terraform(text: &str) -> String {
    let mut parameters: Vec<&str> = section("Parameters").iter().map(|entry| entry.key.as_str()).collect();
    parameters.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let is_of_a_name = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    parameters.iter().fold(text.to_owned(), |text, parameter| {
        let mut parts = text.split(parameter);
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let is_word = !is_of_a_name(whole.chars().last()) && !is_of_a_name(part.chars().next());
            whole += &if is_word { variable(parameter) } else { (*parameter).to_owned() };
            whole += part;
        }
        whole
    })
}

/// The parameters that follow from several variables, or from a list. `tests/terraform` plans them.
const DERIVED: [&str; 10] = [
    "Architecture",
    "ClusterPartitions",
    "ConsulCaCertSecretArn",
    "ConsulHttpAddr",
    "ConsulHttpTokenSecretArn",
    "ConsulPartition",
    "ConsulTlsServerName",
    "EcsClusterArns",
    "VpcSecurityGroupIds",
    "VpcSubnetIds",
];

#[test]
fn the_module_passes_every_parameter() {
    let passed = arguments(&body(MAIN), "parameters");
    let parameters: BTreeSet<&str> = section("Parameters").iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(passed.keys().map(String::as_str).collect::<BTreeSet<_>>(), parameters);
    let own = passed.iter().filter(|(parameter, value)| **value == format!("var.{}", variable(parameter)));
    let own: BTreeSet<&str> = own.map(|(parameter, _)| parameter.as_str()).collect();
    assert_eq!(parameters.difference(&own).copied().collect::<Vec<_>>(), DERIVED);
}

#[test]
fn variables_are_in_the_groups_of_the_template() {
    let groups = TEMPLATE.get("Metadata").and_then(|node| node.get("AWS::CloudFormation::Interface"));
    for group in groups.expect("groups").items_of("ParameterGroups") {
        let label = group.get("Label").and_then(|label| label.get("default")).map(plain).unwrap();
        let (_, part) =
            VARIABLES.split_once(&format!("\n# ---- {label}\n")).unwrap_or_else(|| panic!("no group {label}"));
        let part = part.split("\n# ---- ").next().unwrap_or_default();
        let places = group.items_of("Parameters").iter().map(|parameter| {
            let variable = variable(&plain(parameter));
            part.find(&format!("\nvariable \"{variable}\" {{"))
                .unwrap_or_else(|| panic!("{variable} is not in {label}"))
        });
        assert!(places.is_sorted(), "{label}");
    }
}

#[test]
fn variables_have_the_defaults_and_descriptions_of_the_template() {
    let body = body(VARIABLES);
    let variables = blocks(&body, "variable");
    for Entry { key: parameter, node, .. } in section("Parameters") {
        let name = variable(parameter);
        let block = variables.get(name.as_str()).unwrap_or_else(|| panic!("no variable {name}"));
        let default = attribute(block, "default").map(written);
        let default = default.as_deref().map(|text| text.trim_matches('"'));
        let documented = differences().get(parameter.as_str()).map(|(_, default)| *default);
        let own = node.get("Default").map(plain);
        let expected = match documented {
            Some("the same") | None if LISTS.contains(&name.as_str()) => Some("[]"),
            // One of two variables is required.
            Some("the same") | None => own.as_deref().or(Some("null")),
            Some(other) => Some(other),
        };
        assert_eq!(default, expected, "{name}");
        if !LISTS.contains(&name.as_str()) && !OTHERS.contains(&name.as_str()) {
            let description = attribute(block, "description").and_then(Expression::as_str).unwrap_or_default();
            assert_eq!(description, in_terraform(&plain(node.get("Description").unwrap())), "{name}");
        }
    }
}

#[test]
fn variables_accept_what_the_template_accepts() {
    let body = body(VARIABLES);
    let variables = blocks(&body, "variable");
    for Entry { key: parameter, node, .. } in section("Parameters") {
        let name = variable(parameter);
        let block = variables[name.as_str()];
        let conditions = block.body.get_blocks("validation").filter_map(|block| attribute(block, "condition"));
        let conditions = conditions.map(written).collect::<Vec<_>>().join(" && ");
        let kind = attribute(block, "type").map(written).unwrap();
        let allowed: Vec<String> = node.items_of("AllowedValues").iter().map(plain).collect();
        if allowed == ["true", "false"] {
            assert_eq!(kind, "bool", "{name}");
            continue;
        }
        let is_number = node.get("Type").map(plain).as_deref() == Some("Number");
        let expected = if is_number {
            "number"
        } else if LISTS.contains(&name.as_str()) {
            "list(string)"
        } else {
            "string"
        };
        assert_eq!(kind, expected, "{name}");
        if !allowed.is_empty() {
            let values: Vec<String> =
                allowed.iter().map(|value| if is_number { value.clone() } else { format!("\"{value}\"") }).collect();
            assert!(
                conditions.contains(&format!("contains([{}], var.{name})", values.join(", "))),
                "{name}: {conditions}"
            );
        }
        for (bound, operator) in [("MinValue", ">="), ("MaxValue", "<=")] {
            if let Some(value) = node.get(bound) {
                assert!(
                    conditions.contains(&format!("var.{name} {operator} {}", plain(value))),
                    "{name}: {conditions}"
                );
            }
        }
        if let Some(length) = node.get("MaxLength") {
            assert!(conditions.contains(&format!(") <= {}", plain(length))), "{name}: {conditions}");
        }
        if let Some(pattern) = node.get("AllowedPattern") {
            let (_, rest) = conditions.rsplit_once("regex(\"").unwrap_or_else(|| panic!("{name} has no pattern"));
            let (own, _) = rest.split_once("\", ").unwrap();
            let (own, pattern) = (own.replace("\\\\", "\\"), plain(pattern));
            if LISTS.contains(&name.as_str()) {
                let element = own.trim_start_matches('^').trim_end_matches('$');
                assert!(pattern.matches(element).count() == 2, "{name}: {element} is not the element of {pattern}");
            } else {
                assert_eq!(own, pattern, "{name}");
            }
        }
    }
}

#[test]
fn the_module_has_the_outputs_of_the_template() {
    let body = body(OUTPUTS);
    let outputs = blocks(&body, "output");
    let (_, of_the_template) = OUTPUTS.split_once("# ---- of the template").expect("the outputs of the template");
    assert_eq!(of_the_template.matches("\noutput ").count(), section("Outputs").len());
    for Entry { key, node, .. } in section("Outputs") {
        let output = outputs.get(snake_case(key).as_str()).unwrap_or_else(|| panic!("no output for {key}"));
        let value = attribute(output, "value").map(written).unwrap();
        assert_eq!(value, format!("lookup(local.outputs, \"{key}\", null)"));
        let description = attribute(output, "description").and_then(Expression::as_str);
        assert_eq!(description, node.get("Description").map(plain).as_deref(), "{key}");
    }
}

/// The variables of HashiCorp's module `controller`, versions 0.7 to 0.10:
/// <https://github.com/hashicorp/terraform-aws-consul-ecs/tree/main/modules/controller>
const OF_HASHICORP: [&str; 24] = [
    "additional_execution_role_policies",
    "assign_public_ip",
    "consul_bootstrap_token_secret_arn",
    "consul_ca_cert_arn",
    "consul_ecs_image",
    "consul_grpc_ca_cert_arn",
    "consul_https_ca_cert_arn",
    "consul_partition",
    "consul_partitions_enabled",
    "consul_server_hosts",
    "ecs_cluster_arn",
    "grpc_config",
    "http_config",
    "iam_role_path",
    "launch_type",
    "log_configuration",
    "name_prefix",
    "region",
    "requires_compatibilities",
    "security_groups",
    "skip_server_watch",
    "subnets",
    "tls",
    "tls_server_name",
];

#[test]
fn every_variable_of_hashicorps_module_is_accepted() {
    let (own, ignored, stand_in) = (body(VARIABLES), body(HASHICORP), body(STAND_IN));
    assert_eq!(blocks(&stand_in, "variable").into_keys().collect::<Vec<_>>(), OF_HASHICORP);
    let (own, declared) = (blocks(&own, "variable"), blocks(&ignored, "variable"));
    for name in OF_HASHICORP {
        assert!(own.contains_key(name) != declared.contains_key(name), "{name}");
    }
    let listed: Vec<String> = arguments(&ignored, "ignored").into_keys().collect();
    assert_eq!(listed, declared.keys().copied().collect::<Vec<_>>());
    for (name, block) in own {
        let is_required = attribute(block, "default").is_none();
        assert_eq!(is_required, name == "name_prefix", "{name}: a required variable must be one of HashiCorp's");
    }
}

/// The first block of HCL of a page.
fn policy(page: &str) -> &str {
    let policy = page.split_once("```hcl\n").and_then(|(_, rest)| rest.split_once("```"));
    policy.expect("the page shows the policy").0
}

#[test]
fn the_output_has_the_documented_policies() {
    let pairs = [
        (
            include_str!("../../deploy/terraform/policies/community.hcl"),
            include_str!("../../docs/how-to/install-sam.md"),
        ),
        (
            include_str!("../../deploy/terraform/policies/observe.hcl"),
            include_str!("../../docs/how-to/move-from-consul-ecs.md"),
        ),
        (
            include_str!("../../deploy/terraform/policies/enterprise.hcl"),
            include_str!("../../docs/reference/permissions.md"),
        ),
    ];
    for (file, page) in pairs {
        assert_eq!(file, policy(page));
    }
}
