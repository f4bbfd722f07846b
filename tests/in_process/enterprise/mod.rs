//! Consul Enterprise: in which partition and namespace the controller reads and writes, against recorders, because the Community
//! Edition refuses such requests. How each request of the client names its tenancy is in `client/enterprise.rs`.

mod namespaces;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{
    bootstrap,
    client::enterprise::in_short,
    environment::Environment,
    sweep::second_look,
    time::{LONG, without_pauses},
};
use local_stack::world::{World, task_id};
use observe::Deadline;
use percent_encoding::percent_decode_str;
use report::SweepOutcome;
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

/// A Consul Enterprise with a token of a service, and without instances.
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
                "Description": "Token for web service\nconsul.hashicorp.com/cluster: enterprise\n\
                    consul.hashicorp.com/partition: team\nconsul.hashicorp.com/namespace: shop",
                "Namespace": "shop",
            }])
            .to_string(),
        ),
        ("GET", "/v1/namespaces") => {
            Answer::ok(r#"[{"Name":"default"},{"Name":"shop"},{"Name":"store"},{"Name":"b-c"}]"#)
        }
        ("GET", "/v1/partition/team") => Answer::ok(r#"{"Name":"team"}"#),
        ("GET", "/v1/catalog/nodes") => {
            let filter = percent_decode_str(&seen.uri).decode_utf8_lossy().into_owned();
            let name = filter.split('"').nth(1).unwrap_or_default();
            let meta = json!({ "synthetic-node": "true" });
            Answer::ok(json!([{ "Node": name, "Address": "127.0.0.1", "Meta": meta }]).to_string())
        }
        ("GET", path) if path.starts_with("/v1/catalog/node-services/") => Answer::ok("{\"Services\":[]}"),
        _ => Answer::ok("{}"),
    }
}

/// The settings of a deployment in the partition `team`.
const IN_TEAM: [(&str, &str); 1] = [("CONSUL_PARTITION", "team")];

/// The tags of a task in the mesh, and these of consul-ecs.
fn tags(of: &[(&str, &str)]) -> Value {
    let tag = |(key, value): &(&str, &str)| json!({ "key": format!("consul.hashicorp.com/{key}"), "value": value });
    [("mesh", "true")].iter().chain(of).map(tag).collect()
}

/// What Consul was asked since the last time, sorted and in short.
fn asked(consul: &Recorder, names: &[(&str, &str)]) -> Vec<String> {
    let short = |line: &String| {
        let mut line = in_short(&percent_decode_str(line).decode_utf8_lossy());
        for (text, name) in names {
            line = line.replace(text, name);
        }
        line
    };
    let mut lines: Vec<String> =
        consul.lines().iter().map(short).filter(|line| !line.contains("/token/self")).collect();
    lines.sort();
    consul.forget();
    lines
}

/// Handles the event of a task's current state; what Consul was asked.
async fn handled(world: &World<'_>, environment: &Environment, task: &str) -> Vec<String> {
    let report = environment.handle(&[world.event(task).await]).await;
    assert!(report.failures.is_empty(), "{report:?}");
    asked(&environment.consul, &[(&world.cluster(), "{node}"), (task_id(task), "{task}")])
}

#[tokio::test]
async fn tags_decide_tenancy_and_secret_names() {
    let world = World::without_deployment("enterprise").await;
    let tagged = tags(&[("service-name", "web"), ("partition", "team"), ("namespace", "shop")]);
    let read = [("CONSUL_HTTP_TOKEN", "web-shop-team"), ("AGENT_TOKEN", "consul-client-token-team")];
    let task = world.run(&world.definition_reading("enterprise-web", &tagged, None, &read).await).await;
    let secret = format!("{}-default-team", world.service());
    let read = [("CONSUL_HTTP_TOKEN", secret.as_str())];
    let untagged = world.run(&world.definition_reading(&world.service(), &tags(&[]), None, &read).await).await;
    let of_cluster = [("CLUSTER_PARTITIONS", "*=team")];
    let environment = Environment::scripted(&world, &of_cluster, |seen, _| enterprise(seen)).await;
    let in_team = Environment::scripted(&world, &IN_TEAM, |seen, _| enterprise(seen)).await;
    // When tasks start, then a node is in a partition, and in no namespace
    let node = r#"GET /catalog/nodes?filter=Node+matches+"(?i)^{node}$"&consistent=&P"#;
    let started = [
        node,
        "GET /namespaces?P",
        "GET /partition/team",
        "PUT /acl/policy?HOME",
        "PUT /acl/token?HOME",
        "PUT /acl/token?T",
    ];
    assert_eq!(handled(&world, &environment, &task).await, started);
    assert!(world.pair("enterprise-web-shop-team").await.is_some());
    // And untagged tasks are in the partition of the deployment
    assert_eq!(handled(&world, &in_team, &untagged).await, [node, "PUT /acl/token?HOME"]);
    assert!(world.pair(&format!("enterprise-{secret}")).await.is_some());
    // When one stops, the tokens of its partition are listed across all namespaces, and the catalog of its namespace is read
    world.stop(&task).await;
    let stopped = [
        "GET /acl/tokens?P&ns=*&consistent=",
        r#"GET /catalog/node-services/{node}?filter=Meta["task-id"]+==+"{task}"&T&consistent="#,
    ];
    assert_eq!(handled(&world, &environment, &task).await, stopped);
    // And since Consul has the service's token, an idle check of the service is scheduled
    let messages = world.aws.messages(&world.deployed.queue_url).await;
    let body: Value = serde_json::from_str(messages[0]["Body"].as_str().unwrap()).unwrap();
    let expected = json!({ "service": "web", "secret": null, "hops": 1, "partition": "team", "namespace": "shop" });
    assert_eq!(body["detail"], expected);
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
    let environment = Environment::scripted(world, &IN_TEAM, script).await;
    let report = environment.handle(&[world.event(&task).await]).await;
    (environment, report)
}

#[tokio::test]
async fn of_two_services_with_one_secret_the_first_keeps_it() {
    let world = World::without_deployment("collision").await;
    // Given the token of a-b in the namespace c, whose secret has the name of that of a in b-c
    let script = with_token_in("c", "a-b", "c", world.cluster());
    let (environment, report) = started(&world, ("a", "b-c"), script).await;
    assert_eq!((report.failures.len(), report.faults.len()), (0, 1), "{report:?}");
    let error = report.faults[0].error.to_string();
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

/// The accessor ID of a login token whose task did not log out.
const LEFT_BEHIND: &str = "22222222-2222-4333-8444-555555555555";

/// The ARN of the gone task of [`with_gone_task`].
fn gone_task(cluster: &str) -> String {
    cluster.replace(":cluster/", ":task/") + "/" + &"0".repeat(32)
}

/// A Consul Enterprise with three partitions. One has the services and the login token of a task that ECS no longer knows.
fn with_gone_task(cluster: &str) -> impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static + use<> {
    let cluster = cluster.to_owned();
    let (is_cleared, is_deregistered) = (AtomicBool::new(false), AtomicBool::new(false));
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
                if path.starts_with("/v1/catalog/node-services/")
                    && query.starts_with("partition=team-b")
                    && !is_deregistered.load(Ordering::SeqCst) =>
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
            ("PUT", "/v1/catalog/deregister") => {
                is_deregistered.store(true, Ordering::SeqCst);
                Answer::ok("true")
            }
            _ => Answer::ok("true"),
        }
    }
}

/// The writes, sorted.
fn writes(environment: &Environment) -> Vec<String> {
    let mut lines = environment.consul.lines();
    lines.retain(|line| !line.starts_with("GET"));
    lines.sort();
    lines
}

/// A Consul Enterprise with a task that is gone, and a controller that sweeps the partition of a deployment.
async fn sweeping(world: &World<'_>) -> Environment {
    let settings = [("CONSUL_PARTITION", "team"), ("BOOTSTRAP", "none"), ("TOKEN_MODE", "auth-method")];
    Environment::scripted(world, &settings, with_gone_task(&world.cluster())).await
}

#[tokio::test]
async fn sweeps_and_clean_ups_cover_every_partition() {
    let world = World::without_deployment("partitions").await;
    world.run(&world.definition("partitions-other", &json!([]), None).await).await;
    let names = [(world.cluster(), "{node}"), (LEFT_BEHIND.to_owned(), "{login}")];
    let names = names.each_ref().map(|(text, name)| (text.as_str(), *name));
    let environment = sweeping(&world).await;
    let order = second_look([gone_task(&world.cluster()).as_str()]);
    let report = environment.controller.sweep(&order, Deadline::after(LONG)).await;
    assert_eq!(report.outcome, SweepOutcome::Done, "{report:?}");
    let reads = ["D", "OTHER", "P"].map(|partition| {
        let node = format!("GET /catalog/node-services/{{node}}?{partition}&ns=*&consistent=");
        [format!("GET /acl/tokens?{partition}&ns=*&consistent="), format!("GET /agent/members?{partition}"), node]
    });
    let mut expected = reads.concat();
    // The cluster has a node in this partition only
    expected.push("GET /health/node/{node}?OTHER&ns=*&consistent=".to_owned());
    expected
        .extend(["GET /partitions", "DELETE /acl/token/{login}?OTHER&ns=shop", "PUT /txn?OTHER"].map(str::to_owned));
    expected.sort();
    assert_eq!(asked(&environment.consul, &names), expected);
    // And a clean-up
    let environment = sweeping(&world).await;
    let report = environment.controller.clean_up(Deadline::after(LONG)).await;
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    let mut written = asked(&environment.consul, &names);
    written.retain(|line| !line.starts_with("GET"));
    assert_eq!(written, ["DELETE /acl/token/{login}?OTHER&ns=shop", "PUT /catalog/deregister?OTHER", "PUT /txn?OTHER"]);
}

#[tokio::test]
async fn a_task_without_its_cluster_s_node_is_not_done() {
    let world = World::without_deployment("no-node").await;
    let logs_in = world.run(&world.definition("no-node-a", &tags(&[]), None).await).await;
    let outside = world.run(&world.definition("no-node-b", &json!([]), None).await).await;
    let environment = Environment::scripted(&world, &[("TOKEN_MODE", "auth-method")], |seen, _| {
        let path = seen.uri.split('?').next().unwrap_or_default();
        match (seen.method.as_str(), path) {
            ("GET", "/v1/catalog/nodes") => Answer::ok("[]"),
            ("PUT", "/v1/catalog/register") => Answer::status(400, "refused"),
            _ => Answer::Forward,
        }
    })
    .await;
    let events = [world.event(&logs_in).await, world.event(&outside).await];
    let report = without_pauses(environment.handle(&events)).await;
    assert_eq!(report.failures.len(), 1, "only the task that needs the node: {report:?}");
    assert!(report.failures[0].error.to_string().contains("refused"), "{report:?}");
}

#[tokio::test]
async fn unlisted_partitions_are_a_problem() {
    let world = World::without_deployment("unlisted").await;
    let settings = [("CONSUL_PARTITION", "team-b"), ("BOOTSTRAP", "none"), ("TOKEN_MODE", "auth-method")];
    let answers = with_gone_task(&world.cluster());
    let environment = Environment::scripted(&world, &settings, move |seen, before| match seen.uri.as_str() {
        "/v1/partitions" => Answer::status(403, "Permission denied"),
        _ => answers(seen, before),
    })
    .await;
    let order = second_look([gone_task(&world.cluster()).as_str()]);
    let report = environment.controller.sweep(&order, Deadline::after(LONG)).await;
    assert_eq!(
        (report.outcome, report.problems[0].label.as_str()),
        (SweepOutcome::Incomplete, "consul_permission_denied")
    );
    assert_eq!(report.clusters[0].deleted["services"], 1, "{report:?}");
}

#[tokio::test]
async fn community_edition_rejects_a_partition() {
    let world = World::without_deployment("community").await;
    let (address, token) = (&world.consul.address, &world.consul.management_token);
    let controller = bootstrap::controller(address, token, &[("CONSUL_PARTITION", "team")]).await;
    let [failure] = &bootstrap::bootstrap(&controller).await.failures[..] else { panic!("one failure") };
    assert_eq!(
        failure.error.to_string(),
        "partition team: this Consul has no partitions; leave CONSUL_PARTITION empty, or use Consul Enterprise"
    );
}
