//! The checks of what the installation depends on: the AWS account, and Consul from here, which is not where the functions run.

use mesh::{
    consul_ecs::{FIRST_CONSUL_WITH_LOGINS, Feature, NEWEST_CONSUL},
    permissions::Permission,
    release::Release,
};
use observe::{Caller, ConsulError, OwnToken, Read, Topic, TopicKey, Trail};
use serde_json::Value;

use super::{
    Check,
    commands::{self, Commands, word},
};
use crate::unread::of_consul;

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

/// Whether `CloudWatch` may publish to the topic for the alarms of the account; `None` if `AlarmTopicArn` is not set.
pub(super) fn check_alarm_topic(
    topic: Option<&(String, Read<Topic>)>,
    caller: &Read<Caller>,
    commands: &Commands,
) -> Check {
    let Some((topic, read)) = topic else {
        return Check::ok(ALARM_TOPIC, "AlarmTopicArn is not set, so the alarms send no notification");
    };
    let account = caller.as_ref().map(|caller| caller.account.as_str()).unwrap_or_default();
    match read {
        Err(why) => Check::unknown(ALARM_TOPIC, why),
        Ok(Topic { policy, .. }) if !lets_publish(policy, account) => {
            let seen = format!(
                "CloudWatch cannot publish to {topic}: its policy does not let {PUBLISHER} call sns:Publish for the alarms of \
                 account {account}. Add the statement of docs/how-to/alarms.md"
            );
            let topic = word(topic);
            let read = format!("sns get-topic-attributes --topic-arn {topic} --query Attributes.Policy --output text");
            let write = format!(
                "sns set-topic-attributes --topic-arn {topic} --attribute-name Policy --attribute-value file://FILE"
            );
            Check::failed(ALARM_TOPIC, seen).with_commands([commands.aws(&read), commands.aws(&write)])
        }
        Ok(Topic { key, .. }) => check_key(topic, key.as_ref(), commands),
    }
}

/// Whether `CloudWatch` may use the key of the topic.
fn check_key(topic: &str, key: Option<&TopicKey>, commands: &Commands) -> Check {
    match key {
        None => Check::ok(ALARM_TOPIC, format!("{topic} is not encrypted with KMS, and CloudWatch may publish")),
        Some(TopicKey { arn, policy: None }) => {
            let seen = format!(
                "CloudWatch cannot publish to {topic}: its key {arn} is AWS managed and permits only SNS. Use a \
                 customer managed key"
            );
            let set = format!(
                "sns set-topic-attributes --topic-arn {} --attribute-name KmsMasterKeyId --attribute-value KEY",
                word(topic)
            );
            Check::failed(ALARM_TOPIC, seen).with_commands([commands.aws(&set)])
        }
        Some(TopicKey { arn, policy: Some(policy) }) => {
            let missing = missing(policy);
            if missing.is_empty() {
                return Check::ok(ALARM_TOPIC, format!("CloudWatch may publish to {topic} with the key {arn}"));
            }
            let seen = format!(
                "CloudWatch cannot publish to {topic}: the policy of its key {arn} does not let {PUBLISHER} call {}. \
                 Add a statement",
                missing.join(" and ")
            );
            let key = word(arn);
            let read = format!("kms get-key-policy --key-id {key} --policy-name default --query Policy --output text");
            let write = format!("kms put-key-policy --key-id {key} --policy-name default --policy file://FILE");
            Check::failed(ALARM_TOPIC, seen).with_commands([commands.aws(&read), commands.aws(&write)])
        }
    }
}

/// The actions that no statement of the key's policy allows to `CloudWatch`.
fn missing(policy: &str) -> Vec<&'static str> {
    let policy: Value = serde_json::from_str(policy).unwrap_or_default();
    let allowed = allowed(&policy);
    NEEDED.into_iter().filter(|action| !allowed.iter().any(|it| permits(it, action))).collect()
}

/// Whether a topic's policy lets `CloudWatch` publish for the alarms of an account. A new topic has one that does, for its own account:
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Notify_Users_Alarm_Changes.html>
fn lets_publish(policy: &str, account: &str) -> bool {
    let policy: Value = serde_json::from_str(policy).unwrap_or_default();
    allowed(&policy).iter().any(|statement| permits(statement, "sns:Publish") && is_for_account(statement, account))
}

/// The statements that allow something to `CloudWatch`.
fn allowed(policy: &Value) -> Vec<&Value> {
    let is_for_publisher = |statement: &Value| {
        let principal = statement.get("Principal").unwrap_or(&Value::Null);
        let names = |list: Option<&Value>, name: &str| list.is_some_and(|list| texts(list).contains(&name));
        let is_anyone = principal == "*" || names(principal.get("AWS"), "*");
        is_anyone || names(principal.get("Service"), PUBLISHER)
    };
    let statements = policy.get("Statement").map(list).unwrap_or_default().into_iter();
    let allows = |statement: &Value| statement.get("Effect").is_some_and(|effect| effect == "Allow");
    statements.filter(|statement| allows(statement) && is_for_publisher(statement)).collect()
}

/// Whether a statement names the action, in any case.
fn permits(statement: &Value, action: &str) -> bool {
    let action = action.to_ascii_lowercase();
    let patterns = statement.get("Action").map(texts).unwrap_or_default();
    patterns.into_iter().any(|pattern| match pattern.to_ascii_lowercase().strip_suffix('*') {
        Some(start) => action.starts_with(start),
        None => pattern.eq_ignore_ascii_case(&action),
    })
}

/// The keys of conditions that name the account of an alarm, or its ARN.
const OF_ACCOUNT: [&str; 3] = ["aws:sourceaccount", "aws:sourceowner", "aws:sourcearn"];

/// Whether the conditions of a statement that name accounts name this one. Other conditions, and negated ones, are taken to hold.
fn is_for_account(statement: &Value, account: &str) -> bool {
    let operators = statement.get("Condition").and_then(Value::as_object).into_iter().flatten();
    let positive = operators.filter(|(operator, _)| !operator.contains("Not"));
    let mut keys = positive.filter_map(|(_, keys)| keys.as_object()).flatten();
    keys.all(|(key, values)| {
        let values = texts(values);
        !OF_ACCOUNT.contains(&key.to_ascii_lowercase().as_str())
            || values.iter().any(|value| value.contains(account) || value.split(':').nth(4).unwrap_or(value) == "*")
    })
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
    "tokens are created later, task definitions are audited later, and the next sweep cleans up a deleted cluster";

/// Whether a trail logs the API calls that rules of the template wait for.
pub(super) fn check_trail(trails: &Read<Vec<Trail>>, commands: &Commands) -> Check {
    let Ok(trails) = trails else { return Check::unread(TRAIL, trails) };
    if let Some(trail) = trails.iter().find(|trail| trail.is_logging && trail.has_writes) {
        return Check::ok(TRAIL, format!("{} logs API calls", trail.arn));
    }
    if let Some(trail) = trails.iter().find(|trail| trail.has_writes) {
        let start = commands.aws(&format!("cloudtrail start-logging --name {}", word(&trail.arn)));
        return Check::warning(TRAIL, format!("{} is not logging: {WITHOUT}", trail.arn)).with_commands([start]);
    }
    let why = match trails.first() {
        Some(trail) => format!("{} does not log write management events", trail.arn),
        None => "no trail in the region".to_owned(),
    };
    let create = "cloudtrail create-trail --name ecs-mesh --is-multi-region-trail --s3-bucket-name BUCKET";
    let start = "cloudtrail start-logging --name ecs-mesh";
    Check::warning(TRAIL, format!("{why}: {WITHOUT}")).with_commands([commands.aws(create), commands.aws(start)])
}

const REACH: &str = "consul-from-here";
const ACLS: &str = "consul-acls";
const TOKEN: &str = "consul-token";
/// Where the token is, here.
const VARIABLES: &str = "CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE";

/// Whether a release has no auth methods of type `aws-iam`.
pub(super) fn has_no_logins(version: &str) -> bool {
    Release::line_of(version).is_ok_and(|line| line < FIRST_CONSUL_WITH_LOGINS)
}

/// What to look at if Consul does not answer here.
fn leader() -> [String; 1] {
    ["curl --silent --show-error \"$CONSUL_HTTP_ADDR/v1/status/leader\"".to_owned()]
}

/// Whether Consul answers here too, once the functions are installed: only the commands that ask Consul need it.
pub(super) fn also_from_here(version: &Result<String, ConsulError>) -> Check {
    match version {
        Ok(version) => Check::ok(REACH, format!("Consul {version} answers here too")),
        Err(ConsulError::PermissionDenied { .. }) => {
            Check::ok(REACH, "Consul answers here too; reading its version needs agent:read")
        }
        Err(error) => {
            let seen = format!("{} (checked from here, not from the functions)", of_consul(error));
            Check::warning(REACH, seen).with_commands(leader())
        }
    }
}

/// Whether Consul answers, and is of a release that the controller is made for.
pub(super) fn reach(version: &Result<String, ConsulError>) -> Check {
    let elsewhere = "after the deployment, doctor checks it from the functions";
    let version = match version {
        Ok(version) => version,
        Err(ConsulError::PermissionDenied { .. } | ConsulError::CredentialRejected { .. }) => {
            return Check::warning(
                REACH,
                format!("Consul answers, but reading its version needs agent:read; {elsewhere}"),
            );
        }
        Err(error) => return Check::failed(REACH, of_consul(error)).with_commands(leader()),
    };
    let seen = format!("Consul {version} answers; {elsewhere}");
    match Release::line_of(version) {
        Ok(_) if has_no_logins(version) => {
            let releases = Feature::Login.releases();
            Check::warning(
                REACH,
                format!(
                    "{seen}; it is older than {FIRST_CONSUL_WITH_LOGINS}: tasks of consul-ecs {releases} cannot log in"
                ),
            )
        }
        Ok(line) if line > NEWEST_CONSUL => {
            Check::warning(REACH, format!("{seen}; it is newer than the releases that this command knows"))
        }
        _ => Check::ok(REACH, seen),
    }
}

/// Whether ACLs are on, and bootstrapped: only then Consul knows a token.
pub(super) fn acls(token: &Result<Option<OwnToken>, ConsulError>) -> Check {
    let bootstrap = ["consul acl bootstrap".to_owned()];
    match token {
        Ok(Some(token)) => Check::ok(
            ACLS,
            format!("ACLs are on; CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE has the token {}", token.accessor_id),
        ),
        Ok(None) => {
            let seen = "ACLs are off: no tokens are created, and tasks cannot log in. To turn ACLs on, set \
                        acl.enabled in the configuration of the servers";
            Check::warning(ACLS, seen).with_commands(bootstrap)
        }
        Err(ConsulError::CredentialRejected { .. } | ConsulError::PermissionDenied { .. }) => {
            let seen = "Consul does not know the token in CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE: it is not set, is not valid, or ACLs are not bootstrapped";
            Check::failed(ACLS, seen).with_commands(bootstrap)
        }
        Err(error) => Check::unknown(ACLS, of_consul(error)),
    }
}

/// Whether the token in `CONSUL_HTTP_TOKEN` would suffice for the controller. A new one gets a policy with the name of the stack, because
/// the controller of another stack may have another policy.
pub(super) fn token(missing: &Read<Vec<Permission>>, required: &[Permission], stack: &str) -> Check {
    match missing {
        Ok(missing) if missing.is_empty() => {
            Check::ok(TOKEN, format!("the token in {VARIABLES} has every permission that the controller needs"))
        }
        Ok(missing) => {
            let rules: Vec<String> = missing.iter().map(ToString::to_string).collect();
            let seen =
                format!("the token in {VARIABLES} lacks permissions that the controller needs: {}", rules.join("; "));
            Check::failed(TOKEN, seen).with_commands([
                commands::create_policy(stack, &commands::policy_rules(required)),
                commands::create_token(stack),
            ])
        }
        Err(why) => Check::unknown(TOKEN, why),
    }
}

#[cfg(test)]
mod tests;
