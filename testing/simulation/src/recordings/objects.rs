//! The objects of the bootstrap.

use consul::{Object, ObjectKind};
use mesh::{consul_ecs::SERVICE_METHOD, tenancy::Tenancy};
use serde_json::{Value, json};

use super::{Given, NOTHING, Row};
use crate::{dialect::Answer, world::World};

fn named(kind: ObjectKind, name: &str, body: &Value) -> Object {
    let body = body.as_object().cloned().unwrap_or_default();
    Object { kind, name: name.to_owned(), tenancy: Tenancy::Community, body }
}

/// Reads an object.
pub(super) fn object(world: &mut World, kind: ObjectKind, name: &str) -> Result<Value, Answer> {
    world.object(&named(kind, name, &json!({}))).map(Value::Object)
}

/// An answer without indexes, which are not compared.
fn body(answer: Result<consul::Fields, Answer>) -> Result<Value, Answer> {
    answer.map(|mut fields| {
        fields.retain(|name, _| !name.ends_with("Index"));
        Value::Object(fields)
    })
}

fn create(world: &mut World, kind: ObjectKind, fields: &Value) -> Result<Value, Answer> {
    let object = named(kind, fields["Name"].as_str().unwrap_or_default(), fields);
    body(world.create_object(&object, &object.body))
}

fn policy(world: &mut World) -> Result<Value, Answer> {
    create(world, ObjectKind::Policy, &json!({ "Name": "p1" }))
}

fn delete_policy(world: &mut World) -> Result<Value, Answer> {
    world.delete_policy(&named(ObjectKind::Policy, "p1", &json!({}))).map(|()| json!(true))
}

fn role(world: &mut World) -> Result<Value, Answer> {
    create(world, ObjectKind::Role, &json!({ "Name": "r1", "Description": "x" }))
}

/// The auth method, as the bootstrap writes it.
fn method(description: &str) -> Value {
    let tags = ["service-name", "gateway-kind", "namespace"].map(|tag| format!("consul.hashicorp.com.{tag}"));
    let config = json!({
        "BoundIAMPrincipalARNs": ["arn:aws:iam::123456789012:role/consul-ecs/*"],
        "EnableIAMEntityDetails": true,
        "IAMEntityTags": tags,
    });
    json!({ "Name": SERVICE_METHOD, "Type": "aws-iam", "Description": description, "Config": config })
}

fn create_method(world: &mut World) -> Result<Value, Answer> {
    create(world, ObjectKind::AuthMethod, &method("d"))
}

fn rule(world: &mut World, method: &str, bind: [&str; 2], selector: &str) -> Result<Value, Answer> {
    let [kind, name] = bind;
    let fields = json!({ "AuthMethod": method, "BindType": kind, "BindName": name, "Selector": selector });
    create(world, ObjectKind::BindingRule, &fields)
}

const TO_SERVICE: [&str; 2] = ["service", "${entity_tags.consul.hashicorp.com.service-name}"];
const TO_ROLE: [&str; 2] = ["role", "gw"];
const OF_GATEWAYS: &str = r#"entity_tags["consul.hashicorp.com.gateway-kind"] == "mesh-gateway""#;

const WITH_POLICY: Given = |world| drop(policy(world).unwrap());
const WITH_ROLE: Given = |world| drop(role(world).unwrap());
/// In 1.8.7, which refuses it, there is none.
const WITH_METHOD: Given = |world| drop(create_method(world));
const WITH_RULES: Given = |world| {
    WITH_METHOD(world);
    for (bind, selector) in [(TO_ROLE, OF_GATEWAYS), (TO_SERVICE, "")] {
        let _ = rule(world, SERVICE_METHOD, bind, selector);
    }
};

fn rules(world: &World, method: &str) -> Value {
    world.binding_rules(method).into_iter().map(|rule| body(Ok(rule)).unwrap()).collect()
}

/// In the order of the recording.
pub(super) const ACL_ROWS: &[Row] = &[
    ("read a policy by a name that is not there", NOTHING, |world| object(world, ObjectKind::Policy, "absent")),
    ("create a policy", NOTHING, |world| policy(world)),
    ("create it again", WITH_POLICY, |world| policy(world)),
    ("read it by name", WITH_POLICY, |world| {
        object(world, ObjectKind::Policy, "p1").map(|policy| json!({ "Name": policy["Name"] }))
    }),
    ("delete a policy", WITH_POLICY, |world| delete_policy(world)),
    ("delete a policy that is gone", NOTHING, |world| delete_policy(world)),
    ("read a role by a name that is not there", NOTHING, |world| object(world, ObjectKind::Role, "absent")),
    ("create a role", NOTHING, |world| role(world)),
    ("create the role again", WITH_ROLE, |world| role(world)),
    ("update a role that is not there", NOTHING, |world| {
        let fields = json!({ "ID": "0000003c-1111-4111-8111-111111111111", "Name": "r9" });
        let role = named(ObjectKind::Role, "r9", &fields);
        body(world.update_object(&role, &role.body))
    }),
    ("read an auth method that is not there", NOTHING, |world| object(world, ObjectKind::AuthMethod, "absent")),
    ("create an aws-iam auth method", NOTHING, |world| create_method(world)),
    ("create it again", WITH_METHOD, |world| create_method(world)),
    ("read the aws-iam auth method", WITH_METHOD, |world| {
        let read = object(world, ObjectKind::AuthMethod, SERVICE_METHOD)?;
        body(Ok(read.as_object().cloned().unwrap()))
    }),
    ("update it", WITH_METHOD, |world| {
        let method = named(ObjectKind::AuthMethod, SERVICE_METHOD, &method("e"));
        body(world.update_object(&method, &method.body))
    }),
    ("one of a type that is not known", NOTHING, |world| {
        create(world, ObjectKind::AuthMethod, &json!({ "Name": "odd", "Type": "odd" }))
    }),
    ("a rule of a method that is not there", NOTHING, |world| rule(world, "absent", ["service", "x"], "")),
    ("create a binding rule", WITH_METHOD, |world| rule(world, SERVICE_METHOD, TO_SERVICE, "")),
    ("one for a role, with a selector", WITH_METHOD, |world| rule(world, SERVICE_METHOD, TO_ROLE, OF_GATEWAYS)),
    // The order of the rules is that of their random IDs.
    ("list binding rules of a method", WITH_RULES, |world| Ok(rules(world, SERVICE_METHOD))),
    ("list binding rules of a method that is not there", NOTHING, |world| Ok(rules(world, "absent"))),
];

/// Partitions and namespaces, which these versions do not have, in the order of the recording.
pub(super) const ENTERPRISE_ROWS: &[Row] = &[
    ("create a partition", NOTHING, |world| create(world, ObjectKind::Partition, &json!({ "Name": "team" }))),
    ("read a partition", NOTHING, |world| object(world, ObjectKind::Partition, "team")),
    ("list namespaces", NOTHING, |world| world.namespaces(&"team".parse().unwrap()).map(|names| json!(names.len()))),
    ("create a namespace", NOTHING, |world| create(world, ObjectKind::Namespace, &json!({ "Name": "team" }))),
    ("read a namespace", NOTHING, |world| object(world, ObjectKind::Namespace, "team")),
];
