//! The answers of the audit function.

use serde_json::json;

use crate::audit::Audit;
use local_stack::{aws::REGION, http};

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
