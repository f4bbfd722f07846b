//! The answers of the audit function.

use serde_json::json;

use crate::audit::{Audit, registered};
use local_stack::{
    aws::{ACCOUNT, REGION},
    http,
    wait::{SOON, eventually},
    world::World,
};

#[tokio::test]
async fn a_large_report_is_stored_with_a_link() {
    let audit = Audit::shared().await;
    let missing: Vec<String> =
        (0..500).map(|n| format!("a-container-that-is-not-defined-in-this-task-{n:04}")).collect();
    let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
    for n in 0..30 {
        audit.register_broken(&format!("large-{n:02}"), &missing).await;
    }
    let order = json!({ "all": true, "announce": false, "format": "html" });
    let answer = audit.invoke(&order).await.unwrap();
    assert_eq!(answer["outcome"], "stored", "{}", answer.to_string().chars().take(500).collect::<String>());
    assert_eq!(answer["bucket"], audit.deployed.bucket);
    assert!(answer["key"].as_str().unwrap().starts_with("reports/"), "{answer}");
    let link = answer["link"].as_str().unwrap();
    assert!(link.contains(REGION) && link.contains("X-Amz-Expires=3600"), "{link}");
    let page = http::client().get(link).send().await.unwrap();
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    let page = page.error_for_status().unwrap().text().await.unwrap();
    assert!(page.len() > 5_000_000 && page.contains("a-container-that-is-not-defined-in-this-task-0499"));
}

/// The deployment has `LogLevel=warn`.
#[tokio::test]
async fn an_audit_that_fails_is_in_the_log_and_one_that_does_not_is_left_out() {
    let audit = Audit::shared().await;
    // Given an audit that fails, because ECS does not know the definition, and then one that does not
    let unknown = format!("arn:aws:ecs:{REGION}:{ACCOUNT}:task-definition/never-registered:1");
    audit.invoke(&registered(&unknown)).await.unwrap_err();
    let known = audit.register_broken("tolerated-known", &["db"]).await;
    audit.invoke(&json!({ "taskDefinition": known })).await.unwrap();
    // When a person looks for audits in the log, then the first alone is there
    let audits = async |outcome: &str| {
        let lines = audit.aws.logs(&audit.deployed.log_group).await;
        let wanted = format!(r#""action":"audit","outcome":"{outcome}""#);
        lines.into_iter().filter(|line| line.contains(&wanted)).collect::<Vec<_>>()
    };
    let failed = eventually("the failed audit", SOON, || async {
        let failed = audits("failed").await;
        failed.iter().find(|line| line.contains("never-registered")).cloned().ok_or(failed.concat())
    });
    assert!(failed.await.contains(r#""level":"ERROR""#));
    assert_eq!(audits("done").await, Vec::<String>::new());
}

#[tokio::test]
async fn an_audit_of_a_cluster_reads_what_its_services_run() {
    let audit = Audit::shared().await;
    // Given a service whose definition has a mistake, and that has no task
    let world = World::without_deployment("audited-service").await;
    let definition = audit.register_broken("audited-service", &["db"]).await;
    let service = json!({
        "cluster": world.name, "serviceName": "audited-service", "taskDefinition": definition, "desiredCount": 0,
        "launchType": "FARGATE", "networkConfiguration": { "awsvpcConfiguration": { "subnets": ["subnet-1"] } },
    });
    world.ecs_call("CreateService", &service).await;
    // When its cluster is audited
    let answer = audit.invoke(&json!({ "cluster": world.name, "announce": false })).await.unwrap();
    // Then the mistake is found
    assert!(answer.to_string().contains("ecs-dependency-unknown"), "{answer}");
}
