//! The start of a function: what it reads and connects to before its first event.

use std::collections::BTreeMap;

use controller::{Controller, Deadline, Delivery, settings::Settings};
use ecs_mesh_controller::wiring::{self, Clients};
use local_stack::world::World;
use test_harness::recorder::{Answer, Recorder};

use crate::{
    environment::{aws, sdk_at, without_time_limits},
    time::LONG,
};

/// Lambda's variables and the function's settings.
fn variables(world: &World<'_>, aws: &str, consul: &str, secret: &str) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ("AWS_ENDPOINT_URL", aws.to_owned()),
        ("CONSUL_HTTP_ADDR", consul.to_owned()),
        ("CONSUL_HTTP_TOKEN_SECRET_ARN", secret.to_owned()),
        ("ECS_CLUSTER_ARNS", world.cluster()),
        ("SECRET_NAME_PREFIX", world.prefix.to_owned()),
        ("QUEUE_URL", world.deployed.queue_url.clone()),
    ])
}

#[tokio::test]
async fn a_start_reads_the_token_and_connects_before_the_first_event() {
    // Given a task that has stopped, and the controller's token in a secret
    let world = World::without_deployment("starting").await;
    let service = world.service();
    let task = world.run(&world.dataplane_definition(&service).await).await;
    world.register_instance(&service, &task).await;
    world.stop(&task).await;
    let secret = world.aws.create_secret("starting-token", &world.consul.management_token).await;
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    let aws = aws(|_, _| Answer::Forward).await;
    let variables = variables(&world, &aws.url, &consul.url, &secret);
    let settings = Settings::read(|name| variables.get(name).cloned()).expect("settings");
    let clients = Clients::new(&settings, &sdk_at(&aws.url), without_time_limits()).await.expect("clients");
    // When the function starts
    clients.open_connections().await;
    // Then it reads its token and connects to ECS, and twice to Consul
    assert_eq!(aws.operations(), ["GetSecretValue", "ListClusters"]);
    assert_eq!(consul.lines(), ["GET /v1/status/leader", "GET /v1/status/leader"]);
    // And the first event makes no other requests than its own
    aws.forget();
    consul.forget();
    let body = world.event(&task).await.to_string();
    let delivery = Delivery { id: "1".to_owned(), receipt: None, receives: 1, body };
    let controller = Controller::new(settings.scope, clients.edges);
    let report = controller.handle(&[delivery], Deadline::after(LONG)).await;
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert_eq!(aws.operations(), ["DescribeTaskDefinition"]);
    let lines = consul.lines();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some("PUT /v1/txn"));
    assert_eq!(world.service_ids().await, [""; 0]);
}

#[tokio::test]
async fn a_start_does_not_depend_on_its_connections() {
    let world = World::without_deployment("refused").await;
    let secret = "arn:aws:secretsmanager:us-east-1:000000000000:secret:token-AbCdEf";
    // Given servers that refuse connections, at a port that was free a moment ago, and one that never answers
    let refusing = format!("http://127.0.0.1:{}", local_stack::ports::reserve());
    let silent = Recorder::start(|_, _| Answer::Hang).await;
    for url in [&refusing, &silent.url] {
        let variables = variables(&world, url, url, secret);
        // When the function starts, then it gets ready for events, which report what is wrong
        let started = wiring::start(Ok(()), without_time_limits(), move |name| variables.get(name).cloned()).await;
        assert!(started.is_ok(), "{:?}", started.err());
    }
}
