//! The objects of the bootstrap: how each kind is read, created and updated.

use consul::{ConsulBootstrap as _, Kind, Object};
use mesh::tenancy::Tenancy;
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

use super::{request, seen};
use crate::client::{ACCESSOR, CLUSTER, Rotating, client, enterprise};

/// One object of each kind, in the tenancy that the bootstrap gives it.
fn objects() -> Vec<Object> {
    let object = |kind, name: &str, tenancy: &Tenancy, body: Value| Object {
        kind,
        name: name.to_owned(),
        tenancy: tenancy.clone(),
        body: body.as_object().unwrap().clone(),
    };
    let (home, rule) = (enterprise().home(), json!({ "AuthMethod": "m", "BindType": "service", "BindName": "n" }));
    vec![
        // Partitions belong to the datacenter
        object(Kind::Partition, "team", &Tenancy::Community, json!({ "Name": "team" })),
        object(Kind::Namespace, "shop", &enterprise(), json!({ "Name": "shop" })),
        object(Kind::Policy, "p", &home, json!({ "Name": "p" })),
        object(Kind::Role, "r", &home, json!({ "Name": "r" })),
        object(Kind::AuthMethod, "m", &home, json!({ "Name": "m" })),
        object(Kind::BindingRule, "service n", &home, rule),
        object(Kind::AnonymousToken, ACCESSOR, &Tenancy::of_default_partition(), json!({ "AccessorID": ACCESSOR })),
        object(Kind::SyntheticNode, CLUSTER, &home, json!({ "Node": CLUSTER })),
    ]
}

/// A Consul with an object under every name, and with an older binding rule that binds the same as a new one.
fn answer(seen: &RecordedRequest) -> Answer {
    let rule = |id: &str, index: u64| json!({ "ID": id, "BindType": "service", "BindName": "n", "CreateIndex": index });
    match (seen.method.as_str(), seen.uri.split('?').next().unwrap_or_default()) {
        ("GET", "/v1/agent/self") => Answer::ok(r#"{"Config":{"Datacenter":"dc1","PrimaryDatacenter":"dc1"}}"#),
        ("GET", "/v1/namespaces") => Answer::ok(r#"[{"Name":"shop"}]"#),
        ("GET", "/v1/acl/binding-rules") => Answer::ok(json!([rule("new", 9), rule("old", 7)]).to_string()),
        ("GET", "/v1/catalog/nodes") => Answer::ok("[{}]"),
        _ => Answer::ok(r#"{"ID":"new"}"#),
    }
}

#[tokio::test]
async fn reads_of_the_bootstrap_name_their_tenancy() {
    let server = Recorder::start(|seen, _| answer(seen)).await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    assert!(consul.is_primary().await.unwrap());
    consul.namespaces(enterprise().partition().unwrap()).await.unwrap();
    for object in objects() {
        assert!(consul.read(&object).await.unwrap().is_some(), "{object}");
    }
    assert_eq!(
        seen(&server),
        [
            request("GET /v1/agent/self"),
            request("GET /v1/namespaces?partition=team"),
            request("GET /v1/partition/team"),
            request("GET /v1/namespace/shop?partition=team"),
            request("GET /v1/acl/policy/name/p?partition=team&ns=default"),
            request("GET /v1/acl/role/name/r?partition=team&ns=default"),
            request("GET /v1/acl/auth-method/m?partition=team&ns=default"),
            request("GET /v1/acl/binding-rules?authmethod=m&partition=team&ns=default"),
            request(format!("GET /v1/acl/token/{ACCESSOR}?partition=default&ns=default")),
            request(format!("GET /v1/catalog/nodes?filter=Node+%3D%3D+%22{}%22&partition=team", encoded(CLUSTER))),
        ]
    );
}

/// The text in a query.
fn encoded(text: &str) -> String {
    text.replace(':', "%3A").replace('/', "%2F")
}

#[tokio::test]
async fn creations_of_the_bootstrap_name_their_tenancy() {
    let server = Recorder::start(|seen, _| answer(seen)).await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    for object in objects() {
        consul.create(&object, object.body.clone()).await.unwrap();
    }
    let bodies: Vec<Value> = objects().into_iter().map(|object| Value::Object(object.body)).collect();
    let create = |line: &str, index: usize| (line.to_owned(), bodies[index].clone());
    assert_eq!(
        seen(&server),
        [
            create("PUT /v1/partition", 0),
            create("PUT /v1/namespace?partition=team", 1),
            create("PUT /v1/acl/policy?partition=team&ns=default", 2),
            create("PUT /v1/acl/role?partition=team&ns=default", 3),
            create("PUT /v1/acl/auth-method?partition=team&ns=default", 4),
            create("PUT /v1/acl/binding-rule?partition=team&ns=default", 5),
            // The older rule stays
            request("GET /v1/acl/binding-rules?authmethod=m&partition=team&ns=default"),
            request("DELETE /v1/acl/binding-rule/new?partition=team&ns=default"),
            create("PUT /v1/acl/token?partition=default&ns=default", 6),
            create("PUT /v1/catalog/register?partition=team", 7),
        ]
    );
}

#[tokio::test]
async fn updates_of_the_bootstrap_name_their_tenancy() {
    let server = Recorder::start(|seen, _| answer(seen)).await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    // The kinds that the bootstrap extends
    let extended = [Kind::Namespace, Kind::Role, Kind::AuthMethod, Kind::AnonymousToken];
    let body = json!({ "ID": "id-1", "Description": "extended" });
    for object in objects().iter().filter(|object| extended.contains(&object.kind)) {
        consul.update(object, body.as_object().unwrap().clone()).await.unwrap();
    }
    assert_eq!(
        seen(&server),
        [
            "PUT /v1/namespace/shop?partition=team".to_owned(),
            "PUT /v1/acl/role/id-1?partition=team&ns=default".to_owned(),
            "PUT /v1/acl/auth-method/m?partition=team&ns=default".to_owned(),
            format!("PUT /v1/acl/token/{ACCESSOR}?partition=default&ns=default"),
        ]
        .map(|line| (line, body.clone()))
    );
}
