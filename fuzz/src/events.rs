//! Events: SQS batches of EventBridge events, bare events, and orders for `reconcile` and `audit`.

use std::{
    cell::OnceCell,
    collections::BTreeSet,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use audit_function::Order;
use controller::Controller;
use ecs_mesh_controller::{reconcile::reconcile, task_events, wiring::StartError};
use lambda_runtime::{Context, LambdaEvent};
use serde_json::{Value, json};
use simulation::{deployments::Formation, direct::Direct};
use tokio::runtime::Runtime;

thread_local! {
    static RUNTIME: OnceCell<Runtime> = const { OnceCell::new() };
}

/// The first character selects the kind of the rest: the body of a message (`0`), a whole payload (`1`), or an order to
/// `reconcile` (`2`) or `audit` (`3`).
pub fn run(kind: usize, text: &str) {
    match kind % 4 {
        0 => message(text),
        1 => payload(text),
        2 => order(text),
        _ => {
            if let Ok(value) = serde_json::from_str::<Value>(text) {
                let _ = Order::read(&value);
            }
        }
    }
}

/// One message of a batch of three: the other two always succeed.
fn message(body: &str) {
    let own = json!({ "source": "somebody.else", "detail-type": "x", "detail": {} }).to_string();
    let record = |id: &str, body: &str| json!({ "messageId": id, "receiptHandle": id, "body": body, "attributes": { "ApproximateReceiveCount": "2" } });
    let batch = json!({ "Records": [record("a", &own), record("b", body), record("c", &own)] });
    let answer = task_events(batch).expect("a batch is answered");
    let failed = answer["batchItemFailures"].as_array().expect("a list of failures");
    assert!(failed.iter().all(|failure| failure["itemIdentifier"] == "b"), "{answer}");
}

/// Every failure is for one of the messages in the payload.
fn payload(text: &str) {
    let Ok(payload) = serde_json::from_str::<Value>(text) else { return };
    let records = payload["Records"].as_array().cloned().unwrap_or_default();
    let came: BTreeSet<&str> = records.iter().map(|record| record["messageId"].as_str().unwrap_or_default()).collect();
    if let Some(answer) = task_events(payload.clone()) {
        let failed = answer["batchItemFailures"].as_array().cloned().unwrap_or_default();
        let is_known = |failure: &Value| came.contains(failure["itemIdentifier"].as_str().unwrap_or_default());
        assert!(failed.iter().all(is_known), "{answer}");
    }
}

fn order(text: &str) {
    let Ok(payload) = serde_json::from_str::<Value>(text) else { return };
    let cloud_formation = Formation::default();
    let run = async |controller: &Controller| {
        reconcile(Ok::<_, StartError>(controller), &cloud_formation, event(payload)).await
    };
    let _ = in_a_world(run);
}

fn task_events(payload: Value) -> Option<Value> {
    in_a_world(async |controller| task_events::task_events(controller, event(payload)).await).ok()
}

/// An event with a deadline in one minute.
fn event(payload: Value) -> LambdaEvent<Value> {
    let mut context = Context::default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    context.deadline = u64::try_from((now + Duration::from_secs(60)).as_millis()).unwrap_or(u64::MAX);
    LambdaEvent::new(payload, context)
}

/// Runs work in a world of its own, whose time passes when it waits.
fn in_a_world<T>(work: impl AsyncFnOnce(&Controller) -> T) -> T {
    let new =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
    let world = Direct::with_leftovers();
    RUNTIME.with(|runtime| runtime.get_or_init(new).block_on(world.serve(work(&world.controller()))))
}
