//! Tasks that are meant to run: what is wrong with their registration, their containers and their tokens.

use mesh::{
    admission::TokenGap,
    broken::Broken,
    catalog::DrainReason,
    consul_ecs::names::DATAPLANE,
    member::MemberTask,
    repair::NotRepaired,
    task::{ContainerEnd, ContainerHealth, TaskContainer},
};
use report::{ErrorLabel, LogAction, LogLine, LogOutcome};

use super::{Conclusion, TaskEvidence, WhyCause, moment};
use crate::{
    redaction,
    status::{HeldUp, TaskVerdict, first_line, is_service_token_gone, login_tokens, maintenance},
    tokens::TokenSource,
};

/// What drains an instance, as the log says it: when its task is told to stop, and when its proxy has stopped.
const DRAINS: [LogAction; 2] = [LogAction::MarkCritical, LogAction::Drain];

/// Its metadata names another task.
pub(super) fn another_tasks_id(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    evidence.active()?;
    let Err(NotRepaired::OtherTaskId(other)) = evidence.member?.expected() else { return None };
    let sentence = format!(
        "The field meta of its configuration sets task-id to {other}, the ID of another task. The controller \
         therefore treats its instances as the other task's, and deregisters them with it. Remove the field from \
         CONSUL_ECS_CONFIG_JSON and deploy again"
    );
    Some(Conclusion::faulty(WhyCause::AnotherTasksId, sentence))
}

/// Its proxy has stopped.
pub(super) fn proxy_stopped(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let MemberTask { task, definition, .. } = evidence.active()?;
    task.losses(definition).proxy.then_some(())?;
    let code = task.container(DATAPLANE).and_then(|container| container.exit_code);
    let code = code.map(|code| format!(" with {code}")).unwrap_or_default();
    let end = task.end.containers.iter().find(|container| container.name == DATAPLANE);
    let reason = end
        .and_then(|end| end.reason.as_ref())
        .map(|reason| format!(" ({})", redaction::line(reason)))
        .unwrap_or_default();
    let what_to_do = if end.is_some_and(ContainerEnd::is_out_of_memory) {
        "Raise the memory of the container or the task, and deploy".to_owned()
    } else {
        format!("Read {} and replace the task", evidence.log_of(DATAPLANE))
    };
    let drained = DRAINS.iter().find_map(|action| evidence.done(action));
    let drained = match (drained, DRAINS.iter().find_map(|action| evidence.observed(action))) {
        (Some(line), _) => format!(". The controller drained it at {}", moment(line.at)),
        (None, Some(_)) => ". The controller is in Mode=observe and did not drain it".to_owned(),
        (None, None) => String::new(),
    };
    let sentence = format!(
        "Its container {DATAPLANE} exited{code}{reason} while the task still runs, so it gets no traffic through the \
         mesh{drained}. {what_to_do}"
    );
    Some(Conclusion::faulty(WhyCause::ProxyStopped, sentence).with_log(evidence.unread_log(DATAPLANE)))
}

/// Its instance is in Consul's maintenance mode.
pub(super) fn drained(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    evidence.active()?;
    let failing = evidence.on_node.as_ref()?.failing(evidence.id);
    let check = maintenance(&failing)?;
    let drain = check.drain();
    let placement = &evidence.active()?.task.placement;
    let host = (drain == Some(DrainReason::HostGone)).then(|| format!(". {}", placement.lost_contact()));
    let host = host.unwrap_or_default();
    let text = first_line(&check.output).or_else(|| first_line(&check.notes)).unwrap_or("without a reason");
    let by = DRAINS.iter().find_map(|action| evidence.done(action));
    let sentence = match by {
        Some(line) => format!(
            "It is drained: the controller put it into maintenance mode at {} ({text}){host}. Replace the task",
            moment(line.at)
        ),
        None if drain.is_some() => {
            format!("It is drained: the controller put it into maintenance mode ({text}){host}. Replace the task")
        }
        None => format!(
            "It is drained, but not by the controller: its instance is in Consul's maintenance mode ({text}). \
             Deregister the check {} when the maintenance is over, or replace the task",
            check.id
        ),
    };
    Some(Conclusion::faulty(WhyCause::Drained, sentence))
}

/// `mesh-init` has failed, and the task runs on.
pub(super) fn mesh_init_failed(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let registrar = evidence.registrar()?;
    let container = evidence.active()?.task.container(registrar).filter(|container| container.is_stopped)?;
    let code = container.exit_code.filter(|code| !evidence.runs_control_plane() && !matches!(code, 0 | 137 | 143))?;
    let sentence = format!(
        "It was never registered in Consul because its container {registrar} exited with {code}. Read {}, fix the \
         error and replace the task{}",
        evidence.log_of(registrar),
        evidence.audit_says()
    );
    Some(Conclusion::faulty(WhyCause::MeshInitFailed, sentence).with_log(evidence.unread_log(registrar)))
}

/// Consul has lost it.
pub(super) fn lost(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    evidence.active()?;
    let member = evidence.member?;
    let expected = member.expected().ok().filter(|_| evidence.is_registered() == Some(false))?;
    let missing = evidence.on_node.as_ref()?.missing(&expected).filter(|missing| missing.len() < expected.len());
    let ids: Vec<&str> = missing.iter().flatten().map(|registration| registration.id.as_str()).collect();
    let lost = if ids.is_empty() { "it".to_owned() } else { format!("its instance {}", ids.join(", ")) };
    let by = match evidence.done(&LogAction::Deregister) {
        Some(line) => format!("the controller deregistered it at {}", moment(line.at)),
        None if evidence.background.history.is_complete => "the controller's log shows no deregistration".to_owned(),
        None if evidence.background.lacks_stack => "there is no log that says who deregistered it".to_owned(),
        None => "the controller's log could not be read, so it is unknown who deregistered it".to_owned(),
    };
    let what_to_do = if evidence.observed(&LogAction::Repair).is_some() {
        "The controller is in Mode=observe and changes nothing. Replace the task, or set Mode=act".to_owned()
    } else if evidence.background.lacks_stack {
        format!("Replace the task: there is no stack {} whose sweep registers it again", evidence.background.stack)
    } else if let Some(unmanaged) = evidence.unmanaged() {
        format!("No sweep registers it again, because {unmanaged}")
    } else {
        let tokens = evidence.background.tokens.as_ref();
        let gap = tokens.zip(member.claim(&expected)).and_then(|(tokens, claim)| tokens.gap(member, &claim));
        format!("{}. To sweep now: ecs-mesh sweep --cluster {}", remedy(gap.as_ref()), member.cluster.name())
    };
    let failed = evidence.failure(evidence.lately()).map(|line| format!("; {}", failed(line))).unwrap_or_default();
    let sentence = format!("Consul has lost {lost}: it is no longer registered; {by}{failed}. {what_to_do}");
    Some(Conclusion::faulty(WhyCause::LostFromTheCatalog, sentence))
}

/// What brings a lost task back.
fn remedy(gap: Option<&TokenGap>) -> String {
    match gap {
        None => "With Repair=on, the next sweep registers it again".to_owned(),
        Some(gap) => format!(
            "With Repair=on, the next sweep registers it again only if its IAM role proves that Consul admits it, \
             because {gap}. Otherwise replace the task"
        ),
    }
}

/// That the controller's last work for a task failed, as a part of a sentence.
fn failed(line: &LogLine) -> String {
    let (label, reason) = (line.error.as_ref().map_or("failed", ErrorLabel::as_str), line.reason.as_deref());
    let reason = reason.unwrap_or("no reason given");
    format!("the controller's last action for it failed at {} ({label}: {reason})", moment(line.at))
}

/// It is registered at 127.0.0.1.
pub(super) fn at_loopback(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let member = evidence.active()?;
    let address = evidence.on_node.as_ref()?.loopback(member)?;
    let why = match member.task.placement.address {
        None => {
            "consul-ecs reads only an IPv4 address from the task metadata endpoint, and ECS reports none of the task (IPv6 \
             only, or network mode host). Run it with network mode awsvpc in subnets that have IPv4 addresses"
        }
        Some(_) => "the task metadata endpoint had no IPv4 address when the task registered. Replace the task",
    };
    let sentence = format!(
        "No other task can reach it, because it is registered in Consul at {address}: a proxy that connects there connects to \
         its own task. The cause: {why}"
    );
    Some(Conclusion::faulty(WhyCause::RegisteredAtLoopback, sentence))
}

/// It does not start because a container is not healthy.
pub(super) fn held_up(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let held_up = HeldUp::of(evidence.active()?)?;
    let sentence = format!(
        "It does not start: {held_up}. Read {} and check the command of its health check{}",
        evidence.log_of(held_up.unhealthy),
        evidence.audit_says()
    );
    Some(Conclusion::faulty(WhyCause::NeverHealthy, sentence).with_log(evidence.unread_log(held_up.unhealthy)))
}

/// A container is not healthy.
pub(super) fn unhealthy_container(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let member = evidence.active()?;
    let is_it = |container: &&TaskContainer| container.health == ContainerHealth::Unhealthy && !container.is_stopped;
    let mut containers = member.task.containers.iter().filter(is_it);
    let first = containers.next()?;
    let others = if containers.next().is_some() { " (and others)" } else { "" };
    let sentence = format!(
        "It gets no traffic because ECS reports its container {}{others} as UNHEALTHY. Read {} and check the command \
         of its health check{}",
        first.name,
        evidence.log_of(&first.name),
        evidence.audit_says()
    );
    Some(Conclusion::faulty(WhyCause::NeverHealthy, sentence).with_log(evidence.unread_log(&first.name)))
}

/// Another program has written a check of its sidecar proxy.
pub(super) fn foreign_check(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let member = evidence.active()?;
    let name = member.definition.programs.health_sync.as_ref()?;
    let checks = evidence.on_node.as_ref()?.foreign_checks_of_sidecar(evidence.id);
    let ids: Vec<&str> = checks.iter().map(|check| check.id.as_str()).collect();
    let first = checks.first()?;
    let sentence = format!(
        "Its container {name} exits with an error whenever it starts, because its sidecar proxy {} has a check in \
         Consul that neither consul-ecs nor the controller has written: {}. Deregister the check, and replace the task",
        first.service_id,
        ids.join(", ")
    );
    Some(Conclusion::faulty(WhyCause::ForeignCheck, sentence).with_log(evidence.unread_log(name)))
}

/// The program that reports the task's health has stopped.
pub(super) fn health_sync_stopped(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let member = evidence.active()?;
    let definition = &member.definition;
    member.task.losses(definition).health_sync.then_some(())?;
    let name = definition.programs.health_reporter()?;
    let sentence = format!(
        "Its container {name} has stopped, so only sweeps write its health to Consul. Read {} and replace the task",
        evidence.log_of(name)
    );
    Some(Conclusion::faulty(WhyCause::HealthSyncStopped, sentence).with_log(evidence.unread_log(name)))
}

/// The controller's last action for it failed, and the task is not healthy.
pub(super) fn controller_failed(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    evidence.active()?;
    let last = evidence.failure(evidence.lately())?;
    if matches!(evidence.verdict.as_ref()?, TaskVerdict::Healthy) {
        return None;
    }
    let sentence = format!(
        "It is not healthy, and {}. Fix this error. SQS retries the messages meanwhile; for messages in the dead-letter \
         queue, run ecs-mesh redrive",
        failed(last)
    );
    Some(Conclusion::faulty(WhyCause::ControllerFailed, sentence))
}

/// What `status` says of it, if nothing explains more.
pub(super) fn not_as_it_should_be(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let audit = evidence.audit_says();
    match evidence.verdict.as_ref()? {
        TaskVerdict::NotRegistered(why) => {
            Some(Conclusion::faulty(WhyCause::NotRegistered, format!("It is not registered in Consul: {why}{audit}")))
        }
        TaskVerdict::NotPassing(why) => {
            let then = match evidence.unmanaged() {
                Some(unmanaged) => format!("No sweep corrects a check that contradicts ECS, because {unmanaged}"),
                None => "The next sweep corrects a check that contradicts ECS".to_owned(),
            };
            let sentence = format!("It gets no traffic because {why}. {then}{audit}");
            // Its containers are healthy, so what writes the checks has failed.
            let writer = evidence.member.and_then(|member| member.definition.programs.health_reporter());
            let log = writer.map(|name| evidence.unread_log(name));
            Some(Conclusion::faulty(WhyCause::NotPassing, sentence).with_log(log))
        }
        TaskVerdict::Disconnected(why) => {
            let on_node = evidence.on_node.as_ref();
            let is_passing = evidence.is_registered() == Some(true)
                && on_node.is_some_and(|on_node| on_node.failing(evidence.id).is_empty());
            let requests = if is_passing { ". Consul still sends requests to it: its checks pass" } else { "" };
            let then = if_host_is_gone(evidence, evidence.active()?);
            let sentence = format!(
                "{why}, so ECS's data about it is out of date{requests}. Check the instance, its network and its agent. {then}"
            );
            Some(Conclusion::faulty(WhyCause::Disconnected, sentence))
        }
        TaskVerdict::Starting(why) => {
            let sentence = format!("It is starting: {why}. Ask again in a few minutes{audit}");
            Some(Conclusion::starting(WhyCause::Starting, sentence))
        }
        TaskVerdict::Broken(_)
        | TaskVerdict::Drained(_)
        | TaskVerdict::Unreachable(_)
        | TaskVerdict::NotInTheMesh(_)
        | TaskVerdict::Unknown(_)
        | TaskVerdict::Stopping
        | TaskVerdict::Healthy => None,
    }
}

/// What becomes of a disconnected task whose container instance is gone.
fn if_host_is_gone(evidence: &TaskEvidence<'_>, member: &MemberTask) -> String {
    if member.task.placement.is_external() {
        "EC2 does not know external instances, so the controller drains none of their tasks. If the instance is gone, \
         deregister it in ECS with --force: its tasks then stop"
            .to_owned()
    } else if let Some(unmanaged) = evidence.unmanaged() {
        format!("No sweep drains the task if the instance is gone, because {unmanaged}")
    } else {
        "If EC2 says that the instance is gone, the next sweep drains the task, unless it is the last one of its service \
         whose checks pass"
            .to_owned()
    }
}

/// Consul could not be read, and ECS reports nothing wrong.
pub(super) fn consul_unread(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    matches!(evidence.verdict.as_ref()?, TaskVerdict::Unknown(_)).then(|| {
        let sentence = "ECS reports nothing wrong with it, but Consul could not be read. Ask again when Consul answers";
        Conclusion::unknown(WhyCause::ConsulNotRead, sentence)
    })
}

/// Who deleted a token, by the controller's log.
fn who(evidence: &TaskEvidence<'_>, line: Option<&LogLine>) -> String {
    match line {
        Some(line) => {
            let why = line.reason.as_ref().map(|reason| format!(", because {reason}")).unwrap_or_default();
            format!("the controller deleted it at {}{why}", moment(line.at))
        }
        None if evidence.background.history.is_complete => format!(
            "the controller's log since {} does not say who deleted it (with LogLevel=info it would)",
            moment(evidence.background.since)
        ),
        None => "the controller's log could not be read, so it is unknown who deleted it".to_owned(),
    }
}

/// The container that most likely lacks its login token: health-sync if it alone is not well, otherwise the proxy.
fn without_token(member: &MemberTask) -> &str {
    let is_unwell = |name: &str| {
        let container = member.task.container(name);
        container.is_some_and(|it| it.is_stopped || it.health == ContainerHealth::Unhealthy)
    };
    let health_sync = member.definition.programs.health_reporter();
    health_sync.filter(|name| is_unwell(name) && !is_unwell(DATAPLANE)).unwrap_or(DATAPLANE)
}

/// The login tokens of a running task are gone.
pub(super) fn login_tokens_gone(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let member = evidence.active()?;
    let deleted = evidence.done(&LogAction::DeleteLoginToken);
    let sentence = match member.broken(login_tokens(member, evidence.tokens.as_ref()), evidence.now)? {
        Broken::NoTokens if deleted.is_none() && evidence.is_registered() == Some(false) => {
            "Consul has neither its login tokens nor its registration, as after the restore of a snapshot that is older than \
             the task. Its proxy works until it reconnects. Replace the task"
                .to_owned()
        }
        Broken::NoTokens => format!(
            "Consul no longer has its login tokens, so its proxy gets no new endpoints; {}. Replace the task",
            who(evidence, deleted)
        ),
        broken @ Broken::OneToken => {
            let log = evidence.unread_log(without_token(member));
            let sentence = format!("{broken}. Replace the task");
            return Some(Conclusion::faulty(WhyCause::TokenDeleted, sentence).with_log(log));
        }
        Broken::ProxyStopped => return None,
    };
    Some(Conclusion::faulty(WhyCause::TokenDeleted, sentence))
}

/// The token of its service is gone, which it has read from Secrets Manager.
pub(super) fn service_token_gone(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let (member, cluster) = evidence.active().zip(evidence.cluster)?;
    let TokenSource::SecretsManager { secrets } = TokenSource::of_task(member, cluster) else { return None };
    is_service_token_gone(member, cluster, evidence.background.tokens.as_ref()).then_some(())?;
    let name = &member.identity.service.name;
    let is_revocation = |line: &&LogLine| {
        line.is(&LogAction::Revoke) && line.has(&LogOutcome::Done) && line.is_of_service(name.as_str())
    };
    let revoked = evidence.background.history.lines.iter().rfind(is_revocation);
    let then = match evidence.unmanaged() {
        Some(unmanaged) => format!("No sweep creates it again, because {unmanaged}"),
        None => format!(
            "If the secret still has it, the next sweep creates it again (to sweep now: ecs-mesh sweep --cluster {}). \
             Otherwise replace the tasks",
            cluster.arn.name()
        ),
    };
    let sentence = format!(
        "Consul no longer has the token of the service {name}, which its tasks read from {}; {}. {then}",
        secrets.join(" and "),
        who(evidence, revoked)
    );
    Some(Conclusion::faulty(WhyCause::TokenDeleted, sentence))
}

/// `mesh-init` runs on and on, and the task has no login token.
pub(super) fn login_refused(evidence: &TaskEvidence<'_>) -> Option<Conclusion> {
    let (member, cluster) = evidence.active().zip(evidence.cluster)?;
    let TokenSource::AuthMethod { method } = TokenSource::of_task(member, cluster) else { return None };
    let registrar = evidence.registrar()?;
    let still_runs = member.task.container(registrar).is_some_and(|container| !container.is_stopped);
    let is_late = member.task.has_had_time_to_register(evidence.now);
    if !still_runs || !is_late || evidence.is_registered() != Some(false) || evidence.login_tokens() != Some(0) {
        return None;
    }
    let method =
        method.as_ref().map_or_else(|| "the auth method".to_owned(), |method| format!("the auth method {method}"));
    let sentence = format!(
        "It was never registered in Consul because its container {registrar} is still trying to log in, and Consul \
         has issued no login token. Read {}, and check {method}, its binding rules and the task role{}",
        evidence.log_of(registrar),
        evidence.audit_says()
    );
    Some(Conclusion::faulty(WhyCause::LoginRefused, sentence).with_log(evidence.unread_log(registrar)))
}
