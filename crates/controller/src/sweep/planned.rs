//! The planned actions in the report of a sweep.

use mesh::{action::Action, arn::ClusterArn, guard::Wait, plan::WaitingToken};
use report::{PlannedAction, Waiting};

/// A node that the set-up of a sweep would create.
pub(super) fn missing_node(cluster: ClusterArn) -> (ClusterArn, PlannedAction) {
    let node = cluster.to_string();
    (cluster, PlannedAction::CreateNode { node })
}

/// What a token of an idle service waits for: to be hidden, or to be deleted.
pub(super) fn waiting_token(token: &WaitingToken) -> Waiting {
    let (holder, accessor_id) = (token.holder.to_string(), Some(token.accessor.to_string()));
    let action = if token.is_shown {
        PlannedAction::HideToken { holder, accessor_id }
    } else {
        PlannedAction::Revoke { holder, accessor_id }
    };
    Waiting { action, until: Some(token.until.to_string()), waits_for: None }
}

/// An action that waits.
pub(super) fn awaiting(action: &Action, wait: Wait) -> Option<Waiting> {
    let waits_for = match wait {
        Wait::Age => "ECS may not describe the young task yet",
        Wait::SecondLook => "a second look at the task in ECS",
    };
    Some(Waiting { action: describe(action)?, until: None, waits_for: Some(waits_for.to_owned()) })
}

/// The action in the report; `None` for one that only events plan, and that writes nothing.
pub(super) fn describe(action: &Action) -> Option<PlannedAction> {
    Some(match action {
        Action::Provision(holder) => PlannedAction::Provision { holder: holder.to_string() },
        Action::MarkCritical(instance, reason) => {
            PlannedAction::MarkCritical { service_id: instance.id.clone(), reason: reason.as_str().to_owned() }
        }
        Action::DeleteLoginToken(token) => PlannedAction::DeleteLoginToken {
            accessor_id: token.accessor.to_string(),
            task_id: token.login.as_ref().map(|login| login.task.to_string()),
        },
        Action::Deregister(instance) => {
            PlannedAction::Deregister { service_id: instance.id.clone(), task_id: instance.task.to_string() }
        }
        Action::ForceLeave(agent) => PlannedAction::ForceLeave { node: agent.member.name.clone() },
        Action::DeregisterNode(node) => PlannedAction::DeregisterNode { node: node.cluster.to_string() },
        Action::AwaitAgent(_) | Action::CheckIdleness(_) => return None,
        Action::Hide(holder, _) => PlannedAction::HideToken { holder: holder.to_string(), accessor_id: None },
        Action::Revoke(holder, _) => PlannedAction::Revoke { holder: holder.to_string(), accessor_id: None },
        Action::DeleteOrphan(holder, token, _) => {
            PlannedAction::DeleteOrphan { holder: holder.to_string(), accessor_id: token.accessor.to_string() }
        }
        Action::ShowOrphan(holder, token) => {
            PlannedAction::ShowOrphan { holder: holder.to_string(), accessor_id: token.accessor.to_string() }
        }
    })
}
