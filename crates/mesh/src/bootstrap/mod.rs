//! What Consul has to hold before the first task logs in: auth methods and their binding rules, policies and roles,
//! the anonymous token's policy, the clusters' synthetic nodes; in Enterprise the partition and its namespaces too.
//!
//! Several controllers, other tools and people share these objects. So nothing is ever replaced: what is missing is
//! created, and lists are extended ([`merge`]).

pub mod auth_method;
pub mod enterprise;
pub mod merge;
pub mod object;
pub mod policy;

use std::{collections::BTreeSet, fmt, str::FromStr};

use serde_json::json;

use self::object::{Kind, Object, fields};
use super::{arn::ClusterArn, field::InvalidField, plan::TokenMode, tenancy::Tenancy, tenancy::TenancyName};

/// How much of the bootstrap a deployment wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BootstrapExtent {
    /// All of it.
    #[default]
    Full,
    /// Without the auth method of client agents, which the dataplane generation does not have.
    Dataplane,
    /// Nothing: somebody else sets Consul up.
    None,
}

/// What a deployment wants of the bootstrap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BootstrapScope {
    /// How much of it.
    pub extent: BootstrapExtent,
    /// The path below which the tasks' IAM roles are.
    pub iam_role_path: IamRolePath,
}

/// The path of IAM roles that may log in.
///
/// Source: <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IamRolePath(String);

impl IamRolePath {
    /// The ARN pattern of all roles below the path, in the account of `cluster`.
    #[must_use]
    pub fn principals(&self, cluster: &ClusterArn) -> String {
        format!("arn:{}:iam::{}:role{}*", cluster.aws_partition(), cluster.account(), self.0)
    }
}

impl Default for IamRolePath {
    /// The path that the Terraform modules of Consul on ECS use.
    fn default() -> Self {
        Self("/consul-ecs/".to_owned())
    }
}

impl FromStr for IamRolePath {
    type Err = InvalidField;

    fn from_str(path: &str) -> Result<Self, InvalidField> {
        // IAM allows a star, but in the pattern it would admit other roles than those of one path.
        let legal = path.bytes().all(|b| b.is_ascii_graphic() && b != b'*');
        if legal && path.len() <= 512 && path.starts_with('/') && path.ends_with('/') {
            Ok(Self(path.to_owned()))
        } else {
            Err(InvalidField::new("IAM role path", path, "a path that begins and ends with '/', such as /consul-ecs/"))
        }
    }
}

impl fmt::Display for IamRolePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the bootstrap is of.
#[derive(Debug, Clone, Copy)]
pub struct Wishes<'a> {
    /// What the deployment wants.
    pub scope: &'a BootstrapScope,
    /// Who makes tokens: logins need auth methods.
    pub mode: TokenMode,
    /// The clusters: of one account.
    pub clusters: &'a [ClusterArn],
    /// Those that ECS calls active: only they get a node.
    pub active: &'a BTreeSet<ClusterArn>,
    /// The default namespace of the deployment's partition, or Community.
    pub tenancy: &'a Tenancy,
    /// The namespaces that the partition has.
    pub namespaces: &'a [TenancyName],
    /// Whether this is the primary datacenter: the anonymous token is replicated from there.
    pub is_primary: bool,
}

/// Everything that Consul should hold, references before what refers to them. The partition itself is not among it: it
/// has to exist before its namespaces can be asked for ([`enterprise::partition`]).
#[must_use]
pub fn objects(wishes: &Wishes<'_>) -> Vec<Object> {
    let mut objects = Vec::new();
    if wishes.scope.extent == BootstrapExtent::None {
        return objects;
    }
    if let Tenancy::Enterprise { partition, namespace } = wishes.tenancy {
        let own = (!wishes.namespaces.contains(namespace)).then_some(namespace);
        objects.push(enterprise::cross_namespace_policy(wishes.tenancy, partition));
        objects.extend(own.into_iter().chain(wishes.namespaces).map(|name| enterprise::namespace(partition, name)));
    }
    if wishes.mode == TokenMode::AuthMethod {
        objects.extend(for_logins(wishes));
    }
    objects
}

fn for_logins(wishes: &Wishes<'_>) -> Vec<Object> {
    let Some(home) = wishes.clusters.first() else {
        return Vec::new();
    };
    let (tenancy, principals) = (wishes.tenancy, wishes.scope.iam_role_path.principals(home));
    let mut objects = policy::of_gateways(tenancy);
    if wishes.scope.extent == BootstrapExtent::Full {
        objects.extend(policy::of_clients(tenancy));
    }
    if wishes.is_primary {
        objects.extend(policy::of_the_anonymous_token(tenancy));
    }
    objects.extend(auth_method::of_services(tenancy, &principals));
    if wishes.scope.extent == BootstrapExtent::Full {
        objects.extend(auth_method::of_clients(tenancy, &principals));
    }
    let active = wishes.clusters.iter().filter(|cluster| wishes.active.contains(cluster));
    objects.extend(active.map(|cluster| synthetic_node(tenancy, cluster)));
    objects
}

/// The catalog's node for a cluster, which bears the services of its tasks. It has no agent and no address of its own.
fn synthetic_node(tenancy: &Tenancy, cluster: &ClusterArn) -> Object {
    let body = fields([
        ("Node", json!(cluster.as_str())),
        ("Address", json!("127.0.0.1")),
        ("NodeMeta", json!({ "synthetic-node": "true" })),
    ]);
    Object { kind: Kind::SyntheticNode, name: cluster.as_str().to_owned(), tenancy: tenancy.clone(), body }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
