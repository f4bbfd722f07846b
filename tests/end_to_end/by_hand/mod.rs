//! The live commands of `ecs-mesh` as people run them: against ECS's API, a real Consul and the deployed stack.

mod alarms;
mod check_mesh;
mod compare;
mod doctor;
mod inventory;
mod path;
mod redrive;
mod status;
mod survey;
mod sweep;
mod why;

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Stdio,
};

use aws_sdk_ecs::error::ProvideErrorMetadata as _;
use local_stack::{Stack, aws::REGION, functions::built_binary, users::Key};
use serde_json::{Value, json};
use test_harness::recorder::RecordedRequest;
use tokio::{process::Command, sync::Mutex};

pub(crate) const PAGE: &str = include_str!("../../../docs/reference/commands/README.md");

/// What a command has said.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) errors: String,
}

impl Said {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.errors))
    }
}

/// `ecs-mesh` with AWS at this endpoint, with the permissions of the command's page, and without the user's configuration.
async fn command(endpoint: &str, arguments: &[&str]) -> Command {
    command_of(&key_of_user(arguments).await, endpoint, arguments)
}

/// The same, by the user with this key.
pub(crate) fn command_of(key: &Key, endpoint: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(built_binary("ecs-mesh"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("AWS_ENDPOINT_URL", endpoint).env("AWS_REGION", REGION).stdin(Stdio::null());
    command
        .env("AWS_ACCESS_KEY_ID", &key.id)
        .env("AWS_SECRET_ACCESS_KEY", &key.secret)
        .args(arguments)
        .kill_on_drop(true);
    command
}

/// The access key of a user with exactly the permissions of a command's page.
async fn key_of_user(arguments: &[&str]) -> Key {
    static KEYS: Mutex<BTreeMap<String, Key>> = Mutex::const_new(BTreeMap::new());
    let (name, actions) = granted(arguments);
    let mut keys = KEYS.lock().await;
    if let Some(key) = keys.get(&name) {
        return key.clone();
    }
    let key = Stack::shared().await.aws.user(&name, &[policy(&actions)]).await;
    keys.insert(name, key.clone());
    key
}

/// A policy that allows these actions.
pub(crate) fn policy(actions: &BTreeSet<String>) -> Value {
    let statement = json!({ "Effect": "Allow", "Action": actions, "Resource": "*" });
    json!({ "Version": "2012-10-17", "Statement": [statement] })
}

/// What a command's page permits to call with these arguments, with a name for it.
fn granted(arguments: &[&str]) -> (String, BTreeSet<String>) {
    match arguments {
        ["doctor", "--before-install", ..] => ("before-install".to_owned(), documented("doctor --before-install")),
        ["sweep", "--dry-run", "--stack", "none", ..] => {
            ("local-plan".to_owned(), &documented("sweep") | &documented("sweep --dry-run"))
        }
        ["status", "--plan", ..] => ("plan".to_owned(), &documented("status") | &documented("status --plan")),
        [name, ..] => ((*name).to_owned(), documented(name)),
        [] => panic!("no command"),
    }
}

pub(crate) async fn said(command: &mut Command) -> Said {
    let output = command.output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said { code: output.status.code(), out: text(output.stdout), errors: text(output.stderr) }
}

/// The permissions of a command, or of a command with an option, as its page documents them.
pub(crate) fn documented(name: &str) -> BTreeSet<String> {
    let (command, option) = name.split_once(' ').map_or((name, None), |(command, option)| (command, Some(option)));
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/commands");
    let page = std::fs::read_to_string(format!("{directory}/{command}.md")).expect("the command's page");
    let section = page.split_once("\n## Permissions\n").expect("the section").1;
    let mut parts = section.split("\n## ").next().unwrap_or_default().split("\n### ");
    let part = match option {
        None => parts.next(),
        Some(option) => parts.find(|part| part.starts_with(&format!("With `{option}`\n"))),
    };
    let quoted = part.expect("the permissions").split('`').skip(1).step_by(2).filter(|text| text.contains(':'));
    quoted.map(str::to_owned).collect()
}

/// The permission that a recorded request needs.
fn permission(request: &RecordedRequest) -> String {
    if let Some(target) = request.header("x-amz-target") {
        let (service, operation) = target.rsplit_once('.').expect("an operation");
        let services = [
            ("AmazonSQS", "sqs"),
            ("AmazonEC2ContainerService", "ecs"),
            ("AWSEvents", "events"),
            ("CloudTrail", "cloudtrail"),
            ("Logs", "logs"),
            ("TrentService", "kms"),
        ];
        let (_, service) = services.iter().find(|(name, _)| service.contains(name)).expect("a known service");
        return format!("{service}:{operation}");
    }
    if request.uri.ends_with("/invocations") {
        return "lambda:InvokeFunction".to_owned();
    }
    if request.uri.contains("/event-source-mappings/") {
        return "lambda:GetEventSourceMapping".to_owned();
    }
    if request.uri.ends_with("/concurrency") {
        return "lambda:GetFunctionConcurrency".to_owned();
    }
    let action = request.body.split('&').find_map(|pair| pair.strip_prefix("Action=")).expect("an action");
    let service = match action {
        "GetCallerIdentity" => "sts",
        "GetTopicAttributes" => "sns",
        "DescribeTargetHealth" => "elasticloadbalancing",
        "DescribeNetworkInterfaces" | "DescribeSecurityGroupRules" | "DescribeNetworkAcls" => "ec2",
        _ => "cloudformation",
    };
    format!("{service}:{action}")
}

fn permissions(requests: &[RecordedRequest]) -> BTreeSet<String> {
    requests.iter().map(permission).collect()
}

#[tokio::test]
async fn a_command_may_call_nothing_that_its_page_does_not_name() {
    // Given the user of a command that reads no tasks
    let credentials = key_of_user(&["redrive"]).await.credentials();
    let aws = &Stack::shared().await.aws;
    let sdk = aws.sdk().into_builder().credentials_provider(credentials).build();
    // When it lists tasks
    let refused = aws_sdk_ecs::Client::new(&sdk).list_tasks().send().await.unwrap_err();
    // Then IAM denies it, as it would on AWS
    assert_eq!(refused.code(), Some("AccessDeniedException"), "{refused:?}");
}
