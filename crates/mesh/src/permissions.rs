//! The permissions that the controller's own ACL token requires, and rules of its policy that grant more.
//!
//! The resources and how rules name them: <https://developer.hashicorp.com/consul/docs/security/acl/acl-rules>

use std::fmt;

use crate::{
    cluster_selection::{ClusterPattern, ClusterSelection},
    settings::Mode,
};

/// A permission that an ACL policy grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// The kind of resource: `acl`, `agent`, `node`, `operator` or `service`.
    pub resource: &'static str,
    /// `read` or `write`.
    pub access: &'static str,
    /// Which resources of the kind.
    pub segment: Segment,
}

/// Which resources of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// The only resource of its kind.
    Whole,
    /// All resources of the kind.
    All,
    /// The resource with this name.
    Named(String),
    /// All resources whose names start so.
    Prefix(String),
}

/// The permission to force-leave client agents, and to list and create partitions.
pub const OPERATOR: Permission = Permission { resource: "operator", access: "write", segment: Segment::Whole };

impl Permission {
    /// The resource name for an authorization request. A rule for a shorter prefix allows a prefix as a name too, and
    /// only a rule for all names allows the empty name.
    pub fn name(&self) -> &str {
        match &self.segment {
            Segment::Whole | Segment::All => "",
            Segment::Named(name) | Segment::Prefix(name) => name,
        }
    }

    /// Whether the permission applies to the whole datacenter, not to one partition (Enterprise).
    pub fn is_global(&self) -> bool {
        matches!(self.resource, "agent" | "operator")
    }
}

/// The rule that grants the permission, in HCL.
impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, access, .. } = self;
        match &self.segment {
            Segment::Whole => write!(f, "{resource} = \"{access}\""),
            Segment::All => write!(f, "{resource}_prefix \"\" {{ policy = \"{access}\" }}"),
            Segment::Named(name) => write!(f, "{resource} \"{name}\" {{ policy = \"{access}\" }}"),
            Segment::Prefix(start) => write!(f, "{resource}_prefix \"{start}\" {{ policy = \"{access}\" }}"),
        }
    }
}

/// All permissions that the controller requires for the clusters of these patterns, which are some of `clusters`. Without
/// `needs_operator`, [`OPERATOR`] is optional.
pub fn required(clusters: &ClusterSelection, patterns: &[ClusterPattern], needs_operator: bool) -> Vec<Permission> {
    let permission = |resource, access, segment| Permission { resource, access, segment };
    let mut all = vec![permission("acl", "write", Segment::Whole)];
    all.extend(needs_operator.then_some(OPERATOR));
    all.extend([
        permission("agent", "read", Segment::All),
        permission("node", "read", Segment::All),
        permission("service", "write", Segment::All),
    ]);
    let node = |pattern: &ClusterPattern| {
        let start = clusters.arn_start(pattern);
        let segment = if pattern.has_wildcard() { Segment::Prefix(start) } else { Segment::Named(start) };
        permission("node", "write", segment)
    };
    all.extend(patterns.iter().map(node));
    all
}

/// The permissions that the controller requires to observe.
pub fn required_to_observe() -> Vec<Permission> {
    let read = |resource, segment| Permission { resource, access: "read", segment };
    vec![
        read("acl", Segment::Whole),
        read("agent", Segment::All),
        read("node", Segment::All),
        read("service", Segment::All),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    Word(&'a str),
    Quoted(&'a str),
    Open,
    Close,
    Equals,
}

/// What the controller needs beyond reads.
#[derive(Debug, Clone, Copy)]
struct Needs {
    writes: bool,
    operator: bool,
}

/// The rules of a policy that grant more than the controller needs, each as in the policy. Without `needs_operator`, the
/// controller needs no rule for [`OPERATOR`](crate::permissions::OPERATOR).
pub fn exceeding(policy: &str, mode: Mode, needs_operator: bool) -> Vec<String> {
    let needs = Needs { writes: mode.acts(), operator: needs_operator };
    let mut blocks: Vec<(&str, &str)> = Vec::new();
    let mut found = Vec::new();
    let mut before = (Part::Close, Part::Close);
    for part in parts(policy) {
        match (before, part) {
            ((Part::Word(resource), Part::Quoted(name)), Part::Open) => blocks.push((resource, name)),
            (_, Part::Open) => blocks.push(("", "")),
            (_, Part::Close) => drop(blocks.pop()),
            ((Part::Word(key), Part::Equals), Part::Quoted(access)) => found.extend(rule(&blocks, key, access, needs)),
            _ => {}
        }
        before = (before.1, part);
    }
    found
}

/// The rule, if the controller does not need it. `key` is a resource, or a field of the innermost block.
fn rule(blocks: &[(&str, &str)], key: &str, access: &str, needs: Needs) -> Option<String> {
    let (resource, name, is_policy) = match blocks.last() {
        Some((block, _)) if key != "policy" && is_tenancy(block) => (key, None, true),
        Some((block, name)) => (*block, Some(*name), key == "policy"),
        None => (key, None, true),
    };
    let kind = resource.strip_suffix("_prefix").unwrap_or(resource);
    let writes = match (kind, name) {
        ("acl" | "service" | "namespace" | "partition", _) => needs.writes,
        ("operator", _) => needs.writes && needs.operator,
        ("node", Some(name)) => needs.writes && name.starts_with("arn:"),
        _ => false,
    };
    let reads = match kind {
        "acl" | "agent" | "node" | "service" | "namespace" | "partition" => true,
        "operator" => needs.operator,
        _ => false,
    };
    let is_needed = is_policy && (writes || (reads && access != "write"));
    let text = match name {
        Some(name) => format!("{resource} \"{name}\" {{ {key} = \"{access}\" }}"),
        None => format!("{resource} = \"{access}\""),
    };
    (access != "deny" && !is_needed).then_some(text)
}

/// Whether a block has rules of its own, beside its policy (Enterprise).
fn is_tenancy(block: &str) -> bool {
    matches!(block.trim_end_matches("_prefix"), "namespace" | "partition")
}

/// The parts of a policy that matter, of any text: Consul reads policies with version 1 of HCL, which parsers of version 2 refuse
/// in part.
fn parts(policy: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = policy;
    while let Some(first) = rest.chars().next() {
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        let (part, left) = match first {
            '{' => (Some(Part::Open), after),
            '}' => (Some(Part::Close), after),
            '=' => (Some(Part::Equals), after),
            '"' => after.split_once('"').map_or((None, ""), |(text, left)| (Some(Part::Quoted(text)), left)),
            '#' => (None, after.split_once('\n').map_or("", |(_, left)| left)),
            '/' if after.starts_with('/') => (None, after.split_once('\n').map_or("", |(_, left)| left)),
            '/' if after.starts_with('*') => (None, after.split_once("*/").map_or("", |(_, left)| left)),
            letter if letter.is_ascii_alphabetic() => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                let (word, left) = rest.split_at(end);
                (Some(Part::Word(word)), left)
            }
            _ => (None, after),
        };
        parts.extend(part);
        rest = left;
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn permission_is_displayed_as_its_rule() {
        let prefix = "arn:aws:ecs:us-east-1:123456789012:cluster/";
        let clusters = ClusterSelection::parse("prod,test-*", Some(prefix)).unwrap();
        let rules = |needs_operator| -> Vec<String> {
            required(&clusters, clusters.patterns(), needs_operator).iter().map(Permission::to_string).collect()
        };
        let mut expected = vec![
            r#"acl = "write""#,
            r#"operator = "write""#,
            r#"agent_prefix "" { policy = "read" }"#,
            r#"node_prefix "" { policy = "read" }"#,
            r#"service_prefix "" { policy = "write" }"#,
            r#"node "arn:aws:ecs:us-east-1:123456789012:cluster/prod" { policy = "write" }"#,
            r#"node_prefix "arn:aws:ecs:us-east-1:123456789012:cluster/test-" { policy = "write" }"#,
        ];
        assert_eq!(rules(true), expected);
        expected.remove(1);
        assert_eq!(rules(false), expected);
    }

    #[test]
    fn documented_policies_grant_nothing_more() {
        for page in [
            include_str!("../../../docs/how-to/install-sam.md"),
            include_str!("../../../docs/reference/permissions.md"),
        ] {
            let policy = page.split("```hcl\n").nth(1).unwrap().split("```").next().unwrap();
            assert_eq!(exceeding(policy, Mode::Act, true), [""; 0]);
            assert_eq!(exceeding(policy, Mode::Act, false), ["operator = \"write\""], "optional");
        }
        let page = include_str!("../../../docs/how-to/move-from-consul-ecs.md");
        let policy = page.split("```hcl\n").nth(1).unwrap().split("```").next().unwrap();
        assert_eq!(exceeding(policy, Mode::Observe, false), [""; 0]);
    }

    #[test]
    fn rules_beyond_are_found_in_every_form() {
        let policy = "acl=\"write\" // key = \"write\"\n/* mesh = \"write\" */ keyring = \"read\"\nkey_prefix \"\" { policy = \"write\" }
            node_prefix \"\" {\n  policy = \"write\"\n}\nagent \"a\" { policy = \"write\" }
            service_prefix \"\" { policy = \"write\" intentions = \"write\" } session_prefix \"\" { policy = \"deny\" }
            partition_prefix \"\" { mesh = \"write\" namespace_prefix \"\" { acl = \"write\" query_prefix \"\" { policy = \"read\" } } }";
        let expected = [
            "keyring = \"read\"",
            "key_prefix \"\" { policy = \"write\" }",
            "node_prefix \"\" { policy = \"write\" }",
            "agent \"a\" { policy = \"write\" }",
            "service_prefix \"\" { intentions = \"write\" }",
            "mesh = \"write\"",
            "query_prefix \"\" { policy = \"read\" }",
        ];
        assert_eq!(exceeding(policy, Mode::Act, true), expected);
    }

    #[test]
    fn writes_are_too_much_for_observing() {
        let policy = "acl = \"write\"\noperator = \"read\"";
        assert_eq!(exceeding(policy, Mode::Observe, true), ["acl = \"write\""]);
        assert_eq!(exceeding(policy, Mode::Observe, false), ["acl = \"write\"", "operator = \"read\""]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(policy in "([a-z_]{1,4}|[\"{}=#/* \n]|é){0,60}") {
            let _ = exceeding(&policy, Mode::Act, true);
        }
    }
}
