//! A task of the mesh with all that was read of it.

use std::sync::Arc;

use crate::{
    arn::ClusterArn,
    consul_ecs::{CONFIG_VARIABLE, MeshConfig},
    definition::TaskDefinition,
    identity::MeshIdentity,
    local_address::LocalAddress,
    names::InvalidField,
    task::DescribedTask,
};

/// A task of the mesh as ECS describes it now, with the revision that it runs.
#[derive(Debug, Clone)]
pub struct MemberTask {
    pub cluster: ClusterArn,
    /// With the containers that the definition names.
    pub task: Arc<DescribedTask>,
    pub definition: Arc<TaskDefinition>,
    pub identity: MeshIdentity,
    /// Whether Consul is Enterprise: then each object is in a partition and a namespace.
    pub is_enterprise: bool,
}

impl MemberTask {
    pub fn new(
        cluster: ClusterArn,
        task: Arc<DescribedTask>,
        definition: Arc<TaskDefinition>,
        identity: MeshIdentity,
        is_enterprise: bool,
    ) -> Self {
        let task = task.with_containers_of(&definition);
        Self { cluster, task, definition, identity, is_enterprise }
    }

    /// The same task as ECS describes it now.
    #[must_use]
    pub fn described(self, now: Arc<DescribedTask>) -> Self {
        Self { task: now.with_containers_of(&self.definition), ..self }
    }

    /// The same task with its definition as it is now: its content never changes, but its tags do.
    #[must_use]
    pub fn with_definition(self, definition: Arc<TaskDefinition>) -> Self {
        Self { definition, ..self }
    }

    /// The addresses in the task that the variables of its containers name. Its own values replace those of its definition.
    pub fn local_addresses(&self) -> Vec<(&str, LocalAddress)> {
        let mut named = Vec::new();
        for container in &self.definition.containers {
            let own = self.task.placement.overrides.get(&container.name);
            let is_replaced = |it: &&LocalAddress| own.is_some_and(|own| own.contains_key(&it.variable));
            let kept = container.local_addresses.iter().filter(|it| !is_replaced(it)).cloned();
            let own = own.into_iter().flatten().flat_map(|(name, value)| LocalAddress::in_value(name, value));
            named.extend(kept.chain(own).map(|address| (container.name.as_str(), address)));
        }
        named
    }

    /// The configuration of the task: from its overrides, or from its definition, which has parsed it once. A configuration in
    /// overrides is parsed here and not kept, because each task may have another one.
    ///
    /// # Errors
    /// It is not known in full.
    pub fn config(&self) -> Result<Arc<MeshConfig>, ConfigError> {
        let registrar = self.definition.programs.registrar.as_ref().ok_or(ConfigError::NoRegistrar)?;
        let placement = &self.task.placement;
        if registrar.reads_more || placement.rewritten.contains(&registrar.name) {
            return Err(ConfigError::ReadsMore(registrar.name.clone()));
        }
        let own = placement.overrides.get(&registrar.name).and_then(|own| own.get(CONFIG_VARIABLE));
        let own = own.map(|json| MeshConfig::parse(json, registrar.registrar).map(Arc::new));
        let config = own.or_else(|| registrar.config().cloned());
        config.ok_or_else(|| ConfigError::None(registrar.name.clone()))?.map_err(ConfigError::Invalid)
    }
}

/// Why the configuration of a task is not known in full.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No container of it is known to register it.
    #[error("none of its containers runs mesh-init or control-plane of consul-ecs")]
    NoRegistrar,
    /// A part of it is not known.
    #[error("its container {0} gets its variables or its command from a secret, a file or the task's overrides")]
    ReadsMore(String),
    /// It has none.
    #[error("its container {0} has no variable CONSUL_ECS_CONFIG_JSON")]
    None(String),
    #[error("its configuration cannot be read in full: {0}")]
    Invalid(InvalidField),
}
