//! Least privilege in AWS: each function's role in the template grants exactly the function's calls.
//!
//! The calls are found in the sources; `leaks` compares the grants with the calls that are made.

mod observe;

use std::collections::BTreeSet;

use audit_read::document::{Node, parse_yaml};

use test_harness::recorder::RecordedRequest;

const TEMPLATE: &str = include_str!("../../../template.yaml");

/// The sources that call AWS, and the service that each calls.
const EDGES: [(&str, &str); 12] = [
    ("crates/audit-function/src/announce.rs", "sns"),
    ("crates/audit-function/src/report_store.rs", "s3"),
    ("crates/aws/src/ecs/definitions.rs", "ecs"),
    ("crates/aws/src/ecs/inventory.rs", "ecs"),
    ("crates/aws/src/ecs/services.rs", "ecs"),
    ("crates/aws/src/ecs/tasks.rs", "ecs"),
    ("crates/aws/src/events.rs", "events"),
    ("crates/aws/src/iam.rs", "iam"),
    ("crates/aws/src/installation.rs", "cloudformation cloudtrail events kms lambda sns sts"),
    ("crates/aws/src/logs.rs", "logs"),
    ("crates/aws/src/queue.rs", "sqs"),
    ("crates/aws/src/secrets.rs", "secretsmanager"),
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

fn template() -> Node {
    parse_yaml(TEMPLATE).expect("the template is YAML")
}

fn properties<'a>(template: &'a Node, resource: &str) -> &'a Node {
    let resource = template.get("Resources").and_then(|all| all.get(resource)).unwrap_or_else(|| panic!("{resource}"));
    resource.get("Properties").expect("properties")
}

/// The items of a list if every condition is true: all grants that are possible.
fn flattened(node: &Node) -> Vec<&Node> {
    match node.get("Fn::If") {
        Some(choice) => choice.items().iter().skip(1).flat_map(flattened).collect(),
        None if node.items().is_empty() => vec![node],
        None => node.items().iter().flat_map(flattened).collect(),
    }
}

fn statements_of(document: &Node) -> Vec<&Node> {
    let all = document.get("PolicyDocument").and_then(|document| document.get("Statement")).expect("statements");
    flattened(all).into_iter().filter(|statement| statement.get("Effect").is_some()).collect()
}

/// What is denied is tested where the policies are evaluated, in the suite `repository`.
fn allows(statement: &Node) -> bool {
    statement.get("Effect").and_then(Node::text) == Some("Allow")
}

/// All statements of a function's role, including those of the shared policy.
fn statements<'a>(template: &'a Node, role: &str) -> Vec<&'a Node> {
    let role = properties(template, role);
    let own = role.get("Policies").expect("policies").items().iter().flat_map(statements_of);
    let shared = role.get("ManagedPolicyArns").into_iter().flat_map(Node::items).flat_map(|arn| {
        let name = arn.get("Ref").and_then(Node::text).expect("a policy of the template");
        statements_of(properties(template, name))
    });
    own.chain(shared).collect()
}

fn texts(node: &Node) -> Vec<&str> {
    flattened(node).into_iter().filter_map(Node::text).collect()
}

fn granted(role: &str) -> BTreeSet<String> {
    granted_by(&template(), role)
}

fn granted_by(template: &Node, role: &str) -> BTreeSet<String> {
    let statements = statements(template, role);
    let allowed = statements.iter().filter(|statement| allows(statement));
    let actions = allowed.flat_map(|statement| texts(statement.get("Action").expect("actions")));
    actions.map(str::to_owned).collect()
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
fn calls(path: &str, services: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let code: String = text.split("#[cfg(test)]").next().unwrap().split_whitespace().collect();
    let mut calls = BTreeSet::new();
    for (receiver, service) in ["client.", "topics.", "buses."].iter().zip([0, 0, 1]) {
        let service = services.split(' ').nth(service).unwrap_or(services);
        for rest in code.split(receiver).skip(1) {
            let method = rest.split_once("()").map_or("", |(method, _)| method);
            if !method.is_empty() && method.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
                calls.insert(action(service, method));
            }
        }
    }
    assert!(!calls.is_empty(), "{path} makes no calls");
    calls
}

fn calls_of(paths: &[&str]) -> BTreeSet<String> {
    let edges = EDGES.iter().filter(|(path, _)| paths.contains(path));
    edges.flat_map(|(path, services)| calls(path, services)).collect()
}

/// The calls of one function.
fn called_by(role: &str) -> BTreeSet<String> {
    let of_controller = [
        "crates/aws/src/ecs/definitions.rs",
        "crates/aws/src/ecs/services.rs",
        "crates/aws/src/ecs/tasks.rs",
        "crates/aws/src/events.rs",
        "crates/aws/src/iam.rs",
        "crates/aws/src/queue.rs",
        "crates/aws/src/secrets.rs",
    ];
    let calls_of_controller = || {
        let mut calls = calls_of(&of_controller);
        for call in OF_THE_COMMAND_LINE {
            assert!(calls.remove(call), "{call}");
        }
        calls
    };
    match role {
        "TaskEventsRole" => {
            let mut calls = calls_of_controller();
            // Only `reconcile` deletes unused secrets, and reads ECS services and IAM roles.
            let of_reconcile = [
                "ecs:DescribeServices",
                "ecs:ListTaskDefinitions",
                "iam:GetRole",
                "secretsmanager:DeleteSecret",
                "secretsmanager:ListSecrets",
            ];
            for call in of_reconcile {
                assert!(calls.remove(call), "{call}");
            }
            calls
        }
        "ReconcileRole" => {
            let mut calls = calls_of_controller();
            // Only the function that receives messages returns them.
            assert!(calls.remove("sqs:ChangeMessageVisibility"));
            calls
        }
        "AuditRole" => calls_of(&[
            "crates/audit-function/src/announce.rs",
            "crates/audit-function/src/report_store.rs",
            "crates/aws/src/ecs/inventory.rs",
            "crates/aws/src/events.rs",
        ]),
        other => panic!("{other}"),
    }
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
        let (granted, called, others) = (granted(role), called_by(role), set(&for_others));
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
    let template = template();
    let mut on_everything = BTreeSet::new();
    for role in ["TaskEventsRole", "ReconcileRole", "AuditRole"] {
        for statement in statements(&template, role).into_iter().filter(|statement| allows(statement)) {
            let sid = statement.get("Sid").and_then(Node::text).expect("a statement has a name");
            assert!(statement.get("NotAction").is_none() && statement.get("NotResource").is_none(), "{sid}");
            if texts(statement.get("Resource").expect("resources")).contains(&"*") {
                on_everything.insert((sid.to_owned(), statement.get("Condition").is_some()));
            }
        }
    }
    let expected = [
        ("AttachToTheVpc", false),
        ("FindUnusedSecrets", false),
        ("ReadTaskDefinitionsAndListClusters", false),
        ("ReadTasksOfTheAccount", true),
        ("ReadWhatIsRegisteredAndWhatRuns", false),
    ];
    assert_eq!(on_everything, expected.map(|(sid, has_condition)| (sid.to_owned(), has_condition)).into());
}

#[test]
fn only_lambda_and_the_rules_have_access() {
    let template = template();
    for role in ["TaskEventsRole", "ReconcileRole", "AuditRole"] {
        let trust =
            properties(&template, role).get("AssumeRolePolicyDocument").expect("trust").get("Statement").unwrap();
        for statement in trust.items() {
            let who = statement.get("Principal").and_then(|who| who.get("Service")).and_then(Node::text);
            assert_eq!(who, Some("lambda.amazonaws.com"), "{role}");
        }
    }
    let policy = statements_of(properties(&template, "EventQueuesPolicy"));
    let allowed: Vec<_> = policy.iter().filter(|it| allows(it)).collect();
    let [allowed] = allowed.as_slice() else { panic!("{} statements allow something", allowed.len()) };
    assert_eq!(
        allowed.get("Principal").and_then(|who| who.get("Service")).and_then(Node::text),
        Some("events.amazonaws.com")
    );
    assert_eq!(texts(allowed.get("Action").unwrap()), ["sqs:SendMessage"]);
    let sources =
        allowed.get("Condition").and_then(|it| it.entries().first()?.node.get("aws:SourceArn")).expect("a source");
    let sources = flattened(sources);
    let is_a_rule = |source: &&Node| source.get("Fn::GetAtt").is_some() || source.get("Ref").is_some();
    assert!(sources.len() >= 2 && sources.iter().all(is_a_rule), "{sources:?}");
}

/// Asserts that a role grants each of these calls.
pub(crate) fn assert_granted(role: &str, seen: &[RecordedRequest]) {
    let granted = granted(role);
    let mut known = BTreeSet::new();
    for target in seen.iter().filter_map(|seen| seen.header("x-amz-target")) {
        let (service, operation) = target.split_once('.').expect("a service and its operation");
        let service = match service {
            "AmazonEC2ContainerServiceV20141113" => "ecs",
            "AmazonSQS" => "sqs",
            "AWSEvents" => "events",
            service => service,
        };
        known.insert(format!("{service}:{}", operation.trim_end_matches("Batch")));
    }
    assert!(known.len() > 3, "{known:?}");
    let missing: Vec<_> = known.difference(&granted).collect();
    assert!(missing.is_empty(), "{role} does not grant {missing:?}");
}
