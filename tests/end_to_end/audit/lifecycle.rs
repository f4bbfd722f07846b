//! The audit comes and goes with its parameter, and the stack with what it has written.

use crate::audit::{audited, deployment, register_broken, registered};
use local_stack::{Stack, deploy::delete};

#[tokio::test]
async fn without_the_audit_nothing_of_it_is_there() {
    let deployed = deployment("unaudited", "unaudited", &[("Audit", "false")]).await;
    assert!(deployed.audit.is_none());
}

#[tokio::test]
async fn a_stack_that_has_announced_something_can_be_deleted_and_its_bucket_stays() {
    let aws = &Stack::shared().await.aws;
    let audit = deployment("audit-deleted", "audit-deleted", &[]).await.audit.expect("the audit");
    let revision = register_broken(aws, "cleanup-web", &["db"]).await;
    {
        let _ecs = aws.lock_ecs().await;
        audited(aws, &audit, &registered(&revision)).await.unwrap();
    }
    delete(aws, "audit-deleted").await.unwrap();
    let left = aws_sdk_s3::Client::new(&aws.sdk()).list_objects_v2().bucket(&audit.bucket).send().await.unwrap();
    let keys: Vec<&str> = left.contents().iter().filter_map(|object| object.key()).collect();
    assert_eq!(keys, ["announced/cleanup-web/1.json"]);
}
