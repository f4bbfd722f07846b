//! The auth methods of tasks, and their binding rules.
//!
//! Sources: <https://developer.hashicorp.com/consul/docs/security/acl/auth-methods/aws-iam>, and the names in
//! consul-ecs 0.5 and newer.

use serde_json::{Value, json};

use super::{
    policy::{API_GATEWAY_ROLE, CLIENT_ROLE, MESH_GATEWAY_ROLE, TERMINATING_GATEWAY_ROLE},
    scope::BootstrapExtent,
};
use consul::{Fields, Kind, Object, fields};
use mesh::{
    login::{GATEWAY_KIND_ENTITY_TAG, NAMESPACE_ENTITY_TAG, SERVICE_METHOD, SERVICE_NAME_ENTITY_TAG},
    tenancy::Tenancy,
};

/// The name of the auth method of client agents.
pub(super) const CLIENT_METHOD: &str = "iam-ecs-client-token";

/// The auth methods of a tenancy by name, to read them.
pub(super) fn methods(tenancy: &Tenancy, extent: BootstrapExtent) -> impl Iterator<Item = Object> {
    let names: &[&str] = match extent {
        BootstrapExtent::Full => &[SERVICE_METHOD, CLIENT_METHOD],
        BootstrapExtent::Dataplane => &[SERVICE_METHOD],
        BootstrapExtent::None => &[],
    };
    let object = |name: &&str| Object {
        kind: Kind::AuthMethod,
        name: (*name).to_owned(),
        tenancy: tenancy.clone(),
        body: Fields::new(),
    };
    names.iter().map(object)
}

/// The auth method of services and gateways, for the IAM roles that match `principals`, and its binding rules: a login
/// gets the identity of the service in the tag of its IAM role, and a gateway the ACL role of its kind.
pub(super) fn of_services(tenancy: &Tenancy, principals: &str) -> Vec<Object> {
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
