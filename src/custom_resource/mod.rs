//! The template's custom resource: `CloudFormation` sends a request, and waits for an answer at a presigned URL.
//!
//! A request does not say why it is sent: a `Delete` may roll back a creation, and an `Update` may roll back an update. So each
//! request that would change something first asks for the [`Phase`] of the stack. A request that comes twice, or after
//! `CloudFormation` went on, finds another phase and changes nothing.
//!
//! Source: <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref.html>

mod cloud_formation;
mod phase;

use std::{error::Error, time::Duration};

use observe::{Deadline, SweepOrder};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use self::phase::{Phase, Progress};
pub use self::{
    cloud_formation::{AwsCloudFormation, CloudFormation, DeliveryError},
    phase::PROOF,
};
use consul::ConsulError;
use controller::{BootstrapError, Controller, PreflightError, settings::read_rate};
use report::{ErrorLabel, Problem, SweepOutcome};

/// The physical ID of a created resource. `CloudFormation` makes up another ID for a creation whose answer it does not get.
const PHYSICAL_ID: &str = "ecs-mesh-controller";
/// The physical ID after a failed creation: there is nothing to clean up.
const NEVER_CREATED: &str = "ecs-mesh-controller/never-created";
/// The longest reason, in characters: `CloudFormation` accepts answers of 4 KiB.
const MAX_REASON: usize = 2_000;
/// The remark of an update's rollback.
const ROLLED_BACK: &str = "the update is rolled back: Consul was neither checked nor set up; the next sweep does both";
/// How long the set-up is repeated while AWS denies what it calls, and the pause between two tries: changes of IAM take effect
/// within seconds, but not at once. Not repeated: what the function reads before it can start (the CA certificate), what finds
/// Consul's servers in ECS, and calls to SQS.
///
/// Source: <https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency>
const RETRY_DENIED_FOR: Duration = Duration::from_mins(1);
const BETWEEN_TRIES: Duration = Duration::from_secs(5);
/// The least time reserved for the delivery of the answer.
const TIME_TO_ANSWER: Duration = Duration::from_secs(20);

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
    #[error("setting Consul up: {}", .0.iter().map(BootstrapError::to_string).collect::<Vec<_>>().join("; "))]
    Bootstrap(Vec<BootstrapError>),
    /// The sweep was incomplete.
    #[error("sweeping: {}", reasons(.0))]
    Sweep(Vec<Problem>),
    /// The clean-up was incomplete.
    #[error(
        "cleaning up: {0}. Fix the cause and delete the stack again. To delete it without the rest of the clean-up: \
         aws cloudformation delete-stack --stack-name STACK --retain-resources MeshSetup"
    )]
    Cleanup(String),
    /// `CloudFormation` no longer waits for an answer.
    #[error("nothing was checked or set up, because the stack is {0}: the request came late. Deploy again")]
    Late(String),
}

impl Failure {
    /// Whether AWS denied all that failed.
    fn is_denial(&self) -> bool {
        match self {
            Self::Preflight(PreflightError::Consul(ConsulError::CredentialUnreadable { is_denied, .. })) => *is_denied,
            Self::Bootstrap(errors) => errors
                .iter()
                .all(|error| matches!(error, BootstrapError::Call(error) if error.label() == ErrorLabel::AwsRefused)),
            Self::Sweep(problems) => problems.iter().all(|problem| problem.label == ErrorLabel::AwsRefused),
            _ => false,
        }
    }
}

/// Why a request succeeded without doing everything that its kind usually does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Remark {
    Done,
    /// The mode is `observe`.
    Observed,
    /// The update is rolled back.
    RolledBack,
    /// Nothing was to be cleaned up, because of the stack's phase.
    Kept(String),
    /// Nothing was cleaned up, because the phase is not known.
    Unknown(String),
    /// What was left, because its author has to correct it.
    Left(String),
}

impl Remark {
    fn text(&self) -> String {
        match self {
            Self::Done => String::new(),
            Self::Observed => "Mode=observe: nothing outside the stack was changed".to_owned(),
            Self::RolledBack => ROLLED_BACK.to_owned(),
            Self::Kept(status) => format!(
                "nothing was cleaned up: the stack is {status}, and it was not completed with CleanupOnDelete=true \
                 before its deletion"
            ),
            Self::Left(what) => format!("left in Consul and Secrets Manager: {what}"),
            Self::Unknown(reason) => format!(
                "nothing was cleaned up, because CloudFormation could not be asked whether the stack was completed: \
                 {reason}. In a VPC, the function needs a route to CloudFormation"
            ),
        }
    }
}

/// A request of `CloudFormation`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Request {
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

/// The properties arrive as strings.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Properties {
    #[serde(default)]
    cleanup_on_delete: String,
    #[serde(default)]
    reconcile_rate: String,
}

impl Request {
    /// Whether it deletes a resource that was created, and that has the clean-up among its properties.
    fn may_clean_up(&self) -> bool {
        let is_own = self.physical_resource_id.as_deref() == Some(PHYSICAL_ID);
        is_own && self.resource_properties.cleanup_on_delete == "true"
    }
}

/// Handles a request within `time`, and delivers the answer. The controller is an `Err` if the settings are invalid.
///
/// # Errors
/// The answer could not be delivered.
pub async fn handle<E: Error>(
    controller: Result<&Controller, E>,
    cloud_formation: &dyn CloudFormation,
    request: Request,
    time: Duration,
) -> Result<Value, DeliveryError> {
    let end = Instant::now() + time;
    let deadline = Deadline::after(time.saturating_sub(TIME_TO_ANSWER));
    let result = fulfil(controller, cloud_formation, &request, deadline).await;
    let physical_id = match &request.physical_resource_id {
        _ if request.kind == Kind::Create && result.is_err() => NEVER_CREATED.to_owned(),
        Some(id) => id.clone(),
        None => PHYSICAL_ID.to_owned(),
    };
    let (status, reason) = match result {
        Ok(remark) => ("SUCCESS", remark.text()),
        Err(failure) => ("FAILED", failure.to_string()),
    };
    let reason: String = reason.chars().take(MAX_REASON).collect();
    tracing::info!(action = "custom_resource", outcome = status, request = ?request.kind, reason);
    // The period of the alarm about missing sweeps: also for a rollback to settings with which the function does not start.
    let seconds = read_rate(&request.resource_properties.reconcile_rate).map(|rate| rate.as_secs().to_string());
    let data = seconds.map_or_else(|| json!({}), |seconds| json!({ "SweepSeconds": seconds }));
    let answer = json!({
        "Status": status,
        "Reason": reason,
        "PhysicalResourceId": physical_id,
        "StackId": request.stack_id,
        "RequestId": request.id,
        "LogicalResourceId": request.logical_resource_id,
        "Data": data,
    });
    let delivered = timeout_at(end, cloud_formation.answer(&request.response_url, &answer)).await;
    delivered.unwrap_or_else(|_| Err(DeliveryError("time ran out".to_owned())))?;
    Ok(json!({ "outcome": status, "reason": reason }))
}

/// Does what the request asks for in the phase of the stack.
async fn fulfil<E: Error>(
    controller: Result<&Controller, E>,
    cloud_formation: &dyn CloudFormation,
    request: &Request,
    deadline: Deadline,
) -> Result<Remark, Failure> {
    if request.kind == Kind::Delete && !request.may_clean_up() {
        return Ok(Remark::Done);
    }
    let events = cloud_formation.events(&request.stack_id).await.map_err(|error| error.to_string());
    let progress =
        events.and_then(|events| Progress::of(&events).ok_or_else(|| "it lists no event of the stack".to_owned()));
    match (request.kind, progress) {
        (Kind::Delete, Ok(Progress { phase: Phase::Cleanup, .. })) => clean_up(started(controller)?, deadline).await,
        (Kind::Delete, Ok(Progress { status, .. })) => Ok(Remark::Kept(status)),
        (Kind::Delete, Err(error)) => Ok(Remark::Unknown(error)),
        (_, Ok(Progress { phase: Phase::UpdateRollback, .. })) => Ok(Remark::RolledBack),
        (_, Ok(Progress { phase: Phase::Forward, .. })) => set_up(started(controller)?, deadline).await,
        (_, Ok(Progress { status, .. })) => Err(Failure::Late(status)),
        (_, Err(error)) => {
            tracing::warn!(action = "custom_resource", outcome = "unknown_phase", reason = error);
            set_up(started(controller)?, deadline).await
        }
    }
}

fn started<E: Error>(controller: Result<&Controller, E>) -> Result<&Controller, Failure> {
    controller.map_err(|error| Failure::NotStarted(error.to_string()))
}

fn remark(controller: &Controller) -> Remark {
    if controller.mode().acts() { Remark::Done } else { Remark::Observed }
}

/// Sets Consul up. Retries for a minute if AWS denies a call: the stack may have just created the roles.
async fn set_up(controller: &Controller, deadline: Deadline) -> Result<Remark, Failure> {
    let end = Instant::now() + RETRY_DENIED_FOR;
    loop {
        match set_up_once(controller, deadline).await {
            Err(failure) if failure.is_denial() && Instant::now() < end => {
                tracing::info!(action = "custom_resource", outcome = "denied", reason = %failure);
                sleep(BETWEEN_TRIES).await;
            }
            result => return result,
        }
    }
}

/// Runs the preflight check, the bootstrap and a sweep. What is wrong with a single task, definition or secret fails no
/// deployment.
async fn set_up_once(controller: &Controller, deadline: Deadline) -> Result<Remark, Failure> {
    controller.preflight().await?;
    let set_up = controller.bootstrap(deadline).await;
    if !set_up.failures.is_empty() {
        return Err(Failure::Bootstrap(set_up.failures.into_iter().map(|failure| failure.error).collect()));
    }
    let swept = controller.sweep(&SweepOrder::default(), deadline).await;
    match swept.outcome {
        // The guard has its own alarm; the deployment does not wait for an operator.
        SweepOutcome::Done | SweepOutcome::Observed | SweepOutcome::DryRun | SweepOutcome::GuardTripped => {
            Ok(remark(controller))
        }
        SweepOutcome::Incomplete | SweepOutcome::Other => Err(Failure::Sweep(swept.problems)),
    }
}

async fn clean_up(controller: &Controller, deadline: Deadline) -> Result<Remark, Failure> {
    let cleanup = controller.clean_up(deadline).await;
    if !cleanup.problems.is_empty() {
        return Err(Failure::Cleanup(reasons(&cleanup.problems)));
    }
    Ok(if cleanup.faults.is_empty() { remark(controller) } else { Remark::Left(reasons(&cleanup.faults)) })
}

/// The reasons of problems, in one line.
pub(super) fn reasons(problems: &[Problem]) -> String {
    let reasons: Vec<&str> = problems.iter().map(|problem| problem.reason.as_str()).collect();
    reasons.join("; ")
}
