//! What a module, and those that it calls, declare: task definitions, and the services that run them.

use std::{collections::BTreeSet, path::PathBuf, rc::Rc, sync::Arc};

use document::{HOLE, InputProblem, Node, ParseError, Place, Span, Value, embedded_json};
use terraform::{
    Attribute, Block, Callee, Instance, Module, Reader, UnknownCause,
    values::{closed, unknown},
};

use super::{
    consul_ecs,
    roles::Roles,
    targets::{Target, target},
};
use crate::{
    app_mesh::{Presence, Resource, Resources},
    definition::{DECLARE, Dialect, ModuleCall, ServiceUse, TaskDefinition, Undeclared, service_use},
    input::{
        terraform_app_mesh,
        terraform_attributes::{definition_node, service_node},
    },
};

/// What to do about what the sources do not determine.
const CHECK_THE_PLAN: &str =
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
            self.read_part(is_checked(block), |declarations| {
                for instance in module.instances(block) {
                    declarations.definition(module, block, &instance);
                }
            });
        }
        for call in &directory.calls {
            self.read_part(is_checked(call), |declarations| declarations.call(module, call));
        }
        for block in resources("aws_ecs_service") {
            self.service(module, block, first);
        }
        for block in directory.resources.iter().filter(|block| is_of_app_mesh(block)) {
            // Findings are about the checked files alone, which may refer to resources of the others.
            self.app_mesh.is_partial |= !is_checked(block);
            if is_checked(block) {
                self.app_mesh.extend(app_mesh(module, block));
            }
        }
    }

    /// Adds what `read` adds: of a part that is not checked, only the definitions.
    fn read_part(&mut self, is_checked: bool, read: impl FnOnce(&mut Self)) {
        if is_checked {
            return read(self);
        }
        let mut part = Self::new(self.roles);
        read(&mut part);
        self.app_mesh.is_partial |= !part.app_mesh.all().is_empty();
        self.found.extend(part.found.into_iter().map(|found| Found { is_checked, ..found }));
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
            let made = called.module(module, call, &instance);
            self.called(&made, call.label(0).unwrap_or_default());
            let made_by = called.made_by((module, call, &instance), &made);
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

    /// Adds a service to the definitions of its module, from the `first` on, that it runs.
    fn service(&mut self, module: &Module<'_>, block: &Block, first: usize) {
        let Some(attribute) = block.body.attribute("task_definition") else { return };
        let family = module.value(attribute).unwrap_or(unknown(block.span));
        let wanted = target(module, attribute, "aws_ecs_task_definition");
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
        for instance in module.instances(block).into_iter().take(1) {
            let (service, problems) = service(module, block, &instance);
            for one in &mut run {
                one.definition.services.extend(service.clone());
            }
            if let Some(first) = run.first_mut() {
                first.definition.undeclared.extend(undeclared(module));
            }
            self.problems.extend(problems);
        }
    }
}

/// Whether a block is a resource of App Mesh.
fn is_of_app_mesh(block: &Block) -> bool {
    block.label(0).is_some_and(|kind| kind.starts_with("aws_appmesh_"))
}

/// The instances of a resource of App Mesh.
fn app_mesh(module: &Module<'_>, block: &Block) -> Vec<Resource> {
    let file = module.directory().file(block.file);
    let names = ["name", "mesh_name", "mesh_owner", "virtual_router_name", "virtual_gateway_name"];
    // One of another region is in another mesh of the same name.
    let has_instances =
        ["count", "for_each", "provider", "region"].iter().any(|name| block.body.attribute(name).is_some());
    let read = |instance: &Instance| {
        let values = module.reader(block, instance).values(&names, &["spec"]);
        let (kind, address) = (block.label(0)?, address(module, block, instance));
        let resource = terraform_app_mesh::read(&file, kind, &address, &values, block.name_span(), false)?;
        let presence = if has_instances { Presence::Conditional } else { resource.presence };
        Some(Resource { presence, undeclared: undeclared(module), ..resource })
    };
    module.instances(block).iter().filter_map(read).collect()
}

/// What was read, and the problems with values that count as unknown.
type Read<T> = (Option<T>, Vec<InputProblem>);

/// Reads an instance of a task definition.
fn definition(module: &Module<'_>, block: &Block, instance: &Instance, roles: &Roles) -> Read<TaskDefinition> {
    let file = module.directory().file(block.file);
    // A HashiCorp module makes one definition, which is known by the address of its call.
    let address = if module.is_provided() { module.address().to_owned() } else { address(module, block, instance) };
    let reader = module.reader(block, instance);
    let mut problems = Vec::new();
    let containers = containers(module, reader).unwrap_or_else(|error| {
        problems.push(InputProblem::at(&file, error.span, format!("{address}: {}", error.reason)));
        unknown(error.span)
    });
    let names = [
        "family",
        "network_mode",
        "cpu",
        "memory",
        "pid_mode",
        "ipc_mode",
        "task_role_arn",
        "execution_role_arn",
        "requires_compatibilities",
        "tags",
    ];
    let values = reader.values(&names, &["volume", "proxy_configuration", "runtime_platform"]);
    let values = module.tagged(values);
    let place = Place::fixed(block.name_span());
    let is_set = |attribute: &str| Some(block.body.attribute(attribute).is_some());
    let node = definition_node(&values, &place, containers, &is_set);
    let (read, mismatches) = TaskDefinition::read(file.clone(), address.clone(), &node, Dialect::Terraform);
    problems.extend(mismatches.iter().map(|mismatch| mismatch.problem(&file, &address)));
    let role = |name| block.body.attribute(name).and_then(|attribute| roles.role(module, attribute));
    let (declared_role, declared_execution_role) = (role("task_role_arn"), role("execution_role_arn"));
    let created_by = (!module.is_repeated(block)).then(|| module.root_path().to_string_lossy().into_owned());
    let call = module.call().map(|call| {
        Arc::new(ModuleCall { module: call.module.clone(), file: Arc::clone(&call.file), span: call.span })
    });
    let undeclared = undeclared(module);
    let read = read.map(|read| TaskDefinition {
        call,
        created_by,
        declared_role,
        declared_execution_role,
        undeclared,
        ..read
    });
    (read, problems)
}

/// The undeclared references since the last call.
pub(super) fn undeclared(module: &Module<'_>) -> Vec<Undeclared> {
    let of_cause = |UnknownCause { file, span, reason }| Undeclared {
        file,
        span,
        reason,
        help: DECLARE.to_owned(),
        names: Arc::default(),
    };
    module.take_undeclared().into_iter().map(of_cause).collect()
}

/// Reads an instance of a service.
fn service(module: &Module<'_>, block: &Block, instance: &Instance) -> Read<ServiceUse> {
    let reader = module.reader(block, instance);
    let blocks = [
        "capacity_provider_strategy",
        "deployment_configuration",
        "deployment_controller",
        "load_balancer",
        "network_configuration",
        "ordered_placement_strategy",
        "placement_constraints",
    ];
    let names = [
        "name",
        "cluster",
        "propagate_tags",
        "launch_type",
        "scheduling_strategy",
        "enable_execute_command",
        "iam_role",
        "platform_version",
        "deployment_minimum_healthy_percent",
        "deployment_maximum_percent",
        "tags",
    ];
    let values = reader.values(&names, &blocks);
    let values = module.tagged(values);
    let node = service_node(&values, &Place::fixed(block.name_span()));
    let file = module.directory().file(block.file);
    let (service, mismatches) = service_use(file.clone(), address(module, block, instance), &node, Dialect::Terraform);
    let service = service.map(|service| service.with_target_types(target_types(module, block)));
    (service, mismatches.iter().map(|mismatch| mismatch.problem(&file, "")).collect())
}

/// The type of the targets of each load balancer of a service, whose target groups the module declares.
fn target_types(module: &Module<'_>, service: &Block) -> Vec<Option<String>> {
    let of_balancer = |balancer: &Block| {
        let arn = balancer.body.attribute("target_group_arn")?;
        let Target::Resource(name) = target(module, arn, "aws_lb_target_group")? else { return None };
        let is_it =
            |block: &&Block| block.label(0) == Some("aws_lb_target_group") && block.label(1) == Some(name.as_str());
        let group = module.directory().resources.iter().find(is_it)?;
        match group.body.attribute("target_type") {
            None => Some("instance".to_owned()),
            Some(kind) => kind.expression.literal().map(str::to_owned),
        }
    };
    service.body.blocks("load_balancer").map(of_balancer).collect()
}

/// The address of an instance: `module.web.aws_ecs_task_definition.this[0]`.
fn address(module: &Module<'_>, block: &Block, instance: &Instance) -> String {
    let labels: Vec<&str> = block.labels.iter().map(|label| label.text.as_str()).collect();
    module.address_of(&format!("{}{}", labels.join("."), instance.suffix))
}

/// The containers. Edits reach those that are written as the argument of `jsonencode`.
fn containers(module: &Module<'_>, reader: Reader<'_>) -> Result<Node, ParseError> {
    let Some(attribute) = reader.block().body.attribute("container_definitions") else {
        return Ok(reader.unknown("it has no container_definitions"));
    };
    if let Some(argument) = attribute.expression.encoded() {
        return Ok(closed(reader.value(&Attribute { expression: argument, ..attribute.clone() })));
    }
    let value = reader.value(attribute);
    if matches!(value.value, Value::List(_)) && !module.is_provided() {
        let reason = "container_definitions: a list where JSON in a string is expected; write jsonencode([…])";
        return Err(ParseError::new(value.place.span, reason));
    }
    let Value::Text(text) = &value.value else { return Ok(value) };
    let file = module.directory().file(reader.block().file);
    let route = value.place.route.clone().filter(|_| attribute.expression.is_json());
    match embedded_json(&file.text, &Node { place: Place { route, ..value.place.clone() }, ..value.clone() }) {
        Ok(containers) => Ok(containers),
        // An unknown part may be more than a value.
        Err(_) if text.contains(HOLE) => Ok(unknown(value.place.span)),
        Err(error) => Err(ParseError::new(error.span, format!("container_definitions: {}", error.reason))),
    }
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
