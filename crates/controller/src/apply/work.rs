//! The actions of a plan, grouped by the API that applies them.

use std::collections::BTreeMap;

use mesh::{
    action::{Action, Planned},
    catalog::{ClientAgent, HealthCheck, LeftoverNode, ServiceInstance},
    lifecycle::Idle,
    secret::Retirement,
    tenancy::{Tenancy, TenancyName},
    token::{ListedToken, TokenHolder},
};

/// Objects to change, each with its planned action.
pub(super) type Group<T> = Vec<(T, Planned)>;

/// An action for a token that no task requires, or for an orphan.
pub(super) enum TokenWork {
    /// Hide or delete the holder's token.
    Retire(TokenHolder, Idle),
    /// Delete an orphan.
    DeleteOrphan(TokenHolder, ListedToken, Retirement),
    /// Write an orphan into the holder's secret.
    ShowOrphan(TokenHolder, ListedToken),
}

/// The actions of a plan.
#[derive(Default)]
pub(super) struct Work {
    pub(super) provisions: Group<TokenHolder>,
    pub(super) login_tokens: Group<ListedToken>,
    pub(super) idle_checks: Group<TokenHolder>,
    pub(super) agents: Group<ClientAgent>,
    pub(super) nodes: Group<LeftoverNode>,
    pub(super) tokens: Group<TokenWork>,
    /// By partition: a transaction is limited to one.
    pub(super) instances: BTreeMap<Option<TenancyName>, Group<ServiceInstance>>,
    /// By node and tenancy: a registration is for one node.
    pub(super) drains: BTreeMap<(String, Tenancy), Group<HealthCheck>>,
}

impl Work {
    /// Groups the actions of a plan.
    pub(super) fn sort(all: Vec<Planned>) -> Self {
        let mut work = Self::default();
        for planned in all {
            match planned.action.clone() {
                Action::Provision(holder) => work.provisions.push((holder, planned)),
                Action::DeleteLoginToken(token) => work.login_tokens.push((token, planned)),
                Action::CheckIdleness(holder) => work.idle_checks.push((holder, planned)),
                Action::Hide(holder, idle) | Action::Revoke(holder, idle) => {
                    work.tokens.push((TokenWork::Retire(holder, idle), planned));
                }
                Action::DeleteOrphan(holder, token, retirement) => {
                    work.tokens.push((TokenWork::DeleteOrphan(holder, token, retirement), planned));
                }
                Action::ShowOrphan(holder, token) => work.tokens.push((TokenWork::ShowOrphan(holder, token), planned)),
                Action::ForceLeave(agent) | Action::AwaitAgent(agent) => work.agents.push((agent, planned)),
                Action::DeregisterNode(node) => work.nodes.push((node, planned)),
                Action::MarkCritical(instance, reason) => {
                    let check = HealthCheck::maintenance(&instance, reason);
                    work.drains.entry((instance.node, instance.tenancy)).or_default().push((check, planned));
                }
                Action::Deregister(instance) => {
                    let partition = instance.tenancy.partition().cloned();
                    work.instances.entry(partition).or_default().push((instance, planned));
                }
            }
        }
        work
    }
}
