//! A snapshot of Consul is restored: Consul holds tasks that have stopped since, statuses from before, and not the tasks that
//! have started since.

use local_stack::{consul::Consul, world::World};
use reqwest::Method;
use serde_json::json;
use test_harness::ecs_agent::{DataplaneTask, Release, SYNCED, catalog};

use super::{assert_settled, services_of, swept_after, why_skipped};
use crate::fixture::{Fixture, controller_token};

/// Saves the state of Consul: <https://developer.hashicorp.com/consul/api-docs/snapshot>
pub(crate) async fn save(consul: &Consul) -> Vec<u8> {
    let answer = consul.request(Method::GET, "/v1/snapshot", &consul.management_token).send().await.expect("an answer");
    answer.error_for_status().expect("a snapshot").bytes().await.expect("a whole snapshot").to_vec()
}

pub(crate) async fn restore(consul: &Consul, snapshot: Vec<u8>) {
    let request = consul.request(Method::PUT, "/v1/snapshot", &consul.management_token).body(snapshot);
    request.send().await.expect("an answer").error_for_status().expect("it is restored");
}

#[tokio::test]
async fn a_restored_snapshot_is_brought_up_to_date_by_one_sweep() {
    // Given a Consul of its own
    let consul = Consul::start().await;
    let token = controller_token(&consul, "restored").await;
    let fixture = Fixture::get().await;
    let further = [("Bootstrap", "none")];
    let world: World<'_> = fixture.deployment_of_its_own(&consul, "restored", &token.secret_id, &further).await;
    // And a snapshot from when a container of one task was unhealthy, and another task ran
    let staying = DataplaneTask::start(&world, Release::V0_10).await;
    let stopped = DataplaneTask::start(&world, Release::V0_10).await;
    staying.report_health(SYNCED[0], "UNHEALTHY").await;
    staying.sync_health().await;
    let snapshot = save(&consul).await;
    // And since then the container recovered, the other task stopped, and a new one started
    staying.report_all_healthy().await;
    staying.sync_health().await;
    world.stop(&stopped.arn).await;
    world.swept().await;
    let new = DataplaneTask::start(&world, Release::V0_10).await;
    let before = catalog(&world).await;
    // When the snapshot is restored, the login token of the new task is lost as well, so that nothing proves who it is
    restore(&consul, snapshot.clone()).await;
    let swept = world.swept().await;
    assert!(why_skipped(&swept, &new).is_some_and(|why| why.contains("not proven")), "{swept}");
    assert_eq!(world.service_ids().await, services_of([&staying]));
    // When it is restored and the new task has logged in again
    let swept = swept_after(&world, async || {
        restore(&consul, snapshot.clone()).await;
        assert_eq!(world.service_ids().await, services_of([&staying, &stopped]));
        new.log_in(&world.service()).await;
    })
    .await;
    // Then one sweep brings everything back as it was
    assert_eq!((&swept["repaired"], &swept["corrected"]), (&json!(1), &json!(3)), "{swept}");
    assert_eq!(swept["deleted"]["services"], 2, "{swept}");
    assert_eq!(catalog(&world).await, before);
    assert_eq!(world.passing(&world.service()).await.len(), 2);
    assert_settled(&world).await;
}
