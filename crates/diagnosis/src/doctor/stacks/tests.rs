//! Tests of the checks in [`super`].

use super::*;

mod this_stack {
    use super::*;
    use crate::{doctor::CheckOutcome, examples};

    fn checked(status: &str) -> Check {
        let stack = examples::stack("mesh", &[("Mode", "observe"), ("EcsClusterArns", "prod-*")]);
        check_stack(Some(&DeployedStack { status: status.to_owned(), ..stack }), &examples::commands())
    }

    #[test]
    fn complete_stack_says_its_mode_and_clusters() {
        let made = checked("UPDATE_COMPLETE");
        assert_eq!(made.outcome, CheckOutcome::Ok);
        let said = "mesh is UPDATE_COMPLETE, with Mode=observe: it reports what it would do, and changes nothing; clusters prod-*";
        assert_eq!(made.seen, said);
    }

    #[test]
    fn each_other_status_says_how_it_goes_on() {
        let rolled_back = checked("UPDATE_ROLLBACK_COMPLETE");
        assert_eq!(rolled_back.outcome, CheckOutcome::Warning);
        assert!(rolled_back.commands[0].starts_with("aws cloudformation describe-stack-events --stack-name mesh "));
        let stuck = checked("UPDATE_ROLLBACK_FAILED");
        assert_eq!(stuck.outcome, CheckOutcome::Failed);
        assert!(stuck.commands[1].starts_with("aws cloudformation continue-update-rollback --stack-name mesh "));
        assert_eq!(checked("ROLLBACK_COMPLETE").outcome, CheckOutcome::Failed);
        let running = checked("UPDATE_IN_PROGRESS");
        assert_eq!(running.outcome, CheckOutcome::Warning);
        assert!(running.commands[0].contains("wait stack-update-complete"));
        assert!(checked("UPDATE_ROLLBACK_IN_PROGRESS").commands[0].contains("wait stack-rollback-complete"));
        let deleted = checked("DELETE_IN_PROGRESS");
        assert_eq!(deleted.outcome, CheckOutcome::Failed);
        assert!(deleted.commands[0].contains("wait stack-delete-complete"));
    }

    #[test]
    fn missing_stack_is_deployed() {
        let made = check_stack(None, &examples::commands());
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert_eq!(made.commands, ["sam build && sam deploy --guided --stack-name mesh --region us-east-1"]);
        assert_eq!(check_stack_before(None, &examples::commands()).outcome, CheckOutcome::Ok);
        let there = check_stack_before(Some(&examples::stack("mesh", &[])), &examples::commands());
        assert_eq!(there.outcome, CheckOutcome::Warning);
    }
}

mod controllers {
    use super::*;
    use crate::{
        doctor::CheckOutcome,
        examples::{self, empty_cluster},
        observed::ObservedCluster,
    };

    fn observed(controllers: &[RunsAs]) -> Observed {
        let image = "hashicorp/consul-ecs:0.9.0";
        let other = |runs_as: &RunsAs| OtherController { runs_as: runs_as.clone(), image: image.to_owned() };
        let cluster = ObservedCluster { controllers: controllers.iter().map(other).collect(), ..empty_cluster([]) };
        Observed { clusters: vec![cluster], problems: Vec::new() }
    }

    fn service() -> RunsAs {
        RunsAs::Service("consul-controller".to_owned())
    }

    #[test]
    fn controller_beside_one_that_acts_is_scaled_to_zero() {
        let made = check_controllers(&Ok(observed(&[service()])), Some(Mode::Act), &examples::commands());
        assert_eq!(made.outcome, CheckOutcome::Failed);
        let seen =
            "the controller of consul-ecs runs: service consul-controller of cluster prod (hashicorp/consul-ecs:0.9.0)";
        assert_eq!(made.seen, seen);
        let stop =
            "aws ecs update-service --cluster prod --service consul-controller --desired-count 0 --region us-east-1";
        assert_eq!(made.commands, [stop]);
        let task = RunsAs::Task("0123456789abcdef0123456789abcdef".parse().unwrap());
        let made = check_controllers(&Ok(observed(&[task])), Some(Mode::Act), &examples::commands());
        assert!(made.commands[0].starts_with("aws ecs stop-task --cluster prod --task 0123456789abcdef"));
    }

    #[test]
    fn controller_beside_one_that_observes_is_expected() {
        assert_eq!(
            check_controllers(&Ok(observed(&[service()])), Some(Mode::Observe), &examples::commands()).outcome,
            CheckOutcome::Ok
        );
    }

    #[test]
    fn before_the_installation_it_is_a_warning_and_is_not_stopped() {
        let made = check_controllers(&Ok(observed(&[service()])), None, &examples::commands());
        assert_eq!(made.outcome, CheckOutcome::Warning);
        assert!(made.seen.contains("install with Mode=observe"), "{}", made.seen);
        assert_eq!(made.commands, ["sam build && sam deploy --guided --stack-name mesh --region us-east-1"]);
    }

    #[test]
    fn cluster_that_could_not_be_read_is_unknown() {
        let unread = Observed { clusters: Vec::new(), problems: vec!["cluster prod: denied".to_owned()] };
        assert_eq!(
            check_controllers(&Ok(unread), Some(Mode::Act), &examples::commands()).outcome,
            CheckOutcome::Unknown
        );
        assert_eq!(
            check_controllers(&Ok(observed(&[])), Some(Mode::Act), &examples::commands()).outcome,
            CheckOutcome::Ok
        );
    }
}

mod other_stacks {
    use super::*;
    use crate::{doctor::CheckOutcome, examples};

    const PREFIX: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/";

    fn stack(name: &str, clusters: &str, mode: &str) -> DeployedStack {
        examples::stack(name, &[("EcsClusterArns", clusters), ("Mode", mode), ("SecretNamePrefix", name)])
    }

    fn checked(own: &DeployedStack, other: &DeployedStack) -> Check {
        let known = ["prod-1", "test"].map(|name| format!("{PREFIX}{name}").parse().unwrap());
        check_other_stacks(own, &[other], &Ok(known.to_vec()), PREFIX, &examples::commands())
    }

    #[test]
    fn clusters_that_could_not_be_listed_may_be_shared() {
        let (own, other) = (stack("mesh", "prod-*", "act"), stack("second", "test", "act"));
        let denied = Err("denied".to_owned());
        assert_eq!(
            check_other_stacks(&own, &[&other], &denied, PREFIX, &examples::commands()).outcome,
            CheckOutcome::Unknown
        );
        assert_eq!(check_other_stacks(&own, &[], &denied, PREFIX, &examples::commands()).outcome, CheckOutcome::Ok);
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
            let planned = crate::doctor::stacks::planned("second", clusters, secrets);
            let known = ["prod-1", "test"].map(|name| format!("{PREFIX}{name}").parse().unwrap());
            check_others_before(&planned, &[&other], &Ok(known.to_vec()), PREFIX, &examples::commands())
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
