//! The checks of what else manages the clusters: controllers of consul-ecs, and other stacks.

use aws::installation::DeployedStack;
use mesh::{arn::ClusterArn, cluster_selection::ClusterSelection, mode::Mode};

use super::{
    Check, CheckOutcome, Read,
    commands::{Commands, word},
    stack::{clusters, mode, parameter},
};
use crate::observed::{Observed, OtherController, RunsAs};

const CONTROLLERS: &str = "other-controllers";

/// Whether a controller of consul-ecs runs. With `Mode=act` it is a failure: each would delete what the other one creates. `mode` is
/// `None` before the installation.
pub(super) fn check_controllers(observed: &Read<Observed>, mode: Option<Mode>, commands: &Commands) -> Check {
    let observed = match observed {
        Ok(observed) => observed,
        Err(why) => return Check::unknown(CONTROLLERS, why),
    };
    let found: Vec<(&ClusterArn, &OtherController)> =
        observed.clusters.iter().flat_map(|cluster| cluster.controllers.iter().map(|it| (&cluster.arn, it))).collect();
    if found.is_empty() {
        return match observed.problems.as_slice() {
            [] => Check::ok(CONTROLLERS, format!("none in {}", count(observed.clusters.len()))),
            problems => Check::unknown(CONTROLLERS, problems.join("; ")),
        };
    }
    let seen: Vec<String> = found.iter().map(|(cluster, other)| described(cluster, other)).collect();
    let seen = format!("the controller of consul-ecs runs: {}", seen.join(", "));
    let stop = found.iter().map(|(cluster, other)| stop(cluster, other, commands));
    match mode {
        Some(Mode::Observe) => Check::ok(CONTROLLERS, format!("{seen}; beside Mode=observe it is meant to")),
        Some(Mode::Act) => Check::failed(CONTROLLERS, seen).with_commands(stop),
        // It is not stopped: nothing would manage the mesh until the installation acts.
        None => Check::warning(CONTROLLERS, format!("{seen}; install with Mode=observe, and stop it before Mode=act"))
            .with_commands([commands.first_deploy()]),
    }
}

fn count(count: usize) -> String {
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

const OTHER_STACKS: &str = "other-stacks";

/// Whether another stack that acts shares clusters or a prefix with this one: docs/deploy.md, Network. `known` are the clusters of the
/// account and region, and `prefix` is the start of their ARNs.
pub(super) fn check_other_stacks(
    stack: &DeployedStack,
    others: &[&DeployedStack],
    known: &Read<Vec<ClusterArn>>,
    prefix: &str,
    commands: &Commands,
) -> Check {
    let Ok(own) = clusters(stack, prefix) else {
        return Check::unknown(
            OTHER_STACKS,
            format!("the clusters {:?} are not known here", parameter(stack, "EcsClusterArns")),
        );
    };
    let known = match known {
        Ok(known) => known,
        Err(_) if others.is_empty() => &Vec::new(),
        Err(why) => return Check::unknown(OTHER_STACKS, why),
    };
    let acting: Vec<&&DeployedStack> = others.iter().filter(|other| mode(other).acts()).collect();
    let mut seen = Vec::new();
    for other in &acting {
        let shared = shared(&own, clusters(other, prefix).ok().as_ref(), known);
        let what = match (shared.as_slice(), shares_secrets(stack, other)) {
            ([], false) => continue,
            ([], true) => format!("the prefix {} of secrets", parameter(other, "SecretNamePrefix")),
            (names, _) => format!("the clusters {}", names.join(", ")),
        };
        seen.push(format!("the stack {} also manages {what}", other.name));
    }
    match seen.as_slice() {
        [] if others.is_empty() => {
            Check::ok(OTHER_STACKS, "no other stack of the controller in the account and region")
        }
        [] => Check::ok(OTHER_STACKS, format!("{}, each with clusters of its own", names(others))),
        seen if mode(stack).acts() => {
            let seen = format!("{}; give each its own, or let one of them observe", seen.join("; "));
            Check::failed(OTHER_STACKS, seen).with_commands([commands.update(stack, &[("Mode", "observe")])])
        }
        seen => Check::ok(OTHER_STACKS, format!("{}; this one only observes", seen.join("; "))),
    }
}

/// The same before an installation, when there is nothing to correct yet.
pub(super) fn check_before(
    planned: &DeployedStack,
    others: &[&DeployedStack],
    known: &Read<Vec<ClusterArn>>,
    prefix: &str,
    commands: &Commands,
) -> Check {
    let made = check_other_stacks(planned, others, known, prefix, commands);
    let seen = match made.outcome {
        CheckOutcome::Failed => {
            format!("{}: choose others (--clusters, --secret-name-prefix), or install with Mode=observe", made.seen)
        }
        _ => made.seen,
    };
    Check { seen, commands: Vec::new(), ..made }
}

fn names(stacks: &[&DeployedStack]) -> String {
    let names: Vec<&str> = stacks.iter().map(|stack| stack.name.as_str()).collect();
    names.join(", ")
}

/// The clusters that both select.
fn shared(own: &ClusterSelection, theirs: Option<&ClusterSelection>, known: &[ClusterArn]) -> Vec<String> {
    let Some(theirs) = theirs else { return Vec::new() };
    let both = known.iter().filter(|cluster| own.contains(cluster) && theirs.contains(cluster));
    both.map(|cluster| cluster.name().to_owned()).collect()
}

/// Whether two stacks may share secrets: the same prefix, or one that begins with the other and a hyphen.
fn shares_secrets(stack: &DeployedStack, other: &DeployedStack) -> bool {
    let [own, theirs] = [stack, other].map(|stack| parameter(stack, "SecretNamePrefix"));
    let begins =
        |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    begins(own, theirs) || begins(theirs, own)
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
        let made = check_controllers(&Ok(observed(&[service()])), Some(Mode::Act), &of_tests());
        assert_eq!(made.outcome, CheckOutcome::Failed);
        let seen =
            "the controller of consul-ecs runs: service consul-controller of cluster prod (hashicorp/consul-ecs:0.9.0)";
        assert_eq!(made.seen, seen);
        let stop =
            "aws ecs update-service --cluster prod --service consul-controller --desired-count 0 --region us-east-1";
        assert_eq!(made.commands, [stop]);
        let task = RunsAs::Task("0123456789abcdef0123456789abcdef".parse().unwrap());
        let made = check_controllers(&Ok(observed(&[task])), Some(Mode::Act), &of_tests());
        assert!(made.commands[0].starts_with("aws ecs stop-task --cluster prod --task 0123456789abcdef"));
    }

    #[test]
    fn controller_beside_one_that_observes_is_expected() {
        assert_eq!(
            check_controllers(&Ok(observed(&[service()])), Some(Mode::Observe), &of_tests()).outcome,
            CheckOutcome::Ok
        );
    }

    #[test]
    fn before_the_installation_it_is_a_warning_and_is_not_stopped() {
        let made = check_controllers(&Ok(observed(&[service()])), None, &of_tests());
        assert_eq!(made.outcome, CheckOutcome::Warning);
        assert!(made.seen.contains("install with Mode=observe"), "{}", made.seen);
        assert_eq!(made.commands, ["sam build && sam deploy --guided --stack-name mesh --region us-east-1"]);
    }

    #[test]
    fn cluster_that_could_not_be_read_is_unknown() {
        let unread = Observed { clusters: Vec::new(), problems: vec!["cluster prod: denied".to_owned()] };
        assert_eq!(check_controllers(&Ok(unread), Some(Mode::Act), &of_tests()).outcome, CheckOutcome::Unknown);
        assert_eq!(check_controllers(&Ok(observed(&[])), Some(Mode::Act), &of_tests()).outcome, CheckOutcome::Ok);
    }
}

#[cfg(test)]
mod other_stacks_tests {
    use super::*;
    use crate::doctor::{CheckOutcome, commands, stack::of_tests};

    const PREFIX: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/";

    fn stack(name: &str, clusters: &str, mode: &str) -> DeployedStack {
        of_tests(name, &[("EcsClusterArns", clusters), ("Mode", mode), ("SecretNamePrefix", name)])
    }

    fn checked(own: &DeployedStack, other: &DeployedStack) -> Check {
        let known = ["prod-1", "test"].map(|name| format!("{PREFIX}{name}").parse().unwrap());
        check_other_stacks(own, &[other], &Ok(known.to_vec()), PREFIX, &commands::of_tests())
    }

    #[test]
    fn clusters_that_could_not_be_listed_may_be_shared() {
        let (own, other) = (stack("mesh", "prod-*", "act"), stack("second", "test", "act"));
        let denied = Err("denied".to_owned());
        assert_eq!(
            check_other_stacks(&own, &[&other], &denied, PREFIX, &commands::of_tests()).outcome,
            CheckOutcome::Unknown
        );
        assert_eq!(check_other_stacks(&own, &[], &denied, PREFIX, &commands::of_tests()).outcome, CheckOutcome::Ok);
    }

    #[test]
    fn stacks_with_clusters_of_their_own_are_fine() {
        let (own, other) = (stack("mesh", "prod-*", "act"), stack("second", "test", "act"));
        assert_eq!(checked(&own, &other).outcome, CheckOutcome::Ok);
    }

    #[test]
    fn of_two_stacks_with_the_same_cluster_the_one_that_was_asked_about_can_observe() {
        let made = checked(&stack("mesh", "prod-*", "act"), &stack("second", "*", "act"));
        let seen = "the stack second also manages the clusters prod-1; give each its own, or let one of them observe";
        assert_eq!((made.outcome, made.seen.as_str()), (CheckOutcome::Failed, seen));
        let [command] = made.commands.as_slice() else { panic!("{:?}", made.commands) };
        let start = "aws cloudformation update-stack --stack-name mesh --use-previous-template --parameters \
                     'ParameterKey=Mode,ParameterValue=\"observe\"' ";
        assert!(command.starts_with(start), "{command}");
    }

    #[test]
    fn before_an_installation_the_other_stack_is_left_as_it_is() {
        let other = stack("ecs-mesh-controller", "prod-*", "act");
        let checked = |clusters: &str, secrets: &str| {
            let planned = crate::doctor::stack::planned("second", clusters, secrets);
            let known = ["prod-1", "test"].map(|name| format!("{PREFIX}{name}").parse().unwrap());
            check_before(&planned, &[&other], &Ok(known.to_vec()), PREFIX, &commands::of_tests())
        };
        let shared = checked("prod-1", "second");
        assert_eq!((shared.outcome, shared.commands.as_slice()), (CheckOutcome::Failed, &[][..]));
        assert!(shared.seen.contains("--secret-name-prefix"), "{}", shared.seen);
        assert_eq!(checked("test", "second").outcome, CheckOutcome::Ok);
    }

    #[test]
    fn one_of_two_may_observe() {
        assert_eq!(checked(&stack("mesh", "*", "act"), &stack("second", "*", "observe")).outcome, CheckOutcome::Ok);
        assert_eq!(checked(&stack("mesh", "*", "observe"), &stack("second", "*", "act")).outcome, CheckOutcome::Ok);
    }

    #[test]
    fn prefix_that_begins_with_another_one_is_shared() {
        let made = checked(&stack("mesh", "prod-*", "act"), &stack("mesh-test", "test", "act"));
        assert_eq!(made.outcome, CheckOutcome::Failed);
        let seen = "the stack mesh-test also manages the prefix mesh-test of secrets; ";
        assert!(made.seen.starts_with(seen), "{}", made.seen);
        assert!(!shares_secrets(&stack("mesh", "a", "act"), &stack("meshed", "a", "act")));
    }
}
