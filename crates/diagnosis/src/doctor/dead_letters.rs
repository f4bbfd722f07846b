//! The checks of the dead-letter queues.

use std::collections::BTreeSet;

use aws::queue::FailedMessage;
use mesh::arn::TaskId;

use super::{Read, commands::word, functions::Subject, report::Check, stack::parameter};
use crate::failed_event::{may_be_for_audit, said, task_of};

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
        let about: BTreeSet<String> = self.some.iter().take(SHOWN).map(|message| said(&message.body)).collect();
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
            Check::failed(FAILED, letters.about()).mended_by(why.chain([redrive]))
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
                return Check::failed(UNDELIVERED, seen).mended_by([policy, sweep]);
            }
            let purge = format!("sqs purge-queue --queue-url {}", word(subject.id("UndeliveredEventsQueue")));
            // Only after a sweep that has done all.
            let purge = format!("{sweep} && {}", commands.aws(&purge));
            Check::failed(UNDELIVERED, seen).mended_by([policy, purge])
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
        let [why, redrive] = made.mend.as_slice() else { panic!("{:?}", made.mend) };
        assert!(why.starts_with("ecs-mesh why ") && !why.contains('/') && why.contains(" --stack mesh "), "{why}");
        assert_eq!(redrive, "ecs-mesh redrive --stack mesh --region us-east-1");
    }

    #[test]
    fn undelivered_event_says_why() {
        let made = checked(undelivered, &Ok(Letters { count: 1, ..letters() }));
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert!(made.seen.ends_with("(NO_PERMISSIONS: denied)"), "{}", made.seen);
        let [policy, purge] = made.mend.as_slice() else { panic!("{:?}", made.mend) };
        assert!(policy.starts_with("aws sqs get-queue-attributes --queue-url "), "{policy}");
        // Only a sweep that has done everything is followed by the purge
        assert!(purge.starts_with("ecs-mesh sweep ") && purge.contains(" && aws sqs purge-queue "), "{purge}");
        // With messages that were not seen, some may be for the audit: then the queue is not purged
        let made = checked(undelivered, &Ok(letters()));
        assert!(made.mend.iter().all(|command| !command.contains("purge")), "{:?}", made.mend);
    }

    #[test]
    fn queue_is_purged_only_after_a_sweep_and_never_with_messages_for_audit() {
        let of = |bodies: &[&str], count| {
            let message = |body: &&str| FailedMessage { body: (*body).to_owned(), sent_at: None, undelivered: None };
            checked(undelivered, &Ok(Letters { count, some: bodies.iter().map(message).collect() })).mend
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
        let body = r#"{ "detail-type": "x", "detail": { "taskArn": "x;reboot" } }"#.to_owned();
        let some = vec![FailedMessage { body, sent_at: None, undelivered: None }];
        let made = checked(failed, &Ok(Letters { count: 1, some }));
        assert_eq!(made.mend, ["ecs-mesh redrive --stack mesh --region us-east-1"]);
    }
}
