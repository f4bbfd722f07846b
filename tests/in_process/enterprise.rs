//! Consul Enterprise: exact requests against a recorder, because the Community Edition refuses them.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{
    bootstrap::fake::Fake,
    environment::Environment,
    sweep::second_look,
    time::{LONG, without_pauses},
};
use controller::{Deadline, SweepOrder};
use local_stack::world::World;
use report::SweepOutcome;
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest};

/// A Consul Enterprise without tokens, and with one instance of a task.
fn enterprise(seen: &RecordedRequest) -> Answer {
    let path = seen.uri.split('?').next().unwrap_or_default();
    match (seen.method.as_str(), path) {
        ("PUT", "/v1/acl/token") => {
            let accessor = seen.json()["AccessorID"].clone();
            Answer::ok(json!({ "AccessorID": accessor, "SecretID": "new-secret", "Description": "" }).to_string())
        }
        ("GET", "/v1/acl/tokens") => Answer::ok(
            json!([{
                "AccessorID": "11111111-2222-4333-8444-555555555555",
                "Description": "Token for shop service\nconsul.hashicorp.com/cluster: enterprise\n\
                    consul.hashicorp.com/partition: team\nconsul.hashicorp.com/namespace: store",
                "Namespace": "store",
            }])
            .to_string(),
        ),
        ("GET", "/v1/namespaces") => Answer::ok(r#"[{"Name":"default"},{"Name":"store"}]"#),
        ("GET", path) if path.starts_with("/v1/catalog/node-services/") => Answer::ok("{\"Services\":[]}"),
        _ => Answer::ok("{}"),
    }
}

/// The tags of a task in the mesh, and these of consul-ecs.
fn tags(of: &[(&str, &str)]) -> Value {
    let tag = |(key, value): &(&str, &str)| json!({ "key": format!("consul.hashicorp.com/{key}"), "value": value });
    [("mesh", "true")].iter().chain(of).map(tag).collect()
}

#[tokio::test]
async fn tags_decide_tenancy_and_secret_names() {
    let world = World::without_deployment("enterprise").await;
    let tags = tags(&[("service-name", "shop"), ("partition", "team"), ("namespace", "store")]);
    let read = [("CONSUL_HTTP_TOKEN", "shop-store-team"), ("AGENT_TOKEN", "consul-client-token-team")];
    let definition = world.definition_reading("enterprise-shop", &tags, None, &read).await;
    let task = world.run(&definition).await;
    let environment = Environment::scripted(&world, &[], |seen, _| enterprise(seen)).await;

    let report = environment.handle(&[world.event(&task).await]).await;
    assert!(report.failures.is_empty(), "{report:?}");
    let mut lines = environment.consul.lines();
    lines.sort();
    let node = "GET /v1/catalog/nodes?filter=Node+%3D%3D+%22arn%3Aaws%3Aecs%3Aus-east-1%3A000000000000%3Acluster%2F\
                enterprise%22&partition=team";
    assert_eq!(
        lines,
        [
            node,
            "GET /v1/namespaces?partition=team",
            "PUT /v1/acl/policy?partition=team&ns=default",
            "PUT /v1/acl/token?partition=team&ns=default",
            "PUT /v1/acl/token?partition=team&ns=store",
        ]
    );
    let made = environment.consul.requests();
    let made: Vec<Value> = made.iter().filter(|seen| seen.method == "PUT").map(RecordedRequest::json).collect();
    let service = made.iter().find(|body| body.get("ServiceIdentities").is_some()).expect("the service's token");
    assert_eq!(
        service["Description"],
        format!(
            "Token for shop service\nconsul.hashicorp.com/cluster: {}\n\
             consul.hashicorp.com/partition: team\nconsul.hashicorp.com/namespace: store\n\
             ecs-mesh-controller/secret: 000000000000/us-east-1/enterprise-shop-store-team",
            world.cluster()
        )
    );
    assert!(world.pair("enterprise-shop-store-team").await.is_some());

    // And when the task stops, its partition's tokens are listed across all namespaces, and its namespace's catalog is read
    environment.consul.forget();
    world.stop(&task).await;
    let report = environment.handle(&[world.event(&task).await]).await;
    assert!(report.failures.is_empty(), "{report:?}");
    let node = world.cluster().replace('/', "%2F");
    let filter = format!("filter=Meta%5B%22task-id%22%5D+%3D%3D+%22{}%22", local_stack::world::task_id(&task));
    // Concurrent requests, in any order
    let mut lines = environment.consul.lines();
    lines.sort();
    assert_eq!(
        lines,
        [
            "GET /v1/acl/tokens?partition=team&ns=*".to_owned(),
            format!("GET /v1/catalog/node-services/{node}?{filter}&partition=team&ns=store"),
        ]
    );
    // And since Consul has the service's token, an idle check of the service is scheduled
    let messages = world.aws.messages(&world.deployed.queue_url).await;
    let body: Value = serde_json::from_str(messages[0]["Body"].as_str().unwrap()).unwrap();
    assert_eq!(
        body["detail"],
        json!({ "service": "shop", "secret": null, "hops": 1, "partition": "team", "namespace": "store" })
    );
}

/// An answer of a Consul Enterprise whose token of the service `named` is in a namespace of the partition `team`.
fn with_token_in(
    namespace: &'static str,
    named: &'static str,
    marked: &'static str,
    cluster: String,
) -> impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static {
    move |seen, _| {
        let marks = format!(
            "Token for {named} service\nconsul.hashicorp.com/cluster: {cluster}\n\
             consul.hashicorp.com/partition: team\nconsul.hashicorp.com/namespace: {marked}"
        );
        let token =
            json!({ "AccessorID": LEFT_BEHIND, "SecretID": "half", "Description": marks, "Namespace": namespace });
        let (path, query) = seen.uri.split_once('?').unwrap_or((&seen.uri, ""));
        match (seen.method.as_str(), path) {
            ("GET", "/v1/acl/tokens") => Answer::ok(json!([token]).to_string()),
            ("GET", path) if path.starts_with("/v1/acl/token/") && !path.ends_with("/self") => {
                let is_there = query.ends_with(&format!("ns={namespace}"));
                if is_there { Answer::ok(token.to_string()) } else { Answer::status(404, "ACL not found") }
            }
            _ => enterprise(seen),
        }
    }
}

/// The report on the start of a task of this service and namespace in the partition `team`, whose secret has the token.
async fn started(
    world: &World<'_>,
    (service, namespace): (&str, &str),
    script: impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static,
) -> (Environment, controller::BatchReport) {
    let tags = tags(&[("service-name", service), ("partition", "team"), ("namespace", namespace)]);
    let secret = format!("{service}-{namespace}-team");
    world.put_secret(&world.secret_name(&secret), &json!({ "accessor_id": LEFT_BEHIND, "token": "half" })).await;
    let read = [("CONSUL_HTTP_TOKEN", secret.as_str())];
    let definition = world.definition_reading(&format!("{}-{service}", world.name), &tags, None, &read).await;
    let task = world.run(&definition).await;
    let environment = Environment::scripted(world, &[], script).await;
    let report = environment.handle(&[world.event(&task).await]).await;
    (environment, report)
}

#[tokio::test]
async fn of_two_services_with_one_secret_the_first_keeps_it() {
    let world = World::without_deployment("collision").await;
    // Given the token of a-b in the namespace c, whose secret has the name of that of a in b-c
    let script = with_token_in("c", "a-b", "c", world.cluster());
    let (environment, report) = started(&world, ("a", "b-c"), script).await;
    assert_eq!(report.failures.len(), 1, "{report:?}");
    let error = report.failures[0].error.to_string();
    assert!(error.contains("service a-b of another namespace"), "{error}");
    let written = writes(&environment);
    assert!(!written.iter().any(|line| line.contains("/v1/acl/token")), "{written:?}");
}

#[tokio::test]
async fn a_token_that_consul_ecs_0_4_1_created_in_the_namespace_default_is_replaced() {
    let world = World::without_deployment("misplaced").await;
    let script = with_token_in("default", "shop", "store", world.cluster());
    let (environment, report) = started(&world, ("shop", "store"), script).await;
    assert!(report.failures.is_empty(), "{report:?}");
    // It is marked, so that sweeps delete it once no task reads it, and another one is created in the right namespace
    let of_tokens: Vec<String> =
        writes(&environment).into_iter().filter(|line| line.contains("/v1/acl/token")).collect();
    assert_eq!(
        of_tokens,
        [
            format!("PUT /v1/acl/token/{LEFT_BEHIND}?partition=team&ns=default"),
            "PUT /v1/acl/token?partition=team&ns=store".to_owned()
        ]
    );
}

#[tokio::test]
async fn namespace_of_a_starting_task_is_created_once() {
    let world = World::without_deployment("new-namespace").await;
    let tags = tags(&[("partition", "team"), ("namespace", "store")]);
    let definition = world.definition("new-namespace-shop", &tags, None).await;
    let (task, next) = (world.run(&definition).await, world.run(&definition).await);
    let fake = Fake::new();
    fake.put("namespace/default", json!({ "Name": "default" }));
    let settings = [("CONSUL_PARTITION", "team")];
    let environment = Environment::with(&world, fake.start().await, &settings, |edges| edges).await;
    let handle = async |task: &str| {
        let event = world.event(task).await;
        let report = without_pauses(environment.handle(&[event])).await;
        assert!(report.failures.is_empty(), "{report:?}");
    };
    handle(&task).await;
    let created = fake.get("namespace/store");
    assert_eq!(created["ACLs"]["PolicyDefaults"], json!([{ "Name": "cross-namespace-read" }]));
    environment.consul.forget();
    handle(&next).await;
    assert_eq!(environment.consul.lines(), [""; 0], "the environment has seen the namespace");
}

#[tokio::test]
async fn untagged_tasks_use_the_deployment_s_partition() {
    let world = World::without_deployment("partition").await;
    let tags = tags(&[]);
    let secret = format!("{}-default-team", world.service());
    let definition =
        world.definition_reading(&world.service(), &tags, None, &[("CONSUL_HTTP_TOKEN", secret.as_str())]).await;
    let task = world.run(&definition).await;
    let settings = [("CONSUL_PARTITION", "team")];
    let environment = Environment::scripted(&world, &settings, |seen, _| enterprise(seen)).await;
    let report = environment.handle(&[world.event(&task).await]).await;
    assert!(report.failures.is_empty(), "{report:?}");
    // A node is in a partition, and in no namespace
    let is_right = |line: &String| {
        line.ends_with("?partition=team&ns=default")
            || line.starts_with("GET /v1/catalog/nodes?") && line.ends_with("&partition=team")
    };
    assert!(environment.consul.lines().iter().all(is_right), "{:?}", environment.consul.lines());
    assert!(world.pair("partition-partition-web-default-team").await.is_some());
}

/// The accessor ID of a login token whose task did not log out.
const LEFT_BEHIND: &str = "22222222-2222-4333-8444-555555555555";

/// The ARN of the forgotten task of [`with_forgotten_task`].
fn forgotten_task(cluster: &str) -> String {
    cluster.replace(":cluster/", ":task/") + "/" + &"0".repeat(32)
}

/// A Consul Enterprise with three partitions, one of which has the services and the login token of a task that ECS has forgotten.
fn with_forgotten_task(cluster: &str) -> impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static + use<> {
    let cluster = cluster.to_owned();
    let is_cleared = AtomicBool::new(false);
    move |seen, _| {
        let (path, query) = seen.uri.split_once('?').unwrap_or((&seen.uri, ""));
        let task = "0".repeat(32);
        let is_there = query.starts_with("partition=team-b") && !is_cleared.load(Ordering::SeqCst);
        match (seen.method.as_str(), path) {
            ("GET", "/v1/partitions") => {
                let names = ["default", "team", "team-b"].map(|name| json!({ "Name": name }));
                Answer::ok(json!(names).to_string())
            }
            ("GET", "/v1/acl/tokens") if is_there => {
                let meta = json!({ "consul.hashicorp.com/task-id": task, "consul.hashicorp.com/cluster": cluster });
                let description = format!("token created via login: {meta}");
                let token = json!({ "AccessorID": LEFT_BEHIND, "Description": description, "Namespace": "shop" });
                Answer::ok(json!([token]).to_string())
            }
            ("GET", path)
                if path.starts_with("/v1/catalog/node-services/") && query.starts_with("partition=team-b") =>
            {
                let meta = json!({ "task-id": task });
                let instance =
                    json!({ "ID": "web-0", "Service": "web", "ModifyIndex": 7, "Meta": meta, "Namespace": "shop" });
                let services = if is_there { json!([instance]) } else { json!([]) };
                let node = json!({ "Node": cluster, "Meta": { "synthetic-node": "true" } });
                Answer::ok(json!({ "Node": node, "Services": services }).to_string())
            }
            ("GET", path) if path.starts_with("/v1/catalog/node-services/") => Answer::ok("null"),
            ("GET", path) if path.starts_with("/v1/acl/policy/") => Answer::status(404, ""),
            ("GET", _) => Answer::ok("[]"),
            ("PUT", "/v1/txn") => {
                is_cleared.store(true, Ordering::SeqCst);
                Answer::ok("{}")
            }
            _ => Answer::ok("true"),
        }
    }
}

/// The distinct writes.
fn writes(environment: &Environment) -> Vec<String> {
    let mut lines = environment.consul.lines();
    lines.retain(|line| !line.starts_with("GET"));
    lines.sort();
    lines.dedup();
    lines
}

#[tokio::test]
async fn a_sweep_reads_every_partition() {
    let world = World::without_deployment("partitions").await;
    world.run(&world.definition("partitions-other", &json!([]), None).await).await;
    let settings = [("CONSUL_PARTITION", "team"), ("BOOTSTRAP", "none"), ("TOKEN_MODE", "auth-method")];
    let environment = Environment::scripted(&world, &settings, with_forgotten_task(&world.cluster())).await;
    let order = second_look([forgotten_task(&world.cluster()).as_str()]);
    let report = environment.controller.sweep(&order, Deadline::after(LONG)).await;
    assert_eq!(report.outcome, SweepOutcome::Done, "{report:?}");

    let node = world.cluster().replace('/', "%2F");
    let mut reads = environment.consul.lines();
    reads.retain(|line| line.starts_with("GET"));
    reads.sort();
    let mut expected = vec!["GET /v1/partitions".to_owned()];
    for partition in ["default", "team", "team-b"] {
        expected.push(format!("GET /v1/acl/tokens?partition={partition}&ns=*"));
        expected.push(format!("GET /v1/agent/members?partition={partition}"));
        expected.push(format!("GET /v1/catalog/node-services/{node}?partition={partition}&ns=*&consistent="));
    }
    // The cluster has a node in this partition only
    expected.push(format!("GET /v1/health/node/{node}?partition=team-b&ns=*&consistent="));
    expected.sort();
    assert_eq!(reads, expected);
    assert_eq!(
        writes(&environment),
        [
            format!("DELETE /v1/acl/token/{LEFT_BEHIND}?partition=team-b&ns=shop"),
            "PUT /v1/txn?partition=team-b".to_owned()
        ]
    );
}

#[tokio::test]
async fn a_tag_creates_no_partition() {
    let world = World::without_deployment("tag-partition").await;
    let tags = tags(&[("partition", "misspelt"), ("namespace", "store")]);
    world.run(&world.definition("tag-partition-shop", &tags, None).await).await;
    let environment =
        Environment::scripted(&world, &[("CONSUL_PARTITION", "team")], |seen, before| match seen.uri.as_str() {
            uri if uri.contains("misspelt") => Answer::status(404, ""),
            _ => with_forgotten_task("none")(seen, before),
        })
        .await;
    let report = environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG)).await;
    let reasons: Vec<&str> = report.problems.iter().map(|problem| problem.reason.as_str()).collect();
    assert!(reasons.iter().any(|reason| reason.contains("the namespaces of partition misspelt")), "{reasons:?}");
    let written = writes(&environment);
    assert!(!written.iter().any(|line| line.contains("misspelt")), "{written:?}");
}

#[tokio::test]
async fn unlisted_partitions_are_a_problem() {
    let world = World::without_deployment("unlisted").await;
    let settings = [("CONSUL_PARTITION", "team-b"), ("BOOTSTRAP", "none"), ("TOKEN_MODE", "auth-method")];
    let answers = with_forgotten_task(&world.cluster());
    let environment = Environment::scripted(&world, &settings, move |seen, before| match seen.uri.as_str() {
        "/v1/partitions" => Answer::status(403, "Permission denied"),
        _ => answers(seen, before),
    })
    .await;
    let order = second_look([forgotten_task(&world.cluster()).as_str()]);
    let report = environment.controller.sweep(&order, Deadline::after(LONG)).await;
    assert_eq!(
        (report.outcome, report.problems[0].label.as_str()),
        (SweepOutcome::Incomplete, "consul_permission_denied")
    );
    assert_eq!(report.clusters[0].deleted["services"], 1, "{report:?}");
}

#[tokio::test]
async fn community_edition_is_not_asked_for_partitions() {
    let world = World::without_deployment("community").await;
    let environment = Environment::scripted(&world, &[("BOOTSTRAP", "none")], |_, _| Answer::Forward).await;
    environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG)).await;
    assert!(!environment.consul.lines().contains(&"GET /v1/partitions".to_owned()));
}

#[tokio::test]
async fn clean_up_covers_every_partition() {
    let world = World::without_deployment("cleanup-partitions").await;
    let settings = [("CONSUL_PARTITION", "team"), ("BOOTSTRAP", "none"), ("TOKEN_MODE", "auth-method")];
    let environment = Environment::scripted(&world, &settings, with_forgotten_task(&world.cluster())).await;
    let report = environment.controller.clean_up(Deadline::after(LONG)).await;
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    assert_eq!(
        writes(&environment),
        [
            format!("DELETE /v1/acl/token/{LEFT_BEHIND}?partition=team-b&ns=shop"),
            "PUT /v1/catalog/deregister?partition=team-b".to_owned(),
            "PUT /v1/txn?partition=team-b".to_owned(),
        ]
    );
}
