//! Checks that an answer of `DescribeTasks` covers every requested task.

use std::collections::BTreeSet;

use aws_sdk_ecs::types::{Failure, Task};

use mesh::arn::{TaskArn, TaskId};

/// The failure of a task that ECS does not know.
const MISSING: &str = "MISSING";

/// Why an answer is incomplete.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Gap {
    /// A failure other than a missing task.
    #[error("{0}")]
    Failure(String),
    /// A task that is not in the answer.
    #[error("the answer says nothing of task {0}")]
    Unmentioned(TaskId),
}

/// Checks that each of `requested` is described or reported as missing: a task that is in neither may run.
///
/// # Errors
/// Why the answer is incomplete.
pub(super) fn check_coverage(requested: &[TaskArn], described: &[Task], failures: &[Failure]) -> Result<(), Gap> {
    if let Some(failure) = failures.iter().find(|failure| failure.reason() != Some(MISSING)) {
        return Err(Gap::Failure(failure.reason().unwrap_or("no reason given").to_owned()));
    }
    let described = described.iter().filter_map(Task::task_arn);
    let missing = failures.iter().filter_map(Failure::arn);
    // By ID, because accounts with short ARNs get those in the answer.
    let covered: BTreeSet<&str> = described.chain(missing).filter_map(|arn| arn.rsplit('/').next()).collect();
    match requested.iter().find(|task| !covered.contains(task.id().as_str())) {
        Some(task) => Err(Gap::Unmentioned(task.id().clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arn(number: u8) -> String {
        format!("arn:aws:ecs:us-east-1:123456789012:task/prod/{number:032x}")
    }

    fn requested(numbers: &[u8]) -> Vec<TaskArn> {
        numbers.iter().map(|number| arn(*number).parse().unwrap()).collect()
    }

    fn task(number: u8) -> Task {
        Task::builder().task_arn(arn(number)).build()
    }

    fn failure(number: u8, reason: &str) -> Failure {
        Failure::builder().arn(arn(number)).reason(reason).build()
    }

    #[test]
    fn described_and_missing_tasks_are_covered() {
        assert_eq!(check_coverage(&requested(&[1, 2]), &[task(1)], &[failure(2, MISSING)]), Ok(()));
        let short = Failure::builder().arn(arn(2).replace("task/prod/", "task/")).reason(MISSING).build();
        assert_eq!(check_coverage(&requested(&[1, 2]), &[task(1)], &[short]), Ok(()));
    }

    #[test]
    fn unmentioned_task_is_an_error() {
        let unnamed = Failure::builder().reason(MISSING).build();
        for failures in [vec![], vec![failure(1, MISSING)], vec![unnamed]] {
            let reason = check_coverage(&requested(&[1, 2]), &[task(1)], &failures).unwrap_err().to_string();
            assert!(reason.contains(&format!("{:032x}", 2)), "{reason}");
        }
        assert!(check_coverage(&requested(&[1]), &[], &[]).is_err());
    }

    #[test]
    fn other_failures_are_errors() {
        assert_eq!(
            check_coverage(&requested(&[1]), &[], &[failure(1, "ACCESS")]),
            Err(Gap::Failure("ACCESS".to_owned()))
        );
    }
}
