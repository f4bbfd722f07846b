//! A stack is updated from an earlier version and goes back to it, while tasks run. `make test-upgrade` builds the earlier version.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    path::{Path, PathBuf},
};

use local_stack::{
    Stack,
    deploy::{Deployed, deploy_packaged, package_earlier, set_reading, try_deploy},
    http::Answer,
    world::{GRACE, Pair, World, task_id},
};
use reqwest::Method;
use serde_json::{Value, json};
use test_harness::{
    ecs_agent::{DataplaneService, DataplaneTask, Release},
    skip::skip_optional,
};

use crate::fixture::controller_token;

/// The environment variable with the folder of the earlier version: its `template.yaml`, and its functions as cargo-lambda writes
/// them.
const FROM: &str = "UPGRADE_FROM";
const NAME: &str = "upgrade";

/// A task that reads its token from a secret.
struct Reading {
    arn: String,
    secret: String,
    pair: Pair,
}

/// A task that logs in, and one that reads its token, of services of their own.
struct Started<'a> {
    logging_in: DataplaneTask<'a>,
    reading: Reading,
}

#[tokio::test]
async fn running_tasks_keep_their_tokens_when_the_stack_is_updated_and_goes_back() {
    let Some(folder) = env::var_os(FROM).map(PathBuf::from) else {
        return skip_optional("UPGRADE_FROM is not set: run make test-upgrade");
    };
    // Given a stack of the earlier version, and tasks that it serves
    let stack = Stack::shared().await;
    let versions = Versions::of(stack, &folder).await;
    let world = World::new(stack, &versions.deploy_earlier().await, NAME, NAME);
    let mut running = vec![start(&world, "earlier").await];
    let mut leaving = start(&world, "earlier-leaving").await;
    for (number, next) in ["current", "earlier"].into_iter().enumerate() {
        // When the other version is deployed, while a message of this one waits
        let unhandled = start(&world, &format!("unhandled-{number}")).await.reading;
        let message = leave_an_idle_check(&world, &unhandled).await;
        let is_message = |waiting: &Value| waiting["MessageId"] == message;
        let before = tokens_and_services(&world, &running).await;
        let code = code_of_functions(&world).await;
        let deployed =
            if next == "current" { versions.deploy_current().await } else { versions.deploy_earlier().await };
        assert_eq!(deployed, world.deployed, "the outputs of {next}");
        assert!(code_of_functions(&world).await.is_disjoint(&code), "{next} has the functions of the version before");
        // Then running tasks have the same tokens and services
        assert_eq!(tokens_and_services(&world, &running).await, before, "after the update to {next}");
        // And the message is handled
        assert!(world.waiting(&world.deployed.queue_url).await.iter().any(is_message), "{message} did not wait");
        set_reading(world.aws, &world.deployed.function_name, true).await;
        world.emptied(&unhandled.secret).await;
        world.revoked(&unhandled.pair).await;
        // And so are stops of tasks that started before, and starts of others
        stop(&world, leaving).await;
        running.push(start(&world, next).await);
        leaving = start(&world, &format!("{next}-leaving")).await;
        // And a sweep finds nothing to do for the tasks that run
        let before = tokens_and_services(&world, &running).await;
        world.swept().await;
        assert_eq!(tokens_and_services(&world, &running).await, before, "after a sweep of {next}");
    }
}

/// The two versions of one stack.
struct Versions {
    stack: &'static Stack,
    earlier: PathBuf,
    parameters: Vec<(&'static str, String)>,
}

impl Versions {
    async fn of(stack: &'static Stack, earlier: &Path) -> Self {
        let token = controller_token(&stack.consul, NAME).await;
        let secret = stack.aws.create_secret(&format!("{NAME}-controller"), &token.secret_id).await;
        stack.aws.create_cluster(NAME).await;
        let parameters = vec![
            ("ConsulHttpAddr", stack.consul.address.clone()),
            ("ConsulHttpTokenSecretArn", secret),
            ("EcsClusterArns", NAME.to_owned()),
            ("SecretNamePrefix", NAME.to_owned()),
            ("ReconcileRate", "rate(1 day)".to_owned()),
            ("RevocationGraceSeconds", GRACE.as_secs().to_string()),
            ("Bootstrap", "none".to_owned()),
        ];
        Self { stack, earlier: package_earlier(&stack.aws, earlier).await, parameters }
    }

    async fn deploy_earlier(&self) -> Deployed {
        let parameters: Vec<(&str, &str)> = self.parameters.iter().map(|(key, value)| (*key, value.as_str())).collect();
        deploy_packaged(&self.stack.aws, &self.earlier, NAME, &parameters).await.unwrap()
    }

    /// An update: all parameters keep their values.
    async fn deploy_current(&self) -> Deployed {
        try_deploy(&self.stack.aws, NAME, &[]).await.unwrap()
    }
}

/// Starts a task of each kind, and waits until the deployed version has served both.
async fn start<'a>(world: &'a World<'a>, what: &str) -> Started<'a> {
    let service = DataplaneService::named(&format!("{NAME}-{what}-login"), Release::V0_10);
    let logging_in = service.run(world).await;
    logging_in.settle().await;
    world.deliver(&[world.event(&logging_in.arn).await]).await;

    let service = format!("{NAME}-{what}-read");
    let arn = world.start_task(&world.mesh_definition(&service).await).await;
    let secret = world.secret_name(&service);
    let pair = world.provisioned(&secret).await;
    world.register_instance(&service, &arn).await;
    world.events_handled().await;
    Started { logging_in, reading: Reading { arn, secret, pair } }
}

/// Stops both tasks. The deployed version removes their services and tokens.
async fn stop(world: &World<'_>, Started { logging_in, reading }: Started<'_>) {
    for arn in [&logging_in.arn, &reading.arn] {
        world.stop_task(arn).await;
    }
    world.events_handled().await;
    assert_eq!(services_of(world, &[&logging_in.arn, &reading.arn]).await, BTreeSet::new());
    assert_eq!(world.tokens_about(logging_in.id()).await, Vec::<Value>::new());
    world.emptied(&reading.secret).await;
    world.revoked(&reading.pair).await;
}

/// Lets the deployed version handle the stop of a task while it does not read its queue, so that the idle check that it sends
/// itself waits there. Returns the ID of the message.
async fn leave_an_idle_check(world: &World<'_>, task: &Reading) -> String {
    world.settled().await;
    set_reading(world.aws, &world.deployed.function_name, false).await;
    world.stop(&task.arn).await;
    let body = world.event(&task.arn).await.to_string();
    let batch = json!({ "Records": [{ "messageId": "1", "body": body }] });
    let answer = world.aws.invoke(&world.deployed.function_name, &batch).await.unwrap();
    assert_eq!(answer["batchItemFailures"], json!([]), "{answer}");
    assert!(world.is_valid(&task.pair.token).await);
    let waiting = world.waiting(&world.deployed.queue_url).await;
    let [message] = waiting.as_slice() else { panic!("not one message: {waiting:?}") };
    message["MessageId"].as_str().unwrap().to_owned()
}

/// The tokens of tasks, with the versions of their secrets, and their services with their checks.
async fn tokens_and_services(world: &World<'_>, tasks: &[Started<'_>]) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for Started { logging_in, reading } in tasks {
        let logins = world.tokens_about(logging_in.id()).await;
        let logins: BTreeSet<&str> = logins.iter().filter_map(|token| token["AccessorID"].as_str()).collect();
        assert!(!logins.is_empty(), "no login token of {}", logging_in.arn);
        assert!(world.is_valid(&reading.pair.token).await, "the token in {}", reading.secret);
        for name in [&reading.secret, &world.secret_name("consul-client-token")] {
            let secret = world.aws.secrets().get_secret_value().secret_id(name).send().await.unwrap();
            found.insert(name.clone(), json!([secret.version_id(), secret.secret_string()]));
        }
        found.insert(format!("logins of {}", logging_in.arn), json!(logins));
        for arn in [&logging_in.arn, &reading.arn] {
            let checks = world.checks_of(arn).await;
            let status = |check: &Value| (check["CheckID"].to_string(), check["Status"].clone());
            let checks: BTreeMap<String, Value> = checks.iter().map(status).collect();
            let services = services_of(world, &[arn]).await;
            assert!(!services.is_empty(), "no service of {arn}");
            found.insert(arn.clone(), json!([services, checks]));
        }
    }
    found
}

/// The IDs of the services of some tasks.
async fn services_of(world: &World<'_>, tasks: &[&String]) -> BTreeSet<String> {
    let mut ids = world.service_ids().await;
    ids.retain(|id| tasks.iter().any(|arn| id.contains(task_id(arn))));
    ids.into_iter().collect()
}

/// The checksums of the code of both functions.
async fn code_of_functions(world: &World<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for function in [&world.deployed.function_name, &world.deployed.reconcile] {
        let path = format!("/2015-03-31/functions/{function}/configuration");
        let request = world.aws.request(Method::GET, &path, "lambda");
        let answer = Answer::to(request).await.and_then(Answer::success);
        found.insert(answer.unwrap()["CodeSha256"].as_str().unwrap().to_owned());
    }
    found
}
