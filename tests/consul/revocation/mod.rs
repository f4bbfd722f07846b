//! Delete, then verify: what happens between the deletion of an idle service's token and the look afterwards.

mod lost_answer;

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{
    environment::Environment,
    time::{Fixed, LONG, in_no_time},
};
use async_trait::async_trait;
use ecs_mesh_controller::{
    controller::{BatchReport, Deadline, Delivery, Edges},
    ecs::{ClusterStatus, Ecs, EcsError, TaskList},
};
use jiff::{SignedDuration, Timestamp};
use local_stack::world::{Definition, Pair, World, idle_check};
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    identity::TaskDefinition,
    task::DescribedTask,
};
use serde_json::json;
use test_harness::recorder::{Answer, Recorder};
use tokio::sync::Notify;

/// Later than any invocation lasts.
const WRITER_HAS_ENDED: SignedDuration = SignedDuration::from_secs(75);

/// What ECS does when it is asked for its tasks the second time: after the deletion.
#[derive(Clone, Copy, PartialEq)]
enum Second {
    /// It shows a task that has appeared.
    TaskAppeared,
    /// It does not show yet a task that has appeared: lists lag behind.
    LagsBehind,
    /// ECS fails.
    Fails,
}

/// ECS, but for its answer to the second listing.
struct ChangingEcs {
    inner: Arc<dyn Ecs>,
    second: Second,
    listings: AtomicUsize,
    /// Asks the test to do what has to happen between the two listings, and waits for it.
    between: Arc<(Notify, Notify)>,
}

#[async_trait]
impl Ecs for ChangingEcs {
    async fn task_definition(&self, arn: &TaskDefinitionArn) -> Result<Arc<TaskDefinition>, EcsError> {
        self.inner.task_definition(arn).await
    }

    fn forget(&self, arn: &TaskDefinitionArn) {
        self.inner.forget(arn);
    }

    async fn cluster_statuses(&self, clusters: &[ClusterArn]) -> Result<BTreeMap<ClusterArn, ClusterStatus>, EcsError> {
        self.inner.cluster_statuses(clusters).await
    }

    async fn list_running(&self, cluster: &ClusterArn) -> Result<Vec<TaskArn>, EcsError> {
        self.inner.list_running(cluster).await
    }

    async fn list_tasks(&self, cluster: &ClusterArn) -> Result<TaskList, EcsError> {
        if self.listings.fetch_add(1, Ordering::SeqCst) == 1 {
            self.between.0.notify_one();
            self.between.1.notified().await;
            match self.second {
                Second::TaskAppeared => {}
                Second::LagsBehind => return Ok(TaskList::default()),
                Second::Fails => {
                    let failed = EcsError::Failed { subject: "tasks".to_owned(), reason: "throttled".to_owned() };
                    return Err(failed);
                }
            }
        }
        self.inner.list_tasks(cluster).await
    }

    async fn describe_tasks(&self, cluster: &ClusterArn, tasks: &[TaskArn]) -> Result<Vec<DescribedTask>, EcsError> {
        self.inner.describe_tasks(cluster, tasks).await
    }

    async fn addresses(&self, cluster: &str, family_or_service: &str) -> Result<Vec<IpAddr>, EcsError> {
        self.inner.addresses(cluster, family_or_service).await
    }
}

/// An environment so much later whose ECS changes between the two listings, and the gate to that moment.
async fn environment(world: &World<'_>, second: Second, later: SignedDuration) -> (Environment, Arc<(Notify, Notify)>) {
    let between = Arc::new((Notify::new(), Notify::new()));
    let gate = Arc::clone(&between);
    let change = move |edges: Edges| {
        let ecs = ChangingEcs { inner: edges.ecs, second, listings: AtomicUsize::new(0), between: gate };
        Edges { ecs: Arc::new(ecs), clock: Arc::new(Fixed(Timestamp::now() + later)), ..edges }
    };
    (impatient(world, change).await, between)
}

/// A world that what happens meanwhile can have as well.
async fn shared_world(name: &'static str) -> &'static World<'static> {
    Box::leak(Box::new(World::without_deployment(name).await))
}

/// Checks the service's idleness; between the deletion and the look afterwards, `meanwhile` happens, and takes none of the
/// time that the revocation has for the look.
async fn check_while<F: Future<Output = ()>>(
    world: &World<'_>,
    second: Second,
    meanwhile: impl FnOnce() -> F + Send + 'static,
) -> (Environment, BatchReport) {
    check_later_while(world, SignedDuration::ZERO, second, meanwhile).await
}

async fn check_later_while<F: Future<Output = ()>>(
    world: &World<'_>,
    later: SignedDuration,
    second: Second,
    meanwhile: impl FnOnce() -> F + Send + 'static,
) -> (Environment, BatchReport) {
    let (environment, between) = environment(world, second, later).await;
    let check = [idle_check(&world.service())];
    let report = {
        let handled = environment.handle(&check);
        tokio::pin!(handled);
        tokio::select! {
            biased;
            report = &mut handled => panic!("the controller does not list tasks after the deletion: {report:?}"),
            () = between.0.notified() => {}
        }
        in_no_time(meanwhile).await;
        between.1.notify_one();
        handled.await
    };
    (environment, report)
}

/// Starts a task, whose event another environment handles.
async fn start_elsewhere(world: &World<'_>, definition: &Definition) {
    let task = world.run(definition).await;
    let event = world.event(&task).await;
    done(&Environment::start(world, "secrets-manager").await.handle(&[event]).await);
}

/// An environment that revokes without a grace period.
async fn impatient(world: &World<'_>, change: impl FnOnce(Edges) -> Edges) -> Environment {
    let consul = Recorder::before(&world.consul.address, |_, _| Answer::Forward).await;
    Environment::with(world, consul, &[("REVOCATION_GRACE_SECONDS", "0")], change).await
}

fn done(report: &BatchReport) {
    assert!(report.failures.is_empty(), "{report:?}");
}

/// A service whose only task has stopped, and the token that it had.
async fn idle_service(world: &World<'_>) -> (Definition, Pair) {
    let definition = world.mesh_definition(&world.service()).await;
    let task = world.run(&definition).await;
    let event = world.event(&task).await;
    done(&Environment::start(world, "secrets-manager").await.handle(&[event]).await);
    let pair = world.provisioned(&world.secret_name(&world.service())).await;
    world.stop(&task).await;
    (definition, pair)
}

#[tokio::test]
async fn a_task_that_appears_during_the_revocation_keeps_the_token_that_it_read() {
    let world = shared_world("put-back").await;
    let (definition, pair) = idle_service(world).await;
    let token = pair.token.clone();
    let (_, report) = check_while(world, Second::TaskAppeared, move || async move {
        assert!(!world.is_valid(&token).await, "the token is deleted by now");
        world.run(&definition).await;
    })
    .await;
    done(&report);
    assert!(world.is_valid(&pair.token).await, "the same pair is back");
    assert_eq!(world.pair(&world.secret_name(&world.service())).await, Some(pair));
}

#[tokio::test]
async fn another_environment_that_starts_a_task_meanwhile_creates_the_very_same_token() {
    let world = shared_world("overtaken").await;
    let (definition, pair) = idle_service(world).await;
    let (_, report) =
        check_while(world, Second::TaskAppeared, move || async move { start_elsewhere(world, &definition).await })
            .await;
    done(&report);
    assert_eq!(world.provisioned(&world.secret_name(&world.service())).await, pair);
    assert_eq!(world.tokens_about(&world.service()).await.len(), 1);
}

#[tokio::test]
async fn a_revocation_that_cannot_be_verified_is_undone_and_comes_back() {
    let world = World::without_deployment("unverified").await;
    let (_, pair) = idle_service(&world).await;
    let (environment, report) = check_while(&world, Second::Fails, || async {}).await;
    assert_eq!(report.failures.len(), 1);
    assert!(world.is_valid(&pair.token).await, "the same pair is back");
    assert_eq!(world.pair(&world.secret_name(&world.service())).await, Some(pair.clone()));
    // And the message's next delivery revokes it
    let report = environment.handle(&[idle_check(&world.service())]).await;
    done(&report);
    assert!(!world.is_valid(&pair.token).await);
}

#[tokio::test]
async fn a_revocation_that_died_after_its_deletion_heals_at_the_next_look() {
    let world = World::without_deployment("died").await;
    let (definition, pair) = idle_service(&world).await;
    // Given a function that was killed after it deleted the token, and a task that started since
    world.consul.delete(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
    world.run(&definition).await;
    let environment = Environment::start(&world, "secrets-manager").await;
    let report = environment.handle(&[idle_check(&world.service())]).await;
    done(&report);
    world.provisioned(&world.secret_name(&world.service())).await;
}

#[tokio::test]
async fn a_dead_pair_is_blanked_when_whoever_wrote_it_must_have_ended() {
    let world = World::without_deployment("died-idle").await;
    let before = Timestamp::now();
    let (_, pair) = idle_service(&world).await;
    let after = Timestamp::now();
    let secret = world.secret_name(&world.service());
    world.consul.delete(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
    let look = async |now: Timestamp| {
        let environment = impatient(&world, |edges| Edges { clock: Arc::new(Fixed(now)), ..edges }).await;
        let report = environment.handle(&[idle_check(&world.service())]).await;
        done(&report);
    };
    // A look that comes at once leaves it: its writer may be about to create the token
    look(before).await;
    assert_eq!(world.pair(&secret).await, Some(pair));
    assert_eq!(world.aws.messages(&world.deployed.queue_url).await.len(), 1, "another look is asked for");
    // And that one blanks it
    look(after + WRITER_HAS_ENDED).await;
    assert_eq!(world.secret_text(&secret).await.as_deref(), Some("{}"));
}

#[tokio::test]
async fn a_task_that_reads_a_dead_pair_while_it_is_blanked_gets_that_very_pair() {
    let world = shared_world("died-read").await;
    let (definition, pair) = idle_service(world).await;
    world.consul.delete(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
    let (_, report) = check_later_while(world, WRITER_HAS_ENDED, Second::TaskAppeared, move || async move {
        world.run(&definition).await;
    })
    .await;
    done(&report);
    assert_eq!(world.provisioned(&world.secret_name(&world.service())).await, pair);
}

#[tokio::test]
async fn a_look_that_failed_before_is_followed_by_another_and_one_that_did_not_by_none() {
    let world = World::without_deployment("again").await;
    world.run(&world.mesh_definition(&world.service()).await).await;
    let environment = Environment::start(&world, "secrets-manager").await;
    for (receives, followers) in [(1, 0), (2, 1)] {
        let body = idle_check(&world.service()).to_string();
        let look = Delivery { id: "look".to_owned(), receipt: None, receives, body };
        done(&environment.controller.handle(&[look], Deadline::after(LONG)).await);
        assert_eq!(world.aws.messages(&world.deployed.queue_url).await.len(), followers, "received {receives} times");
    }
}

#[tokio::test]
async fn the_look_that_follows_finds_what_ecs_s_lists_did_not_show() {
    let world = shared_world("lagging").await;
    let (definition, pair) = idle_service(world).await;
    let (environment, report) = check_while(world, Second::LagsBehind, move || async move {
        world.run(&definition).await;
    })
    .await;
    done(&report);
    assert!(!world.is_valid(&pair.token).await, "revoked under a task that the lists did not show");
    let later = world.aws.messages(&world.deployed.queue_url).await;
    assert_eq!(later.len(), 1, "another look is asked for: {later:#?}");
    let body: serde_json::Value = serde_json::from_str(later[0]["Body"].as_str().unwrap()).unwrap();
    let report = environment.handle(&[body]).await;
    done(&report);
    world.provisioned(&world.secret_name(&world.service())).await;
}

#[tokio::test]
async fn a_token_that_was_created_again_during_the_revocation_is_not_blanked_away() {
    let world = shared_world("recreated").await;
    let (definition, pair) = idle_service(world).await;
    let (_, report) =
        check_while(world, Second::LagsBehind, move || async move { start_elsewhere(world, &definition).await }).await;
    done(&report);
    assert_eq!(world.pair(&world.secret_name(&world.service())).await, Some(pair.clone()));
    assert!(world.is_valid(&pair.token).await);
}

#[tokio::test]
async fn a_hand_made_token_in_the_secret_survives_the_service_s_idleness() {
    let world = World::without_deployment("by-hand").await;
    let made = world.consul.put("/v1/acl/token", &json!({ "Description": "mine" })).await;
    let value = json!({ "accessor_id": made["AccessorID"], "token": made["SecretID"] });
    let secret = world.secret_name(&world.service());
    world.put_secret(&secret, &value).await;
    let environment = impatient(&world, |edges| edges).await;
    let report = environment.handle(&[idle_check(&world.service())]).await;
    done(&report);
    let held: serde_json::Value = serde_json::from_str(&world.secret_text(&secret).await.unwrap()).unwrap();
    assert_eq!(held, value);
    assert!(world.is_valid(made["SecretID"].as_str().unwrap()).await);
}

#[tokio::test]
async fn a_service_that_only_a_task_s_own_tags_name_is_not_idle() {
    let world = World::without_deployment("by-own-tags").await;
    let (_, pair) = idle_service(&world).await;
    let other = world.definition(&format!("{}-other", world.name), &json!([]), None).await;
    let tags = json!([
        { "key": "consul.hashicorp.com/mesh", "value": "true" },
        { "key": "consul.hashicorp.com/service-name", "value": world.service() },
    ]);
    world.run_tagged(&other, &tags).await;
    let environment = impatient(&world, |edges| edges).await;
    let report = environment.handle(&[idle_check(&world.service())]).await;
    done(&report);
    assert!(world.is_valid(&pair.token).await);
}
