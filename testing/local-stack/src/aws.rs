//! `MiniStack` in place of AWS: the SDK's clients, and plain calls for services without an SDK dependency.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_ecs::config::{Credentials, SharedCredentialsProvider};
use jiff::Timestamp;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::http::{self, Answer};
use super::permitted::Permitted;
use super::ports;
use super::process::Process;
use super::wait::eventually;
use super::{scratch, tool};

/// The AWS region of the local stack.
pub const REGION: &str = "us-east-1";
/// The AWS account ID of the local stack.
pub const ACCOUNT: &str = "000000000000";

/// The longest call: the synchronous invocation of a function with a timeout of 300 seconds.
const LONGEST_CALL: Duration = Duration::from_secs(330);
/// How long a server may take to start on a busy machine.
const START: Duration = Duration::from_mins(5);

/// A running `MiniStack`.
pub struct Aws {
    /// The value for `AWS_ENDPOINT_URL`.
    pub endpoint: String,
    process: Mutex<Option<Process>>,
    ecs_lock: tokio::sync::Mutex<()>,
    refused: PathBuf,
    /// The packaged template, whose functions are in S3, after the first deployment.
    pub(crate) packaged: OnceCell<PathBuf>,
}

impl Aws {
    /// Starts `MiniStack` on a free port, and waits until it is ready.
    pub async fn start() -> Self {
        let port = ports::reserve();
        Self::start_behind(port, &Self::endpoint_at(port)).await
    }

    /// The endpoint of a `MiniStack` on this port.
    pub fn endpoint_at(port: u16) -> String {
        format!("http://127.0.0.1:{port}")
    }

    /// Starts `MiniStack` on a port, with another endpoint for the functions: that of a proxy.
    pub async fn start_behind(port: u16, functions_endpoint: &str) -> Self {
        let endpoint = Self::endpoint_at(port);
        let name = format!("ministack-{port}");
        let folder = scratch::directory().join(&name);
        let (state, refused) = (folder.join("state"), folder.join("refused.jsonl"));
        let env = [
            // Its files; by default they are in a folder that all users of the machine share.
            ("STATE_DIR", state.to_str().unwrap().to_owned()),
            ("GATEWAY_PORT", port.to_string()),
            ("BIND_HOST", "127.0.0.1".into()),
            // The host in the queues' URLs.
            ("MINISTACK_HOST", "127.0.0.1".into()),
            // Each function has a session of its role, and IAM decides what it may do.
            ("AUTH", "true".into()),
            ("REFUSED", refused.to_str().unwrap().to_owned()),
            // Set by scripts/suites.py.
            ("STATEMENTS", std::env::var("STATEMENTS").unwrap_or_default()),
            // Passed to the functions.
            ("AWS_ENDPOINT_URL", functions_endpoint.to_owned()),
            // No compiled module beside the script.
            ("PYTHONDONTWRITEBYTECODE", "1".into()),
            // Listeners that would bind every interface.
            ("IOT_MTLS_ENABLED", "0".into()),
            ("SFTP_ENABLED", "0".into()),
            // No Docker: otherwise it would run tasks in it, and pull their images.
            ("DOCKER_HOST", "unix:///nonexistent".into()),
        ];
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/start_ministack.py");
        let process = Process::start(&name, &tool("venv/bin/python"), &[script], &env);
        let aws = Self {
            endpoint,
            process: Mutex::new(Some(process)),
            ecs_lock: tokio::sync::Mutex::default(),
            refused,
            packaged: OnceCell::new(),
        };
        eventually("MiniStack", START, || async {
            aws.process.lock().unwrap().as_mut().expect("MiniStack runs").assert_running();
            Answer::to(aws.request(Method::GET, "/_ministack/ready", "")).await.and_then(Answer::success)
        })
        .await;
        aws
    }

    /// Keeps `MiniStack` running after this process. Returns the command that stops it.
    pub fn keep(&self) -> String {
        let process = self.process.lock().unwrap().take().expect("MiniStack runs");
        let stop = format!("kill -TERM -- -{}", process.group());
        process.keep();
        stop
    }

    /// The process ID of `MiniStack`, which is the parent of the functions.
    pub fn pid(&self) -> u32 {
        self.process.lock().unwrap().as_ref().expect("MiniStack runs").pid()
    }

    /// The file with the calls that IAM has refused: a line of JSON for each.
    pub fn refused(&self) -> &Path {
        &self.refused
    }

    pub async fn create_cluster(&self, name: &str) {
        self.ecs().create_cluster().cluster_name(name).send().await.expect("CreateCluster");
    }

    /// Fails the test that holds it if IAM refuses a call to the functions of the stack.
    pub(crate) fn permitted(&self, stack: &str) -> Permitted {
        Permitted { stack: stack.to_owned(), refused: self.refused.clone() }
    }

    /// Creates a secret, and returns its ARN.
    pub async fn create_secret(&self, name: &str, value: &str) -> String {
        let call = self.secrets().create_secret().name(name).secret_string(value);
        call.send().await.expect("CreateSecret").arn.expect("an ARN")
    }

    /// The configuration for any SDK client. A client belongs to the runtime of the test that created it.
    pub fn sdk(&self) -> SdkConfig {
        let credentials = Credentials::new("test", "test", None, None, "tests");
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static(REGION))
            .endpoint_url(&self.endpoint)
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .build()
    }

    /// A new ECS client for this endpoint.
    pub fn ecs(&self) -> aws_sdk_ecs::Client {
        aws_sdk_ecs::Client::new(&self.sdk())
    }

    /// A new Secrets Manager client for this endpoint.
    pub fn secrets(&self) -> aws_sdk_secretsmanager::Client {
        aws_sdk_secretsmanager::Client::new(&self.sdk())
    }

    /// A new SQS client for this endpoint.
    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.sdk())
    }

    /// Locks ECS for a change, or for reads that must not coincide with one: `MiniStack` answers 500 to a read while a task is
    /// created.
    pub async fn lock_ecs(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.ecs_lock.lock().await
    }

    /// Calls an action of a service with a JSON protocol, for example `AWSEvents.TestEventPattern` of `events`.
    pub async fn call(&self, service: &str, target: &str, body: &Value) -> Value {
        self.call_in(ACCOUNT, service, target, body).await
    }

    /// Calls an action in another account: twelve digits, which are also its access key.
    pub async fn call_in(&self, account: &str, service: &str, target: &str, body: &Value) -> Value {
        let request = self
            .signed(account, Method::POST, "/", service)
            .header("X-Amz-Target", target)
            .header("Content-Type", "application/x-amz-json-1.1")
            .body(body.to_string());
        let answer = Answer::to(request).await.and_then(Answer::success);
        answer.unwrap_or_else(|error| panic!("{target}: {error}"))
    }

    /// A request to a service with a REST protocol. `MiniStack` reads the account and the service from the signature, and does not
    /// verify it.
    pub fn request(&self, method: Method, path: &str, service: &str) -> RequestBuilder {
        self.signed(ACCOUNT, method, path, service)
    }

    fn signed(&self, access_key: &str, method: Method, path: &str, service: &str) -> RequestBuilder {
        let scope = format!("{access_key}/20260101/{REGION}/{service}/aws4_request");
        http::client()
            .request(method, format!("{}{path}", self.endpoint))
            .timeout(LONGEST_CALL)
            .header("Authorization", format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=none"))
    }

    /// All messages of a queue, including delayed and in-flight ones, without receiving them: `MessageId`, `Body`, `IsVisible`,
    /// `VisibleAt`, `ReceiveCount`…
    pub async fn messages(&self, queue_url: &str) -> Vec<Value> {
        let request = self.request(Method::GET, "/_ministack/sqs/messages", "sqs").query(&[("QueueUrl", queue_url)]);
        let answer = Answer::to(request).await.and_then(Answer::success).unwrap();
        match &answer["messages"][ACCOUNT][REGION][queue_url] {
            Value::Array(messages) => messages.clone(),
            _ => panic!("no queue {queue_url}: {answer}"),
        }
    }

    /// Writes lines into a new log stream, as the log driver of a container does.
    pub async fn write_log(&self, group: &str, stream: &str, lines: &[&str]) {
        let named = json!({ "logGroupName": group, "logStreamName": stream });
        self.call("logs", "Logs_20140328.CreateLogGroup", &json!({ "logGroupName": group })).await;
        self.call("logs", "Logs_20140328.CreateLogStream", &named).await;
        let now = Timestamp::now().as_millisecond();
        let events: Vec<Value> = lines.iter().map(|line| json!({ "timestamp": now, "message": line })).collect();
        let events = json!({ "logGroupName": group, "logStreamName": stream, "logEvents": events });
        self.call("logs", "Logs_20140328.PutLogEvents", &events).await;
    }

    /// All log lines of a function's finished invocations, in order.
    pub async fn logs(&self, group: &str) -> Vec<String> {
        self.logs_where(group, &json!({})).await
    }

    /// The log lines that match further conditions of `FilterLogEvents`. `MiniStack` returns the first 10,000, and no further page.
    pub async fn logs_where(&self, group: &str, conditions: &Value) -> Vec<String> {
        let mut lines = Vec::new();
        let mut page = conditions.clone();
        page["logGroupName"] = json!(group);
        page["limit"] = json!(10_000);
        loop {
            let answer = self.call("logs", "Logs_20140328.FilterLogEvents", &page).await;
            let events = answer["events"].as_array().expect("events");
            lines.extend(events.iter().filter_map(|event| event["message"].as_str()).map(str::to_owned));
            match answer["nextToken"].as_str() {
                Some(token) => page["nextToken"] = json!(token),
                None => return lines,
            }
        }
    }

    /// Invokes a function and waits for its answer. `Err` is the error object of the function or of its start.
    pub async fn invoke(&self, function: &str, event: &Value) -> Result<Value, Value> {
        let path = format!("/2015-03-31/functions/{function}/invocations");
        let request = self.request(Method::POST, &path, "lambda").body(event.to_string());
        let body = Answer::to(request).await.and_then(Answer::success).unwrap();
        // Both have status 200; only an error object has this field.
        if body.get("errorMessage").is_some() { Err(body) } else { Ok(body) }
    }
}
