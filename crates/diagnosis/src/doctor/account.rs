//! The checks of the AWS account: credentials, the topic of the alarms, and `CloudTrail`, without which three features come
//! later (docs/deploy.md, Network).

use aws::installation::{Caller, TopicKey, Trail};
use serde_json::Value;

use super::{
    Check, Read,
    commands::{Commands, word},
};

const CREDENTIALS: &str = "aws";

/// Whether there are credentials, and whose they are.
pub(super) fn check_credentials(caller: &Read<Caller>, commands: &Commands) -> Check {
    match caller {
        Ok(caller) => Check::ok(CREDENTIALS, format!("account {}, as {}", caller.account, caller.arn)),
        Err(why) => Check::failed(CREDENTIALS, why).with_commands([commands.aws("sts get-caller-identity")]),
    }
}

const ALARM_TOPIC: &str = "alarm-topic";
/// Who publishes, and with what: <https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html>
const PUBLISHER: &str = "cloudwatch.amazonaws.com";
const NEEDED: [&str; 2] = ["kms:Decrypt", "kms:GenerateDataKey"];

/// Whether `CloudWatch` may publish to the topic; `None` if `AlarmTopicArn` is not set.
pub(super) fn check_alarm_topic(topic: Option<(&str, Read<Option<TopicKey>>)>, commands: &Commands) -> Check {
    let Some((topic, key)) = topic else {
        return Check::ok(ALARM_TOPIC, "AlarmTopicArn is not set, so the alarms send no notification");
    };
    match key {
        Err(why) => Check::unknown(ALARM_TOPIC, why),
        Ok(None) => Check::ok(ALARM_TOPIC, format!("{topic} is not encrypted with KMS: CloudWatch may publish")),
        Ok(Some(TopicKey { arn, policy: None })) => {
            let seen = format!(
                "CloudWatch cannot publish to {topic}: its key {arn} is a key of AWS, whose policy permits only SNS; use a key of your own"
            );
            let set = format!(
                "sns set-topic-attributes --topic-arn {} --attribute-name KmsMasterKeyId --attribute-value KEY",
                word(topic)
            );
            Check::failed(ALARM_TOPIC, seen).with_commands([commands.aws(&set)])
        }
        Ok(Some(TopicKey { arn, policy: Some(policy) })) => {
            let missing = missing(&policy);
            if missing.is_empty() {
                return Check::ok(ALARM_TOPIC, format!("CloudWatch may publish to {topic} with the key {arn}"));
            }
            let seen = format!(
                "CloudWatch cannot publish to {topic}: the policy of its key {arn} does not let {PUBLISHER} call {}; add a statement",
                missing.join(" and ")
            );
            let key = word(&arn);
            let read = format!("kms get-key-policy --key-id {key} --policy-name default --query Policy --output text");
            let write = format!("kms put-key-policy --key-id {key} --policy-name default --policy file://FILE");
            Check::failed(ALARM_TOPIC, seen).with_commands([commands.aws(&read), commands.aws(&write)])
        }
    }
}

/// The actions that no statement of the policy allows to `CloudWatch`.
fn missing(policy: &str) -> Vec<&'static str> {
    let policy: Value = serde_json::from_str(policy).unwrap_or_default();
    let is_for_publisher = |statement: &&Value| {
        let principal = statement.get("Principal").unwrap_or(&Value::Null);
        let names = |list: Option<&Value>, name: &str| list.is_some_and(|list| texts(list).contains(&name));
        let is_anyone = principal == "*" || names(principal.get("AWS"), "*");
        is_anyone || names(principal.get("Service"), PUBLISHER)
    };
    let statements = policy.get("Statement").map(list).unwrap_or_default();
    let allowed = statements.into_iter().filter(|it| it.get("Effect").is_some_and(|effect| effect == "Allow"));
    let allowed = allowed.filter(is_for_publisher).filter_map(|statement| statement.get("Action"));
    let patterns: Vec<&str> = allowed.flat_map(texts).collect();
    let permits = |pattern: &str, action: &str| match pattern.strip_suffix('*') {
        Some(start) => action.starts_with(start),
        None => action == pattern,
    };
    NEEDED.into_iter().filter(|action| !patterns.iter().any(|pattern| permits(pattern, action))).collect()
}

/// The items of a list, or a single value.
fn list(value: &Value) -> Vec<&Value> {
    value.as_array().map_or_else(|| vec![value], |items| items.iter().collect())
}

fn texts(value: &Value) -> Vec<&str> {
    list(value).into_iter().filter_map(Value::as_str).collect()
}

const TRAIL: &str = "cloudtrail";
/// What happens without it.
const WITHOUT: &str =
    "tokens are created and task definitions audited later, and a deleted cluster is cleaned up by the next sweep";

/// Whether a trail logs the API calls that rules of the template wait for.
pub(super) fn check_trail(trails: &Read<Vec<Trail>>, commands: &Commands) -> Check {
    let trails = match trails {
        Ok(trails) => trails,
        Err(why) => return Check::unknown(TRAIL, why),
    };
    if let Some(trail) = trails.iter().find(|trail| trail.is_logging && trail.has_writes) {
        return Check::ok(TRAIL, format!("{} logs API calls", trail.arn));
    }
    if let Some(trail) = trails.iter().find(|trail| trail.has_writes) {
        let start = commands.aws(&format!("cloudtrail start-logging --name {}", word(&trail.arn)));
        return Check::warning(TRAIL, format!("{} has been stopped: {WITHOUT}", trail.arn)).with_commands([start]);
    }
    let why = match trails.first() {
        Some(trail) => format!("{} does not log management events that change something", trail.arn),
        None => "there is no trail in the region".to_owned(),
    };
    let create = "cloudtrail create-trail --name ecs-mesh --is-multi-region-trail --s3-bucket-name BUCKET";
    let start = "cloudtrail start-logging --name ecs-mesh";
    Check::warning(TRAIL, format!("{why}: {WITHOUT}")).with_commands([commands.aws(create), commands.aws(start)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{CheckOutcome, commands::of_tests};

    #[test]
    fn caller_is_said() {
        let caller =
            Caller { account: "123456789012".to_owned(), arn: "arn:aws:iam::123456789012:user/ana".to_owned() };
        let made = check_credentials(&Ok(caller), &of_tests());
        assert_eq!(
            (made.outcome, made.seen.as_str()),
            (CheckOutcome::Ok, "account 123456789012, as arn:aws:iam::123456789012:user/ana")
        );
    }

    #[test]
    fn without_credentials_nothing_works() {
        let made = check_credentials(&Err("the AWS credentials: the call failed: expired".to_owned()), &of_tests());
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert_eq!(made.commands, ["aws sts get-caller-identity --region us-east-1"]);
    }
}

#[cfg(test)]
mod alarm_topic_tests {
    use serde_json::json;

    use super::*;
    use crate::doctor::{CheckOutcome, commands::of_tests};

    fn checked(key: Read<Option<TopicKey>>) -> Check {
        check_alarm_topic(Some(("arn:topic", key)), &of_tests())
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
        assert_eq!(check_alarm_topic(None, &of_tests()).outcome, CheckOutcome::Ok);
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

#[cfg(test)]
mod trail_tests {
    use super::*;
    use crate::doctor::{CheckOutcome, commands::of_tests};

    fn checked(trails: &[(bool, bool)]) -> Check {
        let trail =
            |&(is_logging, has_writes): &(bool, bool)| Trail { arn: "arn:trail".to_owned(), is_logging, has_writes };
        check_trail(&Ok(trails.iter().map(trail).collect()), &of_tests())
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
        assert_eq!(check_trail(&Err("denied".to_owned()), &of_tests()).outcome, CheckOutcome::Unknown);
    }
}
