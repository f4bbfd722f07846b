//! The check of whether a controller of consul-ecs runs in the same clusters.

use mesh::{arn::ClusterArn, mode::Mode};

use super::{
    Read,
    commands::{Commands, word},
    report::Check,
};
use crate::observed::{Observed, OtherController, RunsAs};

const NAME: &str = "other-controllers";

/// Whether a controller of consul-ecs runs. Beside one that acts it is a failure: both would delete what the other one makes. `mode` is
/// `None` before the installation.
pub(super) fn check(observed: &Read<Observed>, mode: Option<Mode>, commands: &Commands) -> Check {
    let observed = match observed {
        Ok(observed) => observed,
        Err(why) => return Check::unknown(NAME, why),
    };
    let found: Vec<(&ClusterArn, &OtherController)> =
        observed.clusters.iter().flat_map(|cluster| cluster.controllers.iter().map(|it| (&cluster.arn, it))).collect();
    if found.is_empty() {
        return match observed.problems.as_slice() {
            [] => Check::ok(NAME, format!("none in {}", clusters(observed.clusters.len()))),
            problems => Check::unknown(NAME, problems.join("; ")),
        };
    }
    let seen: Vec<String> = found.iter().map(|(cluster, other)| described(cluster, other)).collect();
    let seen = format!("the controller of consul-ecs runs: {}", seen.join(", "));
    let stop = found.iter().map(|(cluster, other)| stop(cluster, other, commands));
    match mode {
        Some(Mode::Observe) => Check::ok(NAME, format!("{seen}; beside Mode=observe it is meant to")),
        Some(Mode::Act) => Check::failed(NAME, seen).mended_by(stop),
        // It is not stopped: nothing would manage the mesh until the installation acts.
        None => Check::warning(NAME, format!("{seen}; install with Mode=observe, and stop it before Mode=act"))
            .mended_by([commands.first_deploy()]),
    }
}

fn clusters(count: usize) -> String {
    if count == 1 { "1 cluster".to_owned() } else { format!("{count} clusters") }
}

fn described(cluster: &ClusterArn, other: &OtherController) -> String {
    match &other.runs_as {
        RunsAs::Service(service) => format!("service {service} of cluster {} ({})", cluster.name(), other.image),
        RunsAs::Task(task) => format!("task {task} of cluster {} ({})", cluster.name(), other.image),
    }
}

fn stop(cluster: &ClusterArn, other: &OtherController, commands: &Commands) -> String {
    let cluster = word(cluster.name());
    commands.aws(&match &other.runs_as {
        RunsAs::Service(service) => {
            format!("ecs update-service --cluster {cluster} --service {} --desired-count 0", word(service))
        }
        RunsAs::Task(task) => format!("ecs stop-task --cluster {cluster} --task {task}"),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        doctor::{CheckOutcome, commands::of_tests},
        observed::{ObservedCluster, Outside},
    };

    fn observed(controllers: &[RunsAs]) -> Observed {
        let image = "hashicorp/consul-ecs:0.9.0";
        let other = |runs_as: &RunsAs| OtherController { runs_as: runs_as.clone(), image: image.to_owned() };
        let cluster = ObservedCluster {
            arn: "arn:aws:ecs:us-east-1:123456789012:cluster/prod".parse().unwrap(),
            services: Vec::new(),
            tasks: Vec::new(),
            others: BTreeSet::new(),
            unsorted: BTreeSet::new(),
            outside: Outside::default(),
            controllers: controllers.iter().map(other).collect(),
            catalog: None,
        };
        Observed { clusters: vec![cluster], problems: Vec::new() }
    }

    fn service() -> RunsAs {
        RunsAs::Service("consul-controller".to_owned())
    }

    #[test]
    fn controller_beside_one_that_acts_is_scaled_to_zero() {
        let made = check(&Ok(observed(&[service()])), Some(Mode::Act), &of_tests());
        assert_eq!(made.outcome, CheckOutcome::Failed);
        let seen =
            "the controller of consul-ecs runs: service consul-controller of cluster prod (hashicorp/consul-ecs:0.9.0)";
        assert_eq!(made.seen, seen);
        let stop =
            "aws ecs update-service --cluster prod --service consul-controller --desired-count 0 --region us-east-1";
        assert_eq!(made.mend, [stop]);
        let task = RunsAs::Task("0123456789abcdef0123456789abcdef".parse().unwrap());
        let made = check(&Ok(observed(&[task])), Some(Mode::Act), &of_tests());
        assert!(made.mend[0].starts_with("aws ecs stop-task --cluster prod --task 0123456789abcdef"));
    }

    #[test]
    fn controller_beside_one_that_observes_is_expected() {
        assert_eq!(check(&Ok(observed(&[service()])), Some(Mode::Observe), &of_tests()).outcome, CheckOutcome::Ok);
    }

    #[test]
    fn before_the_installation_it_is_a_warning_and_is_not_stopped() {
        let made = check(&Ok(observed(&[service()])), None, &of_tests());
        assert_eq!(made.outcome, CheckOutcome::Warning);
        assert!(made.seen.contains("install with Mode=observe"), "{}", made.seen);
        assert_eq!(made.mend, ["sam build && sam deploy --guided --stack-name mesh --region us-east-1"]);
    }

    #[test]
    fn cluster_that_could_not_be_read_is_unknown() {
        let unread = Observed { clusters: Vec::new(), problems: vec!["cluster prod: denied".to_owned()] };
        assert_eq!(check(&Ok(unread), Some(Mode::Act), &of_tests()).outcome, CheckOutcome::Unknown);
        assert_eq!(check(&Ok(observed(&[])), Some(Mode::Act), &of_tests()).outcome, CheckOutcome::Ok);
    }
}
