//! Tests of the checks in [`super`].

use observe::{FailedMessage, Mapping, StackResource, StackResources};

use super::*;
use crate::doctor::CheckOutcome::{Failed, Ok as Fine, Unknown, Warning};
use crate::examples::{self, assert_check, commands};

const STOPPED: &str = include_str!("../../../../../events/task-stopped-essential-container-exited.json");

#[test]
fn disabled_rule_is_enabled() {
    let rules = |is_enabled| Ok(vec![("mesh-changes".to_owned(), true), ("mesh-sweep".to_owned(), is_enabled)]);
    let rule = StackResource { id: "mesh-hosts".to_owned(), kind: String::new() };
    let (with, without) = (StackResources::from([("HostDisconnectedRule".to_owned(), rule)]), StackResources::new());
    let commands = commands();
    let check = |rules: &Read<Vec<(String, bool)>>, resources: &StackResources, repair: &str| {
        let stack = examples::stack("mesh", &[("Repair", repair)]);
        check_rules(rules, &Subject { stack: &stack, resources, clusters: "", commands: &commands })
    };
    assert_check(&check(&rules(true), &with, "on"), Fine, "", &[]);
    let enable = "aws events enable-rule --name mesh-sweep --region us-east-1";
    assert_check(&check(&rules(false), &with, "on"), Failed, "", &[enable]);
    assert_check(&check(&Err("denied".to_owned()), &with, "on"), Unknown, "", &[]);
    // Without events of hosts, in a stack that is too old or does not want them
    assert_check(&check(&rules(true), &without, "on"), Warning, "hosts that disconnect", &[]);
    assert_check(&check(&rules(true), &without, "off"), Fine, "With Repair=off, none is about hosts", &[]);
}

#[test]
fn queue_drains_unless_nothing_takes_its_messages() {
    let stack = examples::stack("mesh", &[("MaximumConcurrency", "2")]);
    let resource = |name: &str, id: &str| (name.to_owned(), StackResource { id: id.to_owned(), kind: String::new() });
    let resources =
        StackResources::from([resource("TaskEventsSource", "uuid-1"), resource("TaskEventsFunction", "mesh-events")]);
    let commands = commands();
    let subject = Subject { stack: &stack, resources: &resources, clusters: "", commands: &commands };
    let disabled = "about 3 messages are waiting because the event source mapping is Disabled";
    let enable = "aws lambda update-event-source-mapping --uuid uuid-1 --enabled --region us-east-1";
    let release = "aws lambda delete-function-concurrency --function-name mesh-events";
    for (waiting, state, last_result, concurrency, outcome, seen, remedy) in [
        (0, "Enabled", "No records processed", None, Fine, "", &[][..]),
        (20, "Enabled", "OK", None, Fine, "", &[]),
        // More than all invocations take
        (21, "Enabled", "OK", None, Warning, "", &["aws cloudformation update-stack "]),
        (3, "Disabled", "OK", None, Failed, disabled, &[enable]),
        (1, "Enabled", "OK", Some(0), Failed, "", &[release]),
        (1, "Enabled", "OK", Some(5), Fine, "", &[]),
        (1, "Enabled", "PROBLEM: Function call failed", None, Failed, "", &[]),
    ] {
        let mapping = Mapping { state: state.to_owned(), last_result: Some(last_result.to_owned()) };
        let made = check_queue(&Ok(QueueReading { waiting, mapping, concurrency }), &subject);
        assert_check(&made, outcome, seen, remedy);
        let doubled = "ParameterKey=MaximumConcurrency,ParameterValue=\"4\"";
        assert!(waiting < 21 || made.commands[0].contains(doubled), "{made:?}");
    }
}

type Judge = fn(&Read<Letters>, &Subject<'_>) -> Check;

fn checked(judge: Judge, letters: &Read<Letters>) -> Check {
    let (stack, resources, commands) = (examples::stack("mesh", &[]), StackResources::new(), commands());
    judge(letters, &Subject { stack: &stack, resources: &resources, clusters: "", commands: &commands })
}

fn letters(count: usize, bodies: &[&str]) -> Letters {
    let undelivered = Some("NO_PERMISSIONS: denied".to_owned());
    let message =
        |body: &&str| FailedMessage { body: (*body).to_owned(), sent_at: None, undelivered: undelivered.clone() };
    Letters { count, some: bodies.iter().map(message).collect() }
}

#[test]
fn failed_message_leads_to_its_task_and_is_returned() {
    for judge in [failed as Judge, undelivered] {
        assert_check(&checked(judge, &Ok(Letters::default())), Fine, "", &[]);
        assert_check(&checked(judge, &Err("denied".to_owned())), Unknown, "", &[]);
    }
    let redrive = "ecs-mesh redrive --stack mesh --region us-east-1";
    let made = checked(failed, &Ok(letters(2, &[STOPPED])));
    assert_check(&made, Failed, "about 2 messages: ECS Task State Change: task ", &["ecs-mesh why ", redrive]);
    assert!(!made.commands[0].contains('/') && made.commands[0].contains(" --stack mesh "), "{made:?}");
    // A task that is no ID is in no command
    let body = r#"{ "detail-type": "ECS Task State Change", "detail": { "taskArn": "x;reboot" } }"#;
    assert_eq!(checked(failed, &Ok(letters(1, &[body]))).commands, [redrive]);
}

#[test]
fn queue_is_purged_only_after_a_sweep_and_never_with_messages_for_audit() {
    let made = checked(undelivered, &Ok(letters(1, &[STOPPED])));
    assert_check(&made, Failed, "(NO_PERMISSIONS: denied)", &["aws sqs get-queue-attributes --queue-url "]);
    let purge = "ecs-mesh sweep --stack mesh --region us-east-1 && \
                 aws sqs purge-queue --queue-url UndeliveredEventsQueue --region us-east-1";
    let sweep = "ecs-mesh sweep --stack mesh --region us-east-1";
    // With messages that were not seen, some may be for the audit
    for (count, body, remedy) in
        [(1, STOPPED, purge), (1, "{}", purge), (1, r#"{ "scheduled": true }"#, sweep), (2, "{}", sweep)]
    {
        assert_eq!(checked(undelivered, &Ok(letters(count, &[body]))).commands[1..], [remedy], "{count} {body}");
    }
}

#[test]
fn message_says_which_task_it_is_about_or_what_is_wrong() {
    let summary = summarize_message(STOPPED);
    assert!(summary.starts_with("ECS Task State Change: task "), "{summary}");
    assert!(summary.contains("of cluster prod is STOPPED ("), "{summary}");
    let event = |detail: &str| {
        format!(r#"{{ "source": "aws.ecs", "detail-type": "ECS Task State Change", "detail": {detail} }}"#)
    };
    let summary = summarize_message(&event("{}"));
    assert!(summary.contains("detail.clusterArn") && summary.ends_with("it can never succeed"), "{summary}");
    assert_eq!(summarize_message("{"), "not JSON: it can never succeed");
    assert_eq!(summarize_message("[]"), "not an event: it can never succeed");
    assert_eq!(task_of(STOPPED).unwrap().to_string().len(), 32);
    assert_eq!(task_of(&event(r#"{ "taskArn": "x;reboot" }"#)), None);
    let registered = include_str!("../../../../../events/api-call-register-task-definition.json");
    assert!([registered, r#"{ "scheduled": true }"#].iter().all(|body| may_be_for_audit(body)));
    assert!(!may_be_for_audit(STOPPED));
}
