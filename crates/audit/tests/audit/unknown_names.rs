//! Keys, log options and arguments that the tool does not know: a misspelt one is an error, and one that may be newer than
//! this release of the tool is not.

use audit::severity::Severity;

use crate::reading::{findings_in, repaired};

/// A task on Fargate with these keys of its container.
fn task(keys: &str) -> String {
    format!(
        r#"{{
  "family": "web", "networkMode": "awsvpc", "requiresCompatibilities": ["FARGATE"], "cpu": "256", "memory": "512",
  "executionRoleArn": "arn:aws:iam::123456789012:role/web",
  "containerDefinitions": [{{ "name": "web", {keys} }}]
}}"#
    )
}

/// What the findings say: their rules, severities and help.
fn found(name: &str, text: &str) -> Vec<(&'static str, Severity, String)> {
    let findings = findings_in(name, text);
    findings.iter().map(|finding| (finding.rule.id, finding.severity, finding.help.clone())).collect()
}

fn is_error(name: &str, text: &str) -> bool {
    found(name, text).iter().any(|(_, severity, _)| *severity == Severity::Error)
}

#[test]
fn a_key_of_next_year_is_no_error() {
    for keys in [
        r#""image": "web:1", "memoryConfiguration": { "limit": 256 }"#,
        r#""image": "web:1", "imageConfiguration": { "pull": "always" }"#,
        r#""image": "web:1", "healthCheckConfiguration": {}"#,
        r#""image": "web:1", "logConfigurations": []"#,
        r#""image": "web:1", "secretsList": []"#,
        r#""image": "web:1", "stopTimeoutSeconds": 30"#,
        r#""image": "web:1", "stopTimeout": 30, "stopTimeoutSeconds": 30"#,
        r#""image": "web:1", "memory": 256, "memories": [256]"#,
    ] {
        assert!(!is_error("task.json", &task(keys)), "{keys}: {:?}", found("task.json", &task(keys)));
    }
    for key in ["monitoring", "role", "volumeConfigurations", "placementStrategy", "enableExecuteCommand"] {
        let text = task(r#""image": "web:1""#).replace("\"cpu\"", &format!("\"{key}\": {{}}, \"cpu\""));
        assert!(!is_error("task.json", &text), "{key}: {:?}", found("task.json", &text));
    }
}

#[test]
fn a_misspelt_key_is_an_error() {
    for (keys, help) in [
        (r#""image": "web:1", "healthchek": { "command": ["CMD", "true"] }"#, "did you mean healthCheck?"),
        (r#""image": "web:1", "stopTimout": 30"#, "did you mean stopTimeout?"),
        // One finding for a required key, and never the advice to write a key twice.
        (r#""imag": "web:1""#, "did you mean image?"),
        (r#""image": "web:1", "imagee": "web:2""#, "remove it: image is there already"),
        (r#""image": "web:1", "secrets": [{ "name": "A", "valuefrom": "a" }]"#, "did you mean valueFrom?"),
    ] {
        let errors = found("task.json", &task(keys));
        let expected = ("ecs-unknown-key", Severity::Error, help.to_owned());
        assert_eq!(errors, [expected], "{keys}");
    }
}

fn logging(options: &str) -> String {
    task(&format!(r#""image": "web:1", "logConfiguration": {{ "logDriver": "awslogs", "options": {{ {options} }} }}"#))
}

#[test]
fn an_unknown_option_of_a_log_stands_for_one_that_is_missing() {
    let has = |options: &str| found("task.json", &logging(options));
    let error = |help: &str| [("ecs-log-options", Severity::Error, help.to_owned())];
    let group = r#""awslogs-group": "web", "awslogs-region": "eu-west-1""#;
    assert_eq!(has(&format!(r#"{group}, "awslogs-stream-prefix": "web""#)), []);
    assert_eq!(has(&format!(r#"{group}, "awslogs-prefix": "web""#)), error("rename it to awslogs-stream-prefix"));
    assert_eq!(has(&format!(r#"{group}, "awslogs-stream-prefx": "web""#)), error("rename it to awslogs-stream-prefix"));
    let all = format!(r#"{group}, "awslogs-stream-prefix": "web""#);
    assert_eq!(has(&format!(r#"{all}, "awslogs-regoin": "eu-west-1""#)), error("remove it"));
    // An option like no other may be newer than this release, and is not the region.
    let other = has(&format!(r#"{all}, "awslogs-compression": "gzip""#));
    assert_eq!(other, [("ecs-log-options", Severity::Warning, "remove it".to_owned())]);
    // Docker has these for every driver.
    assert_eq!(has(&format!(r#"{all}, "mode": "non-blocking", "max-buffer-size": "25m""#)), []);
}

#[test]
fn a_misspelt_option_of_a_log_is_renamed() {
    let text = logging(r#""awslogs-group": "web", "awslogs-regoin": "eu-west-1", "awslogs-stream-prefix": "web""#);
    let repair = repaired("task.json", &text);
    assert!(repair.after.text.contains(r#""awslogs-region": "eu-west-1""#), "{}", repair.after.text);
    assert_eq!(found("task.json", &repair.after.text), []);
}

#[test]
fn options_are_those_of_their_driver() {
    let of = |driver: &str, option: &str, value: &str| {
        let text = task(&format!(
            r#""image": "web:1", "logConfiguration": {{ "logDriver": "{driver}", "options": {{ "{option}": "{value}" }} }}"#
        ));
        found("task.json", &text).iter().any(|(rule, ..)| *rule == "ecs-value")
    };
    assert!(of("splunk", "splunk-format", "xml"));
    assert!(!of("splunk", "splunk-format", "json"));
    for (driver, option, value) in [
        ("awslogs", "splunk-format", "xml"),
        ("loki", "mode", "any"),
        ("$DRIVER", "mode", "any"),
        ("awsfirelens", "mode", "any"),
    ] {
        assert!(!of(driver, option, value), "{driver}");
    }
}

#[test]
fn a_misspelt_word_has_one_finding() {
    let text = logging(r#""awslogs-group": "web", "awslogs-region": "eu-west-1", "awslogs-stream-prefix": "web""#)
        .replace("\"awslogs\"", "\"awslog\"");
    assert_eq!(found("task.json", &text), [("ecs-value", Severity::Error, "did you mean awslogs?".to_owned())]);
    // Fargate does not support the word that is meant: ECS may have got this one later.
    let other = text.replace("\"awslog\"", "\"loki\"");
    assert_eq!(found("task.json", &other).len(), 1);
}

fn call(version: &str, argument: &str) -> String {
    format!(
        r#"module "web" {{
  source                = "hashicorp/consul-ecs/aws//modules/mesh-task"
  {version}
  family                = "web"
  port                  = 9090
  consul_server_hosts   = "consul.example.internal"
  container_definitions = [{{
    name = "web", image = "example/web:1", essential = true, portMappings = [{{ containerPort = 9090 }}]
  }}]
  {argument}
}}
"#
    )
}

#[test]
fn an_argument_of_next_year_is_no_error() {
    let has = |version: &str, argument: &str| {
        let mut all = found("main.tf", &call(version, argument));
        all.retain(|(rule, ..)| *rule == "consul-module-arguments");
        all.into_iter().map(|(.., help)| help).collect::<Vec<String>>()
    };
    let newest = r#"version = "~> 0.10""#;
    for argument in ["task_tags = {}", "additional_policies = []", "dataplane_cpu = 128"] {
        assert_eq!(has(newest, argument), [""; 0], "{argument}");
        assert_eq!(has("", argument), [""; 0], "{argument}");
    }
    assert_eq!(has(newest, "consul_service_nme = \"web\""), ["did you mean consul_service_name?"]);
    assert_eq!(has(newest, "portt = 9091"), ["remove it: port is there already"]);
    // A release that is out gets no more arguments.
    let older = r#"version = "0.9.4""#;
    assert_eq!(has(older, "task_tags = {}"), ["did you mean tags?"]);
    assert_eq!(has(older, "dataplane_cpu = 128"), ["did you mean cpu?"]);
}

#[test]
fn the_path_of_roles_that_the_module_does_not_create_needs_one_slash() {
    let has = |arguments: &str| {
        let all = found("main.tf", &call("version = \"0.9.4\"", arguments));
        all.iter().any(|(rule, _, help)| *rule == "consul-module-arguments" && help.contains("path of IAM"))
    };
    let own = "create_task_role = false\n  create_execution_role = false\n";
    assert!(has("iam_role_path = \"/x\""));
    assert!(!has("iam_role_path = \"/x/\""));
    assert!(!has(&format!("iam_role_path = \"/x\"\n  {own}")));
    assert!(has(&format!("iam_role_path = \"x\"\n  {own}")));
    assert!(has("iam_role_path = \"/x\"\n  create_task_role = false"));
}
