//! A planned action of a sweep, in words.

use serde_json::Value;

/// The actions after which something is gone.
const DELETIONS: [&str; 7] =
    ["delete_login_token", "deregister", "force_leave", "deregister_node", "hide_token", "revoke", "delete_orphan"];

/// Whether something is gone after a planned action.
pub(super) fn deletes(planned: &Value) -> bool {
    planned["action"].as_str().is_some_and(|action| DELETIONS.contains(&action))
}

/// What is planned, with what, and why.
pub(super) fn described(planned: &Value) -> [String; 3] {
    let text = |field: &str| planned[field].as_str().unwrap_or_default().to_owned();
    let list = |field: &str| {
        let items = planned[field].as_array().into_iter().flatten();
        items.filter_map(Value::as_str).collect::<Vec<&str>>().join(", ")
    };
    let of_stopped = || format!("its task {} has stopped", text("taskId"));
    match text("action").as_str() {
        "provision" => row("create or update token", text("holder"), "a task reads it"),
        "create_node" => row("create node", text("node"), "tasks register on it"),
        "show_orphan" => row("restore token", text("holder"), "its secret does not show it"),
        "mark_critical" => row("drain", text("serviceId"), text("reason")),
        "delete_login_token" => row("delete login token", text("accessorId"), of_stopped()),
        "deregister" => row("deregister", text("serviceId"), of_stopped()),
        "force_leave" => row("remove agent", text("node"), "its task has stopped"),
        "await_agent" => row("look again at agent", text("node"), "it still answers"),
        "deregister_node" => row("deregister node", text("node"), "its cluster was deleted"),
        "check_idleness" => row("look again at token", text("holder"), "no task uses it"),
        "hide_token" => row("hide token", text("holder"), "no task uses it; it is deleted later"),
        "revoke" => row("delete token", text("holder"), "no task uses it"),
        "delete_orphan" => row("delete token", text("accessorId"), "no secret has it"),
        "repair" => {
            let parts = [list("instances"), list("checks")].into_iter().filter(|text| !text.is_empty());
            row("register again", task(planned), format!("Consul has lost {}", parts.collect::<Vec<_>>().join(", ")))
        }
        "correct_health" => row("correct status", task(planned), statuses(planned)),
        other => row(other, planned.to_string(), ""),
    }
}

/// The statuses that checks would get.
fn statuses(planned: &Value) -> String {
    let checks = planned["checks"].as_array().into_iter().flatten();
    let status = |check: &Value| Some(format!("{} is {}", check["checkId"].as_str()?, check["status"].as_str()?));
    checks.filter_map(status).collect::<Vec<_>>().join(", ")
}

fn row(what: &str, object: String, why: impl Into<String>) -> [String; 3] {
    [what.to_owned(), object, why.into()]
}

fn task(planned: &Value) -> String {
    format!("task {}", planned["taskId"].as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plan_says_what_is_done_to_what_and_why() {
        let deregister = json!({ "action": "deregister", "serviceId": "web-1", "taskId": "1" });
        assert_eq!(described(&deregister), ["deregister", "web-1", "its task 1 has stopped"]);
        let repair = json!({ "action": "repair", "taskId": "1", "instances": ["web-1"], "checks": [] });
        assert_eq!(described(&repair), ["register again", "task 1", "Consul has lost web-1"]);
        assert!(deletes(&deregister) && !deletes(&repair));
        let checks = json!([{ "checkId": "web-1", "status": "critical" }, { "checkId": "web-2", "status": "passing" }]);
        let correct = json!({ "action": "correct_health", "taskId": "1", "checks": checks });
        assert_eq!(described(&correct), ["correct status", "task 1", "web-1 is critical, web-2 is passing"]);
    }

    #[test]
    fn action_of_a_newer_function_is_shown_as_it_is() {
        let newer = json!({ "action": "polish", "what": "web" });
        assert_eq!(described(&newer), ["polish", &newer.to_string(), ""]);
    }
}
