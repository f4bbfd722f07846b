//! Live audits of an account's clusters, by the command line against ECS's API.

use std::process::{Output, Stdio};

use local_stack::{
    Stack,
    aws::{Aws, REGION},
    functions::built_binary,
    users::Key,
};
use serde_json::{Value, json};
use test_harness::recorder::{Answer, Recorder};

use crate::by_hand::{documented, policy};

const CORRECT: &str = include_str!("../../crates/audit/src/bases/dataplane.json");

/// An emulated account with a cluster `prod`.
struct Account {
    aws: &'static Aws,
    /// Its account ID, which is also the access key of its root user.
    number: &'static str,
    /// That of a user with exactly the permissions of the command's page.
    key: Key,
}

impl Account {
    async fn new(number: &'static str) -> Self {
        let aws = &Stack::shared().await.aws;
        let key = aws.user_in(number, "check", &[policy(&documented("check"))]).await;
        let account = Self { aws, number, key };
        account.ecs("CreateCluster", &json!({ "clusterName": "prod" })).await;
        account
    }

    async fn ecs(&self, operation: &str, body: &Value) -> Value {
        self.aws.call_in(self.number, "ecs", &format!("AmazonEC2ContainerServiceV20141113.{operation}"), body).await
    }

    /// Registers the correct definition as `family`, with `network_mode`, and returns its ARN.
    async fn register(&self, family: &str, network_mode: &str) -> String {
        let mut body: Value = serde_json::from_str(CORRECT).unwrap();
        body["family"] = family.into();
        body["networkMode"] = network_mode.into();
        body["taskRoleArn"] = format!("arn:aws:iam::123456789012:role/consul-ecs/{family}").into();
        let answer = self.ecs("RegisterTaskDefinition", &body).await;
        answer["taskDefinition"]["taskDefinitionArn"].as_str().expect("an ARN").to_owned()
    }

    async fn serve(&self, name: &str, definition: &str, propagate_tags: &str) {
        let body = json!({
            "cluster": "prod", "serviceName": name, "taskDefinition": definition, "desiredCount": 0,
            "propagateTags": propagate_tags,
        });
        self.ecs("CreateService", &body).await;
    }

    async fn audit(&self, arguments: &[&str]) -> (Option<i32>, Value, String) {
        audit(&self.aws.endpoint, &self.key, arguments).await
    }
}

/// The command line's binary, which is in another package.
fn ecs_mesh() -> String {
    built_binary("ecs-mesh").to_str().unwrap().to_owned()
}

/// Exit code, JSON report, standard error.
async fn audit(endpoint: &str, key: &Key, arguments: &[&str]) -> (Option<i32>, Value, String) {
    let mut command = with_key(&ecs_mesh(), endpoint, key);
    command.args(["check", "--output", "json"]).args(arguments);
    let Output { status, stdout, stderr } = command.output().await.unwrap();
    let report = serde_json::from_slice(&stdout).unwrap_or_default();
    (status.code(), report, String::from_utf8(stderr).unwrap())
}

/// A command with its AWS endpoint at `endpoint`.
fn with_key(program: &str, endpoint: &str, key: &Key) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(program);
    // Without the user's AWS configuration
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("AWS_ENDPOINT_URL", endpoint).env("AWS_REGION", REGION).stdin(Stdio::null());
    command.env("AWS_ACCESS_KEY_ID", &key.id).env("AWS_SECRET_ACCESS_KEY", &key.secret);
    command
}

fn rules(report: &Value) -> Vec<(&str, &str)> {
    let findings = report["findings"].as_array().expect("findings").iter();
    findings.map(|f| (f["definition"].as_str().unwrap_or_default(), f["rule"].as_str().unwrap_or_default())).collect()
}

#[tokio::test]
async fn services_and_tag_propagation_are_audited() {
    let account = Account::new("100000000001").await;
    let web = account.register("web", "awsvpc").await;
    let orders = account.register("orders", "bridge").await;
    account.register("unused", "bridge").await;
    account.serve("web", &web, "NONE").await;
    account.serve("orders", &orders, "TASK_DEFINITION").await;
    let (code, report, errors) = account.audit(&["--cluster", "prod"]).await;
    assert_eq!(code, Some(1), "{errors}");
    assert_eq!(rules(&report), [("orders", "consul-network-mode"), ("web", "consul-tags-not-propagated")]);

    // A revision that is requested twice is audited once, and a missing service hides no other
    let asked = ["--cluster", "prod", "--service", "web", "--service", "typo", "--task-definition", "web:1"];
    let (code, report, errors) = account.audit(&asked).await;
    assert_eq!((code, rules(&report)), (Some(2), vec![("web", "consul-tags-not-propagated")]));
    assert!(errors.contains("typo") && errors.contains("MISSING"), "{errors}");
}

#[tokio::test]
async fn families_revisions_and_accounts_are_audited() {
    let account = Account::new("100000000003").await;
    let old = account.register("web", "bridge").await;
    account.register("web", "awsvpc").await;
    account.register("orders", "bridge").await;
    // The newest revision of the family is correct, the older one is not
    let (code, report, _) = account.audit(&["--family", "web"]).await;
    assert_eq!((code, rules(&report)), (Some(0), Vec::new()));
    let (code, report, _) = account.audit(&["--task-definition", &old]).await;
    assert_eq!((code, rules(&report)), (Some(1), vec![("web", "consul-network-mode")]));
    let (_, report, _) = account.audit(&["--all"]).await;
    assert_eq!(rules(&report), [("orders", "consul-network-mode")]);
}

#[tokio::test]
async fn missing_definitions_are_problems() {
    let account = Account::new("100000000004").await;
    account.register("orders", "bridge").await;
    let (code, report, errors) = account.audit(&["--family", "orders", "--family", "unknown"]).await;
    assert_eq!((code, rules(&report)), (Some(2), vec![("orders", "consul-network-mode")]));
    assert!(errors.contains("unknown: the family has no active revision"), "{errors}");

    let refusing =
        Recorder::start(|_, _| Answer::status(400, json!({ "__type": "AccessDeniedException" }).to_string())).await;
    let (code, _, errors) = audit(&refusing.url, &account.key, &["--cluster", "prod"]).await;
    assert_eq!(code, Some(2));
    assert!(errors.contains("services of cluster prod") && errors.contains("AccessDenied"), "{errors}");
}
