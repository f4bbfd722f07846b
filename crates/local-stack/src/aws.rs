//! `MiniStack` in the place of AWS: the SDK's own clients, and plain calls for what we take no SDK along for.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_ecs::config::{Credentials, SharedCredentialsProvider};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::http::{self, Answer};
use super::ports;
use super::process::Process;
use super::wait::eventually;
use super::{scratch, tool};

/// The AWS region of the local stack.
pub const REGION: &str = "us-east-1";
/// The AWS account ID of the local stack.
pub const ACCOUNT: &str = "000000000000";

/// How long a call may take: the synchronous invocation of a function whose time-out is 300 seconds.
const LONGEST_CALL: Duration = Duration::from_secs(330);
/// How long a server may take to start, while others do on a busy machine.
const START: Duration = Duration::from_mins(5);

/// A running `MiniStack`.
pub struct Aws {
    /// What `AWS_ENDPOINT_URL` wants.
    pub endpoint: String,
    process: Mutex<Option<Process>>,
    one_at_a_time: tokio::sync::Mutex<()>,
    /// The template whose functions are in its S3, once something was deployed.
    pub(crate) packaged: OnceCell<PathBuf>,
}

impl Aws {
    /// Starts `MiniStack` on a free port, and waits until it is ready.
    pub async fn start() -> Self {
        let port = ports::reserve();
        Self::start_behind(port, &Self::endpoint_at(port)).await
    }

    /// Where it answers if it is started on this port.
    pub fn endpoint_at(port: u16) -> String {
        format!("http://127.0.0.1:{port}")
    }

    /// Starts one whose Secrets Manager has a clock that is an hour late: what was written a moment ago is old.
    pub async fn start_with_late_clock() -> Self {
        let port = ports::reserve();
        Self::start_on(port, &Self::endpoint_at(port), 3_600).await
    }

    /// Starts it on a port, with another endpoint for the functions: that of a proxy.
    pub async fn start_behind(port: u16, functions_endpoint: &str) -> Self {
        Self::start_on(port, functions_endpoint, 0).await
    }

    async fn start_on(port: u16, functions_endpoint: &str, secrets_clock_late_seconds: u64) -> Self {
        let endpoint = Self::endpoint_at(port);
        let name = format!("ministack-{port}");
        let state = scratch::directory().join(&name).join("state");
        let env = [
            // What it keeps beside its memory; without this it would go to a folder that all users of the machine share.
            ("STATE_DIR", state.to_str().unwrap().to_owned()),
            ("GATEWAY_PORT", port.to_string()),
            ("BIND_HOST", "127.0.0.1".into()),
            // The host in the queues' addresses.
            ("MINISTACK_HOST", "127.0.0.1".into()),
            // Handed on to the functions.
            ("AWS_ENDPOINT_URL", functions_endpoint.to_owned()),
            ("SECRETS_CLOCK_LATE_SECONDS", secrets_clock_late_seconds.to_string()),
            // Listeners of its own that would bind every interface.
            ("IOT_MTLS_ENABLED", "0".into()),
            ("SFTP_ENABLED", "0".into()),
            // It would run tasks in a Docker that it finds, and pull their images.
            ("DOCKER_HOST", "unix:///nonexistent".into()),
        ];
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/start_ministack.py");
        let process = Process::start(&name, &tool("venv/bin/python"), &[script], &env);
        let aws = Self {
            endpoint,
            process: Mutex::new(Some(process)),
            one_at_a_time: tokio::sync::Mutex::default(),
            packaged: OnceCell::new(),
        };
        eventually("MiniStack", START, || async {
            aws.process.lock().unwrap().as_mut().expect("MiniStack runs").must_run();
            Answer::to(aws.request(Method::GET, "/_ministack/ready", "")).await.and_then(Answer::good)
        })
        .await;
        aws
    }

    /// Lets it live on after us. The answer is what stops it.
    pub fn keep(&self) -> String {
        let process = self.process.lock().unwrap().take().expect("MiniStack runs");
        let stop = format!("kill -TERM -- -{}", process.group());
        process.keep();
        stop
    }

    /// The process itself, without the functions that it runs.
    pub fn pid(&self) -> u32 {
        self.process.lock().unwrap().as_ref().expect("MiniStack runs").pid()
    }

    /// For `Client::new` of any SDK. A client belongs to the runtime of the test that made it.
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

    /// Held while something may change in ECS, or while nothing may: `MiniStack`'s ECS answers 500 to whoever reads while
    /// somebody else makes a task.
    pub async fn ecs_alone(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.one_at_a_time.lock().await
    }

    /// Calls an action of a service with a JSON protocol, for example `AWSEvents.TestEventPattern` of `events`.
    pub async fn call(&self, service: &str, target: &str, body: &Value) -> Value {
        self.call_in(ACCOUNT, service, target, body).await
    }

    /// The same in an account of its own: twelve digits, which are its access key as well.
    pub async fn call_in(&self, account: &str, service: &str, target: &str, body: &Value) -> Value {
        let request = self
            .signed(account, Method::POST, "/", service)
            .header("X-Amz-Target", target)
            .header("Content-Type", "application/x-amz-json-1.1")
            .body(body.to_string());
        let answer = Answer::to(request).await.and_then(Answer::good);
        answer.unwrap_or_else(|error| panic!("{target}: {error}"))
    }

    /// A request to a service with a REST protocol. `MiniStack` reads who asks for what, and does not verify the
    /// signature.
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

    /// Everything in a queue, also what is delayed or in flight, without receiving it: `MessageId`, `Body`,
    /// `IsVisible`, `VisibleAt`, `ReceiveCount`…
    pub async fn messages(&self, queue_url: &str) -> Vec<Value> {
        let request = self.request(Method::GET, "/_ministack/sqs/messages", "sqs").query(&[("QueueUrl", queue_url)]);
        let answer = Answer::to(request).await.and_then(Answer::good).unwrap();
        match &answer["messages"][ACCOUNT][REGION][queue_url] {
            Value::Array(messages) => messages.clone(),
            _ => panic!("no queue {queue_url}: {answer}"),
        }
    }

    /// Everything that the finished invocations of a function have logged, in order.
    pub async fn logs(&self, group: &str) -> Vec<String> {
        self.logs_where(group, &json!({})).await
    }

    /// The same, of lines that fulfil further conditions of `FilterLogEvents`: `MiniStack` shows the first 10,000 that do, and no
    /// further page.
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

    /// Invokes a function and waits for its answer. An `Err` is the error object that the function, or its start,
    /// ended in.
    pub async fn invoke(&self, function: &str, event: &Value) -> Result<Value, Value> {
        let path = format!("/2015-03-31/functions/{function}/invocations");
        let request = self.request(Method::POST, &path, "lambda").body(event.to_string());
        let body = Answer::to(request).await.and_then(Answer::good).unwrap();
        // Both kinds come with status 200, and only an error object has this field.
        if body.get("errorMessage").is_some() { Err(body) } else { Ok(body) }
    }
}
