//! Sweeps of clusters that a pattern selects.

use local_stack::world::{Pair, World, cluster_arn, idle_check, task_id};
use observe::SweepOrder;
use report::{PlannedAction, SweepOutcome, SweepReport, SweptStatus};
use serde_json::json;
use test_harness::{
    jwt::JwtAuthMethod,
    recorder::{Answer, RecordedRequest, Recorder},
};

use super::{an_hour_later, environment, forward, is_hidden, stopped_task_with_services, swept};
use crate::environment::{Environment, aws};

const PREFIX: (&str, &str) = ("ECS_CLUSTER_ARN_PREFIX", "arn:aws:ecs:us-east-1:000000000000:cluster/");

/// Changes of ECS's answers: its list of clusters, and the status of each.
fn clusters(listed: &'static [&'static str], status: &'static str) -> impl Fn(&RecordedRequest, usize) -> Answer {
    move |seen, _| match seen.operation().as_deref() {
        Some("ListClusters") => {
            let arns: Vec<String> = listed.iter().map(|name| cluster_arn(name)).collect();
            Answer::ok(json!({ "clusterArns": arns }).to_string())
        }
        Some("DescribeClusters") => {
            let asked = seen.json()["clusters"].as_array().cloned().unwrap_or_default();
            let described = asked.iter().map(|arn| {
                let is_listed = listed.iter().any(|name| *arn == cluster_arn(name));
                json!({ "clusterArn": arn, "status": if is_listed { "ACTIVE" } else { status } })
            });
            Answer::ok(json!({ "clusters": described.collect::<Vec<_>>() }).to_string())
        }
        _ => Answer::Forward,
    }
}

#[tokio::test]
async fn a_deleted_cluster_of_a_pattern_is_found_in_consul() {
    // Given a cluster that ECS has deleted, with services, a node and a login token in Consul
    let world = World::without_deployment("pattern-gone").await;
    let stopped = stopped_task_with_services(&world).await;
    let method = JwtAuthMethod::create(world.consul, "pattern-gone").await;
    let login = method.log_in_task(&world.service(), &world.cluster(), task_id(&stopped)).await;
    let settings = [PREFIX, ("ECS_CLUSTER_ARNS", "pattern-g*"), ("TOKEN_MODE", "auth-method")];
    let environment = environment(&world, forward, clusters(&[], "INACTIVE"), &settings, |e| e).await;
    // When the clusters of the pattern are swept
    let report = swept(&environment, &SweepOrder::default()).await;
    // Then nothing of it is left
    assert_eq!((report.outcome, report.clusters[0].status), (SweepOutcome::Done, SweptStatus::Deleted), "{report:?}");
    let nodes = world.consul.get("/v1/catalog/nodes").await.to_string();
    assert!(!nodes.contains(&world.cluster()), "{nodes}");
    assert!(!world.is_valid(&login.secret_id).await);
    // With one more call than a sweep of named clusters for each of the lists
    let lists = environment.consul.lines().iter().filter(|line| line.starts_with("GET /v1/catalog/nodes")).count();
    let clusters = environment.aws.operations().iter().filter(|operation| *operation == "ListClusters").count();
    assert_eq!((clusters, lists), (1, 1));
}

#[tokio::test]
async fn an_unlisted_cluster_that_exists_proves_nothing() {
    // Given an idle service, and a cluster with a node in Consul that ECS does not list although it exists
    let world = World::without_deployment("pattern-other").await;
    let unlisted = World::without_deployment("pattern-unlisted").await;
    stopped_task_with_services(&unlisted).await;
    world.run(&world.mesh_definition("pattern-running").await).await;
    let idle = world.consul_ecs_controller_token("pattern-idle").await;
    let settings = [PREFIX, ("ECS_CLUSTER_ARNS", "pattern-other*,pattern-unl*"), ("TOKEN_MODE", "secrets-manager")];
    let listing = clusters(&["pattern-other"], "ACTIVE");
    let blind = environment(&world, forward, listing, &settings, an_hour_later).await;
    // When it is swept
    swept(&blind, &SweepOrder::default()).await;
    // Then the idle service keeps its token, and so do the unlisted cluster's services
    assert_eq!(world.pair(&world.secret_name("pattern-idle")).await, Some(idle), "a task may run in that cluster");
    assert_eq!(unlisted.service_ids().await.len(), 2);
    // And with the whole list the token is hidden
    let listing = clusters(&["pattern-other", "pattern-unlisted"], "ACTIVE");
    let seeing = environment(&world, forward, listing, &settings, an_hour_later).await;
    swept(&seeing, &SweepOrder::default()).await;
    assert!(is_hidden(&world, "pattern-idle").await);
}

#[tokio::test]
async fn what_is_done_with_the_token_of_a_forgotten_cluster_is_reported() {
    // Given the token of a service without tasks, which names a cluster that ECS does not list
    let world = World::without_deployment("forgotten-other").await;
    let forgotten = World::without_deployment("forgotten-gone").await;
    world.run(&world.mesh_definition("forgotten-running").await).await;
    let Pair { accessor_id, token } = forgotten.consul_ecs_controller_token("forgotten-idle").await;
    let secret = json!({ "accessor_id": accessor_id, "token": token });
    world.put_secret(&world.secret_name("forgotten-idle"), &secret).await;
    let settings = [PREFIX, ("ECS_CLUSTER_ARNS", "forgotten-*"), ("TOKEN_MODE", "secrets-manager")];
    let listing = clusters(&["forgotten-other"], "ACTIVE");
    let environment = environment(&world, forward, listing, &settings, an_hour_later).await;
    // When a sweep is planned, and then run
    let planned = swept(&environment, &SweepOrder { dry_run: true, ..SweepOrder::default() }).await;
    let done = swept(&environment, &SweepOrder::default()).await;
    // Then both reports say of that cluster what becomes of the token
    let of =
        |report: SweepReport| report.clusters.into_iter().find(|it| it.cluster_arn == forgotten.cluster()).unwrap();
    let (planned, done) = (of(planned), of(done));
    assert_eq!((planned.status, done.status), (SweptStatus::NotRead, SweptStatus::NotRead));
    let holder = "service forgotten-idle".to_owned();
    assert_eq!(planned.planned, [PlannedAction::HideToken { holder, accessor_id: None }]);
    assert_eq!((done.hidden, is_hidden(&world, "forgotten-idle").await), (1, true));
}

#[tokio::test]
async fn an_empty_list_of_clusters_proves_nothing() {
    let world = World::without_deployment("pattern-empty").await;
    let token = world.consul_ecs_controller_token("pattern-token").await;
    let settings = [PREFIX, ("ECS_CLUSTER_ARNS", "pattern-empty*"), ("TOKEN_MODE", "secrets-manager")];
    let environment = environment(&world, forward, clusters(&[], "ACTIVE"), &settings, an_hour_later).await;
    let report = swept(&environment, &SweepOrder::default()).await;
    assert_eq!(report.outcome, SweepOutcome::Done, "{report:?}");
    assert_eq!(world.pair(&world.secret_name("pattern-token")).await, Some(token.clone()));
    // And for an idle check
    let handled = environment.handle(&[idle_check("pattern-token")]).await;
    assert!(handled.failures.is_empty(), "{handled:?}");
    assert_eq!(world.pair(&world.secret_name("pattern-token")).await, Some(token));
}

#[tokio::test]
async fn a_cluster_that_ecs_does_not_know_fails_no_sweep() {
    // Given a node in Consul of a cluster that ECS has forgotten, or that never existed
    let world = World::without_deployment("pattern-unknown").await;
    stopped_task_with_services(&world).await;
    let settings = [PREFIX, ("ECS_CLUSTER_ARNS", "pattern-unk*")];
    let unknown = |seen: &RecordedRequest, _| match seen.operation().as_deref() {
        Some("ListClusters") => Answer::ok(json!({ "clusterArns": [] }).to_string()),
        Some("DescribeClusters") => {
            let asked = seen.json()["clusters"].as_array().cloned().unwrap_or_default();
            let failures: Vec<_> = asked.iter().map(|arn| json!({ "arn": arn, "reason": "MISSING" })).collect();
            Answer::ok(json!({ "clusters": [], "failures": failures }).to_string())
        }
        _ => Answer::Forward,
    };
    let environment = environment(&world, forward, unknown, &settings, |e| e).await;
    // When it is swept, then nothing of it is deleted, and the sweep is complete
    let report = swept(&environment, &SweepOrder::default()).await;
    assert_eq!(report.outcome, SweepOutcome::Done, "{report:?}");
    assert_eq!(world.service_ids().await.len(), 2);
    // And when it is swept with force, it counts as deleted
    let order = SweepOrder { force: true, clusters: vec![world.cluster().parse().unwrap()], ..SweepOrder::default() };
    let report = swept(&environment, &order).await;
    assert_eq!((report.outcome, report.clusters[0].status), (SweepOutcome::Done, SweptStatus::Deleted), "{report:?}");
    assert_eq!(world.service_ids().await, Vec::<String>::new());
}

#[tokio::test]
async fn an_idle_check_is_left_to_sweeps_while_a_cluster_is_unknown() {
    // Given settings that name a cluster that does not exist
    let world = World::without_deployment("named-unknown").await;
    let settings = [PREFIX, ("ECS_CLUSTER_ARNS", "named-unknown,no-such-cluster")];
    let environment = environment(&world, forward, forward, &settings, |e| e).await;
    // When the tokens of a service are to be checked, then the message does not return to the queue
    let report = environment.handle(&[idle_check(&world.service())]).await;
    assert!(report.failures.is_empty() && report.faults.is_empty(), "{report:?}");
    assert!(environment.consul.requests().is_empty(), "{:?}", environment.consul.lines());
}

#[tokio::test]
async fn an_event_of_a_pattern_s_cluster_needs_no_list() {
    let world = World::without_deployment("pattern-event").await;
    let task = world.run(&world.mesh_definition(&world.service()).await).await;
    let settings = [PREFIX, ("ECS_CLUSTER_ARNS", "pattern-ev*"), ("TOKEN_MODE", "secrets-manager")];
    let environment = environment(&world, forward, forward, &settings, |e| e).await;
    let (calls, _) = environment.calls_for(&[world.event(&task).await]).await;
    assert!(!calls.contains(&"ListClusters".to_owned()), "{calls:?}");
    world.provisioned(&world.secret_name(&world.service())).await;
    // An idle check lists the clusters once
    let (calls, _) = environment.calls_for(&[idle_check(&world.service())]).await;
    assert_eq!(calls.iter().filter(|operation| *operation == "ListClusters").count(), 1, "{calls:?}");
}

#[tokio::test]
async fn the_first_event_of_a_new_cluster_creates_its_node() {
    // Given a cluster that was created after the deployment, and a task in it that logs in
    let world = World::without_deployment("pattern-new").await;
    let task = world.run(&world.dataplane_definition(&world.service()).await).await;
    let consul = Recorder::before(&world.consul.address, forward).await;
    let settings = [PREFIX, ("ECS_CLUSTER_ARNS", "pattern-n*"), ("BOOTSTRAP", "dataplane")];
    let environment = Environment::between(&world, consul, aws(forward).await, &settings, |e| e).await;
    let event = world.event(&task).await;
    // When its event is handled
    let (_, consul) = environment.calls_for(std::slice::from_ref(&event)).await;
    // Then the task can register its services
    assert_eq!(consul, ["GET catalog/nodes", "GET catalog/nodes", "PUT catalog/register"]);
    let nodes = world.consul.get("/v1/catalog/nodes").await.to_string();
    assert!(nodes.contains(&world.cluster()), "{nodes}");
    // And an event that is replayed an hour later creates none
    world.consul.put("/v1/catalog/deregister", &json!({ "Node": world.cluster() })).await;
    let consul = Recorder::before(&world.consul.address, forward).await;
    let later = Environment::between(&world, consul, aws(forward).await, &settings, an_hour_later).await;
    let (_, consul) = later.calls_for(std::slice::from_ref(&event)).await;
    assert!(consul.is_empty(), "{consul:?}");
    // And further events make no call to Consul
    let (_, consul) = environment.calls_for(&[event]).await;
    assert!(consul.is_empty(), "{consul:?}");
}
