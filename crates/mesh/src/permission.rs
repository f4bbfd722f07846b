//! The permissions that the controller's own ACL token requires.
//!
//! The resources and how rules name them: <https://developer.hashicorp.com/consul/docs/security/acl/acl-rules>

use std::fmt;

use super::cluster_selection::{ClusterPattern, ClusterSelection};

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

#[cfg(test)]
mod tests {
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
}
