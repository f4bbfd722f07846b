//! Agents, and all calls that concern neither ACLs nor the catalog.

use mesh::catalog::{AgentStatus, Member};
use serde_json::{Value, json};

use super::{Row, not_served, served};

const PRUNES: &str = "the controller forces agents to leave with `prune`";
const SERVERS: &str = "the controller does not ask who leads";
const BOOTSTRAP: &str = "only the bootstrap makes this call, and it is not simulated";
const UNKNOWN: &str = "the controller makes no call that Consul does not have";
const CONFIG: &str = "the controller does not read or write config entries";

/// A member, with the number of its status in Serf.
fn body(member: &Member) -> Value {
    let status = match member.status {
        AgentStatus::Alive => 1,
        AgentStatus::Left => 3,
        AgentStatus::Failed => 4,
    };
    json!({ "Name": member.name, "Status": status })
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = vec![served("members", |world| Ok(Value::Array(world.members().iter().map(body).collect())))];
    rows.extend(not_served(PRUNES, &["force-leave of nobody"]));
    rows.push(served("force-leave and prune", |world| world.force_leave("gone").map(|()| json!(null))));
    rows.extend(not_served(SERVERS, &["leader", "peers"]));
    rows.push(served("list partitions", |world| world.partitions().map(|names| json!(names.len()))));
    let objects =
        ["create a partition", "read a partition", "list namespaces", "create a namespace", "read a namespace"];
    rows.extend(not_served(BOOTSTRAP, &objects));
    rows.extend(not_served(UNKNOWN, &["a call that is not known", "a method that is not allowed"]));
    let config = [
        "write a config entry",
        "read a config entry that is not there",
        "write a config entry with a field that is not known",
        "discovery chain",
    ];
    rows.extend(not_served(CONFIG, &config));
    rows
}
