//! The parameter that enables the audit, and the deletion of a stack with an audit.

use crate::audit::{audited, deployment, register_broken, registered};
use local_stack::{Stack, deploy::delete};

#[tokio::test]
async fn a_disabled_audit_creates_nothing() {
    let deployed = deployment("unaudited", "unaudited", &[("Audit", "false")]).await;
    assert!(deployed.audit.is_none());
}

#[tokio::test]
async fn a_deleted_stack_keeps_its_bucket() {
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
