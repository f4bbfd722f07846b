//! Which tasks and ECS services of a cluster are in the mesh, and which are controllers of it.

use std::{collections::BTreeMap, sync::Arc};

use aws::ecs::{DefinitionState, ServiceState, TaskState};
use mesh::{
    arn::TaskDefinitionArn, identity::MeshIdentity, phase::TaskPhase, required::TokenRules, secret_name::SecretNames,
    tags::Tags, token_mode::TokenMode,
};

use crate::{
    observed::{Member, MemberService, OtherController, OutsideService, OutsideTask, RunsAs},
    scope::Scope,
    token_source::TokenSource,
};

/// Where a task or an ECS service belongs.
pub(crate) enum Sorted<M, O> {
    /// It is in the mesh.
    InMesh(M),
    /// It is not.
    Outside(O),
    /// It is not known: its definition could not be read, or is not valid. The reason is among the problems.
    Unknown(O),
}

/// Sorts tasks and ECS services into those of the mesh and others.
pub(crate) struct Sorter<'a> {
    pub(crate) scope: &'a Scope,
    /// The names of secrets beside the cluster.
    pub(crate) names: Option<&'a SecretNames>,
    /// The definitions that could be read.
    pub(crate) definitions: BTreeMap<TaskDefinitionArn, Arc<DefinitionState>>,
    /// Gets what is wrong with definitions.
    pub(crate) problems: &'a mut Vec<String>,
}

/// It is not known whether something is in the mesh. The reason is among the problems.
struct Unidentified;

impl Sorter<'_> {
    /// A task of the mesh, or one outside of it.
    pub(crate) fn task(&mut self, state: TaskState) -> Sorted<Member, OutsideTask> {
        let definition = self.definitions.get(&state.task.definition).cloned();
        let Some(definition) = definition else { return Sorted::Unknown(OutsideTask { state, definition: None }) };
        let is_enterprise = self.scope.default_tenancy.partition().is_some();
        match self.identify(&definition, &state.task.tags) {
            Ok(Some((identity, token))) => {
                Sorted::InMesh(Member { state, service: identity.service, definition, token, is_enterprise })
            }
            Ok(None) => Sorted::Outside(OutsideTask { state, definition: Some(definition) }),
            Err(Unidentified) => Sorted::Unknown(OutsideTask { state, definition: Some(definition) }),
        }
    }

    /// An ECS service is in the mesh if its tasks are, or if its definition is.
    pub(crate) fn service(&mut self, state: ServiceState, tasks: &[Member]) -> Sorted<MemberService, OutsideService> {
        let is_its = |member: &&Member| member.state.task.placement.service.as_ref() == Some(&state.name);
        let definition = state.definition.as_ref().and_then(|arn| self.definitions.get(arn)).cloned();
        if let Some(member) = tasks.iter().find(is_its) {
            let (service, token) = (member.service.clone(), member.token.clone());
            return Sorted::InMesh(MemberService { state, service, definition, token });
        }
        match definition.as_ref().map(|definition| self.identify(definition, &Tags::default())) {
            Some(Ok(Some((identity, token)))) => {
                Sorted::InMesh(MemberService { state, service: identity.service, definition, token })
            }
            Some(Ok(None)) => Sorted::Outside(OutsideService { state, definition }),
            Some(Err(Unidentified)) | None => Sorted::Unknown(OutsideService { state, definition }),
        }
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

/// The controllers of consul-ecs that run, or that a service wants to run.
pub(crate) fn controllers(
    tasks: &[TaskState],
    services: &[ServiceState],
    definitions: &BTreeMap<TaskDefinitionArn, Arc<DefinitionState>>,
) -> Vec<OtherController> {
    let image = |definition: &TaskDefinitionArn| {
        let state = definitions.get(definition)?;
        state.images.get(state.definition.programs.controller.as_ref()?).cloned()
    };
    let wanted = services.iter().filter(|service| service.desired > 0).filter_map(|service| {
        let image = image(service.definition.as_ref()?)?;
        Some(OtherController { runs_as: RunsAs::Service(service.name.clone()), image })
    });
    let running = tasks.iter().filter(|state| state.task.phase == TaskPhase::Active).filter_map(|state| {
        let runs_as = match &state.task.placement.service {
            Some(service) => RunsAs::Service(service.clone()),
            None => RunsAs::Task(state.task.arn.id().clone()),
        };
        Some(OtherController { runs_as, image: image(&state.task.definition)? })
    });
    // A service may run several tasks, of several images during a deployment.
    let mut found: Vec<OtherController> = wanted.chain(running).collect();
    found.sort();
    found.dedup_by(|a, b| a.runs_as == b.runs_as);
    found
}
