//! Which tasks and ECS services are in the mesh.

use std::{collections::BTreeMap, sync::Arc};

use aws::ecs::{DefinitionState, ServiceState, TaskState};
use mesh::{
    arn::TaskDefinitionArn, identity::MeshIdentity, required::TokenRules, secret_name::SecretNames, tags::Tags,
    token_mode::TokenMode,
};

use crate::{
    observed::{Member, MemberService},
    scope::Scope,
    token_source::TokenSource,
};

/// Sorts tasks and ECS services into those of the mesh and others.
pub(crate) struct Sorter<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) names: Option<&'a SecretNames>,
    pub(crate) definitions: BTreeMap<TaskDefinitionArn, Arc<DefinitionState>>,
    pub(crate) problems: &'a mut Vec<String>,
}

/// What a task is.
pub(crate) enum Sorted {
    Member(Box<Member>),
    /// It is outside the mesh.
    Other,
    /// Its definition could not be read.
    Unknown,
}

/// It is not known whether something is in the mesh. The reason is among the problems.
struct Unidentified;

impl Sorter<'_> {
    pub(crate) fn task(&mut self, state: TaskState) -> Sorted {
        let Some(definition) = self.definitions.get(&state.task.definition).cloned() else { return Sorted::Unknown };
        let is_enterprise = self.scope.default_tenancy.partition().is_some();
        match self.identify(&definition, &state.task.tags) {
            Ok(Some((identity, token))) => {
                let service = identity.service;
                Sorted::Member(Box::new(Member { state, service, definition, token, is_enterprise }))
            }
            Ok(None) => Sorted::Other,
            Err(Unidentified) => Sorted::Unknown,
        }
    }

    /// An ECS service is in the mesh if its tasks are, or if its definition is.
    pub(crate) fn service(&mut self, state: ServiceState, tasks: &[Member]) -> Option<MemberService> {
        let is_its = |member: &&Member| member.state.task.placement.service.as_ref() == Some(&state.name);
        let definition = state.definition.as_ref().and_then(|arn| self.definitions.get(arn)).cloned();
        if let Some(member) = tasks.iter().find(is_its) {
            let (service, token) = (member.service.clone(), member.token.clone());
            return Some(MemberService { state, service, definition, token });
        }
        let (identity, token) = self.identify(definition.as_ref()?, &Tags::default()).ok()??;
        Some(MemberService { state, service: identity.service, definition, token })
    }

    fn identify(
        &mut self,
        state: &DefinitionState,
        tags: &Tags,
    ) -> Result<Option<(MeshIdentity, TokenSource)>, Unidentified> {
        let rules = TokenRules { mode: TokenMode::Auto, names: self.names.ok_or(Unidentified)? };
        match state.definition.identify(tags, &self.scope.default_tenancy, rules) {
            Ok(identity) => Ok(identity.map(|identity| (identity.clone(), TokenSource::of(state, &identity, rules)))),
            Err(invalid) => {
                let problem = format!("task definition {}: {invalid}", state.definition.arn);
                if !self.problems.contains(&problem) {
                    self.problems.push(problem);
                }
                Err(Unidentified)
            }
        }
    }
}
