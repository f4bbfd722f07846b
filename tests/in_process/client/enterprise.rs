//! Consul Enterprise: the request of every method of the client, with its partition and namespace.

use consul::{
    AgentReads as _, AgentWrites as _, CatalogReads as _, CatalogWrites as _, ConsulError, Grant, Logins as _,
    NewToken, Object, ObjectKind, ObjectReads as _, ObjectWrites as _, Permissions as _, ServerVersion as _,
    TokenReads as _, TokenWrites as _,
};
use mesh::{
    arn::TaskArn,
    cluster_selection::ClusterSelection,
    consul_ecs::{MeshConfig, Registrar, TaskPlace, registrations},
    identity::MeshService,
    permissions::{Permission, required},
    tenancy::Tenancy,
    token::TokenPair,
};
use secrecy::SecretString;
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

use crate::client::{ACCESSOR, CLUSTER, TASK, accessor, against, check, enterprise, instance, instance_of, token_json};

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
        description: "Token for web service".into(),
        grant,
        tenancy: enterprise(),
    }
}

/// A Consul with an object under every name, and with an older binding rule that binds the same as a new one.
fn answer(seen: &RecordedRequest) -> Answer {
    let rule = |id: &str, index: u64| json!({ "ID": id, "BindType": "service", "BindName": "n", "CreateIndex": index });
    match (seen.method.as_str(), seen.uri.split('?').next().unwrap_or_default()) {
        ("GET", "/v1/agent/self") => {
            Answer::ok(r#"{"Config":{"Datacenter":"dc1","PrimaryDatacenter":"dc1","Version":"1.21.4+ent"}}"#)
        }
        ("GET", "/v1/namespaces") => Answer::ok(r#"[{"Name":"shop"}]"#),
        ("GET", "/v1/acl/auth-method/m") => Answer::ok(r#"{"ID":"new","Type":"aws-iam"}"#),
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

/// Requests with the names of their tenancies: `T` of a task, `P` of its partition, `HOME` of the default namespace there; `D` of the
/// partition `default`, and `OTHER` of a third one.
pub(crate) fn in_short(lines: &str) -> String {
    let mut short = lines.replace("/v1/", "/");
    for (text, name) in [
        ("partition=team-b", "OTHER"),
        ("partition=team&ns=shop", "T"),
        ("partition=team&ns=default", "HOME"),
        ("partition=team", "P"),
        ("partition=default", "D"),
    ] {
        short = short.replace(text, name);
    }
    short
}

/// What a call asked, in one line and in short, and its last body. Names of the
/// examples, and filters, are in braces.
async fn asked<T>(server: &Recorder, call: impl Future<Output = Result<T, ConsulError>>) -> (String, Value) {
    server.forget();
    call.await.unwrap();
    let mut lines = in_short(&server.lines().join(", "));
    for (text, name) in [
        (NODE, "{node}"),
        ("arn%3Aaws%3Aecs%3Aus-east-1%3A123456789012%3Acluster%2Fprod", "{node}"),
        (ACCESSOR, "{accessor}"),
        (TASK, "{task}"),
        ("filter=Meta%5B%22task-id%22%5D+%3D%3D+%22{task}%22", "{of_task}"),
        ("filter=ServiceMeta%5B%22task-id%22%5D+%3D%3D+%22{task}%22", "{on_any_node}"),
        ("filter=Meta%5B%22synthetic-node%22%5D+%3D%3D+%22true%22", "{synthetic}"),
        ("filter=%22{task}%22+in+ServiceID", "{of_instance}"),
        ("filter=Node+matches+%22%28%3Fi%29%5E{node}%24%22", "{of_node}"),
    ] {
        lines = lines.replace(text, name);
    }
    (lines, server.requests().last().map(RecordedRequest::json).unwrap_or_default())
}

#[tokio::test]
async fn requests_name_their_tenancy() {
    let (server, consul) = against(|seen, _| answer(seen)).await;
    let (server, team, prod) = (&server, &enterprise(), CLUSTER.parse().unwrap());
    let policy = controller::bootstrap::client_agent_policy(team, "p");
    let (tasks, web) = ([TASK.parse().unwrap()], "web".parse().unwrap());
    let of_service = new_token(Grant::ServiceIdentity("web".parse().unwrap()));
    let of_policy = new_token(Grant::Policy("p".to_owned()));
    let partition = team.partition().unwrap();
    let of_web = MeshService { name: "web".parse().unwrap(), tenancy: team.clone() };
    let rows = [
        (asked(server, consul.token(team, accessor())).await, "GET /acl/token/{accessor}?T"),
        (asked(server, consul.create_token(&of_service)).await, "PUT /acl/token?T"),
        (asked(server, consul.update_token(&of_policy)).await, "PUT /acl/token/{accessor}?T"),
        (asked(server, consul.delete_token(team, accessor())).await, "DELETE /acl/token/{accessor}?T"),
        (asked(server, consul.tokens(team, &|_| true)).await, "GET /acl/tokens?P&ns=*&consistent="),
        (asked(server, consul.create_policy(&policy)).await, "PUT /acl/policy?T"),
        (asked(server, consul.delete_policy(&policy)).await, "GET /acl/policy/name/p?T, DELETE /acl/policy/p-1?T"),
        (
            asked(server, consul.instances(&prod, team, &tasks)).await,
            "GET /catalog/node-services/{node}?{of_task}&T&consistent=",
        ),
        (
            asked(server, consul.instances_of(&web, team, &tasks)).await,
            "GET /catalog/service/web?{on_any_node}&T&consistent=",
        ),
        (asked(server, consul.node(CLUSTER, team)).await, "GET /catalog/node-services/{node}?P&ns=*&consistent="),
        (asked(server, consul.synthetic_nodes(team)).await, "GET /catalog/nodes?{synthetic}&P"),
        (asked(server, consul.node_checks(CLUSTER, team)).await, "GET /health/node/{node}?P&ns=*&consistent="),
        (
            asked(server, consul.checks(&prod, team, &tasks)).await,
            "GET /health/node/{node}?{of_instance}&T&consistent=",
        ),
        (asked(server, consul.deregister_service(CLUSTER, "web-1", team)).await, "PUT /catalog/deregister?T"),
        (asked(server, consul.deregister_node(CLUSTER, team)).await, "PUT /catalog/deregister?P"),
        (asked(server, consul.members(team)).await, "GET /agent/members?P"),
        (asked(server, consul.force_leave("ip-7", team)).await, "PUT /agent/force-leave/ip-7?prune=&P"),
        (asked(server, consul.namespaces(partition)).await, "GET /namespaces?P"),
        (asked(server, consul.role(team, "r")).await, "GET /acl/role/name/r?T"),
        (
            asked(server, consul.auth_method(team, "m")).await,
            "GET /acl/auth-method/m?HOME, GET /acl/binding-rules?authmethod=m&HOME",
        ),
        (asked(server, consul.mesh_entry(team)).await, "GET /config/mesh/mesh?P"),
        (asked(server, consul.outlier_detection(&of_web)).await, "GET /config/service-defaults/web?T"),
        // What belongs to the datacenter
        (asked(server, consul.partitions()).await, "GET /partitions"),
        (asked(server, consul.is_primary()).await, "GET /agent/self"),
        (asked(server, consul.version()).await, "GET /agent/self"),
        (asked(server, consul.own_token()).await, "GET /acl/token/self"),
    ];
    for ((asked, _), expected) in &rows {
        assert_eq!(asked, expected);
    }
    // And the grants of tokens, and what is deregistered
    let token = |field: &str, grant: Value| json!({ "AccessorID": ACCESSOR, "SecretID": "s3cret", "Description": "Token for web service", field: grant });
    assert_eq!(rows[1].0.1, token("ServiceIdentities", json!([{ "ServiceName": "web" }])));
    assert_eq!(rows[2].0.1, token("Policies", json!([{ "Name": "p" }])));
    assert_eq!(rows[13].0.1, json!({ "Node": CLUSTER, "ServiceID": "web-1" }));
    assert_eq!(rows[14].0.1, json!({ "Node": CLUSTER }));
}

/// One object of each kind, in the tenancy that the bootstrap gives it: how it is read, created, and, if its kind is extended, updated.
#[tokio::test]
async fn requests_of_the_bootstrap_name_their_tenancy() {
    let (server, consul) = against(|seen, _| answer(seen)).await;
    let object = |kind, name: &str, tenancy, body: Value| Object {
        kind,
        name: name.to_owned(),
        tenancy,
        body: body.as_object().unwrap().clone(),
    };
    let named = |kind, name: &str, tenancy| object(kind, name, tenancy, json!({ "Name": name }));
    let home = || enterprise().home();
    let rule = json!({ "AuthMethod": "m", "BindType": "service", "BindName": "n" });
    let of_default = "?D&ns=default";
    let rules = "GET /acl/binding-rules?authmethod=m&HOME";
    // Of two equal binding rules, the older one stays
    let made_rule = format!("PUT /acl/binding-rule?HOME, {rules}, DELETE /acl/binding-rule/new?HOME");
    for (object, read, created, updated) in [
        // Partitions belong to the datacenter, and a node is in a partition, and in no namespace
        (named(ObjectKind::Partition, "team", Tenancy::Community), "GET /partition/team", "PUT /partition", None),
        (
            named(ObjectKind::Namespace, "n", enterprise()),
            "GET /namespace/n?P",
            "PUT /namespace?P",
            Some("PUT /namespace/n?P"),
        ),
        (named(ObjectKind::Policy, "p", home()), "GET /acl/policy/name/p?HOME", "PUT /acl/policy?HOME", None),
        (
            named(ObjectKind::Role, "r", home()),
            "GET /acl/role/name/r?HOME",
            "PUT /acl/role?HOME",
            Some("PUT /acl/role/id-1?HOME"),
        ),
        (
            named(ObjectKind::AuthMethod, "m", home()),
            "GET /acl/auth-method/m?HOME",
            "PUT /acl/auth-method?HOME",
            Some("PUT /acl/auth-method/m?HOME"),
        ),
        (object(ObjectKind::BindingRule, "service n", home(), rule), rules, &made_rule, None),
        (
            named(ObjectKind::AnonymousToken, ACCESSOR, Tenancy::of_default_partition()),
            &format!("GET /acl/token/{{accessor}}{of_default}"),
            &format!("PUT /acl/token{of_default}"),
            Some("PUT /acl/token/{accessor}?D&ns=default"),
        ),
        (
            named(ObjectKind::SyntheticNode, CLUSTER, home()),
            "GET /catalog/nodes?{of_node}&consistent=&P",
            "PUT /catalog/register?P",
            None,
        ),
    ] {
        assert_eq!(asked(&server, consul.read(&object)).await.0, read);
        assert_eq!(asked(&server, consul.create(&object, object.body.clone())).await.0, created);
        if let Some(expected) = updated {
            let body = json!({ "ID": "id-1", "Description": "extended" });
            let update = consul.update(&object, body.as_object().unwrap().clone());
            assert_eq!(asked(&server, update).await.0, expected);
        }
    }
}

/// The bodies of registrations are compared with recordings in the client's crate.
#[tokio::test]
async fn catalog_writes_name_their_tenancy() {
    let (server, consul) = against(|_, _| Answer::ok("true")).await;
    let elsewhere = Tenancy::from_names(Some("team"), Some("store"), ("", "")).unwrap().unwrap();
    let other = instance_of("api", elsewhere);
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
            "ID": instance_of(service, Tenancy::Community).id, "Service": service, "ModifyIndex": 42,
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
