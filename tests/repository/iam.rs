//! Least privilege in AWS. That each role permits what its function calls, and nothing that no call needs, is found where IAM is
//! enforced: scripts/statements.py.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    policies::{statements, texts},
    resolved::{Stack, resource, resources},
};

/// The sources that call AWS.
const EDGES: [&str; 14] = [
    "crates/audit-function/src/announce.rs",
    "crates/audit-function/src/report_store.rs",
    "crates/aws/src/ecs/definitions.rs",
    "crates/aws/src/ecs/hosts.rs",
    "crates/aws/src/ecs/inventory.rs",
    "crates/aws/src/ecs/services.rs",
    "crates/aws/src/ecs/tasks.rs",
    "crates/aws/src/events.rs",
    "crates/aws/src/iam.rs",
    "crates/aws/src/installation.rs",
    "crates/aws/src/logs.rs",
    "crates/aws/src/queue.rs",
    "crates/aws/src/secrets.rs",
    "crates/aws/src/stack.rs",
];
/// The sources that use only AWS's types.
const TYPES_ONLY: [&str; 1] = ["crates/aws/src/ecs/mod.rs"];

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

fn set(actions: &[&str]) -> BTreeSet<String> {
    actions.iter().map(|action| (*action).to_owned()).collect()
}

#[test]
fn only_listed_sources_call_aws() {
    let known: BTreeSet<&str> = EDGES.into_iter().chain(TYPES_ONLY).collect();
    for path in test_harness::sources::sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("aws_sdk_") || known.contains(path.as_str()), "{path} calls AWS");
        let hands_back = text.contains("return_after(");
        // The last one returns none: it stands in for the queue where there is none.
        let may_hand_back = [
            "crates/aws/src/queue.rs",
            "crates/controller/src/events/mod.rs",
            "crates/controller/src/without_writes.rs",
        ];
        let may_hand_back = may_hand_back.contains(&path.as_str());
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
fn no_role_may_delete_a_secret() {
    for role in ROLES {
        let destroying = granted(role, "act")
            .into_iter()
            .filter(|action| action.contains("Delete") && action.starts_with("secrets"));
        assert_eq!(destroying.collect::<Vec<_>>(), Vec::<String>::new(), "{role}");
    }
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
