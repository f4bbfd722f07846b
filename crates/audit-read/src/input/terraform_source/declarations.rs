//! What a module, and those that it calls, declare: task definitions, and the services that run them.

use std::{collections::BTreeSet, path::PathBuf, rc::Rc, sync::Arc};

use super::{
    blocks::Reader,
    calls::{Callee, callee},
    consul_ecs::{self, Kind, Release},
    frame::Frame,
    instance::Instance,
    instances::instances,
    module::Module,
    resources::{definition, service},
    syntax::Block,
    targets::{Target, target},
    values::unknown,
    world::Cause,
};
use crate::{definition::TaskDefinition, document::Span, input::InputProblem};

/// What to do about what the sources do not determine.
const CHECK_THE_PLAN: &str =
    "check the plan: terraform plan -out plan.out && terraform show -json plan.out | ecs-mesh check -";

/// What modules declare.
#[derive(Default)]
pub(super) struct Declarations {
    pub(super) found: Vec<Found>,
    /// What could not be read.
    pub(super) problems: Vec<InputProblem>,
    /// What cannot be checked without a plan.
    pub(super) unchecked: Vec<InputProblem>,
    /// The directories of modules that were called, without links.
    pub(super) visited: BTreeSet<PathBuf>,
}

/// A definition, and what services of its module call it.
pub(super) struct Found {
    target: Target,
    pub(super) definition: TaskDefinition,
}

impl Declarations {
    /// Reads a module. Definitions and calls in files that are not among `checked` are left out.
    pub(super) fn read(&mut self, module: &Module<'_>, checked: Option<&BTreeSet<String>>) {
        let directory = Rc::clone(&module.directory);
        let is_checked =
            |block: &&Block| checked.is_none_or(|checked| checked.contains(&directory.file(block.file).name));
        let resources =
            |kind: &'static str| directory.resources.iter().filter(move |block| block.label(0) == Some(kind));
        let first = self.found.len();
        for block in resources("aws_ecs_task_definition").filter(is_checked) {
            for instance in instances(module, block, 0) {
                self.definition(module, block, &instance);
            }
        }
        for call in directory.calls.iter().filter(is_checked) {
            self.call(module, call);
        }
        for block in resources("aws_ecs_service") {
            self.service(module, block, first);
        }
    }

    fn definition(&mut self, module: &Module<'_>, block: &Block, instance: &Instance) {
        let (read, cause) = module.world.with_cause(|| definition(module, block, instance));
        match read {
            Ok(definition) => {
                if definition.containers.items.is_empty() && !definition.containers.is_complete {
                    self.note(&definition, block.name_span(), cause.or_else(|| instance.cause.clone()));
                }
                let name = block.label(1).unwrap_or_default().to_owned();
                self.found.push(Found { target: Target::Resource(name), definition });
            }
            Err(problem) => self.problems.push(problem),
        }
    }

    /// Says that the containers of a definition are not known.
    fn note(&mut self, definition: &TaskDefinition, span: Span, cause: Option<Cause>) {
        let (file, span, because) = match cause {
            Some(cause) => (cause.file, cause.span, format!(" because {}", cause.reason)),
            None => (Arc::clone(&definition.file), span, String::new()),
        };
        let reason = format!("{}: its containers are not known{because}; {CHECK_THE_PLAN}", definition.address);
        self.unchecked.push(InputProblem::at(&file, span, reason));
    }

    fn call(&mut self, module: &Module<'_>, call: &Block) {
        let name = call.label(0).unwrap_or_default();
        match callee(module, call) {
            Callee::Irrelevant => {}
            Callee::Unread(reason) => self.unread(module, call, &format!("{reason}; ")),
            Callee::Outside(source) => {
                let reason = format!(
                    "its source {source} is outside of the directories that are checked; add its directory to them, or "
                );
                self.unread(module, call, &reason);
            }
            Callee::ConsulEcs(kind, release) => {
                for instance in instances(module, call, 0) {
                    let reader = Reader { module, block: call, instance: &instance, depth: 0 };
                    self.consul_ecs(&reader, kind, release, name);
                }
            }
            Callee::Directory(path, source) => {
                self.visited.insert(path);
                let callees = module.callees(call, &source, 0);
                for called in callees.iter().flat_map(|callees| callees.iter()) {
                    let first = self.found.len();
                    self.read(&called.module, None);
                    for found in self.found.iter_mut().skip(first) {
                        found.target = Target::Module(name.to_owned());
                    }
                }
            }
        }
    }

    /// Says that a called module is not read: why, and what else to do.
    fn unread(&mut self, module: &Module<'_>, call: &Block, reason: &str) {
        let address = module.address_of(&format!("module.{}", call.label(0).unwrap_or_default()));
        let file = module.directory.file(call.file);
        self.unchecked.push(InputProblem::at(&file, call.name_span(), format!("{address}: {reason}{CHECK_THE_PLAN}")));
    }

    /// Reads what one of `HashiCorp`'s modules makes.
    fn consul_ecs(&mut self, reader: &Reader<'_, '_>, kind: Kind, release: Release, name: &str) {
        let module = reader.module;
        let address = module.address_of(&format!("module.{name}{}", reader.instance.suffix));
        let file = module.directory.file(reader.block.file);
        let made = || consul_ecs::definition(reader, kind, release, address.clone());
        let (definition, cause) = module.world.with_cause(made);
        let mut definition = match definition {
            Ok(definition) => definition,
            Err(mismatch) => return self.problems.push(InputProblem::mismatch(&file, &address, &mismatch)),
        };
        if !definition.containers.is_complete {
            self.note(&definition, reader.block.name_span(), cause);
        }
        match consul_ecs::service(reader, kind, release, format!("{address}.aws_ecs_service.this")) {
            Some(Ok(service)) => definition.services.push(service),
            Some(Err(mismatch)) => self.problems.push(InputProblem::mismatch(&file, &address, &mismatch)),
            None => {}
        }
        self.found.push(Found { target: Target::Module(name.to_owned()), definition });
    }

    /// Adds a service to the definitions of its module, from the `first` on, that it runs.
    fn service(&mut self, module: &Module<'_>, block: &Block, first: usize) {
        let Some(attribute) = block.body.attribute("task_definition") else { return };
        let family = module.evaluate(&attribute.expression, Frame::of(attribute.file)).unwrap_or(unknown(block.span));
        let wanted = target(module, attribute);
        let is_run = |one: &&mut Found| match &wanted {
            Some(wanted) => one.target == *wanted,
            None => family.text().is_some() && one.definition.family.text() == family.text(),
        };
        let mut run: Vec<&mut Found> = self.found.iter_mut().skip(first).filter(is_run).collect();
        // Instances of one resource have one target; a module may declare several definitions.
        let addresses: BTreeSet<&str> =
            run.iter().map(|one| one.definition.address.split('[').next().unwrap_or_default()).collect();
        if addresses.len() != 1 {
            return;
        }
        for instance in instances(module, block, 0).into_iter().take(1) {
            match service(module, block, &instance) {
                Ok(service) => run.iter_mut().for_each(|one| one.definition.services.push(service.clone())),
                Err(problem) => self.problems.push(problem),
            }
        }
    }
}
