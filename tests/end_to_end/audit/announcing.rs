//! New findings are published to the topic and to the event bus once.

use aws_sdk_sqs::types::QueueAttributeName;
use serde_json::{Value, json};

use crate::audit::{Audit, CLUSTER, registered};
use local_stack::{
    aws::{ACCOUNT, REGION},
    wait::{SOON, eventually},
};

impl Audit {
    /// A queue that is subscribed to the topic.
    async fn subscriber(&self, name: &str) -> String {
        let url = self.queue(name).await;
        let endpoint = format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}");
        let call = aws_sdk_sns::Client::new(&self.aws.sdk())
            .subscribe()
            .topic_arn(&self.deployed.topic)
            .protocol("sqs")
            .endpoint(endpoint);
        call.send().await.expect("Subscribe");
        url
    }

    /// A queue for the findings' events.
    async fn watcher(&self, name: &str) -> String {
        let url = self.queue(name).await;
        let pattern = json!({ "source": ["ecs-mesh-controller"], "detail-type": ["ECS Mesh Audit Finding"] });
        let rule = json!({ "Name": name, "EventPattern": pattern.to_string() });
        self.aws.call("events", "AWSEvents.PutRule", &rule).await;
        let target = json!({ "Id": "queue", "Arn": format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}") });
        self.aws.call("events", "AWSEvents.PutTargets", &json!({ "Rule": name, "Targets": [target] })).await;
        url
    }

    /// A queue that the topic and the event bus may send to.
    async fn queue(&self, name: &str) -> String {
        let senders = ["sns.amazonaws.com", "events.amazonaws.com"];
        let policy = json!({ "Version": "2012-10-17", "Statement": [{
            "Effect": "Allow", "Principal": { "Service": senders }, "Action": "sqs:SendMessage",
            "Resource": format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"),
        }] });
        let call = self.aws.sqs().create_queue().queue_name(name);
        let queue = call.attributes(QueueAttributeName::Policy, policy.to_string()).send().await.expect("CreateQueue");
        queue.queue_url.expect("a URL")
    }

    /// The messages about a revision in a queue, as JSON.
    async fn arrived(&self, queue: &str, revision: &str) -> Vec<Value> {
        let messages = self.aws.messages(queue).await;
        let bodies = messages.iter().filter_map(|message| message["Body"].as_str());
        bodies.filter(|body| body.contains(revision)).map(|body| serde_json::from_str(body).unwrap()).collect()
    }

    /// Waits for a message about a revision.
    async fn awaited(&self, queue: &str, revision: &str) -> Vec<Value> {
        eventually(&format!("{revision} in {queue}"), SOON, || async {
            let arrived = self.arrived(queue, revision).await;
            if arrived.is_empty() { Err("nothing") } else { Ok(arrived) }
        })
        .await
    }
}

#[tokio::test]
async fn registered_definitions_are_announced_once() {
    let audit = Audit::shared().await;
    let (people, programs) = (audit.subscriber("people").await, audit.watcher("programs").await);
    let revision = audit.register_broken("announced-web", &["db", "cache"]).await;
    // When it is registered, and audited twice more by other references
    let report = audit.invoke(&registered(&revision)).await.unwrap();
    assert_eq!(report["summary"]["errors"], 2, "{report}");
    for order in [json!({ "family": "announced-web" }), json!({ "taskDefinition": revision })] {
        audit.invoke(&order).await.unwrap();
    }
    // And another one after it, so that all earlier messages have arrived
    let last = audit.register_broken("announced-last", &["db"]).await;
    audit.invoke(&registered(&last)).await.unwrap();
    audit.awaited(&people, &last).await;
    audit.awaited(&programs, &last).await;
    // Then the topic has one message
    let messages = audit.arrived(&people, &revision).await;
    assert_eq!(messages.len(), 1, "{messages:#?}");
    assert_eq!(messages[0]["Subject"], "ecs-mesh: 2 errors in announced-web:1");
    assert_eq!(messages[0]["MessageAttributes"]["severity"]["Value"], "error");
    let text = messages[0]["Message"].as_str().unwrap();
    assert!(text.contains("waits for db") && text.contains("waits for cache") && text.contains("fix: "), "{text}");
    // And the event bus has an event for each finding
    let events = audit.arrived(&programs, &revision).await;
    assert_eq!(events.len(), 2, "{events:#?}");
    for event in events {
        assert_eq!(event["detail-type"], "ECS Mesh Audit Finding");
        assert_eq!(event["resources"], json!([revision]));
        assert_eq!(event["detail"]["rule"], "ecs-dependency-unknown");
    }
    let record = audit.record(&revision).await.expect("a record");
    assert_eq!(record["announced"].as_object().unwrap().len(), 2, "{record}");
}

#[tokio::test]
async fn the_schedule_audits_running_definitions() {
    let audit = Audit::shared().await;
    let people = audit.subscriber("people-of-the-schedule").await;
    let revision = audit.register_broken("scheduled-web", &["db"]).await;
    let body = json!({
        "cluster": CLUSTER, "taskDefinition": revision, "launchType": "FARGATE",
        "networkConfiguration": { "awsvpcConfiguration": { "subnets": ["subnet-1"] } },
    });
    {
        let _ecs = audit.aws.lock_ecs().await;
        audit.aws.call("ecs", "AmazonEC2ContainerServiceV20141113.RunTask", &body).await;
    }
    let report = audit.invoke(&json!({ "scheduled": true })).await.unwrap();
    assert!(report["definitions"].to_string().contains(&revision), "{report}");
    audit.awaited(&people, &revision).await;
    eventually("the metric of findings", SOON, || async {
        let lines = audit.aws.logs(&audit.deployed.log_group).await;
        let is_metric = |line: &&String| line.contains("\"AuditFindings\":") && line.contains("\"Severity\":\"Error\"");
        lines.iter().find(is_metric).cloned().ok_or(lines.join("\n"))
    })
    .await;
}

#[tokio::test]
async fn tolerated_findings_are_not_announced() {
    let audit = Audit::shared().await;
    let revision = audit.register_broken("tolerated-web", &["db"]).await;
    let report = audit.invoke(&json!({ "taskDefinition": revision })).await.unwrap();
    assert_eq!((&report["summary"]["failed"], &report["findings"]), (&json!(false), &json!([])), "{report}");
    assert_eq!(report["ignored"][0]["ignored"]["reason"], "goes away in December", "{report}");
    assert_eq!(audit.record(&revision).await, None);
}
