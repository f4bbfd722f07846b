//! Tests of the checks in [`super`].

use super::*;

mod rules {
    use super::*;
    use crate::{doctor::CheckOutcome, examples};

    #[test]
    fn disabled_rule_is_enabled() {
        let rules = |is_enabled| Ok(vec![("mesh-changes".to_owned(), true), ("mesh-sweep".to_owned(), is_enabled)]);
        assert_eq!(check_rules(&rules(true), &examples::commands()).outcome, CheckOutcome::Ok);
        let made = check_rules(&rules(false), &examples::commands());
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert_eq!(made.commands, ["aws events enable-rule --name mesh-sweep --region us-east-1"]);
    }

    #[test]
    fn unread_rule_is_unknown() {
        assert_eq!(check_rules(&Err("denied".to_owned()), &examples::commands()).outcome, CheckOutcome::Unknown);
    }
}

mod queue {
    use aws::installation::{Resource, Resources};

    use super::*;
    use crate::{doctor::CheckOutcome, examples};

    fn checked(waiting: usize, state: &str, last_result: &str, concurrency: Option<usize>) -> Check {
        let stack = examples::stack("mesh", &[("MaximumConcurrency", "2")]);
        let resource = |name: &str, id: &str| (name.to_owned(), Resource { id: id.to_owned(), kind: String::new() });
        let resources =
            Resources::from([resource("TaskEventsSource", "uuid-1"), resource("TaskEventsFunction", "mesh-events")]);
        let commands = examples::commands();
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

mod dead_letters {
    use aws::installation::Resources;

    use super::*;
    use crate::{doctor::CheckOutcome, examples};

    type Judge = fn(&Read<Letters>, &Subject<'_>) -> Check;

    fn checked(judge: Judge, letters: &Read<Letters>) -> Check {
        let (stack, resources, commands) = (examples::stack("mesh", &[]), Resources::new(), examples::commands());
        judge(letters, &Subject { stack: &stack, resources: &resources, clusters: "", commands: &commands })
    }

    fn letters() -> Letters {
        let body = include_str!("../../../../../events/task-stopped-essential-container-exited.json").to_owned();
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

mod messages {
    use super::*;

    #[test]
    fn message_says_which_task_it_is_about() {
        let body = include_str!("../../../../../events/task-stopped-essential-container-exited.json");
        let summary = summarize_message(body);
        assert!(
            summary.starts_with("ECS Task State Change: task ") && summary.contains("of cluster prod is STOPPED ("),
            "{summary}"
        );
    }

    #[test]
    fn task_of_a_valid_event_is_named() {
        let body = include_str!("../../../../../events/task-stopped-essential-container-exited.json");
        assert_eq!(task_of(body).unwrap().to_string().len(), 32);
        assert_eq!(
            task_of(
                r#"{ "source": "aws.ecs", "detail-type": "ECS Task State Change", "detail": { "taskArn": "x;reboot" } }"#
            ),
            None
        );
    }

    #[test]
    fn invalid_event_says_which_field_is_wrong() {
        let summary =
            summarize_message(r#"{ "source": "aws.ecs", "detail-type": "ECS Task State Change", "detail": {} }"#);
        assert!(summary.contains("detail.taskArn") && summary.ends_with("it can never succeed"), "{summary}");
    }

    #[test]
    fn message_for_audit_is_told_from_one_about_a_task() {
        assert!(may_be_for_audit(include_str!("../../../../../events/api-call-register-task-definition.json")));
        assert!(may_be_for_audit(r#"{ "scheduled": true }"#));
        assert!(!may_be_for_audit(include_str!("../../../../../events/task-stopped-essential-container-exited.json")));
    }

    #[test]
    fn message_that_is_no_event_can_never_succeed() {
        assert_eq!(summarize_message("{"), "not JSON: it can never succeed");
        assert_eq!(summarize_message("[]"), "not an event: it can never succeed");
    }
}
