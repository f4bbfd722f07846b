//! Tests of the checks in [`super`].

use mesh::permissions::required_to_observe;
use observe::TokenOwner;
use serde_json::json;

use super::*;
use crate::doctor::CheckOutcome::{Failed, Ok as Fine, Unknown, Warning};
use crate::examples::{assert_check, commands};

#[test]
fn caller_is_said() {
    let seen = "account 123456789012, as arn:aws:iam::123456789012:user/ana";
    assert_check(&check_credentials(&Ok(caller()), &commands()), Fine, seen, &[]);
    let expired = Err("the AWS credentials: the call failed: expired".to_owned());
    let ask = "aws sts get-caller-identity --region us-east-1";
    assert_check(&check_credentials(&expired, &commands()), Failed, "", &[ask]);
}

#[test]
fn policy_of_the_topic_must_let_cloudwatch_publish_for_the_account() {
    let checked = |statements: Value| {
        let policy = json!({ "Version": "2012-10-17", "Statement": statements }).to_string();
        check_alarm_topic(Some(&("arn:topic".to_owned(), Ok(Topic { policy, key: None }))), &Ok(caller()), &commands())
    };
    let publish = |principal: Value, condition: Value| json!({ "Effect": "Allow", "Principal": principal, "Action": "SNS:Publish", "Condition": condition });
    let (service, anyone) = (json!({ "Service": "cloudwatch.amazonaws.com" }), json!({ "AWS": "*" }));
    let owner = |account: &str| json!({ "StringEquals": { "AWS:SourceOwner": account } });
    let alarms =
        |account: &str| json!({ "ArnLike": { "aws:SourceArn": format!("arn:aws:cloudwatch:*:{account}:alarm:*") } });
    for (statements, outcome) in [
        // The policy of a new topic, in the own account and in another one
        (json!([publish(anyone.clone(), owner("123456789012"))]), Fine),
        (json!([publish(anyone, owner("210987654321"))]), Failed),
        (publish(service.clone(), json!({})), Fine),
        (publish(service.clone(), alarms("123456789012")), Fine),
        (publish(service.clone(), alarms("*")), Fine),
        (publish(service.clone(), json!({ "ArnLike": { "aws:SourceArn": "*" } })), Fine),
        (publish(service.clone(), json!({ "StringNotEquals": { "aws:SourceAccount": "210987654321" } })), Fine),
        (publish(service, alarms("210987654321")), Failed),
        (publish(json!({ "AWS": "arn:aws:iam::123456789012:root" }), json!({})), Failed),
        (json!([]), Failed),
    ] {
        assert_check(&checked(statements), outcome, "", &[]);
    }
    let foreign = checked(json!([]));
    assert_check(&foreign, Failed, "", &["aws sns get-topic-attributes ", "aws sns set-topic-attributes "]);
}

fn caller() -> Caller {
    Caller { account: "123456789012".to_owned(), arn: "arn:aws:iam::123456789012:user/ana".to_owned() }
}

#[test]
fn key_of_the_topic_must_let_cloudwatch_use_it() {
    let policy = json!({ "Statement": { "Effect": "Allow", "Principal": "*", "Action": "sns:*" } }).to_string();
    let checked = |key: Read<Option<TopicKey>>| {
        let topic = key.map(|key| Topic { policy: policy.clone(), key });
        check_alarm_topic(Some(&("arn:topic".to_owned(), topic)), &Ok(caller()), &commands())
    };
    let key = |policy: Option<String>| Ok(Some(TopicKey { arn: "arn:key".to_owned(), policy }));
    assert_check(&check_alarm_topic(None, &Ok(caller()), &commands()), Fine, "", &[]);
    assert_check(&checked(Ok(None)), Fine, "", &[]);
    assert_check(&checked(Err("denied".to_owned())), Unknown, "", &[]);
    // That of AWS is replaced
    assert_check(&checked(key(None)), Failed, "", &["aws sns set-topic-attributes --topic-arn arn:topic "]);
    let root =
        json!({ "Effect": "Allow", "Principal": { "AWS": "arn:aws:iam::123456789012:root" }, "Action": "kms:*" });
    let allow = |actions: Value, service: Value| json!({ "Effect": "Allow", "Principal": { "Service": service }, "Action": actions });
    let cloudwatch = json!("cloudwatch.amazonaws.com");
    let half = allow(json!(["kms:Decrypt"]), json!([cloudwatch, "events.amazonaws.com"]));
    let enough = allow(json!(["kms:Decrypt", "kms:GenerateDataKey*"]), cloudwatch);
    let everybody = json!({ "Effect": "Allow", "Principal": "*", "Action": "kms:*" });
    let other = allow(json!("kms:*"), json!("events.amazonaws.com"));
    for (statements, outcome, seen) in [
        (json!([root]), Failed, "cloudwatch.amazonaws.com call kms:Decrypt and kms:GenerateDataKey"),
        (json!([root, half]), Failed, "call kms:GenerateDataKey."),
        (json!([root, enough]), Fine, ""),
        (everybody, Fine, ""),
        (json!([other]), Failed, ""),
    ] {
        let policy = json!({ "Version": "2012-10-17", "Statement": statements });
        assert_check(&checked(key(Some(policy.to_string()))), outcome, seen, &[]);
    }
}

#[test]
fn one_trail_that_logs_writes_suffices() {
    let trail =
        |&(is_logging, has_writes): &(bool, bool)| Trail { arn: "arn:trail".to_owned(), is_logging, has_writes };
    let start = "aws cloudtrail start-logging --name arn:trail --region us-east-1";
    let none = "no trail in the region: tokens are created";
    for (trails, outcome, seen, remedy) in [
        (&[(false, true), (true, true)][..], Fine, "", &[][..]),
        (&[(false, true)], Warning, "", &[start]),
        (&[(true, false)], Warning, "arn:trail does not log write management events", &[]),
        (&[], Warning, none, &["aws cloudtrail create-trail "]),
    ] {
        assert_check(&check_trail(&Ok(trails.iter().map(trail).collect()), &commands()), outcome, seen, remedy);
    }
    assert_check(&check_trail(&Err("denied".to_owned()), &commands()), Unknown, "", &[]);
}

fn unavailable() -> ConsulError {
    ConsulError::Unavailable { subject: "x".to_owned(), reason: "refused".to_owned(), had_no_effect: true }
}

#[test]
fn release_is_compared_with_those_that_the_controller_is_made_for() {
    for (version, expected) in [
        ("1.8.7", Warning),
        ("1.11.4+ent", Warning),
        ("1.12.0", Fine),
        ("1.21.4+ent", Fine),
        ("2.0.0", Fine),
        ("2.1.0", Fine),
        ("2.2.0", Warning),
    ] {
        assert_check(&reach(&Ok(version.to_owned())), expected, "", &[]);
    }
    // A Consul that only fails here is a warning once it is installed
    assert_check(&reach(&Err(unavailable())), Failed, "", &[]);
    let seen = "checked from here, not from the functions";
    assert_check(&also_from_here(&Err(unavailable())), Warning, seen, &[]);
    assert_check(&also_from_here(&Ok("1.21.4".to_owned())), Fine, "", &[]);
}

#[test]
fn acls_are_bootstrapped_if_a_token_is_known() {
    let known = OwnToken { accessor_id: "1-2".to_owned(), policies: Vec::new() };
    assert_check(&acls(&Ok(Some(known))), Fine, "", &[]);
    assert_check(&acls(&Ok(None)), Warning, "", &[]);
    let rejected = Err(ConsulError::CredentialRejected { subject: "x".to_owned(), token: TokenOwner::Command });
    assert_check(&acls(&rejected), Failed, "", &["consul acl bootstrap"]);
    assert_check(&acls(&Err(unavailable())), Unknown, "", &[]);
}

#[test]
fn token_that_does_not_suffice_is_replaced_by_one_with_the_policy() {
    let required = required_to_observe();
    assert_check(&token(&Ok(Vec::new()), &required, "mesh"), Fine, "", &[]);
    let made = token(&Ok(required.clone()), &required, "mesh");
    assert_check(&made, Failed, "", &[]);
    assert!(made.commands[0].contains("|| consul acl policy create -name mesh -rules 'acl = \"read\""), "{made:?}");
    assert_check(&token(&Err("down".to_owned()), &required, "mesh"), Unknown, "", &[]);
}
