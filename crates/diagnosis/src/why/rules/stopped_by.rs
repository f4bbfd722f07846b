//! Tasks that have stopped because something failed.

use mesh::task_end::{ContainerEnd, TaskEnd};
use report::LogAction;

use super::{Case, Cause, Conclusion};

/// The codes of ends that somebody wanted: a container that was killed by them has not failed.
const WANTED: [&str; 4] = ["ServiceSchedulerInitiated", "UserInitiated", "SpotInterruption", "TerminationNotice"];

/// The end, unless somebody wanted it.
fn unwanted<'a>(case: &'a Case<'_>) -> Option<&'a TaskEnd> {
    case.end.as_ref().filter(|end| !WANTED.contains(&end.code.as_deref().unwrap_or_default()))
}

/// The reason of the task or of one of its containers that contains one of these texts.
fn reason_with<'a>(end: &'a TaskEnd, texts: &[&str]) -> Option<&'a str> {
    let of_containers = end.containers.iter().filter_map(|container| container.reason.as_deref());
    let mut reasons = of_containers.chain(end.reason.as_deref());
    reasons.find(|reason| texts.iter().any(|text| reason.contains(text)))
}

/// The program that registers it failed.
pub(super) fn mesh_init(case: &Case<'_>) -> Option<Conclusion> {
    let name = case.registrar_or_usual();
    let container = unwanted(case)?.containers.iter().find(|container| container.name == name)?;
    // A container that ECS kills exits with 137 or 143; `control-plane` runs as long as the task.
    let code = container.exit_code.filter(|code| !case.runs_control_plane() && !matches!(code, 0 | 137 | 143))?;
    let login = match (case.done(&LogAction::DeleteLoginToken), &case.further.tokens, case.further.history.is_complete)
    {
        (None, Some(_), true) if case.login_tokens() == Some(0) => ", and it has never logged in to Consul",
        _ => "",
    };
    let sentence = format!(
        "It was never registered in Consul, because its container {name} exited with {code}{login}: read {}, and correct what it \
         names{}",
        case.log_of(name),
        case.audit_says()
    );
    Some(Conclusion::faulty(Cause::MeshInitFailed, sentence))
}

/// An image could not be pulled.
pub(super) fn image(case: &Case<'_>) -> Option<Conclusion> {
    let reason = reason_with(case.end.as_ref()?, &["CannotPull", "ImageManifest", "pull image"])?;
    let sentence = format!(
        "It never ran, because an image could not be pulled ({reason}): check the image's name and tag, the execution role, and the \
         network's route to the registry"
    );
    Some(Conclusion::faulty(Cause::ImagePullFailed, sentence))
}

/// A secret could not be read.
pub(super) fn secret(case: &Case<'_>) -> Option<Conclusion> {
    let reason = reason_with(
        case.end.as_ref()?,
        &["unable to pull secrets", "unable to retrieve secret", "ResourceInitializationError"],
    )?;
    let sentence = format!(
        "It never ran, because ECS could not prepare it ({reason}): check that the secrets of its definition exist and have a \
         value, that the execution role may read them, and the network's route to them{}",
        case.audit_says()
    );
    Some(Conclusion::faulty(Cause::SecretNotReadable, sentence))
}

/// A container used too much memory.
pub(super) fn memory(case: &Case<'_>) -> Option<Conclusion> {
    let is_it =
        |container: &&ContainerEnd| container.reason.as_deref().is_some_and(|reason| reason.contains("OutOfMemory"));
    let container = case.end.as_ref()?.containers.iter().find(is_it)?;
    let sentence = format!(
        "Its container {} was killed, because it used more memory than it may: raise the memory of the container or of the task, or \
         find the leak",
        container.name
    );
    Some(Conclusion::faulty(Cause::OutOfMemory, sentence))
}

/// A health check failed, and its service replaced it.
pub(super) fn health_check(case: &Case<'_>) -> Option<Conclusion> {
    let reason = reason_with(case.end.as_ref()?, &["health check"])?;
    let names: Vec<&str> = case.unhealthy().iter().map(|container| container.name.as_str()).collect();
    let what = match names.as_slice() {
        [] => format!("a health check failed ({reason})"),
        [one] => format!("its container {one} was UNHEALTHY ({reason})"),
        several => format!("its containers {} were UNHEALTHY ({reason})", several.join(", ")),
    };
    let log = names.first().map_or_else(|| "the logs of its containers".to_owned(), |name| case.log_of(name));
    let sentence = format!(
        "It was stopped, because {what}: read {log}, and check the command, the time-outs and the start period of the health check{}",
        case.audit_says()
    );
    Some(Conclusion::faulty(Cause::HealthCheckFailed, sentence))
}

/// An essential container exited.
pub(super) fn essential_container(case: &Case<'_>) -> Option<Conclusion> {
    let end = unwanted(case).filter(|end| end.code.as_deref() == Some("EssentialContainerExited"))?;
    let registrar = case.registrar_or_usual();
    let exited = |container: &&ContainerEnd| container.exit_code.is_some() && container.name != registrar;
    // Those that are told to stop after it are killed by a signal: 137 and 143.
    let by_itself = |container: &&ContainerEnd| !matches!(container.exit_code, Some(0 | 137 | 143));
    let exits = || end.containers.iter().filter(exited);
    let failed = exits().find(by_itself);
    if let (None, Some(finished), Some(member)) = (failed, exits().find(|it| it.exit_code == Some(0)), case.member)
        && member.state.task.placement.service.is_none()
    {
        let sentence = format!("It ended by itself: its container {finished}; nothing is to do if it was to end");
        return Some(Conclusion::ended(Cause::Stopped, sentence));
    }
    let finished = || exits().find(|container| container.exit_code == Some(0));
    let (what, log) = match failed.or_else(finished).or_else(|| exits().next()) {
        Some(container) => (format!("its essential container {container}"), case.log_of(&container.name)),
        None => ("an essential container exited".to_owned(), "the logs of its containers".to_owned()),
    };
    let sentence = format!("It stopped, because {what}: read {log}, and correct what it names{}", case.audit_says());
    Some(Conclusion::faulty(Cause::EssentialContainerExited, sentence))
}

/// It did not start for another reason.
pub(super) fn failed_start(case: &Case<'_>) -> Option<Conclusion> {
    let end = unwanted(case).filter(|end| end.code.as_deref() == Some("TaskFailedToStart"))?;
    let reason = end.containers.iter().find_map(|container| container.reason.clone()).or_else(|| end.reason.clone());
    let sentence = format!(
        "It never ran, because ECS could not start it ({}): correct what ECS names{}",
        reason.as_deref().unwrap_or("ECS gives no reason"),
        case.audit_says()
    );
    Some(Conclusion::faulty(Cause::FailedToStart, sentence))
}
