//! What the controller did, in words.

use report::{ErrorLabel, LogAction, LogLine, LogOutcome};

/// What a line says; `None` if another line says more.
pub(super) fn said(line: &LogLine) -> Option<String> {
    use LogOutcome as O;
    if line.is(&LogAction::Observe) || line.is(&LogAction::Sweep) && !line.has(&O::GuardTripped) {
        return None;
    }
    let what = match &line.outcome {
        Some(O::Failed) => return Some(failed(line)),
        Some(O::GuardTripped) => {
            return Some(format!("the guard held back deletions or corrections: {}", reason(line)));
        }
        Some(O::Observed) => format!("would have done, and did not (Mode=observe): {}", done(line)),
        Some(O::Done | O::Seen) | None => done(line),
        Some(other) => format!("{} ({})", done(line), other.as_str()),
    };
    Some(what)
}

fn failed(line: &LogLine) -> String {
    let label = line.error.as_ref().map_or("no label", ErrorLabel::as_str);
    let what = line.action.as_ref().map_or("its work", LogAction::as_str);
    format!("failed: {what} ({label}): {}", reason(line))
}

fn detail(line: &LogLine) -> Option<&str> {
    line.reason.as_deref().or(line.message.as_deref())
}

fn reason(line: &LogLine) -> &str {
    detail(line).unwrap_or("no reason given")
}

fn done(line: &LogLine) -> String {
    use LogAction as A;
    let or_it = |text: &Option<String>| text.clone().unwrap_or_else(|| "it".to_owned());
    let holder = line.holder.as_deref().unwrap_or("its service");
    let accessor = line.accessor_id.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    let because = line.reason.as_ref().map(|reason| format!(", because {reason}")).unwrap_or_default();
    let Some(action) = &line.action else { return reason(line).to_owned() };
    match action {
        A::TaskStopped => "received the event of its end".to_owned(),
        A::Deregister => format!("deregistered {}", or_it(&line.service_id)),
        A::DeregisterCheck => format!("deregistered the check {}", or_it(&line.check_id)),
        A::DeleteLoginToken => format!("deleted its login token{accessor}"),
        A::MarkCritical => format!("put {} into maintenance mode{because}", or_it(&instance(line))),
        A::CreateToken => format!("created the token{accessor} of the {holder}"),
        A::RestoreToken => format!("created the token{accessor} of the {holder} again: Consul did not have it"),
        A::UpdateToken => format!("updated the token{accessor} of the {holder}"),
        A::ShowToken => format!("wrote the token{accessor} of the {holder} into its secret"),
        A::EmptySecret => format!("emptied the secret of the {holder}"),
        A::DeleteUnusedToken => {
            format!("deleted the token{accessor} of the {holder}: another attempt had created one")
        }
        A::Provision => format!("looked after the token of the {holder}{because}"),
        A::HideToken => format!("hid the token{accessor} of the {holder} from tasks{because}"),
        A::Revoke => format!("revoked the token{accessor} of the {holder}{because}"),
        A::Repair => format!("registered it again{because}"),
        A::CorrectHealth => format!("corrected its checks{because}"),
        A::Drain => format!("drained it{because}"),
        A::ReportBrokenTask => format!("reported it as broken{because}"),
        A::AskForIdleCheck => format!("will look later whether the {holder} still needs its token"),
        A::Sweep | A::Observe | A::Other(_) => {
            let action = action.as_str();
            detail(line).map_or_else(|| action.to_owned(), |detail| format!("{action}: {detail}"))
        }
    }
}

/// The instance of a maintenance check.
fn instance(line: &LogLine) -> Option<String> {
    line.check_id.as_ref().map(|id| id.trim_start_matches("_service_maintenance:").to_owned())
}
