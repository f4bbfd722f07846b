//! Agents that Consul's gossip knows, and nodes of the catalog as a whole:
//! <https://developer.hashicorp.com/consul/api-docs/agent>, <https://developer.hashicorp.com/consul/api-docs/catalog>.

use serde::Deserialize;
use serde_json::json;

use super::{error::ConsulError, http::Http, request::Request, within};
use mesh::{
    catalog::{AgentStatus, HealthCheck, Member},
    tenancy::Tenancy,
};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MemberAnswer {
    name: String,
    /// serf's numbers: 1 alive, 2 leaving, 3 left, 4 failed.
    status: u8,
}

/// The agents of the tenancy's partition.
pub(super) async fn members(http: &Http, tenancy: &Tenancy) -> Result<Vec<Member>, ConsulError> {
    let mut request = Request::get("the members of the datacenter", &["agent", "members"]);
    if let Some(partition) = tenancy.partition() {
        request = request.query("partition", partition.as_str());
    }
    let answers: Vec<MemberAnswer> = http.json(&request).await?;
    Ok(answers.into_iter().map(|answer| Member { name: answer.name, status: status(answer.status) }).collect())
}

fn status(number: u8) -> AgentStatus {
    match number {
        4 => AgentStatus::Failed,
        2 | 3 => AgentStatus::Left,
        // Whatever else newer versions may say: only a failure is proof of death.
        _ => AgentStatus::Alive,
    }
}

/// Makes Consul forget a failed agent and all that its node holds. One that it does not know is forgotten already.
pub(super) async fn force_leave(http: &Http, node: &str, tenancy: &Tenancy) -> Result<(), ConsulError> {
    // A parameter that is merely present is what Consul looks for.
    let mut request = Request::put_nothing(format!("agent {node}"), &["agent", "force-leave", node]).query("prune", "");
    if let Some(partition) = tenancy.partition() {
        request = request.query("partition", partition.as_str());
    }
    match http.send(&request).await {
        Err(ConsulError::Refused { reason, .. }) if reason.contains("No node found") => Ok(()),
        answer => answer.map(drop),
    }
}

/// Takes a node out of the catalog, and all that is on it.
pub(super) async fn deregister_node(http: &Http, node: &str, tenancy: &Tenancy) -> Result<(), ConsulError> {
    let request = Request::put(format!("node {node}"), &["catalog", "deregister"], json!({ "Node": node }));
    let request = match tenancy.partition() {
        Some(partition) => request.query("partition", partition.as_str()),
        None => request,
    };
    http.send(&request).await.map(drop)
}

/// Takes one check out of the catalog.
pub(super) async fn deregister_check(http: &Http, check: &HealthCheck) -> Result<(), ConsulError> {
    let body = json!({ "Node": check.node, "CheckID": check.id });
    let request = Request::put(format!("check {}", check.id), &["catalog", "deregister"], body);
    http.send(&within(request, &check.tenancy)).await.map(drop)
}
