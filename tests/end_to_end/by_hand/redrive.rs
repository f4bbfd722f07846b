//! `ecs-mesh redrive`. `MiniStack` cannot return messages: their return is answered by a script.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

use super::{Said, command, documented, permissions, said};

const QUEUE: &str = "arn:aws:sqs:us-east-1:000000000000:failed-events";

/// A stack whose dead-letter queue has so many messages.
async fn stack(messages: usize) -> Recorder {
    let polled = AtomicUsize::new(0);
    Recorder::start(move |request, _| answer(request, messages, &polled)).await
}

fn answer(request: &RecordedRequest, messages: usize, polled: &AtomicUsize) -> Answer {
    let body = match request.operation().as_deref() {
        Some("DescribeStackResource") => {
            return Answer::ok(
                "<DescribeStackResourceResponse><DescribeStackResourceResult><StackResourceDetail>\
                 <PhysicalResourceId>http://127.0.0.1/queue</PhysicalResourceId><LogicalResourceId>x</LogicalResourceId>\
                 <ResourceType>x</ResourceType><ResourceStatus>CREATE_COMPLETE</ResourceStatus>\
                 <LastUpdatedTimestamp>2026-01-01T00:00:00Z</LastUpdatedTimestamp></StackResourceDetail>\
                 </DescribeStackResourceResult></DescribeStackResourceResponse>",
            );
        }
        Some("GetQueueAttributes") => {
            json!({ "Attributes": { "QueueArn": QUEUE, "ApproximateNumberOfMessages": messages.to_string() } })
        }
        Some("ReceiveMessage") => {
            let event = include_str!("../../../events/task-stopped-essential-container-exited.json");
            let bodies =
                [event, "not an event"].map(|body| json!({ "Body": body, "MessageId": "1", "ReceiptHandle": "1" }));
            json!({ "Messages": bodies })
        }
        Some("StartMessageMoveTask") => json!({ "TaskHandle": "1" }),
        Some("ListMessageMoveTasks") => {
            // An older return is listed until SQS lists the one that was just started.
            let (status, moved, started) = match polled.fetch_add(1, Ordering::SeqCst) {
                0 | 1 => ("COMPLETED", 7, 1),
                2 => ("RUNNING", 1, 2),
                _ => ("COMPLETED", messages, 2),
            };
            json!({ "Results": [{
                "Status": status, "ApproximateNumberOfMessagesMoved": moved, "StartedTimestamp": started, "SourceArn": QUEUE,
            }] })
        }
        other => return Answer::status(500, other.unwrap_or_default()),
    };
    Answer::ok(body.to_string())
}

async fn redrive(stack: &Recorder, arguments: &[&str]) -> Said {
    said(&mut command(&stack.url, &[&["redrive"], arguments].concat()).await).await
}

#[tokio::test]
async fn failed_messages_are_shown_and_returned() {
    let stack = stack(3).await;
    let shown = redrive(&stack, &["--dry-run"]).await;
    assert_eq!(shown.code, Some(1), "{}", shown.errors);
    assert!(shown.out.starts_with("The dead-letter queue has about 3 messages (showing 2):"), "{}", shown.out);
    assert!(
        shown.out.contains("is STOPPED (") && shown.out.contains("not JSON: it can never succeed"),
        "{}",
        shown.out
    );

    let refused = redrive(&stack, &[]).await;
    assert_eq!(refused.code, Some(2));
    assert!(refused.errors.contains("Return about 3 messages to the queue? No terminal"), "{}", refused.errors);
    assert!(!stack.operations().contains(&"StartMessageMoveTask".to_owned()));

    let returned = redrive(&stack, &["--yes", "--output", "json"]).await;
    assert_eq!((returned.code, &returned.json()["returned"]["messages"]), (Some(0), &json!(3)), "{}", returned.errors);
    assert_eq!(permissions(&stack.requests()), documented("redrive"));
}

#[tokio::test]
async fn an_empty_queue_is_said() {
    let said = redrive(&stack(0).await, &[]).await;
    assert_eq!((said.code, said.out.as_str()), (Some(0), "The dead-letter queue is empty\n"), "{}", said.errors);
}
