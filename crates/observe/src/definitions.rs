//! The definitions of some tasks. They classify the tasks.

use std::{collections::BTreeMap, sync::Arc};

use aws::ecs::EcsError;
use mesh::{
    arn::TaskDefinitionArn,
    consul_ecs::MESH_TAG,
    definition::{Classification, TaskDefinition},
    settings::TokenSettings,
    tags::Tags,
    task::DescribedTask,
    tenancy::Tenancy,
};

use crate::error::CallError;

/// Task definitions, each as it was read, or why it could not be.
#[derive(Debug, Clone, Default)]
pub struct Definitions(pub(crate) BTreeMap<TaskDefinitionArn, Result<Arc<TaskDefinition>, CallError>>);

impl Definitions {
    /// The definition, if it could be read.
    pub fn get(&self, arn: &TaskDefinitionArn) -> Option<&Arc<TaskDefinition>> {
        self.0.get(arn)?.as_ref().ok()
    }

    /// The definition of a task, if it has one and it could be read.
    pub(crate) fn of_task(&self, task: &DescribedTask) -> Option<&Arc<TaskDefinition>> {
        self.get(task.definition.as_ref()?)
    }

    /// The newest of the earlier revisions that were read and have the mesh tag.
    pub fn tagged_before(&self, arn: &TaskDefinitionArn) -> Option<&Arc<TaskDefinition>> {
        let read = self.0.values().filter_map(|read| read.as_ref().ok());
        let earlier = read.filter(|it| it.arn.is_before(arn) && it.tags.get(MESH_TAG) == Some("true"));
        earlier.max_by_key(|it| it.arn.revision_number())
    }

    /// The revisions before those that run consul-ecs and have no mesh tag, which they may have lost, unless they were read.
    pub(crate) fn before_untagged(&self) -> Vec<TaskDefinitionArn> {
        let read = self.0.values().filter_map(|read| read.as_ref().ok());
        let previous = read.filter(|it| it.is_untagged()).filter_map(|it| it.arn.previous());
        previous.filter(|arn| !self.0.contains_key(arn)).collect()
    }

    /// Adds other definitions.
    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Why definitions could not be read.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &CallError> {
        self.0.values().filter_map(|read| read.as_ref().err())
    }

    /// The classification of a described task, if these were its tags. A task without a task definition is outside the mesh.
    ///
    /// # Errors
    /// The definition could not be read, or ECS has deleted it.
    pub(crate) fn classify_task(
        &self,
        task: &DescribedTask,
        tags: &Tags,
        default_tenancy: &Tenancy,
        settings: TokenSettings<'_>,
    ) -> Result<Classification, CallError> {
        match &task.definition {
            Some(arn) => self.classify(arn, Some(tags), default_tenancy, settings),
            None => Ok(Classification::Outside),
        }
    }

    /// The classification of a task of the definition with `tags`; `None`: ECS does not describe the task. Without
    /// Enterprise tags its tenancy is `default_tenancy`.
    ///
    /// # Errors
    /// The definition could not be read, or ECS has deleted it.
    pub(crate) fn classify(
        &self,
        arn: &TaskDefinitionArn,
        tags: Option<&Tags>,
        default_tenancy: &Tenancy,
        settings: TokenSettings<'_>,
    ) -> Result<Classification, CallError> {
        match self.0.get(arn) {
            Some(Ok(definition)) => Ok(definition.classify(tags, default_tenancy, settings)),
            Some(Err(error)) => Err(error.clone()),
            None => {
                let (subject, reason) = (format!("task definition {arn}"), "it was not read".to_owned());
                Err(EcsError::Failed { subject, reason }.into())
            }
        }
    }

    /// Whether the tags of tasks of the definition decide what they are.
    pub(crate) fn needs_task_tags(
        &self,
        arn: &TaskDefinitionArn,
        default_tenancy: &Tenancy,
        settings: TokenSettings<'_>,
    ) -> bool {
        self.get(arn).is_some_and(|definition| definition.needs_task_tags(default_tenancy, settings))
    }
}

impl FromIterator<Arc<TaskDefinition>> for Definitions {
    fn from_iter<I: IntoIterator<Item = Arc<TaskDefinition>>>(read: I) -> Self {
        Self(read.into_iter().map(|definition| (definition.arn.clone(), Ok(definition))).collect())
    }
}
