//! What a plan consists of.

use crate::{
    arn::TaskArn,
    catalog::{ClientAgent, HealthCheck, LeftoverNode, ServiceInstance},
    identity::MeshService,
    lifecycle::Idle,
    secret::Retirement,
    token::{ListedToken, TokenHolder},
};

/// One change to bring about. Each may be done twice without harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Make sure that the holder has a valid token, and that its secret holds it.
    Provision(TokenHolder),
    /// Register the critical check for an instance, so that traffic drains.
    MarkCritical(HealthCheck),
    /// Delete a token that a stopped task logged in for.
    DeleteLoginToken(ListedToken),
    /// Take a stopped task's instance out of the catalog, and its checks with it.
    Deregister(ServiceInstance),
    /// Make Consul forget a client agent that died with its task.
    ForceLeave(ClientAgent),
    /// Come back later: the stopped task's client agent is not known to be dead yet.
    AwaitAgent(ClientAgent),
    /// Take the synthetic node of a deleted cluster out of the catalog.
    DeregisterNode(LeftoverNode),
    /// Look again after the grace period whether the service has any task left.
    CheckIdleness(MeshService),
    /// Hide the token of an idle service.
    Hide(MeshService, Idle),
    /// Delete the token of an idle service, which has been hidden for long enough.
    Revoke(MeshService, Idle),
    /// Delete a token that bears the controller's mark, and that its secret does not name.
    DeleteOrphan(TokenHolder, ListedToken, Retirement),
    /// Show such a token in its secret, which a person has emptied.
    ShowOrphan(TokenHolder, ListedToken),
}

impl Action {
    /// Whether it takes something away for good.
    #[must_use]
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
            | Self::MarkCritical(_)
            | Self::AwaitAgent(_)
            | Self::CheckIdleness(_)
            | Self::ShowOrphan(..) => false,
        }
    }
}

/// An action, and the tasks that asked for it: if it fails, their messages go back to the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// What to do.
    pub action: Action,
    /// For whom.
    pub tasks: Vec<TaskArn>,
}
