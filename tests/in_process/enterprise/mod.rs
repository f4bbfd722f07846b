//! Consul Enterprise: in which partition and namespace the controller reads and writes, against recorders, because the Community
//! Edition refuses such requests. How each request of the client names its tenancy is in `client/enterprise.rs`.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{
    bootstrap::{self, fake::Fake},
    client::enterprise::in_short,
    environment::Environment,
    sweep::second_look,
    time::{LONG, without_pauses},
};
use local_stack::world::{World, task_id};
use observe::{Deadline, SweepOrder};
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
async fn a_tag_creates_no_partition() {
    let world = World::without_deployment("tag-partition").await;
    // Given a task of a partition that exists, and that the settings do not name
    let tags = tags(&[("partition", "foreign"), ("namespace", "store"), ("service-name", "shop")]);
    let read = [("CONSUL_HTTP_TOKEN", "shop-store-foreign")];
    let task = world.run(&world.definition_reading("tag-partition-shop", &tags, None, &read).await).await;
    let fake = Fake::new();
    fake.put("partition/foreign", json!({ "Name": "foreign" }));
    fake.put("namespace/default", json!({ "Name": "default" }));
    let environment = Environment::with(&world, fake.start().await, &IN_TEAM, |edges| edges).await;
    // When it starts
    let report = without_pauses(environment.handle(&[world.event(&task).await])).await;
    // Then its message alone is a fault, and says why
    let error = &report.faults[0].error;
    assert!(report.failures.is_empty() && error.field() == Some("consul.hashicorp.com/partition"), "{error}");
    // And a sweep contains it
    let report = without_pauses(environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG))).await;
    let faults: Vec<_> = report.faults.iter().filter(|fault| fault.reason.contains("foreign")).collect();
    assert!(faults.len() == 1 && faults[0].owner.as_ref().unwrap().contains("tag-partition-shop"), "{report:?}");
    // And nothing is created for it
    let written = writes(&environment);
    assert!(!written.iter().any(|line| line.contains("foreign") || line.contains("store")), "{written:?}");
    assert!(fake.all("namespace").len() == 1, "{written:?}");
    assert!(world.pair("tag-partition-shop-store-foreign").await.is_none());
}

/// The namespaces of a fake, without `default`.
fn created(fake: &Fake) -> Vec<String> {
    let names = fake.all("namespace").into_iter().map(|it| it["Name"].as_str().unwrap().to_owned());
    names.filter(|name| name != "default").collect()
}

#[tokio::test]
async fn tags_create_a_few_namespaces_at_once() {
    let world = World::without_deployment("many-namespaces").await;
    // Given eleven tasks with a namespace each
    let mut tasks = Vec::new();
    for number in 0..11 {
        let tags = tags(&[("partition", "team"), ("namespace", &format!("space-{number}"))]);
        tasks.push(world.run(&world.definition(&format!("many-namespaces-{number}"), &tags, None).await).await);
    }
    let fake = Fake::new();
    fake.put("namespace/default", json!({ "Name": "default" }));
    let environment = Environment::with(&world, fake.start().await, &IN_TEAM, |edges| edges).await;
    // When they start at once, then ten are created, and the message of the other task returns
    let mut events = Vec::new();
    for task in &tasks {
        events.push(world.event(task).await);
    }
    let report = without_pauses(environment.handle(&events)).await;
    assert_eq!((report.failures.len(), created(&fake).len()), (1, 10), "{report:?}");
    let error = &report.failures[0].error;
    assert!(!error.is_permanent() && error.to_string().contains("new namespaces of the tasks of cluster"), "{error}");
    // And so it is in a sweep, which is complete
    let fake = Fake::new();
    fake.put("namespace/default", json!({ "Name": "default" }));
    let environment = Environment::with(&world, fake.start().await, &IN_TEAM, |edges| edges).await;
    let sweep = async || {
        without_pauses(environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG))).await.faults
    };
    let faults = sweep().await;
    assert!(faults.iter().any(|fault| fault.label.as_str() == "over_limit"), "{faults:?}");
    assert_eq!(created(&fake).len(), 10);
    let faults = sweep().await;
    assert!(!faults.iter().any(|fault| fault.label.as_str() == "over_limit"), "{faults:?}");
    assert_eq!(created(&fake).len(), 11);
}

#[tokio::test]
async fn a_task_without_its_namespace_harms_no_other() {
    let world = World::without_deployment("no-namespace").await;
    let in_namespace = |name| tags(&[("partition", "team"), ("namespace", name)]);
    let mut events = Vec::new();
    for name in ["consul", "bad", "late", "good"] {
        let definition = world.definition(&format!("no-namespace-{name}"), &in_namespace(name), None).await;
        events.push(world.event(&world.run(&definition).await).await);
    }
    let fake = Fake::new();
    fake.put("namespace/default", json!({ "Name": "default" }));
    let upstream = fake.start().await;
    // Given a Consul that refuses two namespaces for their names, and fails to create a third one
    let consul = Recorder::before(&upstream.url, |seen, _| {
        let creates = |name: &str| seen.method != "GET" && seen.body.contains(&format!(r#""Name":"{name}""#));
        match () {
            () if creates("consul") => {
                let text = r#"rpc error making call: Namespace "consul" is reserved for future internal use"#;
                Answer::status(500, text)
            }
            () if creates("bad") => Answer::status(400, "invalid namespace"),
            () if creates("late") => Answer::status(500, "rpc error making call: EOF"),
            () => Answer::Forward,
        }
    })
    .await;
    let environment = Environment::with(&world, consul, &IN_TEAM, |edges| edges).await;
    let report = without_pauses(environment.handle(&events)).await;
    let named = |failures: &[controller::Failure], name: &str| {
        failures.iter().any(|failure| failure.error.to_string().contains(&format!("namespace {name}")))
    };
    // Then the message of the third one returns, and the others are faults
    assert_eq!((report.failures.len(), report.faults.len()), (1, 2), "{report:?}");
    assert!(named(&report.failures, "late") && named(&report.faults, "consul") && named(&report.faults, "bad"));
    assert_eq!(created(&fake), ["good"]);
    // And sweeps are complete without them
    let report = without_pauses(environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG))).await;
    let of_namespaces = report.faults.iter().filter(|fault| fault.reason.starts_with("namespace ")).count();
    assert_eq!((report.outcome, of_namespaces), (SweepOutcome::Done, 3), "{report:?}");
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

/// A Consul without the partition; once it exists, it has namespaces.
fn without_partition() -> Fake {
    let fake = Fake::new();
    fake.put("namespace/default", json!({ "Name": "default" }));
    let acls = json!({ "PolicyDefaults": [{ "ID": "p-1", "Name": "user" }] });
    fake.put("namespace/going", json!({ "Name": "going", "DeletedAt": "2024-01-01T00:00:00Z" }));
    fake.put("namespace/shop", json!({ "Name": "shop", "Meta": { "by": "user" }, "ACLs": acls }));
    fake
}

#[tokio::test]
async fn namespaces_are_set_up_in_secrets_manager_mode() {
    let fake = without_partition();
    let consul = fake.start().await;
    let settings = [("CONSUL_PARTITION", "team"), ("TOKEN_MODE", "secrets-manager")];
    let controller = bootstrap::controller(&consul.url, "own", &settings).await;
    let report = bootstrap::bootstrap(&controller).await;
    assert_eq!(report.created, ["partition team", "ACL policy cross-namespace-read"], "{report:?}");
    // Namespaces of other creators stay as they are
    assert_eq!(report.updated, ["namespace default"]);
    assert_eq!(
        fake.get("namespace/default")["ACLs"],
        json!({ "PolicyDefaults": [{ "Name": "cross-namespace-read" }] })
    );
    let rules = r#"partition "team" { namespace_prefix "" { service_prefix "" { policy = "read" } node_prefix "" { policy = "read" } } }"#;
    assert_eq!(fake.get("acl/policy/cross-namespace-read")["Rules"], rules);
    asked(&consul, &[]);
    let report = bootstrap::bootstrap(&controller).await;
    assert_eq!(report.unchanged.len(), 3, "{report:?}");
    assert_eq!(
        asked(&consul, &[]),
        ["GET /acl/policy/name/cross-namespace-read?HOME", "GET /namespace/default?P", "GET /partition/team"]
    );
}

#[tokio::test]
async fn logins_are_in_the_default_namespace() {
    let fake = without_partition();
    let consul = fake.start().await;
    let controller = bootstrap::controller(&consul.url, "own", &[("CONSUL_PARTITION", "team")]).await;
    let report = bootstrap::bootstrap(&controller).await;
    assert!(report.failures.is_empty(), "{report:?}");
    let mut written = asked(&consul, &[(bootstrap::fake::ANONYMOUS, "{anonymous}")]);
    written.retain(|line| line.starts_with("PUT"));
    let written: Vec<(&str, usize)> =
        written.chunk_by(|line, next| line == next).map(|same| (same[0].as_str(), same.len())).collect();
    let expected = [
        ("PUT /acl/auth-method?HOME", 2),
        ("PUT /acl/binding-rule?HOME", 5),
        ("PUT /acl/policy?D&ns=default", 1),
        ("PUT /acl/policy?HOME", 4),
        ("PUT /acl/role?HOME", 4),
        // All partitions share one anonymous token
        ("PUT /acl/token/{anonymous}?D&ns=default", 1),
        ("PUT /catalog/register?P", 1),
        ("PUT /namespace/default?P", 1),
        ("PUT /partition", 1),
    ];
    assert_eq!(written, expected);
    let rules = |policy: &str| fake.get(&format!("acl/policy/{policy}"))["Rules"].as_str().unwrap().to_owned();
    let read_all =
        r#"namespace_prefix "" { node_prefix "" { policy = "read" } service_prefix "" { policy = "read" } }"#;
    assert_eq!(rules("anonymous-token-policy"), format!("partition_prefix \"\" {{ {read_all} }}"));
    assert_eq!(rules("consul-ecs-api-gateway-policy"), format!("mesh = \"read\"\n{read_all}"));
    assert_eq!(
        rules("consul-ecs-client-policy"),
        r#"node_prefix "" { policy = "write" } namespace_prefix "" { service_prefix "" { policy = "read" } }"#
    );
    let selector = r#"entity_tags["consul.hashicorp.com.namespace"] != """#;
    let bound = "${entity_tags.consul.hashicorp.com.namespace}";
    let of_namespaces = &fake.get("acl/auth-method/iam-ecs-service-token")["NamespaceRules"];
    assert_eq!(*of_namespaces, json!([{ "Selector": selector, "BindNamespace": bound }]));
}

#[tokio::test]
async fn community_edition_rejects_a_partition() {
    let upstream = Fake::new().start().await;
    let consul = Recorder::before(&upstream.url, |seen, _| match seen.uri.as_str() {
        uri if uri.starts_with("/v1/partition") => Answer::status(404, ""),
        _ => Answer::Forward,
    })
    .await;
    let controller = bootstrap::controller(&consul.url, "own", &[("CONSUL_PARTITION", "team")]).await;
    let [failure] = &bootstrap::bootstrap(&controller).await.failures[..] else { panic!("one failure") };
    assert_eq!(
        failure.error.to_string(),
        "partition team: this Consul has no partitions; leave CONSUL_PARTITION empty, or use Consul Enterprise"
    );
}
