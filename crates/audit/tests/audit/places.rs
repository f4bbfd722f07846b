//! Where findings about the configuration of consul-ecs point at, in each way to write a string of several lines.

use std::sync::Arc;

use audit::{audit, finding::Finding, report::reported};
use audit_read::{Material, input::read_source};
use document::SourceFile;

use crate::reading::findings_in;

/// A template whose variable `CONSUL_ECS_CONFIG_JSON` has this value in both containers of consul-ecs.
fn template(value: &str) -> String {
    let value = value.lines().collect::<Vec<_>>().join("\n                ");
    let container = |name: &str, command: &str| {
        format!(
            r"
        - Name: {name}
          Image: public.ecr.aws/hashicorp/consul-ecs:0.10.1
          Command: [{command}]
          Environment:
            - Name: CONSUL_ECS_CONFIG_JSON
              Value: {value}"
        )
    };
    format!(
        r"Parameters:
  Host: {{ Type: String }}
  Port: {{ Type: Number }}
Resources:
  Web:
    Type: AWS::ECS::TaskDefinition
    Properties:
      Family: web
      NetworkMode: awsvpc
      ContainerDefinitions:
        - Name: app
          Image: example/app:1{}{}
",
        container("consul-ecs-mesh-init", "mesh-init"),
        container("consul-ecs-health-sync", "health-sync")
    )
}

/// The texts at the places of a rule's findings, and their lines.
fn places<'t>(rule: &str, name: &str, text: &'t str) -> Vec<(usize, &'t str)> {
    let of_rule = |finding: &Finding| finding.rule.id == rule;
    let found = findings_in(name, text).into_iter().filter(of_rule);
    let place = |finding: Finding| {
        (finding.file.position(finding.span.start).line, text.get(finding.span.start..finding.span.end).unwrap())
    };
    found.map(place).collect()
}

const CONFIGURATION: &str = r#"{
  "bootstrapDir": "/consul",
  "consulServers": { "hosts": "${Host}" },
  "service": { "name": "web", "port": ${Port}, "ports": [] },
  "proxi": {}
}"#;

#[test]
fn a_finding_in_a_string_of_several_lines_points_at_its_line() {
    for (head, without_variables) in
        [("!Sub |", false), ("!Sub |- # why", false), ("!Sub >-", false), ("|", true), (">", true), (">-", true)]
    {
        // Given a configuration with two unknown keys in a string of this style.
        let configuration = if without_variables {
            CONFIGURATION.replace("${Host}", "consul").replace("${Port}", "80")
        } else {
            CONFIGURATION.to_owned()
        };
        let text = template(&format!("{head}\n{configuration}"));
        // Then each finding is at its key.
        let first = text.lines().position(|line| line.ends_with(head)).unwrap() + 2;
        let expected = [(first + 3, "\"ports\""), (first + 4, "\"proxi\"")];
        assert_eq!(places("consul-config-schema", "web.yaml", &text)[..2], expected, "{text}");
    }
}

#[test]
fn a_finding_in_quotes_or_in_a_joined_string_points_at_its_key() {
    for (value, expected) in [
        (r#"'{"bootstrapDir": "/it''s", "proxi": {}}'"#, r#""proxi""#),
        (r#"!Sub '{"bootstrapDir": "${Host}", "proxi": {}}'"#, r#""proxi""#),
        (r#"!Sub "{\"bootstrapDir\": \"${Host}\", \"proxi\": {}}""#, r#"\"proxi\""#),
        (r#"!Join ['', ['{"bootstrapDir": "', !Ref Host, '", "proxi": {}}']]"#, r#""proxi""#),
        (r#"'{"bootstrapDir": "{{resolve:ssm:/dir}}", "proxi": {}}'"#, r#""proxi""#),
    ] {
        let text = template(value);
        let found = places("consul-config-schema", "web.yaml", &text);
        assert!(found.iter().any(|(_, place)| *place == expected), "{found:?} {text}");
    }
}

#[test]
fn a_mistake_in_the_json_is_underlined_and_its_line_named() {
    let known = CONFIGURATION.replace("${Host}", "consul").replace("${Port}", "80");
    let broken = known.replace("\"proxi\": {}", "\"proxy\": {},");
    let text = template(&format!("!Sub |\n{broken}"));
    let found = findings_in("web.yaml", &text);
    let found = found.iter().find(|finding| finding.rule.id == "consul-config-json").unwrap();
    assert!(
        found.message.ends_with("not JSON: trailing commas are not allowed (line 5, column 14 of the text)"),
        "{}",
        found.message
    );
    assert_eq!(text.get(found.span.start..found.span.end), Some(","));
}

#[test]
fn a_finding_in_a_heredoc_points_at_its_line() {
    let configuration = CONFIGURATION.replace("${Host}", "${var.host}").replace("${Port}", "${var.port}");
    let text = format!(
        r#"variable "host" {{}}
variable "port" {{}}
resource "aws_ecs_task_definition" "web" {{
  family       = "web"
  network_mode = "awsvpc"
  container_definitions = jsonencode([{{
    name    = "consul-ecs-mesh-init"
    image   = "public.ecr.aws/hashicorp/consul-ecs:0.10.1"
    command = ["mesh-init"]
    environment = [{{
      name  = "CONSUL_ECS_CONFIG_JSON"
      value = <<-EOT
        {}
      EOT
    }}]
  }}])
}}
"#,
        configuration.replace('\n', "\n        ")
    );
    assert_eq!(places("consul-config-schema", "main.tf", &text), [(16, "\"ports\""), (17, "\"proxi\"")], "{text}");
}

#[test]
fn a_mistake_in_a_shared_place_is_one_finding() {
    // Given a template in which two containers share their log options, and the configuration.
    let text = template("&config '{\"bootstrapDir\": \"/consul\", \"proxi\": {}}'");
    let text = text.replacen("&config", "*config", 2).replacen("*config", "&config", 1);
    let second = text.rfind("*config").unwrap();
    let text = [&text[..second], "*config\n"].concat();
    let log = "LogConfiguration: &log\n            LogDriver: awslogs\n            Options: {awslogs-region: eu-west-1, awslogs-prefix: x}\n          ";
    let text = text.replacen("Command: [mesh-init]", &format!("{log}Command: [mesh-init]"), 1);
    let text = text.replacen("Command: [health-sync]", "LogConfiguration: *log\n          Command: [health-sync]", 1);
    // When it is reported.
    let mut material = Material::default();
    read_source(Arc::new(SourceFile::new("web.yaml", text.as_str())), true, &mut material).unwrap();
    let found = audit(&material);
    let reported = reported(&material, &found);
    // Then the mistake in the options is one finding of both containers, at the options.
    let options: Vec<_> = reported.iter().filter(|(_, found)| found.rule.id == "ecs-log-options").collect();
    let in_options: Vec<_> = options.iter().filter(|(_, found)| found.message.contains("awslogs-prefix")).collect();
    let [(_, one)] = in_options[..] else { panic!("{options:?}") };
    assert_eq!(one.subject_and_container(), "web, containers consul-ecs-mesh-init and consul-ecs-health-sync");
    let line = text.lines().nth(one.start.line - 1).unwrap();
    assert!(line.contains("awslogs-prefix: x"), "{line}");
    // And the configuration's is at its key.
    let places = places("consul-config-schema", "web.yaml", &text);
    assert_eq!(places.iter().filter(|(_, place)| *place == "\"proxi\"").count(), 1, "{places:?}");
}

#[test]
fn containers_whose_names_are_parts_of_words_share_one_finding() {
    // Given three containers with one map of options, whose names are in the message too.
    let container = |name: &str, log: &str| {
        format!(
            "        - {{ Name: {name}, Image: example/{name}:1, Essential: true, LogConfiguration: {{ LogDriver: awslogs, Options: {log} }} }}\n"
        )
    };
    let text = format!(
        "Resources:\n  Task:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      Family: web\n      ContainerDefinitions:\n{}{}{}",
        container("log", "&o { awslogs-group: web, awslogs-regoin: eu-west-1 }"),
        container("a", "*o"),
        container("of", "*o"),
    );
    // When it is reported.
    let mut material = Material::default();
    read_source(Arc::new(SourceFile::new("web.yaml", text.as_str())), true, &mut material).unwrap();
    let found = audit(&material);
    let reported = reported(&material, &found);
    // Then the misspelt option is one finding of all three.
    let options: Vec<_> = reported.iter().filter(|(_, found)| found.rule.id == "ecs-log-options").collect();
    let [(_, one)] = options[..] else { panic!("{options:?}") };
    assert_eq!(one.subject_and_container(), "web, containers log, a and of");
    // An edit would change what three containers share.
    assert!(!one.is_fixable);
}
