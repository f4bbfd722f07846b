//! The template agrees with the crates: the version, the values of a setting, and the parameters that update the mesh setup.

use std::collections::BTreeSet;

use controller::settings::Settings;
use document::Node;
use ecs_mesh_controller::custom_resource::PROOF;
use mesh::names::InvalidField;
use serde_json::json;

use crate::resolved::{Stack, TEMPLATE as TREE, resource, resources};

const TEMPLATE: &str = include_str!("../../template.yaml");

/// The parameters without an effect on Consul: the log level, which events are sent, and a resource of the template.
const WITHOUT_EFFECT: [&str; 3] = ["LogLevel", "RoutineEvents", "TaskEventsQueue"];

/// The lines below `heading`, up to the next line that is not indented further.
fn section(heading: &str) -> String {
    let mut lines = TEMPLATE.lines().skip_while(|line| *line != heading);
    let indent = |line: &str| line.len() - line.trim_start().len();
    let depth = indent(lines.next().unwrap_or_else(|| panic!("{heading} is not in the template")));
    lines.take_while(|line| line.is_empty() || indent(line) > depth).collect::<Vec<_>>().join("\n")
}

/// The references of a section: `!Ref`, and `${…}` within a text.
fn references(section: &str) -> BTreeSet<&str> {
    let name = |rest| str::split(rest, |c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let after = |mark| section.split(mark).skip(1).map(name);
    after("!Ref ").chain(after("${")).filter(|name| *name != "AWS").collect()
}

#[test]
fn a_new_release_updates_the_mesh_setup() {
    let property = format!("ControllerVersion: \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(section("  MeshSetup:").contains(&property), "MeshSetup should have {property}");
}

#[test]
fn a_changed_parameter_updates_the_mesh_setup() {
    let globals = section("Globals:");
    let reconcile = section("  ReconcileFunction:");
    let (_, environment) = reconcile.split_once("Environment:").expect("an environment");
    let given: BTreeSet<&str> = references(&globals).into_iter().chain(references(environment)).collect();
    let setup = section("  MeshSetup:");
    let watched = references(&setup);
    let missing: Vec<&str> = given.difference(&watched).copied().collect();
    assert_eq!(missing, WITHOUT_EFFECT);
}

/// The settings that are required, and one more.
fn settings_with(changed: &str, value: &str) -> Result<Settings, InvalidField> {
    Settings::read(|name| {
        Some(match name {
            name if name == changed => value.to_owned(),
            "CONSUL_HTTP_ADDR" => "http://127.0.0.1:8500".to_owned(),
            "CONSUL_HTTP_TOKEN" => "token".to_owned(),
            "ECS_CLUSTER_ARNS" => "arn:aws:ecs:us-east-1:123456789012:cluster/prod".to_owned(),
            "QUEUE_URL" => "http://127.0.0.1:1/queue".to_owned(),
            _ => return None,
        })
    })
}

/// The events of another account or region that a rule of the default bus may be sent.
#[test]
fn every_rule_filters_account_and_region() {
    let own = Stack::new(&[]);
    let patterns = resources("AWS::Events::Rule").filter_map(|(name, rule)| {
        let pattern = rule.get("Properties").and_then(|properties| properties.get("EventPattern"))?;
        Some((name, own.value(pattern).unwrap()))
    });
    let patterns: Vec<_> = patterns.collect();
    assert!(patterns.len() > 3, "{patterns:?}");
    for (name, pattern) in patterns {
        assert_eq!(pattern["account"], json!(["123456789012"]), "{name}");
        assert_eq!(pattern["region"], json!(["us-east-1"]), "{name}");
    }
}

#[test]
fn every_role_has_the_path_and_the_boundary() {
    let given = Stack::new(&[("LambdaRolePath", "/mesh/"), ("LambdaPermissionsBoundary", "arn:boundary")]);
    let roles: Vec<_> = resources("AWS::IAM::Role").collect();
    assert_eq!(roles.len(), 3);
    for (name, role) in roles {
        let properties = |stack: &Stack| stack.value(role.get("Properties").unwrap()).unwrap();
        let (given, default) = (properties(&given), properties(&Stack::new(&[])));
        assert_eq!(
            (&given["Path"], &given["PermissionsBoundary"]),
            (&json!("/mesh/"), &json!("arn:boundary")),
            "{name}"
        );
        assert_eq!((&default["Path"], default.get("PermissionsBoundary")), (&json!("/"), None), "{name}");
    }
}

#[test]
fn every_alarm_says_when_it_ends() {
    let stack = Stack::new(&[("AlarmTopicArn", "arn:topic"), ("Audit", "true")]);
    let alarms: Vec<_> = resources("AWS::CloudWatch::Alarm").collect();
    assert!(alarms.len() > 12, "{}", alarms.len());
    for (name, alarm) in alarms {
        let properties = stack.value(alarm.get("Properties").unwrap()).unwrap();
        for actions in ["AlarmActions", "OKActions"] {
            assert_eq!(properties[actions], json!(["arn:topic"]), "{name}: {actions}");
        }
    }
}

/// CloudWatch looks back at most seven days, and at most one day for periods of less than an hour:
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html>
#[test]
fn no_sweep_for_three_intervals_is_an_alarm() {
    let properties = Stack::new(&[]).value(resource("NoSweepAlarm").get("Properties").unwrap()).unwrap();
    assert_eq!(properties["Period"], json!("MeshSetup.SweepSeconds"));
    assert_eq!(properties["EvaluationPeriods"], json!("3"));
    assert_eq!(properties["TreatMissingData"], json!("breaching"));
    let rate =
        |rate: &str| settings_with("RECONCILE_RATE", rate).map(|settings| settings.scope.sweep_interval.as_secs());
    for text in ["rate(1 minute)", "rate(59 minutes)", "rate(1 hour)", "rate(48 hours)", "rate(2 days)"] {
        let seconds = rate(text).unwrap();
        let longest = if seconds < 3_600 { 86_400 } else { 604_800 };
        assert!(seconds % 60 == 0 && 3 * seconds <= longest, "{text}");
    }
    assert!(rate("rate(3 days)").is_err());
}

#[test]
fn servers_in_tasks_are_reached_with_tls_only() {
    let pattern = section("  ConsulHttpAddr:");
    let pattern = pattern.lines().find_map(|line| line.trim().strip_prefix("AllowedPattern: ")).expect("a pattern");
    let schema = json!({ "pattern": pattern.trim_matches('\'').replace("[][", "[\\]\\[") });
    for address in ["ecs://infra/consul:8501?scheme=https", "https://a:8501,http://[::1]:8500"] {
        assert!(jsonschema::is_valid(&schema, &json!(address)), "{address}");
    }
    for address in [
        "ecs://infra/consul:8501",
        "ecs://infra/consul:8500?scheme=http",
        "ecs://infra/consul:8501?scheme=https,https://a:1",
    ] {
        assert!(!jsonschema::is_valid(&schema, &json!(address)), "{address}");
    }
}

/// Sweeps run in `reconcile`, and their second looks in `task-events`.
#[test]
fn both_functions_that_remove_have_the_limit_of_the_guard() {
    let stack = Stack::new(&[("MaxDeletePercent", "40")]);
    let globals = TREE.get("Globals").and_then(|globals| globals.get("Function")).unwrap();
    for function in ["TaskEventsFunction", "ReconcileFunction"] {
        let variables =
            |properties: &Node| stack.value(properties.get("Environment").unwrap()).unwrap()["Variables"].clone();
        let (own, all) = (variables(resource(function).get("Properties").unwrap()), variables(globals));
        let limit = own.get("MAX_DELETE_PERCENT").unwrap_or(&all["MAX_DELETE_PERCENT"]);
        assert_eq!(limit, "40", "{function}");
    }
}

/// The alarms about metrics of AWS: namespace, metric, and the resource in the dimension.
#[test]
fn each_alarm_on_a_metric_of_aws_is_about_its_resource() {
    let stack = Stack::new(&[("Audit", "true")]);
    let triple = |(_, alarm): (_, &Node)| {
        let properties = stack.value(alarm.get("Properties").unwrap()).unwrap();
        let [namespace, metric, resource] =
            [&properties["Namespace"], &properties["MetricName"], &properties["Dimensions"][0]["Value"]]
                .map(|value| value.as_str().unwrap().to_owned());
        namespace.starts_with("AWS/").then_some((namespace, metric, resource))
    };
    let found: BTreeSet<_> = resources("AWS::CloudWatch::Alarm").filter_map(triple).collect();
    let lambda = |metric, function| ("AWS/Lambda", metric, function);
    let rule = |name| ("AWS/Events", "FailedInvocations", name);
    let queue = |metric, name| ("AWS/SQS", metric, name);
    let expected = [
        lambda("Errors", "TaskEventsFunction"),
        lambda("Errors", "ReconcileFunction"),
        lambda("Errors", "AuditFunction"),
        lambda("Throttles", "TaskEventsFunction"),
        lambda("Throttles", "ReconcileFunction"),
        lambda("AsyncEventsDropped", "AuditFunction"),
        rule("SweepRule"),
        rule("ClusterDeletedRule"),
        queue("ApproximateNumberOfMessagesVisible", "FailedEventsQueue.QueueName"),
        queue("ApproximateNumberOfMessagesVisible", "UndeliveredEventsQueue.QueueName"),
        queue("ApproximateAgeOfOldestMessage", "TaskEventsQueue.QueueName"),
    ];
    let expected = expected.map(|(namespace, metric, name)| (namespace.to_owned(), metric.to_owned(), name.to_owned()));
    assert_eq!(found, BTreeSet::from(expected));
}

/// `sam deploy --guided` asks for the parameters in this order.
#[test]
fn rarely_needed_parameters_come_last() {
    let parameters = section("Parameters:");
    let (first, rare) = parameters.split_once("  # ---- rarely needed").expect("the rarely needed parameters");
    let has = |part: &str, name: &str| part.contains(&format!("\n  {name}:\n"));
    for name in ["ConsulHttpAddr", "ConsulHttpTokenSecretArn", "EcsClusterArns", "VpcSubnetIds", "AlarmTopicArn"] {
        assert!(has(first, name), "{name}");
    }
    for name in ["TimeBounds", "ClusterPartitions", "LambdaRolePath", "LambdaPermissionsBoundary", "RoutineEvents"] {
        assert!(has(rare, name), "{name}");
    }
}

/// The custom resource cleans up only if the resource was deleted before it that is created last.
#[test]
fn proof_of_completion_is_created_last() {
    let names: BTreeSet<String> = TREE.get("Resources").unwrap().entries().iter().map(|it| it.key.clone()).collect();
    let proof = resource(PROOF);
    let waits_for: BTreeSet<String> =
        proof.get("DependsOn").unwrap().items().iter().map(|it| it.text().unwrap().to_owned()).collect();
    // DependsOn accepts no resource that may not exist, and what the proof refers to could not change.
    let always = |name: &String| *name != PROOF && resource(name).get("Condition").is_none();
    let made_by_sam = ["ReconcileFunctionEventInvokeConfig".to_owned()];
    let others: BTreeSet<String> = names.into_iter().filter(always).chain(made_by_sam).collect();
    assert_eq!(waits_for, others);
    let asks = Stack::new(&[("CleanupOnDelete", "true")]);
    let condition = proof.get("Condition").unwrap().text().unwrap();
    assert!(asks.holds_named(condition) && !Stack::new(&[]).holds_named(condition));
}

/// A failed sweep is followed by the next one. CloudFormation waits until the last request that Lambda begins has ended.
#[test]
fn reconcile_is_not_invoked_again() {
    let (function, setup) = (section("  ReconcileFunction:"), section("  MeshSetup:"));
    assert_eq!(number(&function, "MaximumRetryAttempts"), 0);
    let longest = number(&function, "MaximumEventAgeInSeconds") + number(&function, "Timeout");
    assert!(number(&setup, "ServiceTimeout") >= longest);
    assert!(number(&section("  SweepRule:"), "MaximumEventAgeInSeconds") <= 300);
}

/// The number after `key:` in a section.
fn number(section: &str, key: &str) -> u32 {
    let key = format!("{key}: ");
    let line = section.lines().find_map(|line| line.trim().strip_prefix(key.as_str()));
    line.unwrap_or_else(|| panic!("{key} is not in the section")).parse().expect("a number")
}

#[test]
fn message_stays_invisible_for_six_times_the_function_s_time() {
    let timeout = number(&section("  TaskEventsFunction:"), "Timeout");
    assert!(number(&section("  TaskEventsQueue:"), "VisibilityTimeout") >= 6 * timeout);
}

#[test]
fn loop_detection_is_off_where_the_function_bounds_its_own_messages() {
    assert!(section("  TaskEventsFunction:").contains("RecursiveLoop: Allow"));
    assert!(!section("  ReconcileFunction:").contains("RecursiveLoop"), "a sweep receives no message of its own");
}
