//! An outage of Consul that lasts until messages are in the dead-letter queue.

use std::collections::BTreeSet;

use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::{Value, json};

use crate::{controller::assert_converges, print_figure};
use local_stack::{Stack, progress::wait_until_done};
use test_harness::{
    fleet::Fleet,
    proxy::{Dialect, Fault, FaultKind, FaultPoint, Proxy},
};

const SERVICES: usize = 6;

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_a_long_outage_can_be_redriven() {
    let stack = Stack::shared().await;
    let proxy = Proxy::before(&stack.consul.address, Dialect::Consul).await;
    let name = ("outage", "auto");
    let mut fleet = Fleet::deploy(&stack.aws, &stack.consul, name, &proxy.url, &[]).await;
    fleet.leaves_orphans = true;
    // Given a queue with a maximum of 2 receives instead of 14, which take 48 minutes at least
    set_max_receives(&fleet, 2).await;
    fleet.add_services(SERVICES).await;
    let mut events = Vec::new();
    for service in 0..SERVICES {
        events.extend(fleet.start(service, 4).await);
    }
    fleet.create_foreign().await;
    for service in 0..SERVICES {
        let stopping = if service < SERVICES / 2 { 4 } else { 2 };
        for index in fleet.running(service).into_iter().take(stopping) {
            events.extend(fleet.stop(index).await);
        }
    }
    let held_before = fleet.world.service_ids().await;

    // When Consul is down
    proxy.script(|_| Some(Fault { kind: FaultKind::ServerError(3), point: FaultPoint::Before }));
    fleet.world.deliver(&events).await;
    // Then every task's newest event is in the dead-letter queue; earlier events of a task may be acknowledged
    let newest = newest_of_each_task(&events);
    wait_until_done("every task's newest event in the dead-letter queue", || async {
        let waiting = fleet.world.waiting(&fleet.world.deployed.queue_url).await;
        let dead = bodies(&fleet.world.waiting(&fleet.world.deployed.failed_queue_url).await);
        let missing = newest.iter().filter(|event| !dead.contains(*event)).count();
        if missing == 0 && waiting.is_empty() {
            Ok(())
        } else {
            Err(format!("{missing} missing, {} waiting", waiting.len()))
        }
    })
    .await;
    // And nothing was deregistered
    assert_eq!(fleet.world.service_ids().await, held_before);
    print_figure(&format!("outage: {} messages, {}", events.len(), proxy.stats));

    // When Consul is up again, and the dead-letter queue is redriven
    proxy.pass_through();
    set_max_receives(&fleet, 14).await;
    let redriven = redrive(&fleet).await;
    assert!(redriven >= newest.len());
    // Then all messages are handled
    fleet.events_handled().await;
    fleet.sweep().await;
    assert_converges(&fleet).await;
}

async fn set_max_receives(fleet: &Fleet<'_>, receives: u32) {
    let url = &fleet.world.deployed.failed_queue_url;
    let call = fleet.world.aws.sqs().get_queue_attributes().queue_url(url);
    let answer = call.attribute_names(QueueAttributeName::QueueArn).send().await.expect("GetQueueAttributes");
    let arn = &answer.attributes.expect("attributes")[&QueueAttributeName::QueueArn];
    let policy = json!({ "deadLetterTargetArn": arn, "maxReceiveCount": receives });
    fleet.set_queue(QueueAttributeName::RedrivePolicy, &policy.to_string()).await;
}

fn newest_of_each_task(events: &[Value]) -> BTreeSet<String> {
    let version = |event: &Value| event["detail"]["version"].as_u64().unwrap();
    let is_newest = |event: &&Value| {
        let same = |other: &&Value| other["detail"]["taskArn"] == event["detail"]["taskArn"];
        events.iter().filter(same).all(|other| version(other) <= version(event))
    };
    events.iter().filter(is_newest).map(Value::to_string).collect()
}

fn bodies(messages: &[Value]) -> BTreeSet<String> {
    messages.iter().filter_map(|message| message["Body"].as_str()).map(str::to_owned).collect()
}

/// Moves the messages of the dead-letter queue back, as a redrive in the console does.
async fn redrive(fleet: &Fleet<'_>) -> usize {
    let (sqs, url) = (fleet.world.aws.sqs(), &fleet.world.deployed.failed_queue_url);
    let mut moved = 0;
    loop {
        let received = sqs.receive_message().queue_url(url).max_number_of_messages(10).send().await;
        let messages = received.expect("ReceiveMessage").messages.unwrap_or_default();
        if messages.is_empty() {
            return moved;
        }
        let bodies: Vec<String> = messages.iter().filter_map(|message| message.body.clone()).collect();
        fleet.world.deliver_raw(&bodies).await;
        for message in &messages {
            let receipt = message.receipt_handle().expect("a receipt");
            sqs.delete_message().queue_url(url).receipt_handle(receipt).send().await.expect("DeleteMessage");
        }
        moved += messages.len();
    }
}
