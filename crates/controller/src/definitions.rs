//! Task definitions as they were read, and the classification of their tasks.

use std::{collections::BTreeMap, sync::Arc};

use aws::ecs::EcsError;
use mesh::{
    arn::TaskDefinitionArn,
    definition::{Losses, TaskDefinition},
    field::InvalidField,
    identity::MeshIdentity,
    secret_reference::SecretReference,
    tags::Tags,
    tenancy::Tenancy,
};

use crate::{error::ControllerError, scope::Scope};

/// A task definition, or why it could not be read.
pub(crate) type ReadDefinition = Result<Arc<TaskDefinition>, Arc<ControllerError>>;

/// The classification of a task.
pub(crate) enum Classification {
    /// It is in the mesh.
    Member(MeshIdentity),
    /// It is not in the mesh.
    Outside,
    /// Its own tags decide, but ECS does not describe the task.
    TagsUnknown,
    /// It is in the mesh, but its tags or its configuration are invalid.
    Invalid(InvalidField),
    /// ECS has deleted its definition.
    DefinitionDeleted(Arc<ControllerError>),
    /// Its definition could not be read.
    DefinitionUnread(Arc<ControllerError>),
}

/// The definitions of some tasks.
pub(crate) struct Definitions {
    scope: Arc<Scope>,
    read: BTreeMap<TaskDefinitionArn, ReadDefinition>,
}

impl Definitions {
    pub(crate) fn new(scope: &Arc<Scope>, read: BTreeMap<TaskDefinitionArn, ReadDefinition>) -> Self {
        Self { scope: Arc::clone(scope), read }
    }

    /// The definition, if it could be read.
    pub(crate) fn get(&self, arn: &TaskDefinitionArn) -> Option<&Arc<TaskDefinition>> {
        self.read.get(arn)?.as_ref().ok()
    }

    /// The classification of a task of the definition with `tags`; `None`: ECS does not describe the task. Without
    /// Enterprise tags its tenancy is `default_tenancy`.
    pub(crate) fn classify(
        &self,
        arn: &TaskDefinitionArn,
        tags: Option<&Tags>,
        default_tenancy: &Tenancy,
    ) -> Classification {
        match self.read.get(arn) {
            Some(Ok(_)) if tags.is_none() && self.needs_task_tags(arn, default_tenancy) => Classification::TagsUnknown,
            Some(Ok(definition)) => {
                let tags = tags.cloned().unwrap_or_default();
                match definition.identify(&tags, default_tenancy, self.scope.tokens()) {
                    Ok(Some(identity)) => Classification::Member(identity),
                    Ok(None) => Classification::Outside,
                    Err(reason) => Classification::Invalid(reason),
                }
            }
            Some(Err(error)) if error.is_unknown_definition() => Classification::DefinitionDeleted(Arc::clone(error)),
            Some(Err(error)) => Classification::DefinitionUnread(Arc::clone(error)),
            None => {
                let (subject, reason) = (format!("task definition {arn}"), "it was not read".to_owned());
                Classification::DefinitionUnread(Arc::new(EcsError::Failed { subject, reason }.into()))
            }
        }
    }

    /// Whether the tags of tasks of the definition decide what they are.
    pub(crate) fn needs_task_tags(&self, arn: &TaskDefinitionArn, default_tenancy: &Tenancy) -> bool {
        self.get(arn).is_some_and(|definition| definition.needs_task_tags(default_tenancy, self.scope.tokens()))
    }

    /// The identities that a task of the definition may have: by its tags, and by those of the definition alone, which
    /// counted if its event came before ECS described the task. A task with invalid tags never had a token.
    pub(crate) fn possible_identities(
        &self,
        arn: &TaskDefinitionArn,
        tags: &Tags,
        default_tenancy: &Tenancy,
    ) -> Vec<MeshIdentity> {
        let identities = [tags, &Tags::default()].map(|tags| self.classify(arn, Some(tags), default_tenancy));
        let members = identities.into_iter().filter_map(|identity| match identity {
            Classification::Member(identity) => Some(identity),
            _ => None,
        });
        members.collect()
    }

    /// The secrets that the containers of the definition's tasks read.
    pub(crate) fn secrets(&self, arn: &TaskDefinitionArn) -> Vec<SecretReference> {
        self.get(arn).map(|definition| definition.secrets.clone()).unwrap_or_default()
    }

    /// What a task of the definition has lost, if these of its containers have stopped.
    pub(crate) fn losses(&self, arn: &TaskDefinitionArn, stopped: &[String]) -> Losses {
        self.get(arn).map(|definition| definition.losses(stopped)).unwrap_or_default()
    }

    /// Whether tasks of the definition run a Consul client agent.
    pub(crate) fn runs_client_agent(&self, arn: &TaskDefinitionArn) -> bool {
        self.get(arn).is_some_and(|definition| definition.runs_client_agent())
    }
}
