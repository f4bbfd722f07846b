//! The template stays within the limits of AWS, with every parameter at its longest.

use std::collections::BTreeMap;

use document::{Node, Value};
use serde_json::{Value as Json, json};

use crate::resolved::{TEMPLATE, resources};

/// All environment variables of a function, as JSON: <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>
const ENVIRONMENT: usize = 4_096;
/// An event pattern: <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html>
const EVENT_PATTERN: usize = 2_048;
/// A managed policy, and all inline policies of a role, without blanks:
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html>
const MANAGED_POLICY: usize = 6_144;
const INLINE_POLICIES: usize = 10_240;
/// A parameter's value: <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html>
const PARAMETER: usize = 4_096;

/// Quotes are two characters in JSON. The other parameters permit no character that JSON escapes.
const ESCAPED: &str = "AuditConfiguration";

fn section(name: &str) -> &'static [document::Entry] {
    TEMPLATE.get(name).expect("a section").entries()
}

/// The properties of the resources of a type, by name.
fn properties_of(kind: &str) -> impl Iterator<Item = (&'static str, &'static Node)> {
    resources(kind).map(|(name, resource)| (name, resource.get("Properties").expect("properties")))
}

/// The longest value of a parameter.
fn longest_parameter(name: &str) -> Option<String> {
    let parameter = &section("Parameters").iter().find(|entry| entry.key == name)?.node;
    let text = |node: &Node| match &node.value {
        Value::Number(number) => number.clone(),
        _ => node.text().unwrap_or_default().to_owned(),
    };
    if let Some(allowed) = parameter.get("AllowedValues") {
        return allowed.items().iter().map(text).max_by_key(String::len);
    }
    if let Some(largest) = parameter.get("MaxValue") {
        return Some(text(largest));
    }
    let letter = if name == ESCAPED { "\"" } else { "x" };
    let length = parameter.get("MaxLength").map_or(PARAMETER, |node| node.number().unwrap());
    Some(letter.repeat(length))
}

/// The longest value of a name in `Ref` or `${…}`.
fn longest_reference(name: &str) -> String {
    let fixed = match name {
        "AWS::Partition" => 10,
        "AWS::Region" => 14,
        "AWS::AccountId" => 12,
        "AWS::StackName" => 128,
        "AWS::URLSuffix" => 16,
        "ReportsBucket" => 63,
        // `https://sqs.`, region, URL suffix, account, and a name of at most 80 characters.
        "TaskEventsQueue" => 140,
        // `arn:` with partition, service, region and account, and the name that CloudFormation makes of the name of the stack,
        // the logical ID and 12 random characters.
        "FindingsTopic" => 205,
        // A reference to another resource: the longest is the ARN of a topic, `arn:` with partition, service, region and
        // account, and a name of at most 256 characters.
        _ => return longest_parameter(name).unwrap_or_else(|| "x".repeat(310)),
    };
    "x".repeat(fixed)
}

/// A text in which each `${…}` has its longest value.
fn substituted(text: &str) -> String {
    let mut parts = text.split("${");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').expect("a name");
        whole += &longest_reference(name.split('.').next().unwrap_or_default());
        whole += rest;
    }
    whole
}

/// The longest JSON of a value; `None` for `AWS::NoValue`.
fn longest(node: &Node) -> Option<Json> {
    if let [only] = node.entries() {
        match (only.key.as_str(), only.node.items()) {
            ("Ref", _) if only.node.text() == Some("AWS::NoValue") => return None,
            ("Ref", _) => return Some(Json::String(longest_reference(only.node.text()?))),
            ("Fn::Sub", _) => return Some(Json::String(substituted(only.node.text()?))),
            ("Fn::GetAtt", _) => return Some(Json::String(longest_reference("a resource"))),
            ("Fn::If", [_, first, second]) => {
                let both = [longest(first), longest(second)];
                return both.into_iter().flatten().max_by_key(|value| value.to_string().len());
            }
            (function, _) => assert!(!function.starts_with("Fn::"), "{function} is not known here"),
        }
    }
    Some(match &node.value {
        Value::List(items) => items.iter().filter_map(longest).collect(),
        Value::Map(entries) => {
            entries.iter().filter_map(|entry| Some((entry.key.clone(), longest(&entry.node)?))).collect()
        }
        _ => json!(node.text().unwrap_or("00000")),
    })
}

fn size(node: &Node) -> usize {
    longest(node).expect("a value").to_string().len()
}

#[test]
fn environment_of_each_function_fits() {
    let globals = TEMPLATE.get("Globals").and_then(|globals| globals.get("Function")).expect("globals");
    let variables = |properties: &Node| -> BTreeMap<String, Json> {
        let all = properties.get("Environment").and_then(|environment| environment.get("Variables"));
        let all = all.map_or(&[][..], Node::entries).iter();
        all.filter_map(|entry| Some((entry.key.clone(), longest(&entry.node)?))).collect()
    };
    let mut sizes = BTreeMap::new();
    for entry in section("Resources").iter().filter(|entry| entry.key.ends_with("Function")) {
        let mut all = if entry.node.get("IgnoreGlobals").is_some() { BTreeMap::new() } else { variables(globals) };
        all.extend(variables(entry.node.get("Properties").expect("properties")));
        sizes.insert(&entry.key, json!(all).to_string().len());
    }
    assert_eq!(sizes.len(), 3, "{sizes:?}");
    assert!(sizes.values().all(|size| *size <= ENVIRONMENT), "{sizes:?}");
}

#[test]
fn each_event_pattern_fits() {
    let rules: Vec<_> = properties_of("AWS::Events::Rule").collect();
    let sizes: Vec<_> = rules.iter().filter_map(|(name, rule)| Some((name, size(rule.get("EventPattern")?)))).collect();
    assert!(sizes.len() > 3 && sizes.iter().all(|(_, size)| *size <= EVENT_PATTERN), "{sizes:?}");
}

#[test]
fn each_policy_fits() {
    let managed: Vec<_> = properties_of("AWS::IAM::ManagedPolicy")
        .map(|(name, policy)| (name, size(policy.get("PolicyDocument").expect("a document"))))
        .collect();
    assert!(!managed.is_empty() && managed.iter().all(|(_, size)| *size <= MANAGED_POLICY), "{managed:?}");
    let inline: Vec<_> = properties_of("AWS::IAM::Role")
        .map(|(name, role)| (name, size(role.get("Policies").expect("inline policies"))))
        .collect();
    assert!(inline.len() == 3 && inline.iter().all(|(_, size)| *size <= INLINE_POLICIES), "{inline:?}");
}

#[test]
fn no_parameter_is_longer_than_cloudformation_permits() {
    for entry in section("Parameters") {
        let longest = longest_parameter(&entry.key).unwrap();
        assert!(longest.len() <= PARAMETER, "{}: {}", entry.key, longest.len());
    }
}
