//! The objects of the bootstrap: simulated Consul against a real one. Auth methods have a type that every version has.

use consul::{ConsulError, Fields, Object, ObjectKind};
use controller::Edges;
use mesh::tenancy::Tenancy;
use serde_json::{Map, Value, json};

use super::{Exchange, assert_same, real};
use crate::{calls::CallOutcome, dialect::Dialect, direct::Direct, objects::ANONYMOUS};
use local_stack::world::World;

const NODE: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/conformance-node";
/// A key that signs nothing: Consul only checks that it is one.
const KEY: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE0sFIS3c+Wno0eCs07ZSEpp2RH/q+
h0bjgo8GW3hiZ/buPO2mcx8xgl4XrGeb8D4Gs/En2pLU+UhEwdMbUr2XbQ==
-----END PUBLIC KEY-----
";
/// Fields that Consul makes up or computes.
const NOT_COMPARED: [&str; 9] =
    ["ID", "CreateIndex", "ModifyIndex", "Hash", "CreateTime", "SecretID", "Datacenter", "TaggedAddresses", "Local"];

fn object(kind: ObjectKind, name: &str, body: &Value) -> Object {
    let body = body.as_object().cloned().unwrap();
    Object { kind, name: name.to_owned(), tenancy: Tenancy::Community, body }
}

fn policy(name: &str) -> Object {
    let rules = "node_prefix \"\" { policy = \"read\" }";
    object(ObjectKind::Policy, name, &json!({ "Name": name, "Description": "of a test", "Rules": rules }))
}

fn role(description: &str, policies: &[&str]) -> Object {
    let links: Vec<Value> = policies.iter().map(|name| json!({ "Name": name })).collect();
    let body = json!({ "Name": "conformance-role", "Description": description, "Policies": links });
    object(ObjectKind::Role, "conformance-role", &body)
}

fn method(description: &str) -> Object {
    let config = json!({ "BoundIssuer": "conformance", "JWTValidationPubKeys": [KEY] });
    let name = "conformance-method";
    let body = json!({ "Name": name, "Type": "jwt", "Description": description, "Config": config });
    object(ObjectKind::AuthMethod, name, &body)
}

fn rule(name: &str) -> Object {
    let body = json!({ "AuthMethod": "conformance-method", "BindType": "service", "BindName": name, "Selector": "" });
    object(ObjectKind::BindingRule, &format!("service {name}"), &body)
}

fn anonymous(links: &[&str]) -> Object {
    let links: Vec<Value> = links.iter().map(|name| json!({ "Name": name })).collect();
    object(ObjectKind::AnonymousToken, ANONYMOUS, &json!({ "AccessorID": ANONYMOUS, "Policies": links }))
}

fn node(name: &str) -> Object {
    let body = json!({ "Node": name, "Address": "127.0.0.1", "NodeMeta": { "synthetic-node": "true" } });
    object(ObjectKind::SyntheticNode, name, &body)
}

/// The fields that are compared, without empty ones.
fn seen(fields: &Map<String, Value>) -> String {
    let is_empty = |value: &Value| value.is_null() || *value == json!("") || *value == json!([]);
    let kept = fields.iter().filter(|(name, value)| !NOT_COMPARED.contains(&name.as_str()) && !is_empty(value));
    let mut shown: Vec<String> = kept
        .map(|(name, value)| match value.as_array() {
            Some(links) => {
                let of_links =
                    links.iter().map(|link| link["Name"].as_str().map_or_else(|| link.to_string(), str::to_owned));
                format!("{name}={:?}", of_links.collect::<Vec<_>>())
            }
            None => format!("{name}={value}"),
        })
        .collect();
    shown.sort();
    shown.join(" ")
}

async fn read(edges: &Edges, object: &Object) -> Result<Option<String>, ConsulError> {
    Ok(edges.reads.consul.read(object).await?.as_ref().map(seen))
}

async fn create(edges: &Edges, object: &Object) -> Result<(), ConsulError> {
    edges.writes.consul.create(object, object.body.clone()).await
}

/// Extends what Consul has by these fields, as the bootstrap does.
async fn update(edges: &Edges, object: &Object, with: &Object) -> Result<(), ConsulError> {
    let mut body: Fields = edges.reads.consul.read(object).await?.unwrap_or_default();
    body.extend(with.body.clone());
    edges.writes.consul.update(object, body).await
}

async fn policies_and_roles(edges: &Edges, all: &mut Exchange) {
    let [first, second] = ["conformance-first", "conformance-second"];
    all.note("read a policy that is not there", read(edges, &policy(first)).await);
    all.note("create a policy", create(edges, &policy(first)).await);
    all.note("create it again", create(edges, &policy(first)).await);
    all.note("create another one", create(edges, &policy(second)).await);
    all.note("read it", read(edges, &policy(first)).await);
    all.note("read a role that is not there", read(edges, &role("", &[])).await);
    all.note("create a role with an unknown policy", create(edges, &role("", &["conformance-absent"])).await);
    all.note("create a role", create(edges, &role("made", &[first])).await);
    all.note("create the role again", create(edges, &role("other", &[second])).await);
    all.note("read the role", read(edges, &role("", &[])).await);
    let before = edges.reads.consul.read(&role("", &[])).await.unwrap().unwrap();
    all.note("extend the role", update(edges, &role("", &[]), &role("made", &[first, second])).await);
    all.note("read the extended role", read(edges, &role("", &[])).await);
    all.note("overwrite it with what was read before", edges.writes.consul.update(&role("", &[]), before).await);
    all.note("the extension is lost", read(edges, &role("", &[])).await);
    let unknown = json!({ "ID": "c0a1e5ce-0000-4000-8000-000000000009", "Name": "conformance-role" });
    let unknown = unknown.as_object().cloned().unwrap();
    all.note("update a role with an unknown ID", edges.writes.consul.update(&role("", &[]), unknown).await);
    all.note("link the anonymous token", update(edges, &anonymous(&[]), &anonymous(&[first])).await);
    all.note("read the anonymous token", read(edges, &anonymous(&[])).await);
}

async fn methods_and_rules(edges: &Edges, all: &mut Exchange) {
    all.note("read a method that is not there", read(edges, &method("")).await);
    all.note("create a rule without its method", create(edges, &rule("web")).await);
    all.note("read the rules of no method", read(edges, &rule("web")).await);
    all.note("create a method", create(edges, &method("made")).await);
    all.note("create the method again: it is overwritten", create(edges, &method("again")).await);
    all.note("read the method", read(edges, &method("")).await);
    all.note("update the method", edges.writes.consul.update(&method(""), method("updated").body).await);
    all.note("read the updated method", read(edges, &method("")).await);
    let odd = object(ObjectKind::AuthMethod, "conformance-odd", &json!({ "Name": "conformance-odd", "Type": "odd" }));
    all.note("create a method of an unknown type", create(edges, &odd).await);
    all.note("create a rule", create(edges, &rule("web")).await);
    all.note("create another rule", create(edges, &rule("shop")).await);
    all.note("create a rule again: the older one stays", create(edges, &rule("web")).await);
    all.note("read a rule", read(edges, &rule("web")).await);
    all.note("read a rule that is not there", read(edges, &rule("till")).await);
}

async fn nodes(edges: &Edges, all: &mut Exchange) {
    all.note("read a node that is not there", read(edges, &node(NODE)).await);
    all.note("create a node", create(edges, &node(NODE)).await);
    all.note("read the node", read(edges, &node(NODE)).await);
    all.note("read it in another case", read(edges, &node(&NODE.replace("node", "NODE"))).await);
    all.note("create it again", create(edges, &node(NODE)).await);
    all.note("delete the node", edges.writes.consul.deregister_node(NODE, &Tenancy::Community).await);
    all.note("read what was deleted", read(edges, &node(NODE)).await);
}

async fn written(edges: &Edges) -> Exchange {
    let mut all = Exchange::default();
    all.note("is primary", edges.reads.consul.is_primary().await);
    policies_and_roles(edges, &mut all).await;
    methods_and_rules(edges, &mut all).await;
    nodes(edges, &mut all).await;
    all
}

/// What is left without a policy and the auth method.
async fn left(edges: &Edges) -> Exchange {
    let mut all = Exchange::default();
    all.note("the role has lost its link", read(edges, &role("", &[])).await);
    all.note("so has the anonymous token", read(edges, &anonymous(&[])).await);
    all.note("the rules are gone with their method", read(edges, &rule("web")).await);
    all.note("create the method anew", create(edges, &method("anew")).await);
    all.note("it has no rules", read(edges, &rule("web")).await);
    all
}

#[tokio::test]
async fn objects_of_the_bootstrap_behave_as_on_consul() {
    let _turn = super::turn().await;
    let world = World::without_deployment("conform-objects").await;
    let edges = real(&world).await;
    let of_written = written(&edges).await;
    let policy = world.consul.get("/v1/acl/policy/name/conformance-first").await;
    world.consul.delete(&format!("/v1/acl/policy/{}", policy["ID"].as_str().unwrap())).await;
    world.consul.delete("/v1/acl/auth-method/conformance-method").await;
    let of_left = left(&edges).await;
    for simulated in Dialect::ALL.map(Direct::new) {
        assert_same(&simulated.drive(CallOutcome::Served, written(&simulated.edges)), &of_written);
        simulated.with(|world| {
            for (kind, name) in
                [(ObjectKind::Policy, "conformance-first"), (ObjectKind::AuthMethod, "conformance-method")]
            {
                assert!(world.consul.remove_object(kind, &Tenancy::Community, name));
            }
        });
        assert_same(&simulated.drive(CallOutcome::Served, left(&simulated.edges)), &of_left);
    }
}
