//! Tokens that are gone, and tasks that never got one.

use mesh::broken::Broken;
use report::{LogAction, LogLine, LogOutcome};

use super::{Case, Cause, Conclusion, moment};
use crate::{
    status::{is_service_token_gone, login_tokens},
    tokens::TokenSource,
};

/// Who deleted a token, by the controller's log.
fn who(case: &Case<'_>, line: Option<&LogLine>) -> String {
    match line {
        Some(line) => {
            let why = line.reason.as_ref().map(|reason| format!(", because {reason}")).unwrap_or_default();
            format!("the controller deleted it at {}{why}", moment(line.at))
        }
        None if case.further.history.is_complete => format!(
            "nobody is known to have deleted it: the controller's log since {} does not say so (with LogLevel=info it would)",
            moment(case.further.since)
        ),
        None => "who deleted it is not known, because the controller's log could not be read".to_owned(),
    }
}

/// The login tokens of a running task are gone.
pub(super) fn login_tokens_gone(case: &Case<'_>) -> Option<Conclusion> {
    case.active()?;
    let facts = case.facts()?;
    let sentence = match facts.broken(login_tokens(&facts, case.tokens.as_ref()), case.now)? {
        Broken::NoTokens => format!(
            "Consul has none of its login tokens any more, so that its proxy gets no new endpoints, and {}: replace the task",
            who(case, case.done(&LogAction::DeleteLoginToken))
        ),
        broken @ Broken::OneToken => format!("{broken}: replace the task"),
        Broken::ProxyStopped => return None,
    };
    Some(Conclusion::faulty(Cause::TokenDeleted, sentence))
}

/// The token of its service is gone, which it has read from Secrets Manager.
pub(super) fn service_token_gone(case: &Case<'_>) -> Option<Conclusion> {
    let member = case.active().filter(|member| is_service_token_gone(member, case.further.tokens.as_ref()))?;
    let TokenSource::SecretsManager { secrets } = &member.token else { return None };
    let name = &member.service.name;
    let is_revocation = |line: &&LogLine| {
        line.is(&LogAction::Revoke) && line.has(&LogOutcome::Done) && line.is_of_service(name.as_str())
    };
    let revoked = case.further.history.lines.iter().rfind(is_revocation);
    let sentence = format!(
        "Consul does not have the token of the service {name} any more, which its tasks read from {}, and {}: the next sweep creates \
         it again if the secret still has it (ecs-mesh sweep --cluster {}); else replace the tasks",
        secrets.join(" and "),
        who(case, revoked),
        case.cluster.map(|cluster| cluster.arn.name()).unwrap_or_default()
    );
    Some(Conclusion::faulty(Cause::TokenDeleted, sentence))
}

/// `mesh-init` runs on and on, and the task has no login token.
pub(super) fn login_refused(case: &Case<'_>) -> Option<Conclusion> {
    let member = case.active()?;
    let TokenSource::AuthMethod { method } = &member.token else { return None };
    let registrar = case.registrar()?;
    let still_runs = member.state.task.container(registrar).is_some_and(|container| !container.is_stopped);
    let is_late = member.state.task.placement.has_had_time_to_register(case.now);
    if !still_runs || !is_late || case.is_registered() != Some(false) || case.login_tokens() != Some(0) {
        return None;
    }
    let method =
        method.as_ref().map_or_else(|| "the auth method".to_owned(), |method| format!("the auth method {method}"));
    let sentence = format!(
        "It was never registered in Consul, because its container {registrar} still tries to log in, and Consul has no login token of \
         it: read {}, and check {method}, its binding rules, and the role of the task{}",
        case.log_of(registrar),
        case.audit_says()
    );
    Some(Conclusion::faulty(Cause::LoginRefused, sentence))
}
