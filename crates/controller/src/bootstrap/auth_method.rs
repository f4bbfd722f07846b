//! The auth methods of tasks, and their binding rules.
//!
//! Sources: <https://developer.hashicorp.com/consul/docs/security/acl/auth-methods/aws-iam>, and the names in
//! consul-ecs 0.5 and newer.

use serde_json::{Value, json};

use super::policy::{API_GATEWAY_ROLE, CLIENT_ROLE, MESH_GATEWAY_ROLE, TERMINATING_GATEWAY_ROLE};
use consul::{Kind, Object, fields};
use mesh::tenancy::Tenancy;

/// The name of the auth method of services and gateways.
pub(super) const SERVICE_METHOD: &str = "iam-ecs-service-token";
/// The name of the auth method of client agents.
pub(super) const CLIENT_METHOD: &str = "iam-ecs-client-token";

// Tags of IAM roles. They contain dots, because a binding rule cannot refer to a tag with a slash.
const GATEWAY_KIND_TAG: &str = "consul.hashicorp.com.gateway-kind";
const NAMESPACE_TAG: &str = "consul.hashicorp.com.namespace";
const SERVICE_NAME_TAG: &str = "consul.hashicorp.com.service-name";

/// The auth method of services and gateways, for the IAM roles that match `principals`, and its binding rules: a login
/// gets the identity of the service in the tag of its IAM role, and a gateway the ACL role of its kind.
#[must_use]
pub(super) fn of_services(tenancy: &Tenancy, principals: &str) -> Vec<Object> {
    let config = json!({
        "BoundIAMPrincipalARNs": [principals],
        "EnableIAMEntityDetails": true,
        "IAMEntityTags": [GATEWAY_KIND_TAG, NAMESPACE_TAG, SERVICE_NAME_TAG],
    });
    let mut method = method(tenancy, SERVICE_METHOD, "AWS IAM auth method for ECS service tokens", config);
    if matches!(tenancy, Tenancy::Enterprise { .. }) {
        let rule = json!({
            "Selector": format!(r#"entity_tags["{NAMESPACE_TAG}"] != """#),
            "BindNamespace": format!("${{entity_tags.{NAMESPACE_TAG}}}"),
        });
        method.body.insert("NamespaceRules".to_owned(), json!([rule]));
    }
    let service = format!("${{entity_tags.{SERVICE_NAME_TAG}}}");
    let gateway = |kind: &str, role: &str| {
        let selector = format!(r#"entity_tags["{GATEWAY_KIND_TAG}"] == "{kind}""#);
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
#[must_use]
pub(super) fn of_clients(tenancy: &Tenancy, principals: &str) -> Vec<Object> {
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
    Object { kind: Kind::AuthMethod, name: name.to_owned(), tenancy: tenancy.clone(), body }
}

fn rule(tenancy: &Tenancy, method: &str, description: &str, bind: (&str, &str), selector: &str) -> Object {
    let body = fields([
        ("AuthMethod", json!(method)),
        ("Description", json!(description)),
        ("BindType", json!(bind.0)),
        ("BindName", json!(bind.1)),
        ("Selector", json!(selector)),
    ]);
    Object { kind: Kind::BindingRule, name: format!("{} {}", bind.0, bind.1), tenancy: tenancy.clone(), body }
}
