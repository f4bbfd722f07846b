//! Tests of the checks in [`super`].

use super::*;

mod credentials {
    use super::*;
    use crate::{doctor::CheckOutcome, examples};

    #[test]
    fn caller_is_said() {
        let caller =
            Caller { account: "123456789012".to_owned(), arn: "arn:aws:iam::123456789012:user/ana".to_owned() };
        let made = check_credentials(&Ok(caller), &examples::commands());
        assert_eq!(
            (made.outcome, made.seen.as_str()),
            (CheckOutcome::Ok, "account 123456789012, as arn:aws:iam::123456789012:user/ana")
        );
    }

    #[test]
    fn without_credentials_nothing_works() {
        let made =
            check_credentials(&Err("the AWS credentials: the call failed: expired".to_owned()), &examples::commands());
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert_eq!(made.commands, ["aws sts get-caller-identity --region us-east-1"]);
    }
}

mod alarm_topic {
    use serde_json::json;

    use super::*;
    use crate::{doctor::CheckOutcome, examples};

    fn checked(key: Read<Option<TopicKey>>) -> Check {
        check_alarm_topic(Some(("arn:topic", key)), &examples::commands())
    }

    fn key(policy: Option<&Value>) -> TopicKey {
        TopicKey { arn: "arn:key".to_owned(), policy: policy.map(Value::to_string) }
    }

    fn of_policy(statements: &Value) -> Check {
        checked(Ok(Some(key(Some(&json!({ "Version": "2012-10-17", "Statement": statements }))))))
    }

    #[test]
    fn topic_without_a_key_and_alarms_without_a_topic_are_fine() {
        assert_eq!(checked(Ok(None)).outcome, CheckOutcome::Ok);
        assert_eq!(check_alarm_topic(None, &examples::commands()).outcome, CheckOutcome::Ok);
        assert_eq!(checked(Err("denied".to_owned())).outcome, CheckOutcome::Unknown);
    }

    #[test]
    fn key_of_aws_is_replaced() {
        let made = checked(Ok(Some(key(None))));
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert!(
            made.commands[0].starts_with("aws sns set-topic-attributes --topic-arn arn:topic "),
            "{:?}",
            made.commands
        );
    }

    #[test]
    fn own_key_must_let_cloudwatch_use_it() {
        let root =
            json!({ "Effect": "Allow", "Principal": { "AWS": "arn:aws:iam::123456789012:root" }, "Action": "kms:*" });
        let cloudwatch = |actions: Value, service: Value| json!({ "Effect": "Allow", "Principal": { "Service": service }, "Action": actions });
        let made = of_policy(&json!([root]));
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert!(
            made.seen.contains("cloudwatch.amazonaws.com call kms:Decrypt and kms:GenerateDataKey"),
            "{}",
            made.seen
        );
        let half = cloudwatch(json!(["kms:Decrypt"]), json!(["cloudwatch.amazonaws.com", "events.amazonaws.com"]));
        assert!(of_policy(&json!([root, half])).seen.contains("call kms:GenerateDataKey;"));
        let enough = cloudwatch(json!(["kms:Decrypt", "kms:GenerateDataKey*"]), json!("cloudwatch.amazonaws.com"));
        assert_eq!(of_policy(&json!([root, enough])).outcome, CheckOutcome::Ok);
        assert_eq!(
            of_policy(&json!({ "Effect": "Allow", "Principal": "*", "Action": "kms:*" })).outcome,
            CheckOutcome::Ok
        );
        let other = cloudwatch(json!("kms:*"), json!("events.amazonaws.com"));
        assert_eq!(of_policy(&json!([other])).outcome, CheckOutcome::Failed);
    }
}

mod trail {
    use super::*;
    use crate::{doctor::CheckOutcome, examples};

    fn checked(trails: &[(bool, bool)]) -> Check {
        let trail =
            |&(is_logging, has_writes): &(bool, bool)| Trail { arn: "arn:trail".to_owned(), is_logging, has_writes };
        check_trail(&Ok(trails.iter().map(trail).collect()), &examples::commands())
    }

    #[test]
    fn one_trail_that_logs_writes_suffices() {
        assert_eq!(checked(&[(false, true), (true, true)]).outcome, CheckOutcome::Ok);
    }

    #[test]
    fn stopped_trail_is_started() {
        let made = checked(&[(false, true)]);
        assert_eq!(made.outcome, CheckOutcome::Warning);
        assert_eq!(made.commands, ["aws cloudtrail start-logging --name arn:trail --region us-east-1"]);
    }

    #[test]
    fn trail_without_management_events_is_none() {
        assert!(checked(&[(true, false)]).seen.starts_with("arn:trail does not log management events"));
        let none = checked(&[]);
        assert!(none.seen.starts_with("there is no trail in the region: tokens are created"), "{}", none.seen);
        assert!(none.commands[0].starts_with("aws cloudtrail create-trail "));
    }

    #[test]
    fn unread_trail_is_unknown() {
        assert_eq!(check_trail(&Err("denied".to_owned()), &examples::commands()).outcome, CheckOutcome::Unknown);
    }
}

mod consul {
    use mesh::permissions::required_to_observe;

    use super::*;
    use crate::doctor::CheckOutcome;

    fn unavailable() -> ConsulError {
        ConsulError::Unavailable { subject: "x".to_owned(), reason: "refused".to_owned(), had_no_effect: true }
    }

    fn rejected() -> ConsulError {
        ConsulError::CredentialRejected { subject: "x".to_owned() }
    }

    #[test]
    fn release_is_compared_with_those_that_the_controller_is_made_for() {
        for (version, expected) in [
            ("1.8.7", CheckOutcome::Warning),
            ("1.11.4+ent", CheckOutcome::Warning),
            ("1.12.0", CheckOutcome::Ok),
            ("1.21.4+ent", CheckOutcome::Ok),
            ("2.0.0", CheckOutcome::Ok),
            ("2.1.0", CheckOutcome::Warning),
        ] {
            assert_eq!(reach(&Ok(version.to_owned())).outcome, expected, "{version}");
        }
    }

    #[test]
    fn consul_that_only_fails_here_is_a_warning_once_it_is_installed() {
        assert_eq!(reach(&Err(unavailable())).outcome, CheckOutcome::Failed);
        let made = also_from_here(&Err(unavailable()));
        assert_eq!(made.outcome, CheckOutcome::Warning);
        assert!(made.seen.ends_with("this is from here, not from where the functions run"), "{}", made.seen);
        assert_eq!(also_from_here(&Ok("1.21.4".to_owned())).outcome, CheckOutcome::Ok);
    }

    #[test]
    fn acls_are_bootstrapped_if_a_token_is_known() {
        let token = OwnToken { accessor_id: "1-2".to_owned(), policies: Vec::new() };
        assert_eq!(acls(&Ok(Some(token))).outcome, CheckOutcome::Ok);
        assert_eq!(acls(&Ok(None)).outcome, CheckOutcome::Warning);
        let unknown_token = acls(&Err(rejected()));
        assert_eq!(
            (unknown_token.outcome, unknown_token.commands.as_slice()),
            (CheckOutcome::Failed, &["consul acl bootstrap".to_owned()][..])
        );
        assert_eq!(acls(&Err(unavailable())).outcome, CheckOutcome::Unknown);
    }

    #[test]
    fn token_that_does_not_suffice_is_replaced_by_one_with_the_policy() {
        let required = required_to_observe();
        assert_eq!(token(&Ok(Vec::new()), &required, "mesh").outcome, CheckOutcome::Ok);
        let made = token(&Ok(required.clone()), &required, "mesh");
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert!(
            made.commands[0].contains("|| consul acl policy create -name mesh -rules 'acl = \"read\""),
            "{:?}",
            made.commands
        );
        assert_eq!(token(&Err("down".to_owned()), &required, "mesh").outcome, CheckOutcome::Unknown);
    }
}
