//! The partition, its namespaces, and the policy for service discovery across namespaces (Consul Enterprise).
//!
//! Source: <https://developer.hashicorp.com/consul/api-docs/namespaces>. Partitions and namespaces are never deleted.

use serde_json::json;

use super::policy;
use consul::{Kind, Object, fields};
use mesh::tenancy::{Tenancy, TenancyName};

const CROSS_NAMESPACE_POLICY: &str = "cross-namespace-read";
const CROSS_NAMESPACE_DESCRIPTION: &str = "Allow service and node reads across namespaces within the partition";

/// The admin partition.
pub(super) fn partition(name: &TenancyName) -> Object {
    let body = fields([("Name", json!(name.as_str()))]);
    // Partitions belong to the datacenter.
    Object { kind: Kind::Partition, name: name.as_str().to_owned(), tenancy: Tenancy::Community, body }
}

/// The policy of all tokens in the partition, in its default namespace.
pub(super) fn cross_namespace_policy(tenancy: &Tenancy, partition: &TenancyName) -> Object {
    const READ: &str = r#"service_prefix "" { policy = "read" } node_prefix "" { policy = "read" }"#;
    let rules = format!("partition \"{partition}\" {{ {} }}", policy::in_all_namespaces(tenancy, READ));
    policy::policy(tenancy, CROSS_NAMESPACE_POLICY, CROSS_NAMESPACE_DESCRIPTION, &rules)
}

/// A namespace of the partition, whose tokens have the policy.
pub(super) fn namespace(partition: &TenancyName, name: &TenancyName) -> Object {
    let body = fields([
        ("Name", json!(name.as_str())),
        ("ACLs", json!({ "PolicyDefaults": [{ "Name": CROSS_NAMESPACE_POLICY }] })),
    ]);
    let tenancy = Tenancy::Enterprise { partition: partition.clone(), namespace: name.clone() };
    Object { kind: Kind::Namespace, name: name.as_str().to_owned(), tenancy, body }
}
