//! The checks of the way of an event: the rules of EventBridge, the queue, and the dead-letter queues with what their messages are about.

use std::collections::BTreeSet;

use audit::report::counted;
use mesh::{
    arn::TaskId,
    names::InvalidField,
    task::{TaskChange, TaskPhase},
};
use observe::{
    API_CALL_DETAIL_TYPE, ApiCall, DETAIL_TYPE, Letters, QueueReading, Read, parse_api_call, parse_task_change,
};
use report::{AuditOrder, AuditScope, Envelope, IdleCheckOrder};
use serde::Deserialize;

use super::{Check, commands::word, functions::Subject, stacks::parameter};
use crate::redaction;

const RULES: &str = "rules";

/// The rule about hosts, in the template.
const HOST_RULE: &str = "HostDisconnectedRule";

/// Whether all rules are enabled, by their names, and events of hosts are among them.
pub(super) fn check_rules(rules: &Read<Vec<(String, bool)>>, subject: &Subject<'_>) -> Check {
    let Ok(rules) = rules else { return Check::unread(RULES, rules) };
    let disabled: Vec<&str> =
        rules.iter().filter(|(_, is_enabled)| !is_enabled).map(|(name, _)| name.as_str()).collect();
    if disabled.is_empty() {
        let all = format!("all {} rules of EventBridge are enabled", rules.len());
        if subject.resources.contains_key(HOST_RULE) {
            return Check::ok(RULES, all);
        }
        let unsubscribed = "none is about hosts that disconnect (ECS Container Instance State Change), so the tasks of a host that \
                            is gone get requests until a sweep drains them";
        return match parameter(subject.stack, "Repair") {
            "off" => Check::ok(RULES, format!("{all}. With Repair=off, {unsubscribed}")),
            _ => Check::warning(RULES, format!("{all}, but {unsubscribed}. Update the stack")),
        };
    }
    let enable = disabled.iter().map(|name| subject.commands.aws(&format!("events enable-rule --name {}", word(name))));
    Check::failed(RULES, format!("disabled: {}", disabled.join(", "))).with_commands(enable)
}

const QUEUE: &str = "queue";
/// The messages of one invocation: `BatchSize` in the template.
const BATCH: usize = 10;
/// The default of `MaximumConcurrency`.
const CONCURRENCY: usize = 10;

/// Whether the messages of the queue are taken.
pub(super) fn check_queue(queue: &Read<QueueReading>, subject: &Subject<'_>) -> Check {
    let Ok(queue) = queue else { return Check::unread(QUEUE, queue) };
    let waiting = match queue.waiting {
        0 => "no messages are waiting".to_owned(),
        1 => "about 1 message is waiting".to_owned(),
        more => format!("about {more} messages are waiting"),
    };
    let because = if queue.waiting == 0 { ", but" } else { " because" };
    let (commands, function) = (subject.commands, subject.id("TaskEventsFunction"));
    let mapping = word(subject.id("TaskEventsSource"));
    if queue.mapping.state != "Enabled" {
        let seen = format!("{waiting}{because} the event source mapping is {}", queue.mapping.state);
        let enable = commands.aws(&format!("lambda update-event-source-mapping --uuid {mapping} --enabled"));
        return Check::failed(QUEUE, seen).with_commands([enable]);
    }
    if queue.concurrency == Some(0) {
        let seen = format!("{waiting}{because} the reserved concurrency of {function} is 0");
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
        let seen = format!("{waiting}, more than {concurrency} invocations take at once. Check again in a minute");
        let more = (concurrency * 2).to_string();
        let more = commands.update(subject.stack, &[("MaximumConcurrency", &more)]);
        return Check::warning(QUEUE, seen).with_commands([more]);
    }
    Check::ok(QUEUE, format!("{waiting}; {function} takes new messages"))
}

/// Whether a result is a failure: `OK` and `No records processed` are none.
fn is_problem(result: &str) -> bool {
    ["PROBLEM", "FAILED"].iter().any(|start| result.starts_with(start))
}

const FAILED: &str = "failed-events";
const UNDELIVERED: &str = "undelivered-events";
/// How many messages are described.
const SHOWN: usize = 3;

/// What the first ones are about.
fn about(letters: &Letters) -> String {
    let some = letters.some.iter().take(SHOWN);
    let about: BTreeSet<String> = some.map(|message| summarize_message(&message.body)).collect();
    let more = if letters.count > about.len() { "; …" } else { "" };
    format!("about {}: {}{more}", counted(letters.count, "message"), about.into_iter().collect::<Vec<_>>().join("; "))
}

/// Whether messages have failed.
pub(super) fn failed(letters: &Read<Letters>, subject: &Subject<'_>) -> Check {
    match letters {
        Err(why) => Check::unknown(FAILED, why),
        Ok(letters) if letters.count == 0 => Check::ok(FAILED, "no failed messages"),
        Ok(letters) => {
            let tasks: BTreeSet<TaskId> = letters.some.iter().filter_map(|message| task_of(&message.body)).collect();
            let why = tasks.iter().take(SHOWN).map(|task| subject.commands.ecs_mesh(&format!("why {task}")));
            let redrive = subject.commands.ecs_mesh("redrive");
            Check::failed(FAILED, about(letters)).with_commands(why.chain([redrive]))
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
            let seen = about(letters) + &because;
            if has_audits(letters, subject) {
                let seen = seen + ". Do not purge the queue: it may hold events for audit, which no sweep replaces";
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

/// What a message is about, or why it can never succeed. Why it failed is in the log of `task-events`.
pub fn summarize_message(body: &str) -> String {
    let never = "it can never succeed";
    let event = match serde_json::from_str::<Envelope>(body) {
        Ok(event) => event,
        Err(error) if error.is_data() => return format!("not an event: {never}"),
        Err(_) => return format!("not JSON: {never}"),
    };
    let Some(kind) = &event.detail_type else { return format!("not an event: {never}") };
    let invalid = |invalid: InvalidField| format!("{kind}: {invalid}: {never}");
    match kind.as_str() {
        DETAIL_TYPE => task_change(&event).map_or_else(invalid, |change| {
            let Some(change) = change else { return format!("{kind}: a task without a task definition") };
            let (task, cluster) = (change.arn.id(), change.cluster.name());
            let reason = change
                .end
                .and_then(|end| end.reason)
                .map(|reason| format!(" ({})", redaction::line(&reason)))
                .unwrap_or_default();
            format!("{kind}: task {task} of cluster {cluster} is {}{reason}", status(change.phase))
        }),
        API_CALL_DETAIL_TYPE => parse_api_call(&event.detail).map_or_else(invalid, |call| match call {
            Some(ApiCall::DefinitionInUse { definition, cluster: None }) => {
                format!("{kind}: {definition} was registered")
            }
            Some(ApiCall::DefinitionInUse { definition, .. }) => format!("{kind}: a service uses {definition}"),
            Some(ApiCall::ClusterDeleted(cluster)) => format!("{kind}: {cluster} was deleted"),
            None => kind.clone(),
        }),
        IdleCheckOrder::DETAIL_TYPE => match IdleCheckOrder::deserialize(&event.detail) {
            Ok(check) => format!("{kind}: service {}", check.service),
            Err(error) => format!("{kind}: {error}: {never}"),
        },
        _ => kind.clone(),
    }
}

fn task_change(event: &Envelope) -> Result<Option<TaskChange>, InvalidField> {
    parse_task_change(event.time.as_deref(), &event.detail)
}

fn status(phase: TaskPhase) -> &'static str {
    match phase {
        TaskPhase::Active => "starting or RUNNING",
        TaskPhase::Stopping => "stopping",
        TaskPhase::Stopped => "STOPPED",
        TaskPhase::Unknown => "in a status that this version does not know",
    }
}

/// The task that a message is about.
pub(crate) fn task_of(body: &str) -> Option<TaskId> {
    let event: Envelope = serde_json::from_str(body).ok()?;
    Some(task_change(&event).ok()??.arn.id().clone())
}

/// Whether a message may be for the function `audit`: a registered task definition, or its schedule. No sweep does what it asks for.
pub(crate) fn may_be_for_audit(body: &str) -> bool {
    let is_scheduled = serde_json::from_str(body).is_ok_and(|order: AuditOrder| order.scope == AuditScope::Scheduled);
    let call = serde_json::from_str::<Envelope>(body).map(|event| parse_api_call(&event.detail));
    is_scheduled || matches!(call, Ok(Ok(Some(ApiCall::DefinitionInUse { cluster: None, .. })) | Err(_)))
}

#[cfg(test)]
mod tests;
