//! The actions of a plan.

use crate::{
    arn::{TaskArn, TaskId},
    catalog::{ClientAgent, DrainReason, LeftoverNode, ServiceInstance},
    lifecycle::Idle,
    secret::Retirement,
    token::{ListedToken, TokenHolder},
};

/// One change. Every action is idempotent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Ensure that the holder has a valid token in Consul, and that its secret contains it.
    Provision(TokenHolder),
    /// Register a critical check for an instance, so that it receives no new traffic.
    MarkCritical(ServiceInstance, DrainReason),
    /// Delete a token that a stopped task logged in for.
    DeleteLoginToken(ListedToken),
    /// Deregister the instance of a stopped task, with its checks.
    Deregister(ServiceInstance),
    /// Force-leave a failed client agent, which ran in a stopped task.
    ForceLeave(ClientAgent),
    /// Check again later: Consul does not report the client agent of the stopped task as failed yet.
    AwaitAgent(ClientAgent),
    /// Deregister the synthetic node of a deleted cluster.
    DeregisterNode(LeftoverNode),
    /// Check after the grace period whether a task still uses the holder's token.
    CheckIdleness(TokenHolder),
    /// Hide an idle token.
    Hide(TokenHolder, Idle),
    /// Delete an idle token, after it was hidden for [`crate::bounds::Bounds::hidden_for`].
    Revoke(TokenHolder, Idle),
    /// Delete a token with a mark of the controller that the secret of the holder does not contain.
    DeleteOrphan(TokenHolder, ListedToken, Retirement),
    /// Write such a token into the secret, which an operator has emptied.
    ShowOrphan(TokenHolder, ListedToken),
}

impl Action {
    /// The task of the instance that is drained or deregistered.
    pub fn instance_task(&self) -> Option<&TaskId> {
        match self {
            Self::MarkCritical(instance, _) | Self::Deregister(instance) => Some(&instance.task),
            _ => None,
        }
    }

    /// Whether the action removes something from Consul or hides a token.
    pub fn deletes(&self) -> bool {
        match self {
            Self::DeleteLoginToken(_)
            | Self::Deregister(_)
            | Self::ForceLeave(_)
            | Self::DeregisterNode(_)
            | Self::Hide(..)
            | Self::Revoke(..)
            | Self::DeleteOrphan(..) => true,
            Self::Provision(_)
            | Self::MarkCritical(..)
            | Self::AwaitAgent(_)
            | Self::CheckIdleness(_)
            | Self::ShowOrphan(..) => false,
        }
    }
}

/// An action, and the tasks that require it: if it fails, their messages return to the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The action.
    pub action: Action,
    /// The tasks that require it; empty if none does.
    pub tasks: Vec<TaskArn>,
}
