//! Whether an answer of `DescribeTasks` says something of every task that was asked for.

use std::collections::BTreeSet;

use aws_sdk_ecs::types::{Failure, Task};

use mesh::arn::{TaskArn, TaskId};

/// The one failure that means absence.
const MISSING: &str = "MISSING";

/// Why an answer cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Gap {
    /// A failure of another kind than that a task is missing.
    #[error("{0}")]
    Failure(String),
    /// A task of which the answer says nothing.
    #[error("the answer says nothing of task {0}")]
    Unmentioned(TaskId),
}

/// Checks that each of `asked` is described, or said to be missing: a task that an answer is silent about may live.
///
/// # Errors
/// Why the answer cannot be used.
pub(super) fn check_coverage(asked: &[TaskArn], described: &[Task], failures: &[Failure]) -> Result<(), Gap> {
    if let Some(failure) = failures.iter().find(|failure| failure.reason() != Some(MISSING)) {
        return Err(Gap::Failure(failure.reason().unwrap_or("no reason given").to_owned()));
    }
    let described = described.iter().filter_map(Task::task_arn);
    let missing = failures.iter().filter_map(Failure::arn);
    // By their IDs: an account with short ARNs is answered in those.
    let covered: BTreeSet<&str> = described.chain(missing).filter_map(|arn| arn.rsplit('/').next()).collect();
    match asked.iter().find(|task| !covered.contains(task.id().as_str())) {
        Some(silent) => Err(Gap::Unmentioned(silent.id().clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arn(number: u8) -> String {
        format!("arn:aws:ecs:us-east-1:123456789012:task/prod/{number:032x}")
    }

    fn asked(numbers: &[u8]) -> Vec<TaskArn> {
        numbers.iter().map(|number| arn(*number).parse().unwrap()).collect()
    }

    fn task(number: u8) -> Task {
        Task::builder().task_arn(arn(number)).build()
    }

    fn failure(number: u8, reason: &str) -> Failure {
        Failure::builder().arn(arn(number)).reason(reason).build()
    }

    #[test]
    fn a_task_is_described_or_said_to_be_missing() {
        assert_eq!(check_coverage(&asked(&[1, 2]), &[task(1)], &[failure(2, MISSING)]), Ok(()));
        let short = Failure::builder().arn(arn(2).replace("task/prod/", "task/")).reason(MISSING).build();
        assert_eq!(check_coverage(&asked(&[1, 2]), &[task(1)], &[short]), Ok(()));
    }

    #[test]
    fn silence_about_a_task_is_no_answer() {
        let nameless = Failure::builder().reason(MISSING).build();
        for failures in [vec![], vec![failure(1, MISSING)], vec![nameless]] {
            let reason = check_coverage(&asked(&[1, 2]), &[task(1)], &failures).unwrap_err().to_string();
            assert!(reason.contains(&format!("{:032x}", 2)), "{reason}");
        }
        assert!(check_coverage(&asked(&[1]), &[], &[]).is_err());
    }

    #[test]
    fn any_other_failure_is_the_reason() {
        assert_eq!(check_coverage(&asked(&[1]), &[], &[failure(1, "ACCESS")]), Err(Gap::Failure("ACCESS".to_owned())));
    }
}
