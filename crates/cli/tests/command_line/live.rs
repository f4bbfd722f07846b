//! The commands that read a running account, as far as they come without one.

use crate::workspace::{CLEAN, Workspace, errors, out};
use serde_json::Value;

#[test]
fn inventory_of_files_says_what_blocks_an_upgrade() {
    let outdated = CLEAN.replace("consul-ecs:0.10.1", "consul-ecs:0.8.1");
    let unknown = CLEAN.replace("dataplane:2.0.1", "dataplane:latest");
    let source = "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = var.containers\n}\n";
    let call =
        "module \"web\" {\n  source = \"git::https://example.com/service.git\"\n  container_image = \"web:1\"\n}\n";
    let files =
        [("old.json", outdated.as_str()), ("unknown.json", &unknown), ("unknown.tf", source), ("call.tf", call)];
    let workspace = Workspace::new("upgrade", &files);
    let inventory = |arguments: &[&str]| {
        let mut command = workspace.command(&[&["inventory"], arguments].concat());
        command.env_remove("CONSUL_HTTP_ADDR").output().unwrap()
    };
    let upgrade = |file: &str| inventory(&[file, "--output", "json", "--consul", "1.22.0", "--target-consul", "2.0"]);

    let blocked = upgrade("old.json");
    let document: Value = serde_json::from_str(&out(&blocked)).unwrap();
    let schema = include_str!("../../../../docs/reference/schema/inventory.schema.json");
    jsonschema::validate(&serde_json::from_str(schema).unwrap(), &document).unwrap();
    assert_eq!(blocked.status.code(), Some(1), "{document:#}");
    assert_eq!(document["rows"][0]["file"], "old.json:2");
    let reason = document["upgrade"]["blockers"][0]["reasons"][0].as_str().unwrap();
    assert!(reason.starts_with("consul-ecs 0.8.1 supports only Consul "), "{document:#}");

    assert_eq!(upgrade("unknown.json").status.code(), Some(2), "a release that is not known may block it");
    assert_eq!(upgrade("unknown.tf").status.code(), Some(2), "containers that are not known may be of the mesh");
    let unread = upgrade("call.tf");
    assert_eq!(unread.status.code(), Some(2), "a module that is not read may have tasks that block it");
    let document: Value = serde_json::from_str(&out(&unread)).unwrap();
    assert!(document["problems"][0].as_str().unwrap().contains("module.web: its source is not in"), "{document:#}");
    let text = out(&inventory(&["old.json", "--target-consul", "2.0"]));
    assert!(text.contains("Newest releases for Consul 2.0: consul-ecs "), "{text}");
    let refused = errors(&inventory(&["old.json", "--consul", "2.0", "--target-consul", "1.21"]));
    assert!(refused.contains("newer than 1.21: a downgrade is not supported"), "{refused}");
    let refused = errors(&inventory(&["old.json", "--target-consul", "newest"]));
    assert!(refused.contains("expected a version of Consul, such as 2.0 or 1.21.4"), "{refused}");
}

#[test]
fn task_in_another_region_is_not_searched_in_this_one() {
    let task = "arn:aws:ecs:eu-west-1:123456789012:task/prod/0123456789abcdef0123456789abcdef";
    let workspace = Workspace::new("other-region", &[]);
    let output = workspace.run(&["why", task, "--region", "us-east-1"]);
    assert_eq!(output.status.code(), Some(2));
    let expected = format!("error: task {task} is not in region us-east-1. Pass --region eu-west-1\n");
    assert_eq!(errors(&output), expected);
}

#[test]
fn files_are_checked_also_if_the_mesh_cannot_be_read() {
    let broken = CLEAN.replace(r#""networkMode": "awsvpc""#, r#""networkMode": "bridge""#);
    assert_ne!(broken, CLEAN);
    let plain = r#"{ "family": "cron", "containerDefinitions": [{ "name": "cron", "image": "example/cron:1" }] }"#;
    let workspace = Workspace::new("mesh", &[("web.json", broken.as_str()), ("cron.json", plain)]);
    let check = |file: &str| {
        let mut command = workspace.command(&["check", "--mesh", "--output", "json", file]);
        command.env("CONSUL_HTTP_ADDR", "127.0.0.1:1").env_remove("CONSUL_HTTP_TOKEN").output().unwrap()
    };
    let output = check("web.json");
    let document: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(output.status.code(), Some(2), "{document:#}");
    assert_eq!(document["problems"].as_array().unwrap().len(), 1, "{document:#}");
    let reason = document["problems"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("Consul could not be read at CONSUL_HTTP_ADDR: "), "{reason}");
    let rules: Vec<&str> =
        document["findings"].as_array().unwrap().iter().map(|it| it["rule"].as_str().unwrap()).collect();
    assert!(
        rules.contains(&"consul-network-mode") && !rules.iter().any(|id| id.starts_with("consul-live-")),
        "{rules:?}"
    );
    assert!(reason.ends_with(" are not checked") && !reason.contains("controller"), "{reason}");
    assert!(!errors(&output).contains("info: --mesh"), "{}", errors(&output));
    // Without a task of the mesh, Consul is not asked, and that is said.
    let output = check("cron.json");
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let note = "info: --mesh: no task definition is known to be in Consul's mesh, so Consul was not asked and nothing was compared\n";
    assert!(said.contains(note), "{said}");
}

#[test]
fn policies_of_a_survey_are_printed_without_an_account_and_only_read() {
    let workspace = Workspace::new("survey-policies", &[]);
    let printed = workspace.run(&["survey", "--print-policies"]);
    assert_eq!(printed.status.code(), Some(0));
    let text = out(&printed);
    let (_, rest) = text.split_once("\n\n").unwrap();
    let (policy, consul) = rest.split_once("\n\nThe policy in Consul, policy.hcl:\n\n").unwrap();
    let policy: Value = serde_json::from_str(policy).unwrap();
    for statement in policy["Statement"].as_array().unwrap() {
        for action in statement["Action"].as_array().unwrap() {
            let (_, operation) = action.as_str().unwrap().split_once(':').unwrap();
            assert!(["List", "Describe", "Get"].iter().any(|start| operation.starts_with(start)), "{action}");
        }
        let reads_secrets = statement["Action"].to_string().contains("secretsmanager:");
        assert_eq!(reads_secrets, statement["Resource"] != "*", "{statement}");
    }
    assert!(consul.starts_with("acl = \"read\"\n") && !consul.contains("write"), "{consul}");
    // Each alone, to pipe it
    let alone = |of: &str| out(&workspace.run(&["survey", &format!("--print-policies={of}")]));
    assert_eq!(serde_json::from_str::<Value>(&alone("iam")).unwrap(), policy);
    assert!(consul.starts_with(&alone("consul")), "{consul}");
    // It is not a survey
    let refused = workspace.run(&["survey", "--print-policies", "--cluster", "prod"]);
    assert_eq!(refused.status.code(), Some(2));
}
