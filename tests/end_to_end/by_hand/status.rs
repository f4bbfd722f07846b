//! `ecs-mesh status`

use local_stack::{
    Stack,
    world::{World, task_id},
};
use serde_json::{Value, json};
use test_harness::{
    ecs_agent::{DataplaneService, DataplaneTask, MESH_INIT, Release},
    recorder::{Answer, Recorder},
};
use tokio::sync::OnceCell;

use super::{PAGE, Said, command, documented, permissions, said};

/// A token with the policy of the page.
async fn token() -> &'static str {
    static TOKEN: OnceCell<String> = OnceCell::const_new();
    let create = || async {
        let policy = PAGE.split_once("```hcl\n").and_then(|(_, rest)| rest.split_once("```")).expect("a policy").0;
        Stack::shared().await.consul.token_with_rules("status", policy).await.secret_id
    };
    TOKEN.get_or_init(create).await
}

/// Asks for the status of a world's cluster.
async fn status(world: &World<'_>, arguments: &[&str]) -> Said {
    let aws = Recorder::before_aws(&Stack::shared().await.aws, |_, _| Answer::Forward).await;
    status_at(&aws.url, &world.consul.address, token().await, &[&["--cluster", world.name], arguments].concat()).await
}

async fn status_at(aws: &str, consul: &str, token: &str, arguments: &[&str]) -> Said {
    let mut command = command(aws, &[&["status"], arguments].concat()).await;
    said(command.env("CONSUL_HTTP_ADDR", consul).env("CONSUL_HTTP_TOKEN", token)).await
}

/// The only row, and the exit code.
async fn row(world: &World<'_>) -> (Value, Option<i32>) {
    let said = status(world, &["--output", "json"]).await;
    let document = said.json();
    assert_eq!(document["services"].as_array().unwrap().len(), 1, "{document:#}");
    (document["services"][0].clone(), said.code)
}

async fn of_ecs_service<'a>(world: &'a World<'a>) -> DataplaneTask<'a> {
    DataplaneService::of(world, Release::V0_9).run_by_ecs_service(world, &json!([])).await
}

#[tokio::test]
async fn a_healthy_service_is_shown_with_few_calls() {
    let world = World::without_deployment("status-healthy").await;
    of_ecs_service(&world).await.settle().await;
    let aws = Recorder::before_aws(&Stack::shared().await.aws, |_, _| Answer::Forward).await;
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let arguments = ["--cluster", world.name, "--output", "json"];
    let said = status_at(&aws.url, &consul.url, token().await, &arguments).await;
    let row = &said.json()["services"][0];
    assert_eq!((said.code, &row["verdict"]), (Some(0), &json!("healthy")), "{row:#}{}", said.errors);
    let counts = ["desiredTasks", "runningTasks", "instances", "passingInstances"].map(|field| row[field].clone());
    assert_eq!(counts, [1, 1, 1, 1].map(Value::from));
    assert_eq!(row["versions"], json!({ "consulEcs": ["0.9.0"], "consulDataplane": ["1.6.5"] }));
    assert!(row["lastChange"]["at"].is_string(), "{row:#}");
    let schema: Value =
        serde_json::from_str(include_str!("../../../docs/reference/schema/status.schema.json")).unwrap();
    jsonschema::validate(&schema, &said.json()).unwrap();
    // The calls that the page documents
    let calls = [
        "DescribeServices",
        "DescribeStacks",
        "DescribeTaskDefinition",
        "DescribeTasks",
        "ListClusters",
        "ListServices",
        "ListTasks",
        "ListTasks",
    ];
    assert_eq!(aws.operations(), calls);
    assert_eq!(permissions(&aws.requests()), documented("status"));
    assert_eq!(consul.lines().len(), 4, "{:?}", consul.lines());
}

#[tokio::test]
async fn registered_tasks_without_a_proof_are_listed() {
    let world = World::without_deployment("status-unproven").await;
    let service = DataplaneService::of(&world, Release::V0_10);
    // Given a task that has logged in as its service, and one that is registered as the same service without a login
    let member = service.run(&world).await;
    member.settle().await;
    let impostor = service.run(&world).await;
    impostor.register().await;
    impostor.report_stopped(MESH_INIT, 0).await;
    impostor.report_all_healthy().await;
    impostor.sync_health().await;
    let policy: String = PAGE.split("```hcl\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let token = world.consul.token_with_rules("status-unproven", &policy).await;
    // When a person asks
    let aws = Recorder::before_aws(&Stack::shared().await.aws, |_, _| Answer::Forward).await;
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let said = status_at(&aws.url, &consul.url, &token.secret_id, &["--cluster", world.name]).await;
    // Then the verdict is as before, and the second one is named, with one more reading of Consul than its tokens take
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.errors);
    assert!(said.out.contains("Registered without proof by a login token: 1 task"), "{}", said.out);
    let listed = said.out.lines().last().unwrap_or_default();
    assert!(
        listed.contains(impostor.id()) && listed.ends_with("Consul lists no login token of the task"),
        "{}",
        said.out
    );
    assert_eq!(consul.lines().len(), 6, "{:?}", consul.lines());
}

#[tokio::test]
async fn a_service_on_client_agents_is_found_on_their_nodes() {
    let world = World::without_deployment("status-agents").await;
    let service = world.service();
    let agent = json!({ "name": "consul-client", "image": "hashicorp/consul:1.8.7", "essential": false });
    let definition = world.definition_with(&service, &[agent]).await;
    let task = world.run(&definition).await;
    let register = async |status: &str| {
        let node = format!("agent-{}", world.name);
        let instance =
            json!({ "ID": "web-1", "Service": service, "Meta": { "task-id": task_id(&task), "task-arn": task } });
        // Not `serfHealth`: Consul's leader removes nodes with it that are not members, once a minute.
        let disk = json!({ "Node": node, "CheckID": "disk", "Name": "Disk", "Status": status });
        let body = json!({ "Node": node, "Address": "10.0.0.9", "Service": instance, "Checks": [disk] });
        world.consul.put("/v1/catalog/register", &body).await;
    };
    register("passing").await;
    let (healthy, code) = row(&world).await;
    assert_eq!(
        (code, &healthy["verdict"], &healthy["instances"]),
        (Some(0), &json!("healthy"), &json!(1)),
        "{healthy:#}"
    );
    // A check of the agent's node counts for its instances
    register("critical").await;
    let (critical, code) = row(&world).await;
    assert_eq!((code, &critical["state"], &critical["passingInstances"]), (Some(1), &json!("faulty"), &json!(0)));
}

#[tokio::test]
async fn consul_that_cannot_be_read_is_said_and_never_counts_as_empty() {
    let world = World::without_deployment("status-no-consul").await;
    of_ecs_service(&world).await.settle().await;
    let stack = Stack::shared().await;
    let aws = Recorder::before_aws(&stack.aws, |_, _| Answer::Forward).await;
    let nothing = stack.consul.token_with_rules("status-nothing", r#"key_prefix "" { policy = "read" }"#).await;
    let arguments = ["--cluster", world.name, "--output", "json"];
    for (consul, token, expected) in [
        ("http://127.0.0.1:1", token().await, "Consul could not be read at CONSUL_HTTP_ADDR: http://127.0.0.1:1"),
        (&stack.consul.address, "unknown", "it does not know the token in CONSUL_HTTP_TOKEN"),
        (&stack.consul.address, nothing.secret_id.as_str(), "CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE lacks"),
    ] {
        let said = status_at(&aws.url, consul, token, &arguments).await;
        let document = said.json();
        let row = &document["services"][0];
        assert_eq!(
            (said.code, &row["instances"], &row["state"]),
            (Some(2), &Value::Null, &json!("unknown")),
            "{row:#}"
        );
        let problem = document["problems"][0].as_str().unwrap();
        assert!(problem.contains(expected), "{problem}");
    }
}

#[tokio::test]
async fn an_unknown_service_or_cluster_is_refused_with_what_there_is() {
    let world = World::without_deployment("status-unknown").await;
    of_ecs_service(&world).await;
    let said = status(&world, &["status-unknown-wbe"]).await;
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("did you mean \"status-unknown-web\"?"), "{}", said.errors);
    let said = status(&world, &["--cluster", "status-nowhere"]).await;
    assert_eq!(said.code, Some(2));
    assert!(said.errors.contains("no cluster \"status-nowhere\""), "{}", said.errors);
}

#[tokio::test]
async fn a_watched_status_is_printed_again_on_a_pipe() {
    let world = World::without_deployment("status-watch").await;
    of_ecs_service(&world).await.settle().await;
    let aws = Recorder::before_aws(&Stack::shared().await.aws, |_, _| Answer::Forward).await;
    let mut command = command(&aws.url, &["status", "--cluster", world.name, "--watch=1", "--output", "json"]).await;
    command.env("CONSUL_HTTP_ADDR", &world.consul.address).env("CONSUL_HTTP_TOKEN", token().await);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(child.stdout.take().unwrap()));
    for _ in 0..2 {
        let line = lines.next_line().await.unwrap().expect("a further document");
        let document: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(document["services"][0]["verdict"], "healthy");
    }
    // The definition was read once
    let reads = aws.operations().into_iter().filter(|operation| operation == "DescribeTaskDefinition").count();
    assert_eq!(reads, 1);
    child.kill().await.unwrap();
}
