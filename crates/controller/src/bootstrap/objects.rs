//! The objects that Consul requires before the first task logs in: auth methods and their binding rules, policies and
//! roles, the anonymous token's policy, the clusters' synthetic nodes; in Enterprise the partition and its namespaces
//! too.
//!
//! Several controllers, other tools and operators share these objects. So none is replaced: missing ones are created,
//! and lists are extended ([`super::upsert`]). Partitions and namespaces are never deleted.
//!
//! Sources: <https://developer.hashicorp.com/consul/docs/security/acl/acl-rules>,
//! <https://developer.hashicorp.com/consul/docs/security/acl/auth-methods/aws-iam> and
//! <https://developer.hashicorp.com/consul/api-docs/namespaces>. The names are
//! consul-ecs's; the anonymous token's policy is shared with consul-k8s.

use consul::{Fields, Object, ObjectKind, fields};
use mesh::{
    arn::ClusterArn,
    consul_ecs::{GATEWAY_KIND_ENTITY_TAG, NAMESPACE_ENTITY_TAG, SERVICE_METHOD, SERVICE_NAME_ENTITY_TAG},
    scope::BootstrapExtent,
    settings::TokenMode,
    tenancy::{Tenancy, TenancyName},
};
use serde_json::{Value, json};

/// The input of the desired objects of one partition.
#[derive(Debug, Clone, Copy)]
pub(super) struct BootstrapTarget<'a> {
    /// Which objects are created.
    pub extent: BootstrapExtent,
    /// The ARN pattern of the IAM roles that may log in.
    pub principals: &'a str,
    /// How tasks get their tokens: logins require auth methods.
    pub token_mode: TokenMode,
    /// The default namespace of the deployment's partition, or Community.
    pub tenancy: &'a Tenancy,
    /// Whether this is the primary datacenter: the anonymous token is replicated from there.
    pub is_primary: bool,
}

/// The desired objects, each after those that it refers to. The partition itself is not included: its namespaces can be
/// listed only after its creation ([`partition_object`]). Nor are the clusters' nodes
/// ([`synthetic_node`]), because each may fail by itself.
pub(super) fn desired(target: &BootstrapTarget<'_>) -> Vec<Object> {
    let mut objects = Vec::new();
    if target.extent == BootstrapExtent::None {
        return objects;
    }
    if let Tenancy::Enterprise { partition, namespace } = target.tenancy {
        objects.push(cross_namespace_policy(target.tenancy, partition));
        // Namespaces of other creators stay as they are.
        objects.push(namespace_object(partition, namespace));
    }
    if target.token_mode != TokenMode::SecretsManager {
        objects.extend(for_logins(target));
    }
    objects
}

fn for_logins(target: &BootstrapTarget<'_>) -> Vec<Object> {
    let (tenancy, principals) = (target.tenancy, target.principals);
    let mut objects = gateway_policies(tenancy);
    if target.extent == BootstrapExtent::Full {
        objects.extend(client_policies(tenancy));
    }
    if target.is_primary {
        objects.extend(anonymous_token(tenancy));
    }
    objects.extend(service_logins(tenancy, principals));
    if target.extent == BootstrapExtent::Full {
        objects.extend(client_logins(tenancy, principals));
    }
    objects
}

/// The synthetic node of a cluster, for the services of its tasks. It has no agent and no address.
pub(super) fn synthetic_node(tenancy: &Tenancy, cluster: &ClusterArn) -> Object {
    let body = fields([
        ("Node", json!(cluster.as_str())),
        ("Address", json!("127.0.0.1")),
        ("NodeMeta", json!({ "synthetic-node": "true" })),
    ]);
    Object { kind: ObjectKind::SyntheticNode, name: cluster.as_str().to_owned(), tenancy: tenancy.clone(), body }
}

/// The name of the auth method of client agents.
const CLIENT_METHOD: &str = "iam-ecs-client-token";

/// The auth methods of a tenancy by name, to read them.
pub(super) fn auth_methods(tenancy: &Tenancy, extent: BootstrapExtent) -> impl Iterator<Item = Object> {
    let names: &[&str] = match extent {
        BootstrapExtent::Full => &[SERVICE_METHOD, CLIENT_METHOD],
        BootstrapExtent::Dataplane => &[SERVICE_METHOD],
        BootstrapExtent::None => &[],
    };
    let object = |name: &&str| Object {
        kind: ObjectKind::AuthMethod,
        name: (*name).to_owned(),
        tenancy: tenancy.clone(),
        body: Fields::new(),
    };
    names.iter().map(object)
}

/// The auth method of services and gateways, for the IAM roles that match `principals`, and its binding rules: a login
/// gets the identity of the service in the tag of its IAM role, and a gateway the ACL role of its kind.
fn service_logins(tenancy: &Tenancy, principals: &str) -> Vec<Object> {
    let config = json!({
        "BoundIAMPrincipalARNs": [principals],
        "EnableIAMEntityDetails": true,
        "IAMEntityTags": [GATEWAY_KIND_ENTITY_TAG, NAMESPACE_ENTITY_TAG, SERVICE_NAME_ENTITY_TAG],
    });
    let mut method = method(tenancy, SERVICE_METHOD, "AWS IAM auth method for ECS service tokens", config);
    if matches!(tenancy, Tenancy::Enterprise { .. }) {
        let rule = json!({
            "Selector": format!(r#"entity_tags["{NAMESPACE_ENTITY_TAG}"] != """#),
            "BindNamespace": format!("${{entity_tags.{NAMESPACE_ENTITY_TAG}}}"),
        });
        method.body.insert("NamespaceRules".to_owned(), json!([rule]));
    }
    let service = format!("${{entity_tags.{SERVICE_NAME_ENTITY_TAG}}}");
    let gateway = |kind: &str, role: &str| {
        let selector = format!(r#"entity_tags["{GATEWAY_KIND_ENTITY_TAG}"] == "{kind}""#);
        rule(tenancy, SERVICE_METHOD, "Role of a gateway of this kind on ECS", ("role", role), &selector)
    };
    vec![
        method,
        rule(tenancy, SERVICE_METHOD, "Identity of the service on ECS", ("service", &service), ""),
        gateway("api-gateway", API_GATEWAY_ROLE),
        gateway("mesh-gateway", MESH_GATEWAY_ROLE),
        gateway("terminating-gateway", TERMINATING_GATEWAY_ROLE),
    ]
}

/// The auth method of client agents, for the IAM roles that match `principals`, and its binding rule.
fn client_logins(tenancy: &Tenancy, principals: &str) -> Vec<Object> {
    // A wildcard in a principal requires entity details.
    let config = json!({ "BoundIAMPrincipalARNs": [principals], "EnableIAMEntityDetails": true });
    vec![
        method(tenancy, CLIENT_METHOD, "AWS IAM auth method for ECS client tokens", config),
        rule(tenancy, CLIENT_METHOD, "Role of a client agent on ECS", ("role", CLIENT_ROLE), ""),
    ]
}

fn method(tenancy: &Tenancy, name: &str, description: &str, config: Value) -> Object {
    let body = fields([
        ("Name", json!(name)),
        ("Type", json!("aws-iam")),
        ("Description", json!(description)),
        ("Config", config),
    ]);
    Object { kind: ObjectKind::AuthMethod, name: name.to_owned(), tenancy: tenancy.clone(), body }
}

fn rule(tenancy: &Tenancy, method: &str, description: &str, bind: (&str, &str), selector: &str) -> Object {
    let body = fields([
        ("AuthMethod", json!(method)),
        ("Description", json!(description)),
        ("BindType", json!(bind.0)),
        ("BindName", json!(bind.1)),
        ("Selector", json!(selector)),
    ]);
    Object { kind: ObjectKind::BindingRule, name: format!("{} {}", bind.0, bind.1), tenancy: tenancy.clone(), body }
}

const API_GATEWAY_ROLE: &str = "consul-ecs-api-gateway-role";
const MESH_GATEWAY_ROLE: &str = "consul-ecs-mesh-gateway-role";
/// The role of terminating gateways, to which users attach policies for external services.
const TERMINATING_GATEWAY_ROLE: &str = "consul-ecs-terminating-gateway-role";
/// The role of client agents that log in.
const CLIENT_ROLE: &str = "consul-ecs-client-role";
/// The accessor ID of the anonymous token in every Consul datacenter.
const ANONYMOUS_ACCESSOR: &str = "00000000-0000-0000-0000-000000000002";

/// The description of client agents' policies: marks them as the controller's.
const CLIENT_POLICY_DESCRIPTION: &str = "Policy of Consul client agents on ECS";

const API_GATEWAY_POLICY: &str = "consul-ecs-api-gateway-policy";
const MESH_GATEWAY_POLICY: &str = "consul-ecs-mesh-gateway-policy";
const CLIENT_POLICY: &str = "consul-ecs-client-policy";
const ANONYMOUS_POLICY: &str = "anonymous-token-policy";

const READ_ALL: &str = r#"node_prefix "" { policy = "read" } service_prefix "" { policy = "read" }"#;
const READ_SERVICES: &str = r#"service_prefix "" { policy = "read" }"#;

/// The policies of gateways, and their roles.
fn gateway_policies(tenancy: &Tenancy) -> Vec<Object> {
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
pub fn client_agent_policy(tenancy: &Tenancy, name: &str) -> Object {
    let rules = format!("node_prefix \"\" {{ policy = \"write\" }} {}", in_all_namespaces(tenancy, READ_SERVICES));
    policy(tenancy, name, CLIENT_POLICY_DESCRIPTION, &rules)
}

/// The policy of client agents that log in, and their role.
fn client_policies(tenancy: &Tenancy) -> Vec<Object> {
    vec![
        client_agent_policy(tenancy, CLIENT_POLICY),
        role(tenancy, CLIENT_ROLE, "Role of Consul client agents on ECS", Some(CLIENT_POLICY)),
    ]
}

/// The anonymous token and its policy. Gateways send requests to other datacenters with it, because tokens are not
/// forwarded.
///
/// There is one for all partitions, in the default partition.
fn anonymous_token(tenancy: &Tenancy) -> Vec<Object> {
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
        Object { kind: ObjectKind::AnonymousToken, name: ANONYMOUS_ACCESSOR.to_owned(), tenancy: home, body },
    ]
}

pub(super) fn policy(tenancy: &Tenancy, name: &str, description: &str, rules: &str) -> Object {
    let body = fields([("Name", json!(name)), ("Description", json!(description)), ("Rules", json!(rules))]);
    Object { kind: ObjectKind::Policy, name: name.to_owned(), tenancy: tenancy.clone(), body }
}

fn role(tenancy: &Tenancy, name: &str, description: &str, policy: Option<&str>) -> Object {
    let mut body = fields([("Name", json!(name)), ("Description", json!(description))]);
    if let Some(policy) = policy {
        body.insert("Policies".to_owned(), json!([{ "Name": policy }]));
    }
    Object { kind: ObjectKind::Role, name: name.to_owned(), tenancy: tenancy.clone(), body }
}

/// The rules for all namespaces (Enterprise): by default, rules apply to the policy's own namespace.
fn in_all_namespaces(tenancy: &Tenancy, rules: &str) -> String {
    match tenancy {
        Tenancy::Community => rules.to_owned(),
        Tenancy::Enterprise { .. } => format!("namespace_prefix \"\" {{ {rules} }}"),
    }
}

const CROSS_NAMESPACE_POLICY: &str = "cross-namespace-read";
const CROSS_NAMESPACE_DESCRIPTION: &str = "Allow service and node reads across namespaces within the partition";

/// The admin partition.
pub(super) fn partition_object(name: &TenancyName) -> Object {
    let body = fields([("Name", json!(name.as_str()))]);
    // Partitions belong to the datacenter.
    Object { kind: ObjectKind::Partition, name: name.as_str().to_owned(), tenancy: Tenancy::Community, body }
}

/// The policy of all tokens in the partition, in its default namespace.
pub(super) fn cross_namespace_policy(tenancy: &Tenancy, partition: &TenancyName) -> Object {
    const READ: &str = r#"service_prefix "" { policy = "read" } node_prefix "" { policy = "read" }"#;
    let rules = format!("partition \"{partition}\" {{ {} }}", in_all_namespaces(tenancy, READ));
    policy(tenancy, CROSS_NAMESPACE_POLICY, CROSS_NAMESPACE_DESCRIPTION, &rules)
}

/// A namespace of the partition, whose tokens have the policy.
pub(super) fn namespace_object(partition: &TenancyName, name: &TenancyName) -> Object {
    let body = fields([
        ("Name", json!(name.as_str())),
        ("ACLs", json!({ "PolicyDefaults": [{ "Name": CROSS_NAMESPACE_POLICY }] })),
    ]);
    let tenancy = Tenancy::Enterprise { partition: partition.clone(), namespace: name.clone() };
    Object { kind: ObjectKind::Namespace, name: name.as_str().to_owned(), tenancy, body }
}

#[cfg(test)]
mod tests;
