//! The `audit` function, deployed from the template: its answers, announcements, records and reports.

mod announcing;
mod answers;
mod lifecycle;

use aws_sdk_s3::operation::get_object::GetObjectError;
use local_stack::{
    Stack,
    aws::{ACCOUNT, Aws, REGION},
    deploy::{Deployed, DeployedAudit, install},
    wait::{SOON, eventually},
    world::documented_policy,
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// The cluster of the deployment that the tests share.
const CLUSTER: &str = "audited";

/// The findings that the shared deployment tolerates, as an `ecs-mesh.toml`.
const TOLERATED: &str = r#"
[[ignore]]
rule = "ecs-dependency-unknown"
family = "tolerated-*"
reason = "goes away in December"
"#;

/// A deployment without an audit schedule; deployed again, it is updated with other parameters.
async fn deployment(name: &str, cluster: &str, further: &[(&str, &str)]) -> Deployed {
    let stack = Stack::shared().await;
    let token = stack.consul.token_with_rules(name, &documented_policy()).await.secret_id;
    let parameters = [&[("Bootstrap", "none"), ("LogLevel", "warn")], further].concat();
    install(&stack.aws, &stack.consul.address, name, &[cluster], &token, &parameters).await.unwrap()
}

/// The deployment that the tests share.
struct Audit {
    aws: &'static Aws,
    deployed: DeployedAudit,
}

impl Audit {
    async fn shared() -> Self {
        static DEPLOYED: OnceCell<DeployedAudit> = OnceCell::const_new();
        let deployed = DEPLOYED.get_or_init(|| async {
            let exception = [("AuditConfiguration", TOLERATED)];
            deployment("audit", CLUSTER, &exception).await.audit.expect("the audit")
        });
        Self { aws: &Stack::shared().await.aws, deployed: deployed.await.clone() }
    }

    /// Invokes the function while nothing changes in ECS.
    async fn invoke(&self, payload: &Value) -> Result<Value, Value> {
        let _ecs = self.aws.lock_ecs().await;
        audited(self.aws, &self.deployed, payload).await
    }

    /// Registers a definition whose app depends on containers that do not exist, and returns its ARN.
    async fn register_broken(&self, family: &str, missing: &[&str]) -> String {
        register_broken(self.aws, family, missing).await
    }

    /// The text of a record, if it exists.
    async fn record(&self, revision: &str) -> Option<Value> {
        let (_, name) = revision.split_once(":task-definition/").expect("an ARN");
        let key = format!("announced/{}.json", name.replace(':', "/"));
        let call = aws_sdk_s3::Client::new(&self.aws.sdk()).get_object().bucket(&self.deployed.bucket).key(&key);
        let answer = match call.send().await {
            Ok(answer) => answer,
            Err(error) if error.as_service_error().is_some_and(GetObjectError::is_no_such_key) => return None,
            Err(error) => panic!("record {key}: {error:?}"),
        };
        Some(serde_json::from_slice(&answer.body.collect().await.unwrap().into_bytes()).unwrap())
    }
}

/// Invokes the function, and repeats the invocation while a call times out on a busy machine. `Err` is any other error object.
pub(crate) async fn audited(aws: &Aws, audit: &DeployedAudit, payload: &Value) -> Result<Value, Value> {
    eventually("an audit none of whose calls times out", SOON, || async {
        match aws.invoke(&audit.function, payload).await {
            Err(error) if error.to_string().contains("request has timed out") => Err(error),
            answered => Ok(answered),
        }
    })
    .await
}

async fn register_broken(aws: &Aws, family: &str, missing: &[&str]) -> String {
    let waits: Vec<Value> = missing.iter().map(|name| json!({ "containerName": name, "condition": "START" })).collect();
    let body = json!({
        "family": family, "networkMode": "awsvpc", "requiresCompatibilities": ["FARGATE"], "cpu": "256", "memory": "512",
        "containerDefinitions": [
            { "name": "app", "image": "example/app:1", "essential": true, "dependsOn": waits },
        ],
    });
    let _ecs = aws.lock_ecs().await;
    let answer = aws.call("ecs", "AmazonEC2ContainerServiceV20141113.RegisterTaskDefinition", &body).await;
    answer["taskDefinition"]["taskDefinitionArn"].as_str().unwrap_or_else(|| panic!("no ARN in {answer}")).to_owned()
}

/// `CloudTrail`'s event of a registration.
fn registered(revision: &str) -> Value {
    json!({
        "source": "aws.ecs", "detail-type": "AWS API Call via CloudTrail", "account": ACCOUNT, "region": REGION,
        "detail": {
            "eventSource": "ecs.amazonaws.com", "eventName": "RegisterTaskDefinition",
            "responseElements": { "taskDefinition": { "taskDefinitionArn": revision } },
        },
    })
}
