//! The commands of the page on alarms, as a person on call runs them: pasted from the page into a shell with the AWS CLI, by a
//! user with exactly the page's policy. MiniStack ignores the patterns of the filters.

use std::{collections::BTreeSet, process::Stdio};

use local_stack::{
    Stack,
    aws::REGION,
    users::{Key, on_call},
    wait::{SOON, eventually},
    world::World,
};
use serde_json::{Value, json};
use test_harness::skip::skip_optional;
use tokio::process::Command;

use super::{Said, said};
use crate::fixture::{Fixture, controller_token};

const PAGE: &str = include_str!("../../../docs/how-to/alarms.md");
const STACK: &str = "on-call";

/// Version 1 of the AWS CLI reads a payload as text, as this option of version 2 asks for, and does not know the option. For SQS,
/// it ignores the variable with the endpoint. Its `logs` has no `tail`, which calls `FilterLogEvents`.
const VERSION_1: &str = r#"
aws() {
  if [ "$1 $2" = "logs tail" ]; then tail_logs "${@:3}"; return; fi
  local given=()
  while [ $# -gt 0 ]; do
    if [ "$1" = --cli-binary-format ]; then shift; else given+=("$1"); fi
    shift
  done
  command aws --endpoint-url "$AWS_ENDPOINT_URL" "${given[@]}"
}
tail_logs() {
  command aws logs filter-log-events --log-group-name "$1" "${@:4}" --query 'join(`\n`, events[].message)' --output text
}
"#;

/// The first block of shell commands after a text of the page.
fn block_after(text: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(text).expect("the text");
    let (_, block) = rest.split_once("```sh\n").expect("a block");
    block.split_once("```").expect("its end").0
}

/// The distinct first commands of the table by urgency. Where it has only the beginning, the command of the section.
fn first_commands() -> BTreeSet<String> {
    let (_, table) = PAGE.split_once("| alarm | traffic |").expect("the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let commands = rows.map(|row| row.rsplit('`').nth(1).expect("a command"));
    let whole = |command: &str| {
        let is_whole = |quoted: &&str| quoted.starts_with(command) && quoted.len() > command.len();
        let quoted = if command.starts_with("aws ") { PAGE.split('`').find(is_whole) } else { None };
        quoted.unwrap_or(command).to_owned()
    };
    commands.map(whole).collect()
}

struct Shell {
    key: Key,
    prelude: String,
}

impl Shell {
    /// A shell of a new user with the page's policy, in which the page's functions are defined. `None` without the AWS CLI.
    async fn of_user_on_call(stack: &Stack) -> Option<Self> {
        let version = Command::new("aws").arg("--version").output().await.ok()?;
        let shim = if version.stdout.starts_with(b"aws-cli/1.") { VERSION_1 } else { "" };
        let key = stack.aws.user("on-call", &[on_call(STACK)]).await;
        let functions = block_after("Paste this first").replace("ecs-mesh-controller", STACK);
        Some(Self { key, prelude: format!("set -e\n{shim}{functions}") })
    }

    async fn run(&self, stack: &Stack, commands: &str) -> Said {
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("{}\n{commands}", self.prelude)]).stdin(Stdio::null()).kill_on_drop(true);
        shell.env_clear().envs(["PATH", "HOME"].iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        shell.env("AWS_ENDPOINT_URL", &stack.aws.endpoint).env("AWS_DEFAULT_REGION", REGION);
        shell.env("AWS_ACCESS_KEY_ID", &self.key.id).env("AWS_SECRET_ACCESS_KEY", &self.key.secret);
        said(&mut shell).await
    }

    /// What a command prints that must succeed.
    async fn prints(&self, stack: &Stack, commands: &str) -> String {
        let said = self.run(stack, commands).await;
        assert_eq!(said.code, Some(0), "{commands}: {}", said.errors);
        said.out
    }
}

/// The state of the rules that the page disables.
async fn rules_are(world: &World<'_>, state: &str) -> bool {
    let rules = world.aws.call("events", "AWSEvents.ListRules", &json!({ "NamePrefix": STACK })).await;
    let switched = ["SweepRule", "ClusterDeletedRule"];
    let rules = rules["Rules"].as_array().expect("rules").iter().filter(|rule| {
        let name = rule["Name"].as_str().unwrap_or_default();
        switched.iter().any(|switched| name.contains(switched))
    });
    let states: Vec<&Value> = rules.map(|rule| &rule["State"]).collect();
    states.len() == switched.len() && states.iter().all(|seen| *seen == state)
}

#[tokio::test]
async fn a_user_on_call_answers_alarms_with_the_commands_of_the_page() {
    let stack = Stack::shared().await;
    let Some(shell) = Shell::of_user_on_call(stack).await else {
        skip_optional("the AWS CLI is not on PATH");
        return;
    };
    let token = controller_token(&stack.consul, STACK).await;
    let fixture = Fixture::get().await;
    let parameters = [("Bootstrap", "none")];
    let world = fixture.deployment_of_its_own(&stack.consul, STACK, &token.secret_id, &parameters).await;
    let prints = async |commands: &str| shell.prints(stack, commands).await;
    let shows = async |command: &str, wanted: &str| {
        let shown = async || {
            let lines = prints(command).await;
            if lines.contains(wanted) { Ok(()) } else { Err(lines) }
        };
        eventually(wanted, SOON, shown).await;
    };

    // Each first command, while nothing is wrong
    let commands = first_commands();
    assert!(commands.len() > 10, "{commands:?}");
    for command in &commands {
        prints(command).await;
    }
    let sound: Value = first_json(&prints(r#"ask '{"check": true}'"#).await);
    assert_eq!((&sound["consul"], &sound["mode"]), (&Value::Null, &json!("act")), "{sound}");
    let other_functions = format!("aws lambda invoke --function-name {} /dev/stdout", world.deployed.function_name);
    let refused = shell.run(stack, &other_functions).await;
    assert!(refused.code != Some(0) && refused.errors.contains("AccessDenied"), "{}{}", refused.out, refused.errors);

    // The controller is stopped, and started again
    let mapping = prints("mapping").await;
    assert!(mapping.trim_end().ends_with("Enabled"), "{mapping}");
    prints(block_after("## Stop the controller now")).await;
    let mapping = prints("mapping").await;
    assert!(mapping.trim_end().ends_with("Disabled") && rules_are(&world, "DISABLED").await, "{mapping}");
    prints(block_after("\nStart it again:")).await;
    let mapping = prints("mapping").await;
    assert!(mapping.trim_end().ends_with("Enabled") && rules_are(&world, "ENABLED").await, "{mapping}");

    // Consul refuses the controller's token
    let task = world.run(&world.mesh_definition("on-call-web").await).await;
    stack.consul.delete(&format!("/v1/acl/token/{}", token.accessor_id)).await;
    world.deliver(&[world.event(&task).await]).await;
    shows("lines TaskEvents outcome failed", r#""outcome":"failed","error":"consul_credential_rejected""#).await;
    let check = prints(r#"ask '{"check": true}'"#).await;
    assert_eq!(first_json(&check)["consul"]["label"], "consul_credential_rejected", "{check}");
    let sweep = prints("ask '{}'").await;
    assert_eq!(first_json(&sweep)["errorType"], "incomplete", "{sweep}");
    shows("lines Reconcile outcome failed", r#""outcome":"failed","error":"consul_credential_rejected""#).await;
}

/// The answer of a function, which the AWS CLI prints before its own.
fn first_json(printed: &str) -> Value {
    serde_json::Deserializer::from_str(printed).into_iter().next().expect("an answer").expect("JSON")
}
