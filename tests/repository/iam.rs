//! Least privilege in AWS: each function's role in the template grants exactly the function's calls.
//!
//! The calls are found in the sources.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    policies::{statements, texts},
    resolved::{Stack, resource, resources},
};

/// The sources that call AWS, and the service that each calls.
const EDGES: [(&str, &str); 14] = [
    ("crates/audit-function/src/announce.rs", "sns"),
    ("crates/audit-function/src/report_store.rs", "s3"),
    ("crates/aws/src/ecs/definitions.rs", "ecs"),
    ("crates/aws/src/ecs/hosts.rs", "ecs"),
    ("crates/aws/src/ecs/inventory.rs", "ecs"),
    ("crates/aws/src/ecs/services.rs", "ecs"),
    ("crates/aws/src/ecs/tasks.rs", "ecs"),
    ("crates/aws/src/events.rs", "events"),
    ("crates/aws/src/iam.rs", "iam"),
    ("crates/aws/src/installation.rs", "cloudformation cloudtrail events kms lambda sns sts"),
    ("crates/aws/src/logs.rs", "logs"),
    ("crates/aws/src/queue.rs", "sqs"),
    ("crates/aws/src/secrets.rs", "secretsmanager"),
    ("crates/aws/src/stack.rs", "cloudformation"),
];
/// The sources that use only AWS's types.
const TYPES_ONLY: [&str; 1] = ["crates/aws/src/ecs/mod.rs"];
/// The calls of these sources that only `ecs-mesh` makes.
const OF_THE_COMMAND_LINE: [&str; 5] = [
    "ecs:ListServices",
    "sqs:GetQueueAttributes",
    "sqs:ListMessageMoveTasks",
    "sqs:ReceiveMessage",
    "sqs:StartMessageMoveTask",
];

/// Grants for calls that Lambda makes with the function's role.
const FOR_LAMBDA: [&str; 8] = [
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
];
const FOR_THE_EVENT_SOURCE: [&str; 3] = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"];
/// Grants for secrets with tags, encrypted with the deployment's key.
const FOR_SECRETS_MANAGER: [&str; 3] = ["kms:Decrypt", "kms:GenerateDataKey", "secretsmanager:TagResource"];

const ROLES: [&str; 3] = ["TaskEventsRole", "ReconcileRole", "AuditRole"];
/// With these parameters, a role has every statement of its policies.
const EVERYTHING: [(&str, &str); 8] = [
    ("Mode", "act"),
    ("TokenMode", "auto"),
    ("Audit", "true"),
    ("PreProvision", "true"),
    ("ConsulCaCertSecretArn", "arn:certificate"),
    ("SecretKmsKeyId", "arn:key"),
    ("VpcSubnetIds", "subnet-1"),
    ("VpcSecurityGroupIds", "sg-1"),
];

/// What a role is allowed in some deployment. What is denied is tested where the policies are evaluated.
fn allowed(role: &str, mode: &'static str) -> Vec<Value> {
    let stacks = [[EVERYTHING.as_slice(), &[("Mode", mode)]].concat(), vec![("Mode", mode)]];
    let all = stacks.iter().flat_map(|parameters| statements(&Stack::new(parameters), role));
    all.filter(|statement| statement["Effect"] == "Allow").collect()
}

fn granted(role: &str, mode: &'static str) -> BTreeSet<String> {
    let statements = allowed(role, mode);
    statements.iter().flat_map(|statement| texts(&statement["Action"])).map(str::to_owned).collect()
}

/// `service:Action` of an SDK's method.
fn action(service: &str, method: &str) -> String {
    let name = method.trim_end_matches("_batch").split('_').map(|word| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    });
    format!("{service}:{}", name.collect::<String>())
}

/// The calls in a source: the methods of a client.
fn calls(path: &str, service: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let code: String = text.split("#[cfg(test)]").next().unwrap().split_whitespace().collect();
    let mut calls = Vec::new();
    for rest in ["client.", "topics."].iter().flat_map(|receiver| code.split(receiver).skip(1)) {
        let method = rest.split_once("()").map_or("", |(method, _)| method);
        if !method.is_empty() && method.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
            calls.push(action(service, method));
        }
    }
    let sent = [".send()", ".presigned("].map(|end| code.matches(end).count());
    assert_eq!(calls.len(), sent.iter().sum::<usize>(), "{path} makes other calls than {calls:?}");
    calls.into_iter().collect()
}

fn calls_of(is_its: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let edges = EDGES.iter().filter(|(path, _)| is_its(path));
    edges.flat_map(|(path, service)| calls(path, service)).collect()
}

/// The calls of one function.
fn called_by(role: &str) -> BTreeSet<String> {
    let of_controller = || {
        let of_others = ["ecs/inventory.rs", "installation.rs", "logs.rs"];
        let is_its = |path: &str| path.strip_prefix("crates/aws/src/").is_some_and(|path| !of_others.contains(&path));
        let by_hand = set(&["ec2:DescribeInstances"]);
        &without(&OF_THE_COMMAND_LINE, calls_of(is_its)) | &by_hand
    };
    match role {
        // Only `reconcile` answers CloudFormation, and reads ECS services and IAM roles.
        "TaskEventsRole" => {
            without(&["cloudformation:DescribeStackEvents", "ecs:DescribeServices", "iam:GetRole"], of_controller())
        }
        // Only the function that receives messages returns them.
        "ReconcileRole" => without(&["sqs:ChangeMessageVisibility"], of_controller()),
        "AuditRole" => calls_of(|path| {
            path.starts_with("crates/audit-function/")
                || path.ends_with("/inventory.rs")
                || path.ends_with("/events.rs")
        }),
        other => panic!("{other}"),
    }
}

fn without(others: &[&str], mut calls: BTreeSet<String>) -> BTreeSet<String> {
    for call in others {
        assert!(calls.remove(*call), "{call}");
    }
    calls
}

fn set(actions: &[&str]) -> BTreeSet<String> {
    actions.iter().map(|action| (*action).to_owned()).collect()
}

#[test]
fn each_role_grants_exactly_its_calls() {
    let for_the_controller = [FOR_LAMBDA.as_slice(), &FOR_SECRETS_MANAGER].concat();
    for (role, for_others) in [
        ("TaskEventsRole", [for_the_controller.as_slice(), &FOR_THE_EVENT_SOURCE].concat()),
        ("ReconcileRole", for_the_controller),
        ("AuditRole", FOR_LAMBDA[..2].to_vec()),
    ] {
        let (granted, called, others) = (granted(role, "act"), called_by(role), set(&for_others));
        let missing: Vec<_> = called.difference(&granted).collect();
        assert!(missing.is_empty(), "{role} does not grant {missing:?}");
        let needless: Vec<_> =
            granted.iter().filter(|action| !called.contains(*action) && !others.contains(*action)).collect();
        assert!(needless.is_empty(), "{role} grants {needless:?}, which no source calls");
        let stale: Vec<_> = others.difference(&granted).collect();
        assert!(stale.is_empty(), "{role} is said to grant {stale:?}");
        assert!(granted.iter().all(|action| !action.contains('*')), "{granted:?}");
    }
}

#[test]
fn only_listed_sources_call_aws() {
    let known: BTreeSet<&str> = EDGES.iter().map(|(path, _)| *path).chain(TYPES_ONLY).collect();
    for path in test_harness::sources::sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("aws_sdk_") || known.contains(path.as_str()), "{path} calls AWS");
        let hands_back = text.contains("return_after(");
        let may_hand_back = ["crates/aws/src/queue.rs", "crates/controller/src/events/mod.rs"].contains(&path.as_str());
        assert!(!hands_back || may_hand_back, "{path} returns messages");
        let takes_messages = text.contains("controller.handle(");
        assert!(!takes_messages || path == "src/task_events.rs", "{path} receives messages");
    }
}

#[test]
fn wildcards_only_where_aws_requires_them() {
    let mut on_everything = BTreeSet::new();
    for statement in ROLES.iter().flat_map(|role| allowed(role, "act")) {
        let sid = statement["Sid"].as_str().expect("a statement has a name");
        assert!(statement.get("NotAction").is_none() && statement.get("NotResource").is_none(), "{sid}");
        if texts(&statement["Resource"]).contains(&"*") {
            on_everything.insert((sid.to_owned(), statement.get("Condition").is_some()));
        }
    }
    let expected = [
        ("AttachToTheVpc", false),
        ("ReadStatesOfHosts", true),
        ("ReadTaskDefinitionsAndListClusters", false),
        ("ReadTasksOfTheAccount", true),
        ("ReadWhatIsRegisteredAndWhatRuns", false),
    ];
    assert_eq!(on_everything, expected.map(|(sid, has_condition)| (sid.to_owned(), has_condition)).into());
}

#[test]
fn only_the_own_stack_is_read() {
    let of_stacks = |statement: &Value| texts(&statement["Action"]).iter().any(|it| it.starts_with("cloudformation:"));
    let statements: Vec<Value> = ROLES.iter().flat_map(|role| allowed(role, "act")).filter(of_stacks).collect();
    assert!(!statements.is_empty() && statements.iter().all(|it| it["Resource"] == "AWS::StackId"), "{statements:?}");
}

#[test]
fn only_lambda_and_the_rules_have_access() {
    let stack = Stack::new(&EVERYTHING);
    let properties = |name| stack.value(resource(name).get("Properties").unwrap()).unwrap();
    for role in ROLES {
        for statement in properties(role)["AssumeRolePolicyDocument"]["Statement"].as_array().unwrap() {
            assert_eq!(statement["Principal"], json!({ "Service": "lambda.amazonaws.com" }), "{role}");
        }
    }
    let policy = properties("EventQueuesPolicy");
    let allowed = policy["PolicyDocument"]["Statement"].as_array().unwrap().iter().filter(|it| it["Effect"] == "Allow");
    let [allowed] = allowed.collect::<Vec<_>>()[..] else { panic!("{policy}") };
    assert_eq!(allowed["Principal"], json!({ "Service": "events.amazonaws.com" }));
    assert_eq!(allowed["Action"], "sqs:SendMessage");
    let rules: Vec<_> = resources("AWS::Events::Rule").map(|(name, _)| format!("{name}.Arn")).collect();
    let sources = texts(&allowed["Condition"]["ArnEquals"]["aws:SourceArn"]);
    assert!(sources.len() == 5 && sources.iter().all(|it| rules.iter().any(|rule| rule == it)), "{sources:?}");
}

/// Except events, nothing outside of the stack is changed.
#[test]
fn with_mode_observe_no_role_of_the_controller_may_write() {
    let of_both = set(&[
        "kms:GenerateDataKey",
        "secretsmanager:CreateSecret",
        "secretsmanager:PutSecretValue",
        "secretsmanager:TagResource",
    ]);
    for (role, writes) in ROLES.into_iter().zip([of_both.clone(), of_both, set(&[])]) {
        assert_eq!(&granted(role, "act") - &granted(role, "observe"), writes, "{role}");
    }
}
