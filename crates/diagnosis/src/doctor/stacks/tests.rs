//! Tests of the checks in [`super`].

use observe::{InspectedCluster, InspectionError};

use super::*;
use crate::doctor::CheckOutcome::{Failed, Ok as Fine, Unknown, Warning};
use crate::examples::{self, assert_check, commands, empty_cluster};

const PREFIX: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/";
const DEPLOY: &str = "sam build && sam deploy --guided --stack-name mesh --region us-east-1";

#[test]
fn stack_says_its_mode_and_clusters_or_how_its_status_goes_on() {
    let complete = "Stack mesh: UPDATE_COMPLETE, Mode=observe (reports changes, makes none), clusters prod-*";
    let cloudformation = |rest: &str| format!("aws cloudformation {rest}");
    for (status, outcome, seen, at, command) in [
        ("UPDATE_COMPLETE", Fine, complete, 0, ""),
        ("UPDATE_ROLLBACK_COMPLETE", Warning, "", 0, "describe-stack-events --stack-name mesh "),
        ("UPDATE_ROLLBACK_FAILED", Failed, "", 1, "continue-update-rollback --stack-name mesh "),
        ("ROLLBACK_COMPLETE", Failed, "", 0, ""),
        ("UPDATE_IN_PROGRESS", Warning, "", 0, "wait stack-update-complete"),
        ("UPDATE_ROLLBACK_IN_PROGRESS", Warning, "", 0, "wait stack-rollback-complete"),
        ("DELETE_IN_PROGRESS", Failed, "", 0, "wait stack-delete-complete"),
    ] {
        let stack = examples::stack("mesh", &[("Mode", "observe"), ("EcsClusterArns", "prod-*")]);
        let made = check_stack(Some(&DeployedStack { status: status.to_owned(), ..stack }), &commands());
        assert_check(&made, outcome, seen, &[]);
        assert!(command.is_empty() || made.commands[at].starts_with(&cloudformation(command)), "{status}: {made:?}");
    }
    assert_check(&check_stack(None, &commands()), Failed, "", &[DEPLOY]);
    assert_check(&check_stack_before(None, &commands()), Fine, "", &[]);
    assert_check(&check_stack_before(Some(&examples::stack("mesh", &[])), &commands()), Warning, "", &[]);
}

fn controllers(controllers: &[RunsAs], mode: Option<Mode>) -> Check {
    let image = "hashicorp/consul-ecs:0.9.0";
    let other = |runs_as: &RunsAs| OtherController { runs_as: runs_as.clone(), image: image.to_owned() };
    let cluster = InspectedCluster { controllers: controllers.iter().map(other).collect(), ..empty_cluster([]) };
    check_controllers(&Ok(Inspection { clusters: vec![cluster], problems: Vec::new() }), mode, &commands())
}

#[test]
fn controller_beside_one_that_acts_is_scaled_to_zero() {
    let service = [RunsAs::Service("consul-controller".to_owned())];
    let seen =
        "the controller of consul-ecs runs: service consul-controller of cluster prod (hashicorp/consul-ecs:0.9.0)";
    let stop = "aws ecs update-service --cluster prod --service consul-controller --desired-count 0 --region us-east-1";
    assert_check(&controllers(&service, Some(Mode::Act)), Failed, seen, &[stop]);
    let task = [RunsAs::Task("0123456789abcdef0123456789abcdef".parse().unwrap())];
    let stop = "aws ecs stop-task --cluster prod --task 0123456789abcdef";
    assert_check(&controllers(&task, Some(Mode::Act)), Failed, "", &[stop]);
    // One that observes may run next to it, and before the installation it is not stopped
    assert_check(&controllers(&service, Some(Mode::Observe)), Fine, "", &[]);
    assert_check(&controllers(&service, None), Warning, "Install with Mode=observe", &[DEPLOY]);
    assert_check(&controllers(&[], Some(Mode::Act)), Fine, "", &[]);
    let unread = Inspection {
        clusters: Vec::new(),
        problems: vec![InspectionError::NotDescribed("0123456789abcdef0123456789abcdef".parse().unwrap())],
    };
    assert_check(&check_controllers(&Ok(unread), Some(Mode::Act), &commands()), Unknown, "", &[]);
}

fn stack(name: &str, clusters: &str, mode: &str) -> DeployedStack {
    examples::stack(name, &[("EcsClusterArns", clusters), ("Mode", mode), ("SecretNamePrefix", name)])
}

fn known_clusters() -> Vec<ClusterArn> {
    ["prod-1", "test"].map(|name| format!("{PREFIX}{name}").parse().unwrap()).to_vec()
}

#[test]
fn stacks_share_no_cluster_and_no_prefix_of_secrets() {
    let observe = "aws cloudformation update-stack --stack-name mesh --use-previous-template --parameters \
                   'ParameterKey=Mode,ParameterValue=\"observe\"' ";
    let both = "stack second also manages the clusters prod-1. Give each stack its own, or set Mode=observe in one";
    let prefix = "stack mesh-test also manages the secret name prefix mesh-test. ";
    for (own, other, outcome, seen, remedy) in [
        (stack("mesh", "prod-*", "act"), stack("second", "test", "act"), Fine, "", &[][..]),
        (stack("mesh", "prod-*", "act"), stack("second", "*", "act"), Failed, both, &[observe]),
        (stack("mesh", "*", "act"), stack("second", "*", "observe"), Fine, "", &[]),
        (stack("mesh", "*", "observe"), stack("second", "*", "act"), Fine, "", &[]),
        (stack("mesh", "prod-*", "act"), stack("mesh-test", "test", "act"), Failed, prefix, &[]),
    ] {
        let made = check_other_stacks(&own, &Ok(vec![other]), &Ok(known_clusters()), PREFIX, &commands());
        assert_check(&made, outcome, seen, remedy);
    }
    assert!(!shares_secrets(&stack("mesh", "a", "act"), &stack("meshed", "a", "act")));
    let (own, other, denied) =
        (stack("mesh", "prod-*", "act"), stack("second", "test", "act"), Err("denied".to_owned()));
    assert_check(&check_other_stacks(&own, &Ok(vec![other]), &denied, PREFIX, &commands()), Unknown, "", &[]);
    assert_check(&check_other_stacks(&own, &Ok(Vec::new()), &denied, PREFIX, &commands()), Fine, "", &[]);
}

#[test]
fn before_an_installation_the_other_stack_is_left_as_it_is() {
    let other = stack("ecs-mesh-controller", "prod-*", "act");
    let checked = |clusters: &str| {
        let planned = planned("second", clusters, "second");
        check_others_before(&planned, &Ok(vec![other.clone()]), &Ok(known_clusters()), PREFIX, &commands())
    };
    let shared = checked("prod-1");
    assert_check(&shared, Failed, "--secret-name-prefix", &[]);
    assert!(shared.commands.is_empty(), "{shared:?}");
    assert_check(&checked("test"), Fine, "", &[]);
}
