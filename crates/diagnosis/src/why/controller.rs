//! What the controller did, in words.

use crate::log_line::{Line, TASK_STOPPED};

/// What a line says; `None` if another line says more.
pub(super) fn said(line: &Line) -> Option<String> {
    if line.action == "observe" || line.action == "sweep" && line.outcome != "guard_tripped" {
        return None;
    }
    let what = match line.outcome.as_str() {
        "failed" => return Some(failed(line)),
        "guard_tripped" => return Some(format!("the guard held back deletions or corrections: {}", reason(line))),
        "observed" => format!("would have done, and did not (Mode=observe): {}", done(line)),
        "done" | "seen" | "" => done(line),
        other => format!("{} ({other})", done(line)),
    };
    Some(what)
}

fn failed(line: &Line) -> String {
    let label = line.error.as_deref().unwrap_or("no label");
    let what = if line.action.is_empty() { "its work".to_owned() } else { line.action.clone() };
    format!("failed: {what} ({label}): {}", reason(line))
}

fn reason(line: &Line) -> &str {
    line.reason.as_deref().or(line.message.as_deref()).unwrap_or("no reason given")
}

fn because(line: &Line) -> String {
    line.reason.as_ref().map(|reason| format!(", because {reason}")).unwrap_or_default()
}

fn done(line: &Line) -> String {
    let or_it = |text: &Option<String>| text.clone().unwrap_or_else(|| "it".to_owned());
    let holder = line.holder.as_deref().unwrap_or("its service");
    let accessor = line.accessor_id.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    match line.action.as_str() {
        TASK_STOPPED => "received the event of its end".to_owned(),
        "deregister" => format!("deregistered {}", or_it(&line.service_id)),
        "deregister_check" => format!("deregistered the check {}", or_it(&line.check_id)),
        "delete_login_token" => format!("deleted its login token{accessor}"),
        "mark_critical" => format!("put {} into maintenance mode{}", or_it(&instance(line)), because(line)),
        "create_token" => format!("created the token{accessor} of the {holder}"),
        "restore_token" => format!("created the token{accessor} of the {holder} again: Consul did not have it"),
        "update_token" => format!("updated the token{accessor} of the {holder}"),
        "show_token" => format!("wrote the token{accessor} of the {holder} into its secret"),
        "empty_secret" => format!("emptied the secret of the {holder}"),
        "delete_unused_token" => {
            format!("deleted the token{accessor} of the {holder}: another attempt had created one")
        }
        "provision" => format!("looked after the token of the {holder}{}", because(line)),
        "delete_secret" => format!("deleted the unused secret of the {holder}{}", because(line)),
        "restore_secret" => format!("restored the deleted secret of the {holder}"),
        "force_leave" => "removed its client agent".to_owned(),
        "deregister_node" => "deregistered the node of its cluster".to_owned(),
        "hide_token" => format!("hid the token{accessor} of the {holder} from tasks{}", because(line)),
        "revoke" => format!("revoked the token{accessor} of the {holder}{}", because(line)),
        "repair" => format!("registered it again{}", because(line)),
        "correct_health" => format!("corrected its checks{}", because(line)),
        "drain" => format!("drained it{}", because(line)),
        "report_broken_task" => format!("reported it as broken{}", because(line)),
        "ask_for_second_look" => "will look again before it removes what ECS does not know".to_owned(),
        "ask_for_idle_check" => format!("will look later whether the {holder} still needs its token"),
        "" => reason(line).to_owned(),
        other => {
            let detail = line.reason.as_deref().or(line.message.as_deref());
            detail.map_or_else(|| other.to_owned(), |detail| format!("{other}: {detail}"))
        }
    }
}

/// The instance of a maintenance check.
fn instance(line: &Line) -> Option<String> {
    line.check_id.as_ref().map(|id| id.trim_start_matches("_service_maintenance:").to_owned())
}
