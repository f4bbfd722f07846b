//! An outage of Consul that lasts longer than the queue delivers messages.

use std::collections::BTreeSet;

use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::{Value, json};

use crate::{controller::converges, tell};
use local_stack::{Stack, progress::until_done};
use test_harness::{
    crowd::Crowd,
    proxy::{Dialect, Fault, Proxy, What, When},
};

const SERVICES: usize = 6;

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_that_outlasts_the_receives_leaves_every_message_to_be_redriven() {
    let stack = Stack::shared().await;
    let proxy = Proxy::before(&stack.consul.address, Dialect::Consul).await;
    let place = ("outage", "secrets-manager");
    let mut crowd = Crowd::deploy(&stack.aws, &stack.consul, place, &proxy.url, &[]).await;
    crowd.leaves_orphans = true;
    // Given a queue that gives up after two receives, not after fourteen, which take 48 minutes at least
    give_up_after(&crowd, 2).await;
    crowd.found_services(SERVICES).await;
    let mut events = Vec::new();
    for service in 0..SERVICES {
        events.extend(crowd.start(service, 4).await);
    }
    crowd.plant_foreign().await;
    for service in 0..SERVICES {
        let stopping = if service < SERVICES / 2 { 4 } else { 2 };
        for index in crowd.living(service).into_iter().take(stopping) {
            events.extend(crowd.stop(index).await);
        }
    }
    let held_before = crowd.world.service_ids().await;

    // When Consul is down all the time
    proxy.script(|_| Some(Fault { what: What::ServerError(3), when: When::Before }));
    crowd.world.deliver(&events).await;
    // Then every message whose work is not done is in the dead-letter queue. Of several about one task the newest does
    // the work of all
    let newest = newest_of_each_task(&events);
    until_done("every task's newest event in the dead-letter queue", || async {
        let waiting = crowd.world.waiting(&crowd.world.deployed.queue_url).await;
        let given_up = bodies(&crowd.world.waiting(&crowd.world.deployed.failed_queue_url).await);
        let missing = newest.iter().filter(|event| !given_up.contains(*event)).count();
        if missing == 0 && waiting.is_empty() {
            Ok(())
        } else {
            Err(format!("{missing} missing, {} waiting", waiting.len()))
        }
    })
    .await;
    // And nothing was taken away meanwhile
    assert_eq!(crowd.world.service_ids().await, held_before);
    tell(&format!("outage: {} messages, {}", events.len(), proxy.tally));

    // When it is back, and a person redrives the messages
    proxy.let_everything_through();
    give_up_after(&crowd, 14).await;
    let redriven = redrive(&crowd).await;
    assert!(redriven >= newest.len());
    // Then they are done like any other
    crowd.worked_off().await;
    crowd.sweep().await;
    converges(&crowd).await;
}

async fn give_up_after(crowd: &Crowd<'_>, receives: u32) {
    let url = &crowd.world.deployed.failed_queue_url;
    let call = crowd.world.aws.sqs().get_queue_attributes().queue_url(url);
    let answer = call.attribute_names(QueueAttributeName::QueueArn).send().await.expect("GetQueueAttributes");
    let arn = &answer.attributes.expect("attributes")[&QueueAttributeName::QueueArn];
    let policy = json!({ "deadLetterTargetArn": arn, "maxReceiveCount": receives });
    crowd.set_queue(QueueAttributeName::RedrivePolicy, &policy.to_string()).await;
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

/// Moves what is in the dead-letter queue back, as the console's button does.
async fn redrive(crowd: &Crowd<'_>) -> usize {
    let (sqs, url) = (crowd.world.aws.sqs(), &crowd.world.deployed.failed_queue_url);
    let mut moved = 0;
    loop {
        let received = sqs.receive_message().queue_url(url).max_number_of_messages(10).send().await;
        let messages = received.expect("ReceiveMessage").messages.unwrap_or_default();
        if messages.is_empty() {
            return moved;
        }
        let bodies: Vec<String> = messages.iter().filter_map(|message| message.body.clone()).collect();
        crowd.world.deliver_raw(&bodies).await;
        for message in &messages {
            let receipt = message.receipt_handle().expect("a receipt");
            sqs.delete_message().queue_url(url).receipt_handle(receipt).send().await.expect("DeleteMessage");
        }
        moved += messages.len();
    }
}
