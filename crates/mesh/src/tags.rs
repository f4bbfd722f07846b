//! The tags of Consul on ECS for tasks and task definitions.
//!
//! Source: <https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference>

use std::collections::BTreeMap;

/// `true`: the task is in the mesh. A task with any other value, or without the tag, is ignored.
pub const MESH_TAG: &str = "consul.hashicorp.com/mesh";
/// The Consul service that the task is an instance of.
pub const SERVICE_NAME_TAG: &str = "consul.hashicorp.com/service-name";
/// The admin partition (Consul Enterprise).
pub const PARTITION_TAG: &str = "consul.hashicorp.com/partition";
/// The namespace (Consul Enterprise).
pub const NAMESPACE_TAG: &str = "consul.hashicorp.com/namespace";
/// `off`: the controller does not repair the task's entries in Consul. On a task, its definition or its ECS service.
pub const REPAIR_TAG: &str = "ecs-mesh-controller/repair";

/// The tags of a task or of a task definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags(BTreeMap<String, String>);

impl Tags {
    /// The value of one tag.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// These tags, and those of `fallback` for other keys.
    #[must_use]
    pub fn or(&self, fallback: &Self) -> Self {
        let mut merged = fallback.0.clone();
        merged.extend(self.0.clone());
        Self(merged)
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Tags {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(tags: I) -> Self {
        Self(tags.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}
