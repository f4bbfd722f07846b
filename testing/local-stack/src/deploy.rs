//! Deployments of the template by the SAM CLI. Several stacks of one build can exist at once.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use super::aws::{ACCOUNT, Aws, REGION};
use super::functions::{ARCHITECTURE, built_template, earlier_template};
use super::http::Answer;
use super::permitted::Permitted;
use super::users::Key;
use super::wait::eventually;
use super::{in_repository, scratch, tool};

/// The `TimeBounds` of deployments on the local stack: an idle service's token is hidden for 15 seconds before it is deleted, and
/// a status that contradicts ECS is corrected if it still does a second later.
pub const TIME_BOUNDS: &str = "ecs-lag=1,secrets-lag=1,attempt=10,call=2,clocks=1,shown=4,health-lag=1";

/// The bucket of the functions' code.
pub const BUCKET: &str = "artifacts";
/// How long one run of the SAM CLI may take on a busy machine.
const LONGEST_RUN: Duration = Duration::from_mins(10);
/// How many lines of its output are shown when it takes longer.
const LAST_LINES: usize = 40;

/// The template's outputs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deployed {
    /// URL of the SQS queue that task events arrive in.
    pub queue_url: String,
    /// URL of the dead-letter queue.
    pub failed_queue_url: String,
    /// Name of the function that handles task events.
    pub function_name: String,
    /// Name of the `EventBridge` rule for task state changes.
    pub rule_name: String,
    /// Name of the log group of the function that handles task events.
    pub log_group: String,
    /// Name of the function `reconcile`.
    pub reconcile: String,
    /// Name of the log group of `reconcile`.
    pub reconcile_log_group: String,
    /// Name of the `EventBridge` rule for task definitions and services; it exists only if tokens are pre-provisioned.
    pub pre_provision_rule: Option<String>,
    /// Name of the `EventBridge` rule for deleted clusters.
    pub cluster_deleted_rule: String,
    /// The audit's outputs, unless it is disabled.
    pub audit: Option<DeployedAudit>,
    /// Fails the test that holds it if IAM refuses a call.
    pub permitted: Permitted,
}

/// The template's outputs for the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeployedAudit {
    /// Name of the Lambda function that audits.
    pub function: String,
    /// Name of that function's log group.
    pub log_group: String,
    /// Name of the `EventBridge` rule for registered task definitions.
    pub rule: String,
    /// ARN of the SNS topic that findings are published to.
    pub topic: String,
    /// Name of the S3 bucket for large reports and for the record of announcements.
    pub bucket: String,
    /// For tests that keep only the audit of a deployment.
    pub permitted: Permitted,
}

impl DeployedAudit {
    fn of(outputs: &Outputs, permitted: Permitted) -> Option<Self> {
        Some(Self {
            function: outputs.find("AuditFunctionName")?,
            log_group: outputs.get("AuditLogGroupName"),
            rule: outputs.get("DefinitionRegisteredRuleName"),
            topic: outputs.get("FindingsTopicArn"),
            bucket: outputs.get("ReportsBucketName"),
            permitted,
        })
    }
}

/// Creates a stack that manages clusters with these names or patterns, and that sweeps only when a test says so. Creates the named
/// clusters. The `further` parameters take precedence. `Err` is the output of the SAM CLI in one line.
pub async fn install(
    aws: &Aws,
    consul: &str,
    stack: &str,
    clusters: &[&str],
    token: &str,
    further: &[(&str, &str)],
) -> Result<Deployed, String> {
    for cluster in clusters.iter().filter(|name| !name.contains('*')) {
        aws.create_cluster(cluster).await;
    }
    let secret = aws.create_secret(&format!("{stack}-controller"), token).await;
    let clusters = clusters.join(",");
    let parameters = [
        ("ConsulHttpAddr", consul),
        ("ConsulHttpTokenSecretArn", &secret),
        ("EcsClusterArns", &clusters),
        ("SecretNamePrefix", stack),
        ("ReconcileRate", "rate(1 day)"),
    ];
    let defaults = parameters.iter().filter(|(key, _)| further.iter().all(|(given, _)| given != key));
    let said = try_deploy(aws, stack, &defaults.chain(further).copied().collect::<Vec<_>>()).await;
    said.map_err(|said| said.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Creates or updates a stack. On an update, omitted parameters keep their values.
pub async fn deploy(aws: &Aws, stack: &str, parameters: &[(&str, &str)]) -> Deployed {
    try_deploy(aws, stack, parameters).await.unwrap_or_else(|said| panic!("sam deploy of {stack}: {said}"))
}

/// Creates or updates a stack. `Err` is the output of the SAM CLI.
pub async fn try_deploy(aws: &Aws, stack: &str, parameters: &[(&str, &str)]) -> Result<Deployed, String> {
    deploy_packaged(aws, packaged_template(aws).await, stack, parameters).await
}

/// Uploads the functions of an earlier version to S3, and returns its packaged template. `version` is a folder with its
/// `template.yaml`, and its functions as cargo-lambda writes them.
pub async fn package_earlier(aws: &Aws, version: &Path) -> PathBuf {
    package(aws, &earlier_template(version), "packaged-earlier").await
}

/// Creates or updates a stack from a packaged template. `Err` is the output of the SAM CLI.
pub async fn deploy_packaged(
    aws: &Aws,
    template: &Path,
    stack: &str,
    parameters: &[(&str, &str)],
) -> Result<Deployed, String> {
    let arguments = ["--no-fail-on-empty-changeset", "--s3-bucket", BUCKET];
    sam_deploy(aws, &Key::of_root(ACCOUNT), template, stack, parameters, &arguments).await?;
    let outputs = Outputs::of(aws, stack).await;
    let deployed = Deployed {
        queue_url: outputs.get("TaskEventsQueueUrl"),
        failed_queue_url: outputs.get("FailedEventsQueueUrl"),
        function_name: outputs.get("TaskEventsFunctionName"),
        rule_name: outputs.get("TaskStateChangeRuleName"),
        log_group: outputs.get("TaskEventsLogGroupName"),
        reconcile: outputs.get("ReconcileFunctionName"),
        reconcile_log_group: outputs.get("ReconcileLogGroupName"),
        pre_provision_rule: outputs.find("PreProvisionRuleName"),
        cluster_deleted_rule: outputs.get("ClusterDeletedRuleName"),
        audit: DeployedAudit::of(&outputs, aws.permitted(stack)),
        permitted: aws.permitted(stack),
    };
    shorten_visibility(aws, &deployed.queue_url).await;
    Ok(deployed)
}

/// Runs `sam deploy` with further arguments, as the user with this key. `Err` is its output.
pub async fn sam_deploy(
    aws: &Aws,
    key: &Key,
    template: &Path,
    stack: &str,
    parameters: &[(&str, &str)],
    further: &[&str],
) -> Result<(), String> {
    let defaults = [("Architecture", ARCHITECTURE), ("TimeBounds", TIME_BOUNDS)];
    let defaults = defaults.iter().filter(|(key, _)| parameters.iter().all(|(given, _)| given != key));
    let parameters = defaults.chain(parameters).map(|(key, value)| {
        // The SAM CLI splits at whitespace, and removes quotes.
        let is_plain = !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || c == '"');
        if is_plain { format!("{key}={value}") } else { format!("{key}='{value}'") }
    });
    let mut command = sam(aws, key, "deploy");
    command.args(["--stack-name", stack, "--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset"]);
    command.args(further).args(["--no-progressbar", "--template-file"]).arg(template);
    run(command.arg("--parameter-overrides").args(parameters), &format!("deploy-{stack}")).await
}

/// Runs `sam delete`, as the user with this key. `Err` is its output.
pub async fn sam_delete(aws: &Aws, key: &Key, stack: &str) -> Result<(), String> {
    run(sam(aws, key, "delete").args(["--no-prompts", "--stack-name", stack]), &format!("delete-{stack}")).await
}

/// The packaged template, whose functions are in S3.
pub async fn packaged_template(aws: &Aws) -> &Path {
    aws.packaged.get_or_init(|| package(aws, built_template(), "packaged")).await
}

/// Why something of a stack failed, and all else that its events say.
pub async fn events(aws: &Aws, stack: &str) -> String {
    let query = [("Action", "DescribeStackEvents"), ("Version", "2010-05-15"), ("StackName", stack)];
    let answer = Answer::to(aws.request(Method::GET, "/", "cloudformation").query(&query)).await;
    answer.expect("DescribeStackEvents").body.to_string()
}

/// Uploads the functions of a template to S3, and returns the packaged template.
async fn package(aws: &Aws, template: &Path, name: &str) -> PathBuf {
    let bucket = Answer::to(aws.request(Method::PUT, &format!("/{BUCKET}"), "s3")).await.and_then(Answer::success);
    bucket.unwrap_or_else(|error| panic!("CreateBucket of {BUCKET}: {error}"));
    let port = aws.endpoint.rsplit(':').next().unwrap_or_default();
    let packaged = scratch::directory().join(format!("{name}-{port}.yaml"));
    let mut command = sam(aws, &Key::of_root(ACCOUNT), "package");
    command.args(["--no-progressbar", "--s3-bucket", BUCKET]).arg("--template-file").arg(template);
    command.arg("--output-template-file").arg(&packaged);
    run(&mut command, &format!("{name}-{port}")).await.unwrap_or_else(|said| panic!("sam package: {said}"));
    packaged
}

/// The SAM CLI as the user with this key, without the AWS configuration of who runs the tests and without the repository's
/// samconfig.toml.
fn sam(aws: &Aws, key: &Key, subcommand: &str) -> Command {
    let mut command = Command::new(tool("venv/bin/sam"));
    command
        .args([subcommand, "--region", REGION])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", scratch::directory())
        .env("__SAM_CLI_APP_DIR", in_repository("target/tools/sam"))
        .env("SAM_CLI_TELEMETRY", "0")
        .env("SAM_CLI_POLL_DELAY", "0.5")
        .env("AWS_ENDPOINT_URL", &aws.endpoint)
        .env("AWS_ACCESS_KEY_ID", &key.id)
        .env("AWS_SECRET_ACCESS_KEY", &key.secret)
        .current_dir(scratch::directory())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Runs a command. `Err` is its output, or the end of its output if it takes too long.
async fn run(command: &mut Command, name: &str) -> Result<(), String> {
    let path = scratch::directory().join(format!("sam-{name}.log"));
    let log = File::create(&path).unwrap();
    let mut process = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
    let ended = tokio::time::timeout(LONGEST_RUN, process.wait()).await;
    let said = || String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
    match ended {
        Ok(status) if status.as_ref().unwrap().success() => Ok(()),
        Ok(_) => Err(said()),
        Err(_) => {
            let (said, shown) = (said(), path.display());
            let lines: Vec<&str> = said.lines().collect();
            let end = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
            Err(format!("it has not ended within {LONGEST_RUN:?}; the end of {shown}:\n{end}"))
        }
    }
}

/// Deletes a stack, and waits until it is deleted. `Err` is the description of a failed deletion.
pub async fn delete(aws: &Aws, stack: &str) -> Result<(), String> {
    let call = async |action: &str| {
        let query = [("Action", action), ("Version", "2010-05-15"), ("StackName", stack)];
        Answer::to(aws.request(Method::GET, "/", "cloudformation").query(&query)).await
    };
    call("DeleteStack").await.and_then(Answer::success)?;
    eventually(&format!("stack {stack} to be deleted"), Duration::from_mins(10), || async {
        let described = call("DescribeStacks").await?;
        let text = described.body.to_string();
        if text.contains("DELETE_FAILED") {
            Ok(Err(text))
        } else if described.status == 400 && text.contains(&format!("Stack with id {stack} does not exist")) {
            Ok(Ok(()))
        } else {
            Err(format!("{}: {text}", described.status))
        }
    })
    .await
}

/// The ARN of a stack.
pub async fn stack_id(aws: &Aws, stack: &str) -> String {
    Outputs::of(aws, stack).await.element("StackId")
}

pub async fn status(aws: &Aws, stack: &str) -> String {
    Outputs::of(aws, stack).await.element("StackStatus")
}

/// A stack's outputs in the XML of `DescribeStacks`, which is searched as text.
struct Outputs(String);

impl Outputs {
    async fn of(aws: &Aws, stack: &str) -> Self {
        let query = [("Action", "DescribeStacks"), ("Version", "2010-05-15"), ("StackName", stack)];
        let request = aws.request(Method::GET, "/", "cloudformation").query(&query);
        match Answer::to(request).await.and_then(Answer::success) {
            Ok(Value::String(xml)) => Self(xml),
            other => panic!("DescribeStacks of {stack}: {other:?}"),
        }
    }

    fn get(&self, key: &str) -> String {
        self.find(key).unwrap_or_else(|| panic!("no output {key} in {}", self.0))
    }

    /// The text of the first element with this name.
    fn element(&self, name: &str) -> String {
        let (_, rest) = self.0.split_once(&format!("<{name}>")).unwrap_or_else(|| panic!("no {name} in {}", self.0));
        rest.split('<').next().unwrap_or_default().to_owned()
    }

    fn find(&self, key: &str) -> Option<String> {
        let (_, rest) = self.0.split_once(&format!("<OutputKey>{key}</OutputKey>"))?;
        let (_, rest) = rest.split_once("<OutputValue>")?;
        Some(rest.split_once("</OutputValue>")?.0.to_owned())
    }
}

/// Whether the function reads its queue. Otherwise, messages wait there.
pub async fn set_reading(aws: &Aws, function: &str, is_on: bool) {
    let mapping = event_source_mapping(aws, function).await;
    change_mapping(aws, &mapping, &json!({ "Enabled": is_on })).await;
}

const MAPPINGS: &str = "/2015-03-31/event-source-mappings/";

async fn event_source_mapping(aws: &Aws, function: &str) -> Value {
    let list = aws.request(Method::GET, MAPPINGS, "lambda").query(&[("FunctionName", function)]);
    let mut list = Answer::to(list).await.and_then(Answer::success).unwrap();
    list["EventSourceMappings"][0].take()
}

async fn change_mapping(aws: &Aws, mapping: &Value, change: &Value) {
    let path = format!("{MAPPINGS}{}", mapping["UUID"].as_str().unwrap());
    let update = aws.request(Method::PUT, &path, "lambda").json(change);
    Answer::to(update).await.and_then(Answer::success).unwrap();
}

/// The queue's visibility timeout: the function's timeout, plus one second. The template's is six times the function's timeout,
/// as AWS advises for a function that is throttled; here it would only make tests wait.
const VISIBILITY_SECONDS: &str = "61";

async fn shorten_visibility(aws: &Aws, queue_url: &str) {
    let call = aws.sqs().set_queue_attributes().queue_url(queue_url);
    let call = call.attributes(QueueAttributeName::VisibilityTimeout, VISIBILITY_SECONDS);
    call.send().await.expect("SetQueueAttributes");
}
