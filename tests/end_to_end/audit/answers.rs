//! The answers of the audit function.

use serde_json::json;

use crate::audit::Audit;
use local_stack::{aws::REGION, http};

#[tokio::test]
async fn each_format_is_answered() {
    let audit = Audit::shared().await;
    audit.register_broken("formats-web", &["db"]).await;
    let order = |format: &str| json!({ "family": "formats-web", "format": format, "announce": false });
    let report = audit.invoke(&order("json")).await.unwrap();
    assert_eq!(report["findings"][0]["rule"], "ecs-dependency-unknown", "{report}");
    for format in ["text", "sarif", "junit", "github", "markdown", "html"] {
        let answer = audit.invoke(&order(format)).await.unwrap();
        assert_eq!(answer["format"], format);
        assert!(answer["report"].as_str().unwrap().contains("ecs-dependency-unknown"), "{answer}");
    }
}

#[tokio::test]
async fn an_invalid_order_names_valid_ones() {
    let audit = Audit::shared().await;
    for (order, why) in [
        (json!({}), "nothing is asked for"),
        (json!({ "family": "web", "format": "pdf" }), "no such format"),
        (json!({ "service": "web" }), "unknown field"),
    ] {
        let error = audit.invoke(&order).await.expect_err(why);
        let message = error["errorMessage"].as_str().unwrap();
        assert!(message.contains(why) && message.contains("\"taskDefinition\""), "{message}");
    }
}

#[tokio::test]
async fn unknown_names_are_in_the_report() {
    let audit = Audit::shared().await;
    // For an unknown cluster, the local ECS lists no tasks; AWS answers with an error
    for order in [json!({ "taskDefinition": "unknown:1" }), json!({ "family": "unknown" })] {
        let report = audit.invoke(&order).await.unwrap();
        assert!(report["problems"].to_string().contains("unknown"), "{report}");
    }
}

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
