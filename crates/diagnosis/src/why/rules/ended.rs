//! Tasks that are stopping or have stopped: in order, or because something failed; and tasks that are not in the mesh, or that ECS does not
//! know.

use jiff::Timestamp;
use mesh::{
    arn::TaskDefinitionArn,
    task::{ContainerEnd, TaskEnd, TaskPhase},
    time::elapsed,
};
use report::LogAction;

use super::{Conclusion, Condition, TaskEvidence, WhyCause, moment};
use crate::{redaction, status::TIME_TO_DEREGISTER, tokens::TokenSource};

/// What the reason of a task that a service stops begins with.
const SCALING: &str = "Scaling activity initiated by";

/// The end, if its `stopCode` is this.
fn with_code<'a>(evidence: &'a TaskEvidence<'_>, code: &str) -> Option<&'a TaskEnd> {
    evidence.end.as_ref().filter(|end| end.code.as_deref() == Some(code))
}

/// It has stopped, and Consul still has its instances.
pub(super) fn left_in_consul(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let end = evidence.end.as_ref()?;
    let is_stopping = evidence.member.is_some_and(|member| member.task.phase == TaskPhase::Stopping);
    if is_stopping || evidence.is_registered() != Some(true) {
        return None;
    }
    let stopped_at = end.stopped_at.unwrap_or(evidence.now);
    let left = "It has stopped, but its instances are still in Consul";
    if let Some((cause, sentence)) = kept_in_consul(evidence, left, stopped_at.max(evidence.lately())) {
        return Some(Conclusion::faulty(cause, sentence));
    }
    if let Some(failed) = evidence.failure(stopped_at) {
        let sentence = format!(
            "{left} because the controller failed at {} ({}). Fix this error. SQS retries the messages meanwhile; for \
             messages in the dead-letter queue, run ecs-mesh redrive",
            moment(failed.at),
            failed.reason.as_deref().unwrap_or("no reason given")
        );
        return Some(Conclusion::faulty(WhyCause::ControllerFailed, sentence));
    }
    let is_late = elapsed(stopped_at, evidence.now) >= TIME_TO_DEREGISTER;
    is_late.then(|| Conclusion::faulty(WhyCause::LeftInConsul, to_be_swept(evidence, left)))
}

/// What keeps the controller from deregistering instances that are `left` in Consul: the guard, since a time, or its mode.
fn kept_in_consul(evidence: &TaskEvidence<'_>, left: &str, since: Timestamp) -> Option<(WhyCause, String)> {
    if let Some(guard) = evidence.guard(since) {
        let sentence = format!(
            "{left}. The guard held back deletions or corrections in its cluster at {} ({}). Check them with ecs-mesh \
             sweep --dry-run --cluster {}. If they are right, sweep with --force",
            moment(guard.at),
            guard.reason.as_deref().unwrap_or("no reason given"),
            cluster_name(evidence)
        );
        return Some((WhyCause::HeldBackByTheGuard, sentence));
    }
    let sentence = format!(
        "{left} because the controller is in Mode=observe and changes nothing. The always-on controller must \
         deregister them, or set Mode=act"
    );
    evidence.observed(&LogAction::Deregister).map(|_| (WhyCause::OnlyObserved, sentence))
}

fn to_be_swept(evidence: &TaskEvidence<'_>, left: &str) -> String {
    let cluster = cluster_name(evidence);
    if evidence.background.lacks_stack {
        return format!(
            "{left}. There is no stack {stack} that deregisters them. To plan a sweep here: ecs-mesh sweep --dry-run --cluster {cluster} \
             --stack {stack}",
            stack = evidence.background.stack
        );
    }
    if let Some(unmanaged) = evidence.unmanaged() {
        return format!("{left} because {unmanaged}");
    }
    format!("{left}. The next sweep deregisters them. To sweep now: ecs-mesh sweep --cluster {cluster}")
}

fn cluster_name<'a>(evidence: &TaskEvidence<'a>) -> &'a str {
    evidence.cluster.map(|cluster| cluster.arn.name()).unwrap_or_default()
}

/// EC2 reclaimed the capacity.
pub(super) fn spot_interruption(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    with_code(evidence, "SpotInterruption")?;
    let sentence = "It ended normally: a Spot interruption stopped it. Its service starts another task. No action \
                    needed";
    Some(Conclusion::ended(WhyCause::SpotInterruption, sentence))
}

/// A part of the reason of a task whose container instance is replaced: ECS drains managed instances after 14 days
/// (<https://docs.aws.amazon.com/batch/latest/userguide/ecs-managed-instances-instance-draining.html>).
const DRAINING: &str = "instance draining";

/// Its container instance was terminated, or drained to be replaced.
pub(super) fn instance_terminated(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let end = evidence.end.as_ref()?;
    let what = match (end.code.as_deref(), end.reason.as_deref()) {
        (Some("TerminationNotice"), _) => "terminated",
        (_, Some(reason)) if reason.contains(DRAINING) => "drained",
        _ => return None,
    };
    let sentence = format!(
        "It ended normally: its container instance was {what}. Its service starts another task. No action needed"
    );
    Some(Conclusion::ended(WhyCause::InstanceTerminated, sentence))
}

/// A deployment replaced it.
pub(super) fn deployment(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let reason = with_code(evidence, "ServiceSchedulerInitiated")?.reason.as_deref()?;
    reason.starts_with(SCALING).then_some(())?;
    let deployments = &evidence.ecs_service()?.state.deployments;
    let newest = deployments.first()?;
    let has_another_revision = evidence.member.is_some_and(|member| member.definition.arn != newest.definition);
    let sentence = format!(
        "It ended normally: the deployment of {} replaced it. No action needed",
        newest.definition.short_name()
    );
    has_another_revision.then(|| Conclusion::ended(WhyCause::Deployment, sentence))
}

/// A part of the event of a service that spreads its tasks again, before the IDs of those that it has stopped:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-rebalancing-event-messages-list.html>
const REBALANCING: &str = "due to AZ rebalancing: ";

/// Its service has more tasks in its Availability Zone than in others.
pub(super) fn rebalancing(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    with_code(evidence, "ServiceSchedulerInitiated")?;
    let mut events = evidence.ecs_service()?.state.events.iter();
    let names_it =
        |message: &str| message.split_once(REBALANCING).is_some_and(|(_, ids)| ids.contains(evidence.id.as_str()));
    let is_it = events.any(|event| names_it(&event.message));
    let sentence = "It ended normally: its ECS service balanced its tasks over the Availability Zones. Another task \
                    replaces it. No action needed";
    is_it.then(|| Conclusion::ended(WhyCause::StoppedByItsService, sentence))
}

/// Its service wants fewer tasks, or others in its place.
pub(super) fn scaling_in(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let reason = shown(with_code(evidence, "ServiceSchedulerInitiated")?.reason.as_deref());
    let sentence = format!("It ended normally: its ECS service stopped it ({reason}). No action needed");
    Some(Conclusion::ended(WhyCause::StoppedByItsService, sentence))
}

/// A caller used `StopTask`.
pub(super) fn by_hand(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let reason = shown(with_code(evidence, "UserInitiated")?.reason.as_deref());
    let sentence = format!(
        "It ended normally: a caller used StopTask ({reason}). No action needed. To find the caller, search \
         CloudTrail for StopTask"
    );
    Some(Conclusion::ended(WhyCause::StoppedByHand, sentence))
}

/// It stops, and ECS does not say why.
pub(super) fn otherwise(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let end = evidence.end.as_ref()?;
    let is_stopping = end.stopped_at.is_none();
    let why = end.reason.as_deref().map(redaction::line).or_else(|| end.code.clone());
    let why = why.map_or_else(|| "ECS does not say why".to_owned(), |why| format!("ECS says: {why}"));
    let verb = if is_stopping { "is stopping" } else { "has stopped" };
    let sentence =
        format!("It {verb}, and no container is known to have failed ({why}). No action needed if you expected this");
    Some(Conclusion::ended(WhyCause::Stopped, sentence))
}

/// The codes of ends that were asked for: a container that was killed by them has not failed.
const WANTED: [&str; 4] = ["ServiceSchedulerInitiated", "UserInitiated", "SpotInterruption", "TerminationNotice"];

/// The end, unless it was asked for.
fn unwanted<'a>(evidence: &'a TaskEvidence<'_>) -> Option<&'a TaskEnd> {
    evidence.end.as_ref().filter(|end| !WANTED.contains(&end.code.as_deref().unwrap_or_default()))
}

/// The end of a task that never ran, unless the end was asked for.
fn never_ran<'a>(evidence: &'a TaskEvidence<'_>) -> Option<&'a TaskEnd> {
    unwanted(evidence).filter(|end| end.has_never_run())
}

/// A reason as it is shown.
fn shown(reason: Option<&str>) -> String {
    reason.map_or_else(|| "ECS gives no reason".to_owned(), redaction::line)
}

/// The reason of the task or of one of its containers that contains one of these texts.
fn reason_with<'a>(end: &'a TaskEnd, texts: &[&str]) -> Option<&'a str> {
    let of_containers = end.containers.iter().filter_map(|container| container.reason.as_deref());
    let mut reasons = of_containers.chain(end.reason.as_deref());
    reasons.find(|reason| texts.iter().any(|text| reason.contains(text)))
}

/// The program that registers it failed.
pub(super) fn mesh_init(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let name = evidence.registrar_or_usual();
    let container = unwanted(evidence)?.containers.iter().find(|container| container.name == name)?;
    // A container that ECS kills exits with 137 or 143; `control-plane` runs as long as the task.
    let code = container.exit_code.filter(|code| !evidence.runs_control_plane() && !matches!(code, 0 | 137 | 143))?;
    let login = match (
        evidence.done(&LogAction::DeleteLoginToken),
        &evidence.background.tokens,
        evidence.background.history.is_complete,
    ) {
        (None, Some(_), true) if evidence.login_tokens() == Some(0) => " and never logged in to Consul",
        _ => "",
    };
    let sentence = format!(
        "It was never registered in Consul because its container {name} exited with {code}{login}. Read {} and fix \
         the error{}",
        evidence.log_of(name),
        evidence.audit_says()
    );
    Some(Conclusion::faulty(WhyCause::MeshInitFailed, sentence).with_log(evidence.unread_log(name)))
}

/// An image could not be pulled.
pub(super) fn image(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let reason = reason_with(never_ran(evidence)?, &["CannotPull", "ImageManifest", "pull image"])?;
    let sentence = format!(
        "It never ran because ECS could not pull an image ({}). Check the image's name and tag, the execution \
         role, and the network's route to the registry",
        redaction::line(reason)
    );
    Some(Conclusion::faulty(WhyCause::ImagePullFailed, sentence))
}

/// A secret could not be read.
pub(super) fn secret(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let reason = reason_with(
        never_ran(evidence)?,
        &["unable to pull secrets", "unable to retrieve secret", "ResourceInitializationError"],
    )?;
    let own = own_secret(evidence, reason).unwrap_or_default();
    let sentence = format!(
        "It never ran because ECS could not prepare it ({}). Check that the secrets in its definition exist and \
         have a value, that the execution role may read them, and that the network has a route to them{own}{}",
        redaction::line(reason),
        evidence.audit_says()
    );
    Some(Conclusion::faulty(WhyCause::SecretNotReadable, sentence))
}

/// What becomes of the controller's own secrets that a task reads, as the end of a sentence, if the `reason` is about a secret.
fn own_secret(evidence: &TaskEvidence<'_>, reason: &str) -> Option<String> {
    let TokenSource::SecretsManager { secrets } = TokenSource::of_task(evidence.member?, evidence.cluster?) else {
        return None;
    };
    let is_about_one =
        reason.to_lowercase().contains("secret") || secrets.iter().any(|name| reason.contains(name.as_str()));
    let secrets = secrets.join(" and ");
    is_about_one.then(|| match evidence.unmanaged() {
        Some(unmanaged) => format!(". No sweep writes the token into {secrets} if it is missing, because {unmanaged}"),
        None => format!(
            ". The next sweep writes the token into {secrets} if it is missing. To sweep now: ecs-mesh sweep --cluster {}",
            cluster_name(evidence)
        ),
    })
}

/// A container used too much memory.
pub(super) fn memory(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let container = unwanted(evidence)?.containers.iter().find(|container| container.is_out_of_memory())?;
    let sentence = format!(
        "Its container {} was killed because it exceeded its memory limit. Raise the memory of the container or the \
         task, or find the leak",
        container.name
    );
    Some(Conclusion::faulty(WhyCause::OutOfMemory, sentence))
}

/// A health check failed, and its service replaced it.
pub(super) fn health_check(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let reason = redaction::line(reason_with(evidence.end.as_ref()?, &["health check"])?);
    let names: Vec<&str> = evidence.unhealthy().iter().map(|container| container.name.as_str()).collect();
    let what = match names.as_slice() {
        [] => format!("a health check failed ({reason})"),
        [one] => format!("its container {one} was UNHEALTHY ({reason})"),
        several => format!("its containers {} were UNHEALTHY ({reason})", several.join(", ")),
    };
    let log = names.first().map_or_else(|| "the logs of its containers".to_owned(), |name| evidence.log_of(name));
    let sentence = format!(
        "It was stopped because {what}. Read {log} and check the command, the time-outs and the start period of the \
         health check{}",
        evidence.audit_says()
    );
    let conclusion = Conclusion::faulty(WhyCause::HealthCheckFailed, sentence);
    Some(conclusion.with_log(names.first().map(|name| evidence.unread_log(name))))
}

/// An essential container exited.
pub(super) fn essential_container(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let end = unwanted(evidence).filter(|end| end.code.as_deref() == Some("EssentialContainerExited"))?;
    let registrar = evidence.registrar_or_usual();
    let exited = |container: &&ContainerEnd| container.exit_code.is_some() && container.name != registrar;
    // Those that are told to stop after it are killed by a signal: 137 and 143.
    let by_itself = |container: &&ContainerEnd| !matches!(container.exit_code, Some(0 | 137 | 143));
    let exits = || end.containers.iter().filter(exited);
    let failed = exits().find(by_itself);
    if let (None, Some(finished), Some(member)) = (failed, exits().find(|it| it.exit_code == Some(0)), evidence.member)
        && member.task.placement.service.is_none()
    {
        let sentence = format!("It ended by itself: its container {finished}. No action needed if it was meant to end");
        return Some(Conclusion::ended(WhyCause::Stopped, sentence));
    }
    let finished = || exits().find(|container| container.exit_code == Some(0));
    let first = failed.or_else(finished).or_else(|| exits().next());
    let (what, log) = match first {
        Some(container) => {
            (redaction::line(&format!("its essential container {container}")), evidence.log_of(&container.name))
        }
        None => ("an essential container exited".to_owned(), "the logs of its containers".to_owned()),
    };
    let sentence = format!("It stopped because {what}. Read {log} and fix the error{}", evidence.audit_says());
    let conclusion = Conclusion::faulty(WhyCause::EssentialContainerExited, sentence);
    Some(conclusion.with_log(first.map(|container| evidence.unread_log(&container.name))))
}

/// It did not start for another reason.
pub(super) fn failed_start(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let end = unwanted(evidence).filter(|end| end.code.as_deref() == Some("TaskFailedToStart"))?;
    let reason = end.containers.iter().find_map(|container| container.reason.as_deref()).or(end.reason.as_deref());
    let sentence = format!(
        "It never ran because ECS could not start it ({}). Fix the error{}",
        shown(reason),
        evidence.audit_says()
    );
    Some(Conclusion::faulty(WhyCause::FailedToStart, sentence))
}

/// ECS knows the task, and it is not one of the mesh.
pub(super) fn not_in_the_mesh(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    evidence.cluster.filter(|cluster| cluster.others.contains(evidence.id))?;
    if let Some(untagged) = evidence.untagged {
        let sentence = format!(
            "It is not in the mesh: {}. {}",
            untagged.loss(),
            tag_again(&untagged.member.definition.arn, &untagged.tagged)
        );
        return Some(Conclusion::faulty(WhyCause::NotInTheMesh, sentence));
    }
    let mut outside = evidence.cluster.into_iter().flat_map(|cluster| &cluster.outside.tasks);
    if outside.any(|task| task.arn.id() == evidence.id && task.definition.is_none()) {
        let sentence = "It is not in the mesh: another kind of definition than a task definition defines it, such as that \
                        of a daemon. No action needed";
        let condition = Condition::Healthy;
        return Some(Conclusion { condition, cause: WhyCause::NotInTheMesh, sentence: sentence.to_owned(), log: None });
    }
    let sentence = "It is not in the mesh: neither its task definition nor the task has the tag \
                    consul.hashicorp.com/mesh=true, and the definition reads no token of the controller. Add the tag \
                    to the definition and deploy it again";
    Some(Conclusion::faulty(WhyCause::NotInTheMesh, sentence))
}

/// What brings the lost mesh tag of a revision back.
pub(in crate::why) fn tag_again(revision: &TaskDefinitionArn, tagged: &TaskDefinitionArn) -> String {
    format!(
        "A pipeline that registers a copy of a revision drops its tags, unless it reads them with --include TAGS. Register {} again \
         with the tags of {}, and deploy it",
        revision.family(),
        tagged.short_name()
    )
}

/// Whether it is one of the mesh is not known.
pub(super) fn unsorted(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    evidence.cluster.filter(|cluster| cluster.unsorted.contains(evidence.id))?;
    let sentence = "ECS does not describe it, or its task definition could not be read, so it may or may not be in the \
                    mesh. Fix the error and ask again";
    Some(Conclusion::unknown(WhyCause::DefinitionNotRead, sentence))
}

/// ECS reports a status of it that did not exist when this version was written.
pub(super) fn status_unknown(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let task = &evidence.member?.task;
    (task.phase == TaskPhase::Unknown).then_some(())?;
    let sentence = format!(
        "ECS reports the status {:?}, which this version of ecs-mesh does not know. The controller does nothing for the \
         task until its status changes. Update ecs-mesh and the stack",
        task.last_status
    );
    Some(Conclusion::unknown(WhyCause::StatusUnknown, sentence))
}

/// ECS no longer knows it, and Consul still has its instances.
pub(super) fn left_by_an_unknown_task(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    if evidence.member.is_some() || evidence.end.is_some() || evidence.is_registered() != Some(true) {
        return None;
    }
    let left = "ECS no longer knows it, but its instances are still in Consul";
    let kept = kept_in_consul(evidence, left, evidence.lately()).map(|(_, sentence)| sentence);
    let sentence = kept.unwrap_or_else(|| to_be_swept(evidence, left));
    Some(Conclusion::faulty(WhyCause::LeftInConsul, sentence))
}

/// ECS no longer knows it, and the log has no line about its end.
pub(super) fn unknown_to_ecs(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    if evidence.member.is_some() || evidence.end.is_some() {
        return None;
    }
    let last = evidence.lines().last()?;
    let sentence = format!(
        "ECS no longer knows it, and the log of stack {} does not say how it ended. The last line about it is from \
         {}. Ask again with a longer --since, and set LogLevel=info so that ends are logged",
        evidence.background.stack,
        moment(last.at)
    );
    Some(Conclusion::unknown(WhyCause::Forgotten, sentence))
}

/// Neither ECS, Consul nor the log knows the task.
pub(super) fn unknown(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    if evidence.cluster.is_some() || evidence.end.is_some() {
        return None;
    }
    let (searched, is_all_read) = evidence.searched();
    let id = evidence.id;
    let sentence = if is_all_read {
        format!(
            "No task {id} found ({searched}). Check the ID, the region and the cluster. For a task that stopped long \
             ago, pass a longer --since"
        )
    } else {
        format!("Task {id} was not found, but not everything could be read ({searched}). Fix the errors and ask again")
    };
    Some(Conclusion::unknown(WhyCause::UnknownTask, sentence))
}
