//! Builders for the examples of the guard.

use jiff::Timestamp;

use super::*;
use crate::{
    catalog::{AgentStatus, CatalogNode, ClientAgent, LeftoverNode, Member, ServiceInstance},
    examples::{cluster, instance, login, service},
    lifecycle::Idle,
    secret::Retirement,
    tenancy::Tenancy,
    token::{Grants, TokenHolder},
};

pub(super) fn token(accessor: u8, description: &str) -> ListedToken {
    ListedToken {
        accessor: uuid::Uuid::from_u128(accessor.into()).to_string().parse().unwrap(),
        description: description.to_owned(),
        login: None,
        auth_method: None,
        is_local: true,
        grants: Grants::default(),
        created_at: None,
        tenancy: Tenancy::Community,
    }
}

pub(super) fn login_token(cluster_name: &str, number: u8) -> ListedToken {
    ListedToken {
        login: Some(login(cluster(cluster_name).as_str(), number)),
        ..token(number, "token created via login")
    }
}

pub(super) fn login_tokens(cluster_name: &str, count: u8) -> Vec<ListedToken> {
    (0..count).map(|number| login_token(cluster_name, number)).collect()
}

pub(super) fn service_token(cluster_name: &str, accessor: u8, name: &str) -> ListedToken {
    token(accessor, &TokenHolder::Service(service(name)).token_description(&cluster(cluster_name)))
}

pub(super) fn instances(cluster_name: &str, count: u8) -> Vec<ServiceInstance> {
    (0..count).map(|number| instance(cluster_name, number)).collect()
}

pub(super) fn agent(instances: Vec<ServiceInstance>) -> ClientAgent {
    ClientAgent {
        member: Member { name: "ip-10-0-0-7".to_owned(), status: AgentStatus::Failed },
        node: CatalogNode { instances, ..CatalogNode::default() },
        tenancy: Tenancy::Community,
    }
}

pub(super) fn node(cluster_name: &str) -> LeftoverNode {
    LeftoverNode { cluster: cluster(cluster_name), node: CatalogNode::default(), tenancy: Tenancy::Community }
}

/// The action that hides the token of an idle service.
pub(super) fn retirement_of(name: &str) -> Action {
    let retirement = Retirement::default();
    Action::Hide(TokenHolder::Service(service(name)), Idle { retirement, listed_at: Timestamp::UNIX_EPOCH })
}

pub(super) fn plan_of(actions: impl IntoIterator<Item = Action>) -> Vec<Planned> {
    actions.into_iter().map(|action| Planned { action, tasks: Vec::new() }).collect()
}
