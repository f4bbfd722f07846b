//! What a module, and those that it calls, declare: task definitions, and the services that run them.

use std::{collections::BTreeSet, path::PathBuf, rc::Rc, sync::Arc};

use document::{InputProblem, Span};
use terraform::{Block, Callee, Directory, Instance, Module, UnknownCause, values::unknown};

use super::{
    INTEREST,
    blocks::{app_mesh, definition, service},
    consul_ecs,
    roles::Roles,
    targets::{Target, target},
};
use crate::{
    app_mesh::Resources,
    definition::{DECLARE, TaskDefinition, Undeclared, forget_excerpts},
};

/// The end of each note about what the sources do not determine.
pub const CHECK_THE_PLAN: &str =
    "check the plan: terraform plan -out plan.out && terraform show -json plan.out | ecs-mesh check -";

/// What modules declare.
pub(super) struct Declarations<'r> {
    roles: &'r Roles,
    pub(super) found: Vec<Found>,
    /// What could not be read.
    pub(super) problems: Vec<InputProblem>,
    /// What cannot be checked without a plan.
    pub(super) unchecked: Vec<InputProblem>,
    /// The directories of modules that were called, without links.
    pub(super) visited: BTreeSet<PathBuf>,
    /// Resources of App Mesh.
    pub(super) app_mesh: Resources,
    /// Undeclared references of no definition and no resource of App Mesh.
    pub(super) undeclared: Vec<Undeclared>,
    /// Undeclared references of parts that are not checked: only those in checked files count.
    pub(super) undeclared_elsewhere: Vec<Undeclared>,
}

/// A definition, and what services of its module call it.
pub(super) struct Found {
    target: Target,
    /// Whether it is checked. One that is not still shares its family with others of the module.
    pub(super) is_checked: bool,
    pub(super) definition: TaskDefinition,
}

impl<'r> Declarations<'r> {
    pub(super) fn new(roles: &'r Roles) -> Self {
        Self {
            roles,
            found: Vec::new(),
            problems: Vec::new(),
            unchecked: Vec::new(),
            visited: BTreeSet::new(),
            app_mesh: Resources::default(),
            undeclared: Vec::new(),
            undeclared_elsewhere: Vec::new(),
        }
    }

    /// Reads a module. Definitions and calls in files that are not among `checked` are only found.
    pub(super) fn read(&mut self, module: &Module<'_>, checked: Option<&BTreeSet<String>>) {
        let directory = Rc::clone(module.directory());
        let is_checked =
            |block: &Block| checked.is_none_or(|checked| checked.contains(&directory.file(block.file).name));
        let resources =
            |kind: &'static str| directory.resources.iter().filter(move |block| block.label(0) == Some(kind));
        let first = self.found.len();
        for block in resources("aws_ecs_task_definition") {
            self.read_part(is_checked(block), |declarations| declarations.definitions(module, block));
        }
        for call in &directory.calls {
            self.read_part(is_checked(call), |declarations| {
                let ((), undeclared) = with_undeclared(module, || declarations.call(module, call));
                declarations.undeclared.extend(undeclared);
            });
        }
        for block in resources("aws_ecs_service") {
            let (run, undeclared) = with_undeclared(module, || self.service(module, block, first));
            match run.and_then(|run| self.found.get_mut(run)) {
                Some(run) => run.definition.undeclared.extend(undeclared),
                None if is_checked(block) => self.undeclared.extend(undeclared),
                None => self.undeclared_elsewhere.extend(undeclared),
            }
        }
        for block in directory.resources.iter().filter(|block| is_of_app_mesh(block)) {
            // Findings are about the checked files alone, which may refer to resources of the others.
            self.app_mesh.is_partial |= !is_checked(block);
            if is_checked(block) {
                self.app_mesh(module, block);
            }
        }
    }

    /// Adds what `read` adds: of a part that is not checked, only the definitions and the undeclared references.
    fn read_part(&mut self, is_checked: bool, read: impl FnOnce(&mut Self)) {
        if is_checked {
            return read(self);
        }
        let mut part = Self::new(self.roles);
        read(&mut part);
        self.app_mesh.is_partial |= !part.app_mesh.all().is_empty();
        self.found.extend(part.found.into_iter().map(|found| Found { is_checked, ..found }));
        self.undeclared_elsewhere.append(&mut part.undeclared);
        for resource in part.app_mesh.all_mut() {
            self.undeclared_elsewhere.append(&mut resource.undeclared);
        }
    }

    /// Removes the undeclared references that do not count: in excerpts, in parts outside of the `checked` files, and in a root
    /// module without a word of ECS.
    pub(super) fn settle_undeclared(&mut self, directory: &Directory, checked: Option<&BTreeSet<String>>) {
        let of_definitions = self.found.iter_mut().map(|found| &mut found.definition.undeclared);
        let of_mesh = self.app_mesh.all_mut().iter_mut().map(|resource| &mut resource.undeclared);
        let of_none = [&mut self.undeclared, &mut self.undeclared_elsewhere];
        forget_excerpts(of_definitions.chain(of_mesh).chain(of_none));
        for found in self.found.iter_mut().filter(|found| !found.is_checked) {
            self.undeclared_elsewhere.append(&mut found.definition.undeclared);
        }
        let in_checked_file = |one: &Undeclared| checked.is_none_or(|checked| checked.contains(&one.file.name));
        self.undeclared_elsewhere.retain(in_checked_file);
        self.undeclared.append(&mut self.undeclared_elsewhere);
        let is_of_ecs = !self.found.is_empty()
            || !self.app_mesh.all().is_empty()
            || directory.files.iter().any(|file| INTEREST.words.iter().any(|word| file.text.contains(word)));
        if !is_of_ecs {
            self.undeclared.clear();
        }
    }

    /// Reads the instances of a task definition. The first one has the undeclared references of all, because each is met once.
    fn definitions(&mut self, module: &Module<'_>, block: &Block) {
        let first = self.found.len();
        let ((), undeclared) = with_undeclared(module, || {
            for instance in module.instances(block) {
                self.definition(module, block, &instance);
            }
        });
        self.add_undeclared(first, undeclared);
    }

    /// Adds undeclared references to the definition with this index, if there is one.
    fn add_undeclared(&mut self, index: usize, undeclared: Vec<Undeclared>) {
        let owner = self.found.get_mut(index).map(|found| &mut found.definition.undeclared);
        owner.unwrap_or(&mut self.undeclared).extend(undeclared);
    }

    /// Reads the instances of a resource of App Mesh. As with definitions, the first one has the undeclared references.
    fn app_mesh(&mut self, module: &Module<'_>, block: &Block) {
        let (mut resources, undeclared) = with_undeclared(module, || app_mesh(module, block));
        let owner = resources.first_mut().map(|resource| &mut resource.undeclared);
        owner.unwrap_or(&mut self.undeclared).extend(undeclared);
        self.app_mesh.extend(resources);
    }

    fn definition(&mut self, module: &Module<'_>, block: &Block, instance: &Instance) {
        let ((definition, problems), cause) = module.with_cause(|| definition(module, block, instance, self.roles));
        let has_problems = !problems.is_empty();
        self.problems.extend(problems);
        let Some(definition) = definition else { return };
        let is_unknown = definition.containers.items.is_empty() || module.is_provided();
        if is_unknown && !definition.containers.is_complete && !has_problems {
            self.note(&definition, block.name_span(), cause.or_else(|| instance.cause.clone()));
        }
        let name = block.label(1).unwrap_or_default().to_owned();
        self.found.push(Found { target: Target::Resource(name), is_checked: true, definition });
    }

    /// Says that the containers of a definition are not known.
    fn note(&mut self, definition: &TaskDefinition, span: Span, cause: Option<UnknownCause>) {
        let (file, span, because) = match cause {
            Some(cause) => (cause.file, cause.span, format!(" because {}", cause.reason)),
            None => (Arc::clone(&definition.file), span, String::new()),
        };
        let reason = format!("{}: its containers are not known{because}; {CHECK_THE_PLAN}", definition.address);
        self.unchecked.push(InputProblem::at(&file, span, reason));
    }

    fn call(&mut self, module: &Module<'_>, call: &Block) {
        let name = call.label(0).unwrap_or_default();
        match module.callee(call) {
            Callee::Provided => self.provided(module, call),
            Callee::Unread(reason) => self.unread(module, call, &format!("{reason}; ")),
            Callee::Elsewhere(reason) if gets_containers(call) => self.unread(module, call, &format!("{reason}; ")),
            Callee::Elsewhere(_) => self.app_mesh.has_nested_stacks = true,
            Callee::Outside(source) => {
                let reason = format!(
                    "its source {source} is outside the checked directories; add its directory to the paths, or "
                );
                self.unread(module, call, &reason);
            }
            Callee::Directory(path, source) => {
                self.visited.insert(path);
                let callees = module.callees(call, &source);
                callees.iter().flat_map(|callees| callees.iter()).for_each(|called| self.called(&called.module, name));
            }
        }
    }

    /// Reads one of `HashiCorp`'s modules.
    fn provided(&mut self, module: &Module<'_>, call: &Block) {
        let literal = |name: &str| call.body.attribute(name).and_then(|attribute| attribute.expression.literal());
        let called = match literal("source").and_then(|source| consul_ecs::called(source, literal("version"))) {
            Some(Ok(called)) => called,
            Some(Err(reason)) => return self.unread(module, call, &format!("{reason}; ")),
            None => return,
        };
        if called.is_fork {
            let reason = format!("it is a fork of HashiCorp's {} and is checked as the original; ", called.release);
            self.unread(module, call, &reason);
        }
        for instance in module.instances(call) {
            let first = self.found.len();
            // The call declares the definition.
            let (made_by, undeclared) = with_undeclared(module, || {
                let made = called.module(module, call, &instance);
                self.called(&made, call.label(0).unwrap_or_default());
                called.made_by((module, call, &instance), &made)
            });
            self.add_undeclared(first, undeclared);
            for found in self.found.iter_mut().skip(first) {
                found.definition.module = Some(made_by.clone());
            }
        }
    }

    /// Says that a called module is not read: why, and what else to do.
    fn unread(&mut self, module: &Module<'_>, call: &Block, reason: &str) {
        self.app_mesh.has_nested_stacks = true;
        let address = module.address_of(&format!("module.{}", call.label(0).unwrap_or_default()));
        let file = module.directory().file(call.file);
        self.unchecked.push(InputProblem::at(&file, call.name_span(), format!("{address}: {reason}{CHECK_THE_PLAN}")));
    }

    /// Reads what the call `name` leads to.
    fn called(&mut self, module: &Module<'_>, name: &str) {
        let first = self.found.len();
        self.read(module, None);
        for found in self.found.iter_mut().skip(first) {
            found.target = Target::Module(name.to_owned());
        }
    }

    /// Adds a service to the definitions of its module, from the `first` on, that it runs. Returns the index of one of them.
    fn service(&mut self, module: &Module<'_>, block: &Block, first: usize) -> Option<usize> {
        let attribute = block.body.attribute("task_definition")?;
        let family = module.value(attribute).unwrap_or(unknown(block.span));
        let wanted = target(module, attribute, "aws_ecs_task_definition");
        let is_run = |(_, one): &(usize, &mut Found)| match &wanted {
            Some(wanted) => one.target == *wanted,
            None => family.text().is_some() && one.definition.family.text() == family.text(),
        };
        let mut run: Vec<_> = self.found.iter_mut().enumerate().skip(first).filter(is_run).collect();
        // Instances of one resource have one target; a module may declare several definitions.
        let addresses: BTreeSet<&str> =
            run.iter().map(|(_, one)| one.definition.address.split('[').next().unwrap_or_default()).collect();
        if addresses.len() != 1 {
            return None;
        }
        for instance in module.instances(block).into_iter().take(1) {
            let (service, problems) = service(module, block, &instance);
            for (_, one) in &mut run {
                one.definition.services.extend(service.clone());
            }
            self.problems.extend(problems);
        }
        run.first().map(|(index, _)| *index)
    }
}

/// Whether a block is a resource of App Mesh.
fn is_of_app_mesh(block: &Block) -> bool {
    block.label(0).is_some_and(|kind| kind.starts_with("aws_appmesh_"))
}

/// Reads something, and returns also its undeclared references, unless they are known.
fn with_undeclared<T>(module: &Module<'_>, read: impl FnOnce() -> T) -> (T, Vec<Undeclared>) {
    let (value, causes) = module.with_undeclared(read);
    let undeclared = causes.into_iter().map(|UnknownCause { file, span, reason }| Undeclared {
        file,
        span,
        reason,
        help: DECLARE.to_owned(),
        name: String::new(),
        names: Arc::default(),
    });
    (value, undeclared.collect())
}

/// Words in the sources of modules for other clouds, by the names of Terraform's providers:
/// `GoogleCloudPlatform/container-vm/google`, `terraform-azurerm-container-app`. Source:
/// <https://developer.hashicorp.com/terraform/registry/modules/publish>
const OTHER_CLOUDS: [&str; 11] =
    ["alicloud", "azapi", "azure", "azurerm", "digitalocean", "docker", "google", "helm", "ibm", "kubernetes", "oci"];

/// Whether a module from elsewhere may declare task definitions: it gets containers, and not for another cloud.
fn gets_containers(call: &Block) -> bool {
    let source = call.body.attribute("source").and_then(|source| source.expression.literal()).unwrap_or_default();
    let mut words = source.split(|c: char| !c.is_ascii_alphanumeric());
    let is_elsewhere = words.any(|word| OTHER_CLOUDS.iter().any(|cloud| word.eq_ignore_ascii_case(cloud)));
    !is_elsewhere && call.body.attributes.iter().any(|attribute| attribute.name.contains("container"))
}
