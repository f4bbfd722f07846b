//! The policy for Consul Enterprise in docs/reference/permissions.md: it grants what the controller requires, each rule
//! where Enterprise allows it, and the same as the policy for Community Edition, whose necessity `least_policy` proves.

use std::collections::BTreeSet;

use local_stack::{
    Stack,
    world::{cluster_arn, documented_policy},
};
use mesh::{
    cluster_selection::ClusterSelection,
    permissions::{Permission, Segment, required},
};

const PAGE: &str = include_str!("../../../docs/reference/permissions.md");
const PARTITIONS: &str = r#"partition_prefix """#;
const NAMESPACES: &str = r#"namespace_prefix """#;

/// A rule of a policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Rule<'a> {
    /// The blocks that it is in, from the outermost.
    place: Vec<&'a str>,
    /// The resource with its label, for example `node_prefix "arn:"`.
    resource: &'a str,
    /// `read` or `write`.
    access: &'a str,
}

fn enterprise_policy() -> &'static str {
    let policy = PAGE.split_once("```hcl\n").and_then(|(_, rest)| rest.split_once("```"));
    policy.expect("the page shows the policy").0
}

/// The rules of a policy that has one rule, or one end of a block, on each line.
fn rules(policy: &str) -> BTreeSet<Rule<'_>> {
    let mut blocks = Vec::new();
    let mut rules = BTreeSet::new();
    let lines = policy.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        if let Some(block) = line.strip_suffix(" {") {
            blocks.push(block);
        } else if line == "}" {
            blocks.pop().expect("an open block");
        } else {
            let (resource, access) = line.split_once(" = ").expect("a rule");
            let access = access.trim_matches('"');
            let mut place = blocks.clone();
            let resource = if resource == "policy" { place.pop().expect("a block") } else { resource };
            rules.insert(Rule { place, resource, access });
        }
    }
    assert!(blocks.is_empty(), "{blocks:?}");
    rules
}

/// Whether the rule, wherever it is, grants the permission.
fn grants(rule: &Rule<'_>, permission: &Permission) -> bool {
    let Permission { resource, access, segment } = permission;
    let has_name = match segment {
        Segment::Whole => rule.resource == *resource,
        Segment::All => rule.resource == format!("{resource}_prefix \"\""),
        Segment::Named(name) | Segment::Prefix(name) => {
            let prefix = rule.resource.strip_prefix(&format!("{resource}_prefix \""));
            prefix.and_then(|label| label.strip_suffix('"')).is_some_and(|prefix| name.starts_with(prefix))
        }
    };
    has_name && rule.access == *access
}

#[test]
fn the_enterprise_policy_grants_what_is_required() {
    let rules = rules(enterprise_policy());
    let clusters = ClusterSelection::parse(&cluster_arn("prod"), None).unwrap();
    for permission in required(&clusters, clusters.patterns(), true) {
        // Permissions of the whole datacenter are granted outside of partitions, the others in every partition
        let is_there = |rule: &Rule<'_>| match rule.place.first() {
            None => permission.is_global(),
            Some(block) => !permission.is_global() && *block == PARTITIONS,
        };
        let granting: Vec<&Rule<'_>> = rules.iter().filter(|rule| grants(rule, &permission)).collect();
        assert!(granting.iter().any(|rule| is_there(rule)), "{permission}: {granting:?}");
    }
}

#[test]
fn enterprise_allows_every_rule_where_it_is() {
    let is_in = |rule: &Rule<'_>, resources: &[&str]| {
        resources.iter().any(|resource| rule.resource.split([' ', '_']).next() == Some(resource))
    };
    for rule in rules(enterprise_policy()) {
        match rule.place.as_slice() {
            [] => assert!(is_in(&rule, &["operator", "agent"]), "{rule:?}"),
            [PARTITIONS] => assert!(is_in(&rule, &["node", "namespace"]), "{rule:?}"),
            // A namespace has no nodes that could be written
            [PARTITIONS, NAMESPACES] => {
                assert!(is_in(&rule, &["acl", "service"]) || (is_in(&rule, &["node"]) && rule.access == "read"));
            }
            other => panic!("{other:?}: {rule:?}"),
        }
    }
}

#[test]
fn both_policies_grant_the_same() {
    let community = documented_policy();
    let community: BTreeSet<(&str, &str)> = rules(&community).iter().map(|rule| (rule.resource, rule.access)).collect();
    let mut enterprise: BTreeSet<(&str, &str)> =
        rules(enterprise_policy()).iter().map(|rule| (rule.resource, rule.access)).collect();
    assert!(enterprise.remove(&(NAMESPACES, "write")), "namespaces are created on Enterprise only");
    assert_eq!(enterprise, community);
}

#[tokio::test]
async fn the_enterprise_policy_is_valid_hcl() {
    // Community Edition parses the policy, and ignores the blocks of Enterprise
    Stack::shared().await.consul.token_with_rules("enterprise-policy", enterprise_policy()).await;
}
