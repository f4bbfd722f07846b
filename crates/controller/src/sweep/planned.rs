//! The planned actions in the report of a sweep.

use mesh::{action::Action, arn::ClusterArn, guard::Wait, plan::WaitingToken};
use serde_json::{Value, json};

use crate::repair::with;

/// A node that the set-up of a sweep would create.
pub(super) fn missing_node(cluster: ClusterArn) -> (ClusterArn, Value) {
    let planned = json!({ "action": "create_node", "node": cluster.as_str() });
    (cluster, planned)
}

/// The JSON of an action that waits for a time.
pub(super) fn describe_waiting(token: &WaitingToken) -> Value {
    let action = if token.is_shown { "hide_token" } else { "revoke" };
    json!({
        "action": action, "holder": token.holder.to_string(), "accessorId": token.accessor.to_string(),
        "until": token.until.to_string(),
    })
}

/// The JSON of a planned action.
pub(super) fn describe(action: &Action) -> Value {
    match action {
        Action::Provision(holder) => json!({ "action": "provision", "holder": holder.to_string() }),
        Action::MarkCritical(instance, reason) => {
            json!({ "action": "mark_critical", "serviceId": instance.id, "reason": reason.as_str() })
        }
        Action::DeleteLoginToken(token) => {
            let task = token.login.as_ref().map(|login| login.task.to_string());
            json!({ "action": "delete_login_token", "accessorId": token.accessor.to_string(), "taskId": task })
        }
        Action::Deregister(instance) => {
            json!({ "action": "deregister", "serviceId": instance.id, "taskId": instance.task.to_string() })
        }
        Action::ForceLeave(agent) => json!({ "action": "force_leave", "node": agent.member.name }),
        Action::AwaitAgent(agent) => json!({ "action": "await_agent", "node": agent.member.name }),
        Action::DeregisterNode(node) => json!({ "action": "deregister_node", "node": node.cluster.as_str() }),
        Action::CheckIdleness(holder) => json!({ "action": "check_idleness", "holder": holder.to_string() }),
        Action::Hide(holder, _) => json!({ "action": "hide_token", "holder": holder.to_string() }),
        Action::Revoke(holder, _) => json!({ "action": "revoke", "holder": holder.to_string() }),
        Action::DeleteOrphan(holder, token, _) => {
            json!({ "action": "delete_orphan", "holder": holder.to_string(), "accessorId": token.accessor.to_string() })
        }
        Action::ShowOrphan(holder, token) => {
            json!({ "action": "show_orphan", "holder": holder.to_string(), "accessorId": token.accessor.to_string() })
        }
    }
}

/// The JSON of an action that waits.
pub(super) fn awaiting(action: &Action, wait: Wait) -> Value {
    let reason = match wait {
        Wait::Age => "ECS may not describe the young task yet",
        Wait::SecondLook => "a second look at the task in ECS",
    };
    with(describe(action), "waitsFor", reason)
}
