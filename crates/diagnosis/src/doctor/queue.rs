//! The check of whether the queue drains.

use aws::installation::Mapping;

use super::{Read, commands::word, functions::Subject, report::Check, stack::parameter};

const NAME: &str = "queue";
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
pub(super) fn check(queue: &Read<Queue>, subject: &Subject<'_>) -> Check {
    let queue = match queue {
        Ok(queue) => queue,
        Err(why) => return Check::unknown(NAME, why),
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
        return Check::failed(NAME, seen).mended_by([enable]);
    }
    if queue.concurrency == Some(0) {
        let seen = format!("{waiting}, and nothing takes them: the reserved concurrency of {function} is 0");
        let allow = commands.aws(&format!("lambda delete-function-concurrency --function-name {}", word(function)));
        return Check::failed(NAME, seen).mended_by([allow]);
    }
    let result = queue.mapping.last_result.as_deref().unwrap_or_default();
    if is_problem(result) {
        let seen = format!("{waiting}; the last batch failed: {result}");
        let log = commands.aws(&format!("logs tail {} --since 1h", word(subject.id("TaskEventsLogGroup"))));
        return Check::failed(NAME, seen).mended_by([log]);
    }
    let concurrency = parameter(subject.stack, "MaximumConcurrency").parse().unwrap_or(CONCURRENCY);
    if queue.waiting > concurrency * BATCH {
        let seen = format!("{waiting}, more than {concurrency} invocations take at once: ask again in a minute");
        let more = (concurrency * 2).to_string();
        let more = commands.update(subject.stack, &[("MaximumConcurrency", &more)]);
        return Check::warning(NAME, seen).mended_by([more]);
    }
    Check::ok(NAME, format!("{waiting}, and the function {function} takes what arrives"))
}

/// Whether a result is a failure: `OK` and `No records processed` are none.
fn is_problem(result: &str) -> bool {
    ["PROBLEM", "FAILED"].iter().any(|start| result.starts_with(start))
}

#[cfg(test)]
mod tests {
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
        check(&Ok(Queue { waiting, mapping, concurrency }), &subject)
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
        assert!(made.mend[0].contains("ParameterKey=MaximumConcurrency,ParameterValue=\"4\""), "{:?}", made.mend);
    }

    #[test]
    fn disabled_mapping_is_enabled() {
        let made = checked(3, "Disabled", "OK", None);
        let seen = "about 3 messages wait, and nothing takes them: the event source mapping is Disabled";
        assert_eq!((made.outcome, made.seen.as_str()), (CheckOutcome::Failed, seen));
        assert_eq!(made.mend, ["aws lambda update-event-source-mapping --uuid uuid-1 --enabled --region us-east-1"]);
    }

    #[test]
    fn function_that_may_not_run_is_released() {
        let made = checked(1, "Enabled", "OK", Some(0));
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert!(made.mend[0].starts_with("aws lambda delete-function-concurrency --function-name mesh-events"));
        assert_eq!(checked(1, "Enabled", "OK", Some(5)).outcome, CheckOutcome::Ok);
    }

    #[test]
    fn failed_batch_leads_to_the_log() {
        assert_eq!(checked(1, "Enabled", "PROBLEM: Function call failed", None).outcome, CheckOutcome::Failed);
    }
}
