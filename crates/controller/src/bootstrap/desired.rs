//! The objects that Consul requires before the first task logs in: auth methods and their binding rules, policies and
//! roles, the anonymous token's policy, the clusters' synthetic nodes; in Enterprise the partition and its namespaces
//! too.
//!
//! Several controllers, other tools and operators share these objects. So none is replaced: missing ones are created,
//! and lists are extended ([`super::merge`]).

use consul::{Kind, Object, fields};
use mesh::{arn::ClusterArn, tenancy::Tenancy, token_mode::TokenMode};
use serde_json::json;

use super::{auth_method, enterprise, policy, scope::BootstrapExtent};

/// The input of the desired objects of one partition.
#[derive(Debug, Clone, Copy)]
pub(super) struct BootstrapTarget<'a> {
    /// Which objects are created.
    pub extent: BootstrapExtent,
    /// The ARN pattern of the IAM roles that may log in.
    pub principals: &'a str,
    /// How tasks get their tokens: logins require auth methods.
    pub mode: TokenMode,
    /// The active clusters, which get a synthetic node.
    pub nodes: &'a [&'a ClusterArn],
    /// The default namespace of the deployment's partition, or Community.
    pub tenancy: &'a Tenancy,
    /// Whether this is the primary datacenter: the anonymous token is replicated from there.
    pub is_primary: bool,
}

/// The desired objects, each after those that it refers to. The partition itself is not included: its namespaces can be
/// listed only after its creation ([`enterprise::partition`]).
pub(super) fn objects(desired: &BootstrapTarget<'_>) -> Vec<Object> {
    let mut objects = Vec::new();
    if desired.extent == BootstrapExtent::None {
        return objects;
    }
    if let Tenancy::Enterprise { partition, namespace } = desired.tenancy {
        objects.push(enterprise::cross_namespace_policy(desired.tenancy, partition));
        // Namespaces of other creators stay as they are.
        objects.push(enterprise::namespace(partition, namespace));
    }
    if desired.mode != TokenMode::SecretsManager {
        objects.extend(for_logins(desired));
    }
    objects
}

fn for_logins(desired: &BootstrapTarget<'_>) -> Vec<Object> {
    let (tenancy, principals) = (desired.tenancy, desired.principals);
    let mut objects = policy::of_gateways(tenancy);
    if desired.extent == BootstrapExtent::Full {
        objects.extend(policy::of_clients(tenancy));
    }
    if desired.is_primary {
        objects.extend(policy::of_the_anonymous_token(tenancy));
    }
    objects.extend(auth_method::of_services(tenancy, principals));
    if desired.extent == BootstrapExtent::Full {
        objects.extend(auth_method::of_clients(tenancy, principals));
    }
    objects.extend(desired.nodes.iter().map(|cluster| synthetic_node(tenancy, cluster)));
    objects
}

/// The synthetic node of a cluster, for the services of its tasks. It has no agent and no address.
pub(super) fn synthetic_node(tenancy: &Tenancy, cluster: &ClusterArn) -> Object {
    let body = fields([
        ("Node", json!(cluster.as_str())),
        ("Address", json!("127.0.0.1")),
        ("NodeMeta", json!({ "synthetic-node": "true" })),
    ]);
    Object { kind: Kind::SyntheticNode, name: cluster.as_str().to_owned(), tenancy: tenancy.clone(), body }
}

#[cfg(test)]
mod tests;
