//! The checks of the way of an event: the rules of EventBridge, the queue, and the dead-letter queues.

use std::collections::BTreeSet;

use aws::{installation::Mapping, queue::FailedMessage};
use mesh::arn::TaskId;

use super::{
    Check, Read,
    commands::{Commands, word},
    functions::Subject,
    stack::parameter,
};
use crate::failed_event::{may_be_for_audit, summarize, task_of};

const RULES: &str = "rules";

/// Whether all rules are enabled, by their names.
pub(super) fn check_rules(rules: &Read<Vec<(String, bool)>>, commands: &Commands) -> Check {
    let rules = match rules {
        Ok(rules) => rules,
        Err(why) => return Check::unknown(RULES, why),
    };
    let disabled: Vec<&str> =
        rules.iter().filter(|(_, is_enabled)| !is_enabled).map(|(name, _)| name.as_str()).collect();
    if disabled.is_empty() {
        return Check::ok(RULES, format!("all {} rules of EventBridge are enabled", rules.len()));
    }
    let enable = disabled.iter().map(|name| commands.aws(&format!("events enable-rule --name {}", word(name))));
    Check::failed(RULES, format!("disabled: {}", disabled.join(", "))).with_commands(enable)
}

const QUEUE: &str = "queue";
/// The messages of one invocation: `BatchSize` in the template.
const BATCH: usize = 64;
/// The default of `MaximumConcurrency`.
const CONCURRENCY: usize = 10;

/// What was read of the queue and of what takes its messages.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    /// About how many messages wait.
    pub(super) waiting: usize,
    /// What takes them.
    pub(super) mapping: Mapping,
    /// How many invocations of the function may run at once, if that is limited.
    pub(super) concurrency: Option<usize>,
}

/// Whether the messages of the queue are taken.
pub(super) fn check_queue(queue: &Read<Queue>, subject: &Subject<'_>) -> Check {
    let queue = match queue {
        Ok(queue) => queue,
        Err(why) => return Check::unknown(QUEUE, why),
    };
    let waiting = match queue.waiting {
        0 => "no message waits".to_owned(),
        1 => "about 1 message waits".to_owned(),
        more => format!("about {more} messages wait"),
    };
    let (commands, function) = (subject.commands, subject.id("TaskEventsFunction"));
    let mapping = word(subject.id("TaskEventsSource"));
    if queue.mapping.state != "Enabled" {
        let seen = format!("{waiting}, and nothing takes them: the event source mapping is {}", queue.mapping.state);
        let enable = commands.aws(&format!("lambda update-event-source-mapping --uuid {mapping} --enabled"));
        return Check::failed(QUEUE, seen).with_commands([enable]);
    }
    if queue.concurrency == Some(0) {
        let seen = format!("{waiting}, and nothing takes them: the reserved concurrency of {function} is 0");
        let allow = commands.aws(&format!("lambda delete-function-concurrency --function-name {}", word(function)));
        return Check::failed(QUEUE, seen).with_commands([allow]);
    }
    let result = queue.mapping.last_result.as_deref().unwrap_or_default();
    if is_problem(result) {
        let seen = format!("{waiting}; the last batch failed: {result}");
        let log = commands.aws(&format!("logs tail {} --since 1h", word(subject.id("TaskEventsLogGroup"))));
        return Check::failed(QUEUE, seen).with_commands([log]);
    }
    let concurrency = parameter(subject.stack, "MaximumConcurrency").parse().unwrap_or(CONCURRENCY);
    if queue.waiting > concurrency * BATCH {
        let seen = format!("{waiting}, more than {concurrency} invocations take at once: ask again in a minute");
        let more = (concurrency * 2).to_string();
        let more = commands.update(subject.stack, &[("MaximumConcurrency", &more)]);
        return Check::warning(QUEUE, seen).with_commands([more]);
    }
    Check::ok(QUEUE, format!("{waiting}, and the function {function} takes what arrives"))
}

/// Whether a result is a failure: `OK` and `No records processed` are none.
fn is_problem(result: &str) -> bool {
    ["PROBLEM", "FAILED"].iter().any(|start| result.starts_with(start))
}

const FAILED: &str = "failed-events";
const UNDELIVERED: &str = "undelivered-events";
/// How many messages are described.
const SHOWN: usize = 3;

/// What was read of a dead-letter queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Letters {
    /// About how many messages are in it.
    pub(super) count: usize,
    /// Some of them.
    pub(super) some: Vec<FailedMessage>,
}

impl Letters {
    /// What the first ones are about.
    fn about(&self) -> String {
        let about: BTreeSet<String> = self.some.iter().take(SHOWN).map(|message| summarize(&message.body)).collect();
        let noun = if self.count == 1 { "message" } else { "messages" };
        let more = if self.count > about.len() { "; …" } else { "" };
        format!("about {} {noun}: {}{more}", self.count, about.into_iter().collect::<Vec<_>>().join("; "))
    }
}

/// Whether messages have failed.
pub(super) fn failed(letters: &Read<Letters>, subject: &Subject<'_>) -> Check {
    match letters {
        Err(why) => Check::unknown(FAILED, why),
        Ok(letters) if letters.count == 0 => Check::ok(FAILED, "no message has failed"),
        Ok(letters) => {
            let tasks: BTreeSet<TaskId> = letters.some.iter().filter_map(|message| task_of(&message.body)).collect();
            let why = tasks.iter().take(SHOWN).map(|task| subject.commands.ecs_mesh(&format!("why {task}")));
            let redrive = subject.commands.ecs_mesh("redrive");
            Check::failed(FAILED, letters.about()).with_commands(why.chain([redrive]))
        }
    }
}

/// Whether `EventBridge` could not deliver events. SQS does not return these by itself; a sweep does what they would have done.
pub(super) fn undelivered(letters: &Read<Letters>, subject: &Subject<'_>) -> Check {
    match letters {
        Err(why) => Check::unknown(UNDELIVERED, why),
        Ok(letters) if letters.count == 0 => Check::ok(UNDELIVERED, "EventBridge has delivered every event"),
        Ok(letters) => {
            let reasons: BTreeSet<&str> = letters.some.iter().filter_map(|it| it.undelivered.as_deref()).collect();
            let because = match reasons.into_iter().collect::<Vec<_>>().join("; ") {
                reasons if reasons.is_empty() => String::new(),
                reasons => format!(" ({reasons})"),
            };
            let commands = subject.commands;
            let queue = subject.id("TaskEventsQueue");
            let policy = format!("sqs get-queue-attributes --queue-url {} --attribute-names Policy", word(queue));
            let (policy, sweep) = (commands.aws(&policy), commands.ecs_mesh("sweep"));
            let seen = letters.about() + &because;
            if has_audits(letters, subject) {
                let seen = seen + "; do not purge the queue: no sweep does what events for the function audit ask for";
                return Check::failed(UNDELIVERED, seen).with_commands([policy, sweep]);
            }
            let purge = format!("sqs purge-queue --queue-url {}", word(subject.id("UndeliveredEventsQueue")));
            // Only after a sweep that has done all.
            let purge = format!("{sweep} && {}", commands.aws(&purge));
            Check::failed(UNDELIVERED, seen).with_commands([policy, purge])
        }
    }
}

/// Whether the queue has, or may have, messages for the function `audit`.
fn has_audits(letters: &Letters, subject: &Subject<'_>) -> bool {
    let are_all_read = letters.some.len() >= letters.count;
    let audits = parameter(subject.stack, "Audit") != "false";
    letters.some.iter().any(|message| may_be_for_audit(&message.body)) || (audits && !are_all_read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{CheckOutcome, commands::of_tests};

    #[test]
    fn disabled_rule_is_enabled() {
        let rules = |is_enabled| Ok(vec![("mesh-changes".to_owned(), true), ("mesh-sweep".to_owned(), is_enabled)]);
        assert_eq!(check_rules(&rules(true), &of_tests()).outcome, CheckOutcome::Ok);
        let made = check_rules(&rules(false), &of_tests());
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert_eq!(made.commands, ["aws events enable-rule --name mesh-sweep --region us-east-1"]);
    }

    #[test]
    fn unread_rule_is_unknown() {
        assert_eq!(check_rules(&Err("denied".to_owned()), &of_tests()).outcome, CheckOutcome::Unknown);
    }
}

#[cfg(test)]
mod queue_tests {
    use aws::installation::{Resource, Resources};

    use super::*;
    use crate::doctor::{CheckOutcome, commands, stack};

    fn checked(waiting: usize, state: &str, last_result: &str, concurrency: Option<usize>) -> Check {
        let stack = stack::of_tests("mesh", &[("MaximumConcurrency", "2")]);
        let resource = |name: &str, id: &str| (name.to_owned(), Resource { id: id.to_owned(), kind: String::new() });
        let resources =
            Resources::from([resource("TaskEventsSource", "uuid-1"), resource("TaskEventsFunction", "mesh-events")]);
        let commands = commands::of_tests();
        let subject = Subject { stack: &stack, resources: &resources, clusters: "", commands: &commands };
        let mapping = Mapping { state: state.to_owned(), last_result: Some(last_result.to_owned()) };
        check_queue(&Ok(Queue { waiting, mapping, concurrency }), &subject)
    }

    #[test]
    fn queue_drains() {
        assert_eq!(checked(0, "Enabled", "No records processed", None).outcome, CheckOutcome::Ok);
        assert_eq!(checked(128, "Enabled", "OK", None).outcome, CheckOutcome::Ok);
    }

    #[test]
    fn more_than_all_invocations_take_is_a_warning() {
        let made = checked(129, "Enabled", "OK", None);
        assert_eq!(made.outcome, CheckOutcome::Warning);
        assert!(
            made.commands[0].contains("ParameterKey=MaximumConcurrency,ParameterValue=\"4\""),
            "{:?}",
            made.commands
        );
    }

    #[test]
    fn disabled_mapping_is_enabled() {
        let made = checked(3, "Disabled", "OK", None);
        let seen = "about 3 messages wait, and nothing takes them: the event source mapping is Disabled";
        assert_eq!((made.outcome, made.seen.as_str()), (CheckOutcome::Failed, seen));
        assert_eq!(
            made.commands,
            ["aws lambda update-event-source-mapping --uuid uuid-1 --enabled --region us-east-1"]
        );
    }

    #[test]
    fn function_that_may_not_run_is_released() {
        let made = checked(1, "Enabled", "OK", Some(0));
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert!(made.commands[0].starts_with("aws lambda delete-function-concurrency --function-name mesh-events"));
        assert_eq!(checked(1, "Enabled", "OK", Some(5)).outcome, CheckOutcome::Ok);
    }

    #[test]
    fn failed_batch_leads_to_the_log() {
        assert_eq!(checked(1, "Enabled", "PROBLEM: Function call failed", None).outcome, CheckOutcome::Failed);
    }
}

#[cfg(test)]
mod dead_letters_tests {
    use aws::installation::Resources;

    use super::*;
    use crate::doctor::{CheckOutcome, commands, stack};

    type Judge = fn(&Read<Letters>, &Subject<'_>) -> Check;

    fn checked(judge: Judge, letters: &Read<Letters>) -> Check {
        let (stack, resources, commands) = (stack::of_tests("mesh", &[]), Resources::new(), commands::of_tests());
        judge(letters, &Subject { stack: &stack, resources: &resources, clusters: "", commands: &commands })
    }

    fn letters() -> Letters {
        let body = include_str!("../../../../events/task-stopped-essential-container-exited.json").to_owned();
        let undelivered = Some("NO_PERMISSIONS: denied".to_owned());
        Letters { count: 2, some: vec![FailedMessage { body, sent_at: None, undelivered }] }
    }

    #[test]
    fn empty_queue_is_fine_and_an_unread_one_unknown() {
        for judge in [failed as Judge, undelivered] {
            assert_eq!(checked(judge, &Ok(Letters::default())).outcome, CheckOutcome::Ok);
            assert_eq!(checked(judge, &Err("denied".to_owned())).outcome, CheckOutcome::Unknown);
        }
    }

    #[test]
    fn failed_message_leads_to_its_task_and_is_returned() {
        let made = checked(failed, &Ok(letters()));
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert!(made.seen.starts_with("about 2 messages: ECS Task State Change: task "), "{}", made.seen);
        let [why, redrive] = made.commands.as_slice() else { panic!("{:?}", made.commands) };
        assert!(why.starts_with("ecs-mesh why ") && !why.contains('/') && why.contains(" --stack mesh "), "{why}");
        assert_eq!(redrive, "ecs-mesh redrive --stack mesh --region us-east-1");
    }

    #[test]
    fn undelivered_event_says_why() {
        let made = checked(undelivered, &Ok(Letters { count: 1, ..letters() }));
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert!(made.seen.ends_with("(NO_PERMISSIONS: denied)"), "{}", made.seen);
        let [policy, purge] = made.commands.as_slice() else { panic!("{:?}", made.commands) };
        assert!(policy.starts_with("aws sqs get-queue-attributes --queue-url "), "{policy}");
        // Only a sweep that has done everything is followed by the purge
        assert!(purge.starts_with("ecs-mesh sweep ") && purge.contains(" && aws sqs purge-queue "), "{purge}");
        // With messages that were not seen, some may be for the audit: then the queue is not purged
        let made = checked(undelivered, &Ok(letters()));
        assert!(made.commands.iter().all(|command| !command.contains("purge")), "{:?}", made.commands);
    }

    #[test]
    fn queue_is_purged_only_after_a_sweep_and_never_with_messages_for_audit() {
        let of = |bodies: &[&str], count| {
            let message = |body: &&str| FailedMessage { body: (*body).to_owned(), sent_at: None, undelivered: None };
            checked(undelivered, &Ok(Letters { count, some: bodies.iter().map(message).collect() })).commands
        };
        let purge = "ecs-mesh sweep --stack mesh --region us-east-1 && \
                     aws sqs purge-queue --queue-url UndeliveredEventsQueue --region us-east-1";
        assert_eq!(of(&["{}"], 1)[1], purge);
        let sweep = "ecs-mesh sweep --stack mesh --region us-east-1";
        assert_eq!(of(&[r#"{ "scheduled": true }"#], 1)[1..], [sweep.to_owned()]);
        // Not all could be read
        assert_eq!(of(&["{}"], 2)[1..], [sweep.to_owned()]);
    }

    #[test]
    fn task_of_a_message_that_is_no_id_is_in_no_command() {
        let body = r#"{ "detail-type": "ECS Task State Change", "detail": { "taskArn": "x;reboot" } }"#.to_owned();
        let some = vec![FailedMessage { body, sent_at: None, undelivered: None }];
        let made = checked(failed, &Ok(Letters { count: 1, some }));
        assert_eq!(made.commands, ["ecs-mesh redrive --stack mesh --region us-east-1"]);
    }
}
