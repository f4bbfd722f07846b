//! Consul Enterprise: the request of every method of the client, with its partition and namespace.

use consul::{
    Acl as _, Agents as _, Catalog as _, ConsulBootstrap as _, Grant, Kind, NewToken, Object, OwnToken,
    Permissions as _, Release as _,
};
use mesh::{
    arn::TaskArn,
    catalog::ServiceInstance,
    cluster_selection::ClusterSelection,
    consul_ecs::{MeshConfig, Registrar, TaskPlace, registrations},
    permissions::{Permission, required},
    tenancy::Tenancy,
    token::TokenPair,
};
use secrecy::SecretString;
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

use crate::client::{ACCESSOR, CLUSTER, TASK, accessor, against, check, enterprise, instance, token_json};

const NODE: &str = "arn:aws:ecs:us-east-1:123456789012:cluster%2Fprod";

/// The request as one line, and its body; `Null` without one.
fn seen(server: &Recorder) -> Vec<(String, Value)> {
    server.requests().iter().map(|request| (request.line(), request.json())).collect()
}

fn request(line: impl Into<String>) -> (String, Value) {
    (line.into(), Value::Null)
}

fn new_token(grant: Grant) -> NewToken {
    NewToken {
        pair: TokenPair { accessor: accessor(), secret: SecretString::from("s3cret") },
        description: "Token for web service".to_owned(),
        grant,
        tenancy: enterprise(),
    }
}

/// A Consul with an object under every name, and with an older binding rule that binds the same as a new one.
fn answer(seen: &RecordedRequest) -> Answer {
    let rule = |id: &str, index: u64| json!({ "ID": id, "BindType": "service", "BindName": "n", "CreateIndex": index });
    match (seen.method.as_str(), seen.uri.split('?').next().unwrap_or_default()) {
        ("GET", "/v1/agent/self") => Answer::ok(r#"{"Config":{"Datacenter":"dc1","PrimaryDatacenter":"dc1"}}"#),
        ("GET", "/v1/namespaces") => Answer::ok(r#"[{"Name":"shop"}]"#),
        ("GET", "/v1/acl/binding-rules") => Answer::ok(json!([rule("new", 9), rule("old", 7)]).to_string()),
        ("GET", "/v1/catalog/nodes") if seen.uri.contains("cluster%2Fprod") => Answer::ok("[{}]"),
        ("GET", "/v1/acl/policy/name/p") => {
            Answer::ok(r#"{"ID":"p-1","Description":"Policy of Consul client agents on ECS"}"#)
        }
        ("GET", path) if path.starts_with("/v1/catalog/node-services/") => Answer::ok(r#"{"Node":null,"Services":[]}"#),
        ("GET", path) if path.starts_with("/v1/acl/token/") => Answer::ok(token_json()),
        ("PUT", path) if path.starts_with("/v1/acl/token") => Answer::ok(token_json()),
        ("GET", "/v1/partitions" | "/v1/acl/tokens" | "/v1/agent/members" | "/v1/catalog/nodes") => Answer::ok("[]"),
        ("GET", path) if path.starts_with("/v1/health/") || path.starts_with("/v1/catalog/") => Answer::ok("[]"),
        _ => Answer::ok(r#"{"ID":"new"}"#),
    }
}

#[tokio::test]
async fn requests_name_their_tenancy() {
    let (server, consul) = against(|seen, _| answer(seen)).await;
    let policy = controller::bootstrap::client_agent_policy(&enterprise(), "p");
    let (tasks, service) = ([TASK.parse().unwrap()], "web".parse().unwrap());
    consul.token(&enterprise(), accessor()).await.unwrap();
    consul.create_token(&new_token(Grant::ServiceIdentity("web".parse().unwrap()))).await.unwrap();
    consul.update_token(&new_token(Grant::Policy("p".to_owned()))).await.unwrap();
    consul.delete_token(&enterprise(), accessor()).await.unwrap();
    consul.tokens(&enterprise(), &|_| true).await.unwrap();
    consul.create_policy(&policy).await.unwrap();
    assert!(consul.delete_policy(&policy).await.unwrap());
    consul.partitions().await.unwrap();
    consul.instances(&CLUSTER.parse().unwrap(), &enterprise(), &tasks).await.unwrap();
    consul.instances_of(&service, &enterprise(), &tasks).await.unwrap();
    consul.node(CLUSTER, &enterprise()).await.unwrap();
    consul.synthetic_nodes(&enterprise()).await.unwrap();
    consul.node_checks(CLUSTER, &enterprise()).await.unwrap();
    consul.checks(&[instance(enterprise())]).await.unwrap();
    consul.deregister_service(CLUSTER, "web-1", &enterprise()).await.unwrap();
    consul.deregister_node(CLUSTER, &enterprise()).await.unwrap();
    consul.members(&enterprise()).await.unwrap();
    consul.force_leave("ip-10-0-1-12", &enterprise()).await.unwrap();

    let equals = |selector: &str, value: &str| format!("filter={selector}+%3D%3D+%22{value}%22");
    let (of_node, of_service) =
        (equals("Meta%5B%22task-id%22%5D", TASK), equals("ServiceMeta%5B%22task-id%22%5D", TASK));
    let synthetic = equals("Meta%5B%22synthetic-node%22%5D", "true");
    let of_instance = equals("ServiceID", &format!("web-{TASK}"));
    assert_eq!(
        server.lines(),
        [
            format!("GET /v1/acl/token/{ACCESSOR}?partition=team&ns=shop"),
            "PUT /v1/acl/token?partition=team&ns=shop".to_owned(),
            format!("PUT /v1/acl/token/{ACCESSOR}?partition=team&ns=shop"),
            format!("DELETE /v1/acl/token/{ACCESSOR}?partition=team&ns=shop"),
            "GET /v1/acl/tokens?partition=team&ns=*".to_owned(),
            "PUT /v1/acl/policy?partition=team&ns=shop".to_owned(),
            "GET /v1/acl/policy/name/p?partition=team&ns=shop".to_owned(),
            "DELETE /v1/acl/policy/p-1?partition=team&ns=shop".to_owned(),
            "GET /v1/partitions".to_owned(),
            format!("GET /v1/catalog/node-services/{NODE}?{of_node}&partition=team&ns=shop"),
            format!("GET /v1/catalog/service/web?{of_service}&partition=team&ns=shop"),
            format!("GET /v1/catalog/node-services/{NODE}?partition=team&ns=*&consistent="),
            format!("GET /v1/catalog/nodes?{synthetic}&partition=team"),
            format!("GET /v1/health/node/{NODE}?partition=team&ns=*&consistent="),
            format!("GET /v1/health/node/{NODE}?{of_instance}&partition=team&ns=shop"),
            "PUT /v1/catalog/deregister?partition=team&ns=shop".to_owned(),
            "PUT /v1/catalog/deregister?partition=team".to_owned(),
            "GET /v1/agent/members?partition=team".to_owned(),
            "PUT /v1/agent/force-leave/ip-10-0-1-12?prune=&partition=team".to_owned(),
        ]
    );
    // And the grants of tokens, and what is deregistered
    let bodies: Vec<Value> = server.requests().iter().map(RecordedRequest::json).collect();
    let token = |field: &str, grant: Value| json!({ "AccessorID": ACCESSOR, "SecretID": "s3cret", "Description": "Token for web service", field: grant });
    assert_eq!(bodies[1], token("ServiceIdentities", json!([{ "ServiceName": "web" }])));
    assert_eq!(bodies[2], token("Policies", json!([{ "Name": "p" }])));
    assert_eq!(bodies[15], json!({ "Node": CLUSTER, "ServiceID": "web-1" }));
    assert_eq!(bodies[16], json!({ "Node": CLUSTER }));
}

/// One object of each kind, in the tenancy that the bootstrap gives it: how it is read, created, and, if its kind is extended, updated.
#[tokio::test]
async fn requests_of_the_bootstrap_name_their_tenancy() {
    let home = || enterprise().home();
    // `{}` is the name
    let rows: [(Kind, &str, Tenancy, &[&str]); 8] = [
        // Partitions belong to the datacenter
        (Kind::Partition, "team", Tenancy::Community, &["GET /partition/{}", "PUT /partition"]),
        (
            Kind::Namespace,
            "shop",
            enterprise(),
            &["GET /namespace/{}?partition=team", "PUT /namespace?partition=team", "PUT /namespace/{}?partition=team"],
        ),
        (Kind::Policy, "p", home(), &["GET /acl/policy/name/{}?H", "PUT /acl/policy?H"]),
        (Kind::Role, "r", home(), &["GET /acl/role/name/{}?H", "PUT /acl/role?H", "PUT /acl/role/id-1?H"]),
        (
            Kind::AuthMethod,
            "m",
            home(),
            &["GET /acl/auth-method/{}?H", "PUT /acl/auth-method?H", "PUT /acl/auth-method/{}?H"],
        ),
        (
            Kind::BindingRule,
            "service n",
            home(),
            // The older rule stays
            &[
                "GET /acl/binding-rules?authmethod=m&H",
                "PUT /acl/binding-rule?H",
                "GET /acl/binding-rules?authmethod=m&H",
                "DELETE /acl/binding-rule/new?H",
            ],
        ),
        (
            Kind::AnonymousToken,
            ACCESSOR,
            Tenancy::of_default_partition(),
            &[
                "GET /acl/token/{}?partition=default&ns=default",
                "PUT /acl/token?partition=default&ns=default",
                "PUT /acl/token/{}?partition=default&ns=default",
            ],
        ),
        (
            Kind::SyntheticNode,
            CLUSTER,
            home(),
            &["GET /catalog/nodes?filter=Node+%3D%3D+%22{}%22&partition=team", "PUT /catalog/register?partition=team"],
        ),
    ];
    let extended = [Kind::Namespace, Kind::Role, Kind::AuthMethod, Kind::AnonymousToken];
    let (server, consul) = against(|seen, _| answer(seen)).await;
    for (kind, name, tenancy, requests) in rows {
        server.forget();
        let body = json!({ "AuthMethod": "m", "BindType": "service", "BindName": "n", "Name": name });
        let object = Object { kind, name: name.to_owned(), tenancy, body: body.as_object().unwrap().clone() };
        assert!(consul.read(&object).await.unwrap().is_some(), "{object}");
        consul.create(&object, object.body.clone()).await.unwrap();
        if extended.contains(&kind) {
            let body = json!({ "ID": "id-1", "Description": "extended" });
            consul.update(&object, body.as_object().unwrap().clone()).await.unwrap();
        }
        let written = |line: &&str| {
            let name = name.replace(':', "%3A").replace('/', "%2F");
            line.replace(" /", " /v1/")
                .replace("{}", &name)
                .replace("?H", "?partition=team&ns=default")
                .replace("&H", "&partition=team&ns=default")
        };
        assert_eq!(server.lines(), requests.iter().map(written).collect::<Vec<_>>(), "{object}");
    }
    server.forget();
    assert!(consul.is_primary().await.unwrap());
    consul.namespaces(enterprise().partition().unwrap()).await.unwrap();
    assert_eq!(server.lines(), ["GET /v1/agent/self", "GET /v1/namespaces?partition=team"]);
}

/// The bodies of registrations are compared with recordings in the client's crate.
#[tokio::test]
async fn catalog_writes_name_their_tenancy() {
    let (server, consul) = against(|_, _| Answer::ok("true")).await;
    let elsewhere = Tenancy::from_names(Some("team"), Some("store"), ("", "")).unwrap().unwrap();
    let other = ServiceInstance { id: format!("api-{TASK}"), name: "api".to_owned(), ..instance(elsewhere) };
    let config = r#"{"gateway":{"kind":"mesh-gateway","partition":"team","namespace":"shop"}}"#;
    let place = TaskPlace {
        arn: TaskArn::in_cluster(&CLUSTER.parse().unwrap(), &TASK.parse().unwrap()),
        cluster: CLUSTER.parse().unwrap(),
        family: "Edge".parse().unwrap(),
        address: "10.0.0.7".parse().unwrap(),
        zone: None,
        region: None,
    };
    let config = MeshConfig::parse(config, Registrar::MeshInit).unwrap();
    let gateway = registrations(&config, &place, &config.tenancy(true).unwrap()).unwrap();
    consul.deregister(&[instance(enterprise()), other]).await.unwrap();
    consul.set_checks(&[check(enterprise())]).await.unwrap();
    consul.register(&gateway[0]).await.unwrap();
    let [(transaction, deletions), (correction, checks), (registration, _)] = &seen(&server)[..] else {
        panic!("three requests")
    };
    // One transaction for all namespaces of a partition
    let deletion = |service: &str, namespace: &str| {
        let service = json!({
            "ID": format!("{service}-{TASK}"), "Service": service, "ModifyIndex": 42,
            "Partition": "team", "Namespace": namespace,
        });
        json!({ "Service": { "Verb": "delete-cas", "Node": CLUSTER, "Service": service } })
    };
    assert_eq!(transaction, "PUT /v1/txn?partition=team");
    assert_eq!(*deletions, json!([deletion("web", "shop"), deletion("api", "store")]));
    assert_eq!([correction, registration], ["PUT /v1/catalog/register?partition=team&ns=shop"; 2]);
    let check = &checks["Checks"][0];
    assert_eq!((&check["Partition"], &check["Namespace"]), (&json!("team"), &json!("shop")));
}

#[tokio::test]
async fn permissions_are_of_a_namespace() {
    let clusters = ClusterSelection::parse(CLUSTER, None).unwrap();
    let all = required(&clusters, clusters.patterns(), true);
    let local: Vec<Permission> = all.into_iter().filter(|permission| !permission.is_global()).collect();
    let ask = async |script: fn(&RecordedRequest) -> Answer| {
        let (server, consul) = against(move |seen, _| script(seen)).await;
        let missing = consul.missing_permissions(&enterprise(), &local).await;
        assert_eq!(missing.unwrap(), local[..1], "acl");
        seen(&server)
    };
    // A server with the endpoint for permissions
    let asked = ask(|seen| {
        let mut questions = seen.json();
        for question in questions.as_array_mut().unwrap() {
            question["Allow"] = json!(question["Resource"] != "acl");
        }
        Answer::ok(questions.to_string())
    });
    let question = |resource: &str, access: &str, segment: &str| json!({ "Resource": resource, "Access": access, "Segment": segment });
    let questions = json!([
        question("acl", "write", ""),
        question("node", "read", ""),
        question("service", "write", ""),
        question("node", "write", CLUSTER),
    ]);
    let authorize = "POST /v1/internal/acl/authorize?partition=team&ns=shop".to_owned();
    assert_eq!(asked.await, [(authorize.clone(), questions.clone())]);
    // And one without: what a read can show
    let asked = ask(|seen| match seen.uri.split('?').next() {
        Some("/v1/internal/acl/authorize") => Answer::status(404, ""),
        Some("/v1/acl/token/self") => Answer::ok(token_json()),
        _ => Answer::status(403, "Permission denied"),
    });
    let trial = request("GET /v1/acl/tokens?policy=00000000-0000-0000-0000-000000000001&partition=team&ns=shop");
    let own_token = request("GET /v1/acl/token/self");
    assert_eq!(asked.await, [(authorize, questions), own_token, trial]);
}

#[tokio::test]
async fn own_token_and_release_have_no_tenancy() {
    let (server, consul) = against(|seen, _| {
        let policies = json!([{ "ID": "1", "Name": "ours" }]);
        Answer::ok(match seen.uri.as_str() {
            "/v1/acl/token/self" => json!({ "AccessorID": "1-2", "SecretID": "own", "Policies": policies }).to_string(),
            _ => json!({ "Config": { "Version": "1.21.4+ent" } }).to_string(),
        })
    })
    .await;
    let token = OwnToken { accessor_id: "1-2".to_owned(), policies: vec!["ours".to_owned()] };
    assert_eq!(consul.own_token().await.unwrap(), Some(token));
    assert_eq!(consul.version().await.unwrap(), "1.21.4+ent");
    assert_eq!(seen(&server), [request("GET /v1/acl/token/self"), request("GET /v1/agent/self")]);
}

/// The methods of the traits in the sources of the client.
fn methods() -> Vec<&'static str> {
    const AGENT: &str = include_str!("../../../crates/consul/src/agent.rs");
    let sources = [
        (include_str!("../../../crates/consul/src/acl.rs"), "Acl"),
        (AGENT, "Agents"),
        (AGENT, "Release"),
        (include_str!("../../../crates/consul/src/authorization.rs"), "Permissions"),
        (include_str!("../../../crates/consul/src/bootstrap.rs"), "ConsulBootstrap"),
        (include_str!("../../../crates/consul/src/catalog/mod.rs"), "Catalog"),
    ];
    let traits = sources.iter().map(|(source, name)| {
        let (_, after) = source.split_once(&format!("pub trait {name}:")).expect("a trait");
        after.split_once("\n}").expect("the end of the trait").0
    });
    traits.flat_map(|source| source.split("async fn ").skip(1)).filter_map(|rest| rest.split('(').next()).collect()
}

#[test]
fn the_requests_of_every_method_are_asserted_here() {
    let here = include_str!("enterprise.rs");
    let methods = methods();
    assert!(methods.len() >= 25, "{methods:?}");
    let missing: Vec<&&str> = methods.iter().filter(|method| !here.contains(&format!(".{method}("))).collect();
    assert!(missing.is_empty(), "no test calls them: {missing:?}");
}
