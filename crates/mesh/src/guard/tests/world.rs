//! Builders for the examples of the guard.

use jiff::Timestamp;

use super::*;
use crate::{
    arn::{TaskArn, TaskId},
    catalog::{AgentStatus, CatalogNode, ClientAgent, LeftoverNode, Member, ServiceInstance},
    identity::MeshService,
    lifecycle::Idle,
    secret::Retirement,
    tenancy::Tenancy,
    token::TokenHolder,
};

pub(super) fn cluster(name: &str) -> ClusterArn {
    format!("arn:aws:ecs:us-east-1:123456789012:cluster/{name}").parse().unwrap()
}

pub(super) fn task_id(number: u8) -> TaskId {
    format!("{number:032x}").parse().unwrap()
}

pub(super) fn token(accessor: u8, description: &str) -> ListedToken {
    ListedToken {
        accessor: uuid::Uuid::from_u128(accessor.into()).to_string().parse().unwrap(),
        description: description.to_owned(),
        policies: Vec::new(),
        created_at: None,
        tenancy: Tenancy::Community,
    }
}

pub(super) fn login_token(cluster_name: &str, number: u8) -> ListedToken {
    let (id, cluster) = (task_id(number), cluster(cluster_name));
    let meta = format!(r#"{{"consul.hashicorp.com/task-id":"{id}","consul.hashicorp.com/cluster":"{cluster}"}}"#);
    token(number, &format!("token created via login: {meta}"))
}

pub(super) fn login_tokens(cluster_name: &str, count: u8) -> Vec<ListedToken> {
    (0..count).map(|number| login_token(cluster_name, number)).collect()
}

pub(super) fn service(name: &str) -> MeshService {
    MeshService { tenancy: Tenancy::Community, name: name.parse().unwrap() }
}

pub(super) fn service_token(cluster_name: &str, accessor: u8, name: &str) -> ListedToken {
    token(accessor, &TokenHolder::Service(service(name)).token_description(&cluster(cluster_name)))
}

pub(super) fn instance(cluster_name: &str, number: u8) -> ServiceInstance {
    ServiceInstance {
        node: cluster(cluster_name).to_string(),
        id: format!("web-{}", task_id(number)),
        name: "web".to_owned(),
        task: task_id(number),
        task_arn: Some(TaskArn::in_cluster(&cluster(cluster_name), &task_id(number))),
        modify_index: 7,
        tenancy: Tenancy::Community,
    }
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
    Action::Hide(service(name), Idle { retirement, listed_at: Timestamp::UNIX_EPOCH })
}

pub(super) fn plan_of(actions: impl IntoIterator<Item = Action>) -> Vec<Planned> {
    actions.into_iter().map(|action| Planned { action, tasks: Vec::new() }).collect()
}
