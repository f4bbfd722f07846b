//! The template's custom resource: `CloudFormation` sends a request, and waits for an answer at a presigned URL.
//!
//! Source: <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref.html>

use std::{error::Error, time::Duration};

use backon::{ExponentialBuilder, Retryable};
use reqwest::redirect::Policy;
use serde::Deserialize;
use serde_json::{Value, json};

use controller::{Controller, Deadline, PreflightError, SweepOrder};
use report::{Problem, SweepOutcome};

/// The physical ID of a created resource.
const PHYSICAL_ID: &str = "ecs-mesh-controller";
/// The physical ID after a failed creation: there is nothing to clean up.
const NEVER_CREATED: &str = "ecs-mesh-controller/never-created";
/// The reason of a success in mode `observe`.
const OBSERVED: &str = "Mode=observe: nothing outside the stack was changed";
/// The longest reason, in characters: `CloudFormation` accepts answers of 4 KiB.
const MAX_REASON: usize = 2_000;
/// The timeout of one delivery of the answer, and how often it is retried: together less than what `reconcile` keeps back.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const ANSWER_RETRIES: usize = 2;
const ANSWER_PAUSE: Duration = Duration::from_millis(200);

/// The answer could not be delivered to `CloudFormation`.
#[derive(Debug, thiserror::Error)]
#[error("cannot deliver the outcome to CloudFormation: {0}. In a VPC, the function needs a route to S3")]
pub(crate) struct DeliveryError(reqwest::Error);

impl DeliveryError {
    /// The error without the URL, which is a credential.
    fn new(error: reqwest::Error) -> Self {
        Self(error.without_url())
    }
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The function could not be started.
    #[error("{0}")]
    NotStarted(String),
    /// Consul cannot be reached, or the controller's token does not have the required permissions.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// Consul could not be set up.
    #[error("setting Consul up: {0}")]
    Bootstrap(String),
    /// The sweep was incomplete.
    #[error("sweeping: {0}")]
    Sweep(String),
    /// The clean-up was incomplete.
    #[error(
        "cleaning up: {0}. Fix the cause and delete the stack again. To delete it without the rest of the clean-up: \
         aws cloudformation delete-stack --stack-name STACK --retain-resources MeshSetup"
    )]
    Cleanup(String),
}

/// A request of `CloudFormation`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Request {
    #[serde(rename = "RequestType")]
    kind: Kind,
    #[serde(rename = "ResponseURL")]
    response_url: String,
    stack_id: String,
    #[serde(rename = "RequestId")]
    id: String,
    logical_resource_id: String,
    physical_resource_id: Option<String>,
    #[serde(default)]
    resource_properties: Properties,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Kind {
    Create,
    Update,
    Delete,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Properties {
    /// Properties arrive as strings.
    #[serde(default)]
    cleanup_on_delete: String,
}

/// Handles a request and delivers the answer. The controller is an `Err` if the settings are invalid.
///
/// # Errors
/// The answer could not be delivered: Lambda retries the invocation.
pub(crate) async fn handle<E: Error>(
    controller: Result<&Controller, E>,
    request: Request,
    deadline: Deadline,
) -> Result<Value, DeliveryError> {
    // The period of the alarm about missing sweeps.
    let data = controller.as_ref().map_or_else(
        |_| json!({}),
        |controller| json!({ "SweepSeconds": controller.sweep_interval().as_secs().to_string() }),
    );
    let is_observing = controller.as_ref().is_ok_and(|controller| !controller.mode().acts());
    let result = match (request.kind, controller) {
        (Kind::Delete, _) if request.physical_resource_id.as_deref() == Some(NEVER_CREATED) => Ok(()),
        (Kind::Delete, _) if request.resource_properties.cleanup_on_delete != "true" => Ok(()),
        (_, Err(error)) => Err(Failure::NotStarted(error.to_string())),
        (Kind::Delete, Ok(controller)) => clean_up(controller, deadline).await,
        (Kind::Create | Kind::Update, Ok(controller)) => set_up(controller, deadline).await,
    };
    let has_failed_creation = request.kind == Kind::Create && result.is_err();
    let physical_id = match &request.physical_resource_id {
        _ if has_failed_creation => NEVER_CREATED.to_owned(),
        Some(id) => id.clone(),
        None => PHYSICAL_ID.to_owned(),
    };
    let (status, reason) = match result {
        Ok(()) if is_observing => ("SUCCESS", OBSERVED.to_owned()),
        Ok(()) => ("SUCCESS", String::new()),
        Err(failure) => ("FAILED", failure.to_string().chars().take(MAX_REASON).collect()),
    };
    tracing::info!(action = "custom_resource", outcome = status, request = ?request.kind, reason);
    let answer = json!({
        "Status": status,
        "Reason": reason,
        "PhysicalResourceId": physical_id,
        "StackId": request.stack_id,
        "RequestId": request.id,
        "LogicalResourceId": request.logical_resource_id,
        "Data": data,
    });
    deliver(&request.response_url, &answer).await?;
    Ok(json!({ "outcome": status, "reason": reason }))
}

/// Runs the preflight check, the bootstrap and a sweep.
async fn set_up(controller: &Controller, deadline: Deadline) -> Result<(), Failure> {
    controller.preflight().await?;
    let set_up = controller.bootstrap(deadline).await;
    if !set_up.failures.is_empty() {
        let reasons: Vec<String> = set_up.failures.iter().map(|failure| failure.error.to_string()).collect();
        return Err(Failure::Bootstrap(reasons.join("; ")));
    }
    let swept = controller.sweep(&SweepOrder::default(), deadline).await;
    match swept.outcome {
        // The guard has its own alarm; the deployment does not wait for an operator.
        SweepOutcome::Done | SweepOutcome::Observed | SweepOutcome::DryRun | SweepOutcome::GuardTripped => Ok(()),
        SweepOutcome::Incomplete | SweepOutcome::Other => Err(Failure::Sweep(reasons(&swept.problems))),
    }
}

async fn clean_up(controller: &Controller, deadline: Deadline) -> Result<(), Failure> {
    let cleanup = controller.clean_up(deadline).await;
    if cleanup.problems.is_empty() { Ok(()) } else { Err(Failure::Cleanup(reasons(&cleanup.problems))) }
}

/// The reasons of problems, in one line.
pub(super) fn reasons(problems: &[Problem]) -> String {
    let reasons: Vec<&str> = problems.iter().map(|problem| problem.reason.as_str()).collect();
    reasons.join("; ")
}

async fn deliver(url: &str, answer: &Value) -> Result<(), DeliveryError> {
    // S3 may redirect to the region of the bucket. The answer contains no secret.
    let client = http_client::trusting_the_system().redirect(Policy::default()).timeout(ANSWER_TIMEOUT).build();
    let client = client.map_err(DeliveryError::new)?;
    let send = || async {
        // The URL is signed for a request without a content type.
        let sent = client.put(url).header(reqwest::header::CONTENT_TYPE, "").body(answer.to_string()).send().await;
        sent.and_then(reqwest::Response::error_for_status)
    };
    let pauses = ExponentialBuilder::default().with_min_delay(ANSWER_PAUSE).with_max_times(ANSWER_RETRIES);
    // S3 refuses an expired or wrong URL for good.
    let is_temporary = |error: &reqwest::Error| !error.status().is_some_and(|status| status.is_client_error());
    send.retry(pauses).when(is_temporary).await.map(drop).map_err(DeliveryError::new)
}
