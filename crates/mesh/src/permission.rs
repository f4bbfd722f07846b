//! What the controller's own Consul token has to allow.
//!
//! The resources and how rules name them: <https://developer.hashicorp.com/consul/docs/security/acl/acl-rules>

use std::fmt;

use super::arn::ClusterArn;

/// A thing that an ACL policy can allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// The kind of resource: `acl`, `agent`, `node`, `operator` or `service`.
    pub resource: &'static str,
    /// `read` or `write`.
    pub access: &'static str,
    /// Of which of them.
    pub segment: Segment,
}

/// Which resources of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// There is only one.
    Whole,
    /// All of them.
    All,
    /// The one of this name.
    Named(String),
}

impl Permission {
    /// The name to ask Consul for: the empty one is allowed only where all names are.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.segment {
            Segment::Whole | Segment::All => "",
            Segment::Named(name) => name,
        }
    }

    /// Whether it is of the whole datacenter, whatever the partition (Enterprise).
    #[must_use]
    pub fn is_global(&self) -> bool {
        matches!(self.resource, "agent" | "operator")
    }
}

/// The rule that grants it, as a policy spells it.
impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, access, .. } = self;
        match &self.segment {
            Segment::Whole => write!(f, "{resource} = \"{access}\""),
            Segment::All => write!(f, "{resource}_prefix \"\" {{ policy = \"{access}\" }}"),
            Segment::Named(name) => write!(f, "{resource} \"{name}\" {{ policy = \"{access}\" }}"),
        }
    }
}

/// Everything that the controller needs to look after `clusters`.
#[must_use]
pub fn required(clusters: &[ClusterArn]) -> Vec<Permission> {
    let permission = |resource, access, segment| Permission { resource, access, segment };
    let mut all = vec![
        permission("acl", "write", Segment::Whole),
        permission("operator", "write", Segment::Whole),
        permission("agent", "read", Segment::All),
        permission("node", "read", Segment::All),
        permission("service", "write", Segment::All),
    ];
    let node = |cluster: &ClusterArn| permission("node", "write", Segment::Named(cluster.as_str().to_owned()));
    all.extend(clusters.iter().map(node));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_permission_reads_as_the_rule_that_grants_it() {
        let cluster = "arn:aws:ecs:us-east-1:123456789012:cluster/prod".parse().unwrap();
        let rules: Vec<String> = required(&[cluster]).iter().map(Permission::to_string).collect();
        assert_eq!(
            rules,
            [
                r#"acl = "write""#,
                r#"operator = "write""#,
                r#"agent_prefix "" { policy = "read" }"#,
                r#"node_prefix "" { policy = "read" }"#,
                r#"service_prefix "" { policy = "write" }"#,
                r#"node "arn:aws:ecs:us-east-1:123456789012:cluster/prod" { policy = "write" }"#,
            ]
        );
    }
}
