//! `reconcile` starts although its settings are wrong or a secret cannot be read: CloudFormation waits for an answer.

use std::{
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{
    GOOD,
    recorder::{Answer, Recorder},
};

const CA_SECRET: &str = "arn:aws:secretsmanager:us-east-1:123456789012:secret:ca-AbCdEf";

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What Lambda does: hands over one event after the other, and takes what became of it.
async fn runtime(events: Vec<Value>) -> Recorder {
    let next = AtomicUsize::new(0);
    Recorder::start(move |seen, _| {
        if !seen.uri.ends_with("/invocation/next") {
            return Answer::status(202, "");
        }
        let number = next.fetch_add(1, Ordering::SeqCst);
        let Some(event) = events.get(number) else { return Answer::Hang };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let deadline = (now + Duration::from_secs(60)).as_millis().to_string();
        let function = "arn:aws:lambda:us-east-1:123456789012:function:reconcile".to_owned();
        let headers = vec![
            ("lambda-runtime-aws-request-id", format!("request-{number}")),
            ("lambda-runtime-deadline-ms", deadline),
            ("lambda-runtime-invoked-function-arn", function),
        ];
        Answer::Reply(200, headers, event.to_string())
    })
    .await
}

fn start(runtime: &Recorder, aws: &Recorder, changes: &[(&str, &str)]) -> Running {
    let child = Command::new(env!("CARGO_BIN_EXE_reconcile"))
        .env_clear()
        .envs(GOOD)
        .envs(changes.iter().copied())
        .env("AWS_LAMBDA_RUNTIME_API", runtime.url.trim_start_matches("http://"))
        .env("AWS_ENDPOINT_URL", &aws.url)
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_LAMBDA_FUNCTION_NAME", "reconcile")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Running(child.expect("the binary runs"))
}

/// Waits until `count` requests arrived that `is_meant`, and returns their bodies.
async fn bodies(server: &Recorder, count: usize, is_meant: impl Fn(&str) -> bool) -> Vec<Value> {
    let seen = async {
        loop {
            let seen: Vec<Value> =
                server.seen().iter().filter(|seen| is_meant(&seen.line())).map(crate::recorder::Seen::json).collect();
            if seen.len() >= count {
                return seen;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(60), seen).await.expect("in time")
}

fn update(cloud_formation: &Recorder) -> Value {
    json!({
        "RequestType": "Update", "ResponseURL": format!("{}/answer", cloud_formation.url), "StackId": "stack",
        "RequestId": "id", "LogicalResourceId": "MeshSetup", "PhysicalResourceId": "ecs-mesh-controller",
        "ResourceProperties": { "CleanupOnDelete": "false" },
    })
}

#[tokio::test]
async fn a_start_that_failed_for_a_moment_is_tried_again_at_the_next_invocation() {
    let cloud_formation = Recorder::start(|_, _| Answer::ok("")).await;
    let runtime = runtime(vec![update(&cloud_formation), json!({ "healthSync": true })]).await;
    let pem = rcgen::generate_simple_self_signed(vec!["consul".to_owned()]).unwrap().cert.pem();
    // The secret cannot be read before the first event has come, nor during it
    let reads = Arc::new(AtomicUsize::new(0));
    let aws = Recorder::start(move |seen, _| {
        if seen.operation().as_deref() == Some("GetSecretValue") && reads.fetch_add(1, Ordering::SeqCst) >= 2 {
            return Answer::ok(json!({ "Name": "ca", "SecretString": pem }).to_string());
        }
        Answer::status(400, json!({ "__type": "AccessDeniedException", "message": "not yet" }).to_string())
    })
    .await;
    let _running = start(&runtime, &aws, &[("CONSUL_HTTP_ADDR", "https://127.0.0.1:1"), ("CONSUL_CACERT_SECRET_ARN", CA_SECRET)]);
    // CloudFormation is told all the same
    let told = bodies(&cloud_formation, 1, |line| line == "PUT /answer").await;
    assert_eq!(told[0]["Status"], "FAILED");
    assert!(told[0]["Reason"].as_str().unwrap().starts_with("CONSUL_CACERT_SECRET_ARN: "), "{told:?}");
    // And the next invocation gets as far as ECS, which refuses
    let failed = bodies(&runtime, 1, |line| line.ends_with("/request-1/error")).await;
    assert_eq!(failed[0]["errorType"], "incomplete", "{failed:?}");
    assert!(aws.operations().contains(&"ListTasks".to_owned()), "{:?}", aws.operations());
}

#[tokio::test]
async fn an_update_with_a_wrong_setting_is_answered_with_the_line_that_names_it() {
    let cloud_formation = Recorder::start(|_, _| Answer::ok("")).await;
    let runtime = runtime(vec![update(&cloud_formation)]).await;
    let aws = Recorder::start(|_, _| Answer::status(400, "{}")).await;
    let _running = start(&runtime, &aws, &[("MAX_DELETE_PERCENT", "101")]);
    let told = bodies(&cloud_formation, 1, |line| line == "PUT /answer").await;
    assert_eq!(told[0]["Status"], "FAILED");
    assert!(told[0]["Reason"].as_str().unwrap().starts_with("MAX_DELETE_PERCENT: got"), "{told:?}");
}
