//! The policies and roles of gateways, client agents and the anonymous token.
//!
//! Rules: <https://developer.hashicorp.com/consul/docs/security/acl/acl-rules>. Names: those of consul-ecs; the anonymous
//! token's policy is shared with consul-k8s.

use serde_json::json;

use consul::{Kind, Object, fields};
use mesh::tenancy::Tenancy;

/// The role of API gateways.
pub(super) const API_GATEWAY_ROLE: &str = "consul-ecs-api-gateway-role";
/// The role of mesh gateways.
pub(super) const MESH_GATEWAY_ROLE: &str = "consul-ecs-mesh-gateway-role";
/// The role of terminating gateways, to which users attach policies for external services.
pub(super) const TERMINATING_GATEWAY_ROLE: &str = "consul-ecs-terminating-gateway-role";
/// The role of client agents that log in.
pub(super) const CLIENT_ROLE: &str = "consul-ecs-client-role";
/// The accessor ID of the anonymous token in every Consul datacenter.
pub(super) const ANONYMOUS_ACCESSOR: &str = "00000000-0000-0000-0000-000000000002";

/// The description of client agents' policies: marks them as the controller's.
pub(super) const CLIENT_POLICY_DESCRIPTION: &str = "Policy of Consul client agents on ECS";

const API_GATEWAY_POLICY: &str = "consul-ecs-api-gateway-policy";
const MESH_GATEWAY_POLICY: &str = "consul-ecs-mesh-gateway-policy";
const CLIENT_POLICY: &str = "consul-ecs-client-policy";
const ANONYMOUS_POLICY: &str = "anonymous-token-policy";

const READ_ALL: &str = r#"node_prefix "" { policy = "read" } service_prefix "" { policy = "read" }"#;
const READ_SERVICES: &str = r#"service_prefix "" { policy = "read" }"#;

/// The policies of gateways, and their roles.
pub(super) fn of_gateways(tenancy: &Tenancy) -> Vec<Object> {
    let mut mesh_gateway = "mesh = \"write\"\npeering = \"read\"".to_owned();
    // Only a policy in the default partition may have rules for other partitions.
    if tenancy.partition().is_some_and(|partition| partition.as_str() == "default") {
        mesh_gateway.push_str("\npartition_prefix \"\" { peering = \"read\" }");
    }
    let api_gateway = format!("mesh = \"read\"\n{}", in_all_namespaces(tenancy, READ_ALL));
    vec![
        policy(tenancy, API_GATEWAY_POLICY, "Policy of API gateways on ECS", &api_gateway),
        policy(tenancy, MESH_GATEWAY_POLICY, "Policy of mesh gateways on ECS", &mesh_gateway),
        role(tenancy, API_GATEWAY_ROLE, "Role of API gateways on ECS", Some(API_GATEWAY_POLICY)),
        role(tenancy, MESH_GATEWAY_ROLE, "Role of mesh gateways on ECS", Some(MESH_GATEWAY_POLICY)),
        role(tenancy, TERMINATING_GATEWAY_ROLE, "Role of terminating gateways on ECS", None),
    ]
}

/// The policy of client agents, with this name: registers nodes, and reads services.
pub fn of_client_agents(tenancy: &Tenancy, name: &str) -> Object {
    let rules = format!("node_prefix \"\" {{ policy = \"write\" }} {}", in_all_namespaces(tenancy, READ_SERVICES));
    policy(tenancy, name, CLIENT_POLICY_DESCRIPTION, &rules)
}

/// The policy of client agents that log in, and their role.
pub(super) fn of_clients(tenancy: &Tenancy) -> Vec<Object> {
    vec![
        of_client_agents(tenancy, CLIENT_POLICY),
        role(tenancy, CLIENT_ROLE, "Role of Consul client agents on ECS", Some(CLIENT_POLICY)),
    ]
}

/// The anonymous token and its policy. Gateways send requests to other datacenters with it, because tokens are not
/// forwarded.
///
/// There is one for all partitions, in the default partition.
pub(super) fn of_the_anonymous_token(tenancy: &Tenancy) -> Vec<Object> {
    let (home, rules) = match tenancy {
        Tenancy::Community => (Tenancy::Community, READ_ALL.to_owned()),
        Tenancy::Enterprise { .. } => {
            let rules = format!("partition_prefix \"\" {{ {} }}", in_all_namespaces(tenancy, READ_ALL));
            (Tenancy::of_default_partition(), rules)
        }
    };
    let body = fields([("AccessorID", json!(ANONYMOUS_ACCESSOR)), ("Policies", json!([{ "Name": ANONYMOUS_POLICY }]))]);
    vec![
        policy(&home, ANONYMOUS_POLICY, "Anonymous token Policy", &rules),
        Object { kind: Kind::AnonymousToken, name: ANONYMOUS_ACCESSOR.to_owned(), tenancy: home, body },
    ]
}

pub(super) fn policy(tenancy: &Tenancy, name: &str, description: &str, rules: &str) -> Object {
    let body = fields([("Name", json!(name)), ("Description", json!(description)), ("Rules", json!(rules))]);
    Object { kind: Kind::Policy, name: name.to_owned(), tenancy: tenancy.clone(), body }
}

fn role(tenancy: &Tenancy, name: &str, description: &str, policy: Option<&str>) -> Object {
    let mut body = fields([("Name", json!(name)), ("Description", json!(description))]);
    if let Some(policy) = policy {
        body.insert("Policies".to_owned(), json!([{ "Name": policy }]));
    }
    Object { kind: Kind::Role, name: name.to_owned(), tenancy: tenancy.clone(), body }
}

/// The rules for all namespaces (Enterprise): by default, rules apply to the policy's own namespace.
pub(super) fn in_all_namespaces(tenancy: &Tenancy, rules: &str) -> String {
    match tenancy {
        Tenancy::Community => rules.to_owned(),
        Tenancy::Enterprise { .. } => format!("namespace_prefix \"\" {{ {rules} }}"),
    }
}
