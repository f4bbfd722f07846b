//! Injection: the edits that add the containers of Consul's mesh to a plain task definition.

mod app_mesh;
mod containers;
mod options;

use serde_json::{Value, json};

pub use self::options::{Images, InjectError, Options, Upstream};
use audit_read::{
    app_mesh::Resources,
    definition::{Container, DEFAULT_STOP_TIMEOUT, Dependency, Dialect, Field, List, Maybe, TaskDefinition},
};
use document::{HOLE, PathStep, Place, edit::Edit, parse_all};

use super::{
    draft::{Fix, NEEDS_SUBNETS},
    rules::platform::windows,
    severity::Severity,
    subject::{AppMeshTask, MeshResource, Subject},
};
use mesh::{
    consul_ecs::{MESH_TAG, SERVICE_NAME_TAG},
    names::ServiceName,
};

/// The volumes that the containers of HashiCorp's modules mount.
const VOLUMES: [&str; 2] = ["consul_data", "consul_binary"];

/// What is added to a definition, derived from its content.
struct Plan<'d> {
    definition: &'d TaskDefinition,
    options: &'d Options,
    /// The containers that stay.
    apps: Vec<&'d Container>,
    /// Envoy of App Mesh, which is removed.
    envoy: Option<&'d Container>,
    /// The virtual node that Envoy represents.
    represented: Option<MeshResource<'d>>,
    service: ServiceName,
    port: u64,
    /// The containers with a health check by ECS that is copied to Consul.
    checked: Vec<String>,
    logging: Logging,
    /// Whether each container needs an amount of memory: the task has none.
    needs_memory: bool,
    /// The stop timeout that the proxy needs to outlive the apps, if it is longer than ECS's default.
    stop_timeout: Option<u64>,
}

/// What an injection changes, and what to say about it.
#[derive(Debug)]
pub struct Injection {
    pub edits: Vec<Edit>,
    pub notes: Vec<(Severity, String)>,
}

/// The edits that make a plain definition, or one of App Mesh, one of Consul's mesh. `resources` are App Mesh's in the
/// same file.
///
/// # Errors
/// It is in Consul's mesh already, a value that is needed is known only at deployment, or the definition lacks a value that
/// has no default: a port, a role.
pub fn inject(definition: &TaskDefinition, resources: &Resources, options: &Options) -> Result<Injection, InjectError> {
    let plan = Plan::new(definition, options)?;
    let (waits, containers) = plan.containers()?;
    let mut edits = plan.of_the_task()?;
    for app in &plan.apps {
        edits.extend(of_an_app(app, &waits)?);
    }
    for container in containers {
        edits.extend(possible(Fix::append(&definition.containers, container), "containerDefinitions")?);
    }
    let mut notes = plan.notes();
    // Last, because a removal moves the items after it.
    plan.remove_app_mesh(&mut edits, &mut notes)?;
    if let Some(envoy) = plan.represented {
        notes.extend(app_mesh::notes(resources, &definition.file, envoy, &plan.service));
    }
    Ok(Injection { edits, notes })
}

impl<'d> Plan<'d> {
    fn new(definition: &'d TaskDefinition, options: &'d Options) -> Result<Self, InjectError> {
        if definition.is_synthesised {
            return Err(InjectError::Synthesised(definition.label()));
        }
        if definition.dialect == Dialect::Terraform {
            return Err(InjectError::TerraformSource(definition.label()));
        }
        options.check_hosts()?;
        if let Some(system) = windows(definition) {
            return Err(InjectError::Windows(system.to_owned()));
        }
        if definition.requires_compatibilities.items.iter().any(|item| item.text() == Some("EXTERNAL")) {
            return Err(InjectError::External);
        }
        let subject = Subject::new(definition);
        if subject.consul.is_some() {
            return Err(InjectError::InAMesh(definition.label()));
        }
        let envoy = subject.app_mesh.as_ref().and_then(|app_mesh| app_mesh.envoy);
        if subject.app_mesh.as_ref().is_some_and(|app_mesh| app_mesh.is_gateway) {
            return Err(InjectError::VirtualGateway(definition.label()));
        }
        if !definition.containers.is_complete || definition.containers.items.is_empty() {
            return Err(InjectError::Unknown("containerDefinitions"));
        }
        if definition.execution_role.is_absent() && options.ca_secret.is_some() {
            return Err(InjectError::NoExecutionRole);
        }
        if definition.task_role.is_absent() && options.task_role.is_none() && options.acls {
            return Err(InjectError::NoTaskRole);
        }
        let is_envoy = |container: &Container| envoy.is_some_and(|envoy| std::ptr::eq(envoy, container));
        let apps: Vec<&Container> = definition.containers.items.iter().filter(|app| !is_envoy(app)).collect();
        if let Some((app, (property, _))) = apps.iter().find_map(|app| Some((app, app.bridge_properties().next()?))) {
            return Err(InjectError::OfBridge { container: app.label(), property });
        }
        let (logging, needs_memory) = in_the_file(definition, &apps)?;
        let longest = apps.iter().filter_map(|app| app.stop_timeout.known()).max().copied();
        Ok(Self {
            definition,
            options,
            service: service_name(definition, options)?,
            port: port(&apps, options)?,
            checked: apps.iter().filter(|app| is_checked(app)).map(|app| app.label()).collect(),
            envoy,
            represented: subject.app_mesh.as_ref().and_then(AppMeshTask::resource),
            apps,
            logging,
            needs_memory,
            stop_timeout: longest.filter(|longest| *longest > DEFAULT_STOP_TIMEOUT),
        })
    }

    /// Network mode, volumes, role and tags.
    fn of_the_task(&self) -> Result<Vec<Edit>, InjectError> {
        let definition = self.definition;
        let mut edits = Vec::new();
        if definition.network_mode.text() != Some("awsvpc") {
            edits.extend(possible(Fix::set(&definition.network_mode.place, "awsvpc"), "networkMode")?);
        }
        if let Some(role) = self.options.task_role.as_ref().filter(|_| definition.task_role.is_absent()) {
            edits.extend(possible(Fix::set(&definition.task_role.place, role.as_str()), "taskRoleArn")?);
        }
        let volumes = VOLUMES.map(|name| json!({ "name": name })).to_vec();
        edits.extend(add_all(&definition.volumes, volumes, "volumes")?);
        let mut tags = vec![(MESH_TAG, "true"), (SERVICE_NAME_TAG, self.service.as_str())];
        tags.retain(|(key, _)| matches!(definition.tag(key), Maybe::Absent));
        let tags = tags.into_iter().map(|(key, value)| json!({ "key": key, "value": value })).collect();
        edits.extend(add_all(&definition.tags, tags, "tags")?);
        Ok(edits)
    }

    fn notes(&self) -> Vec<(Severity, String)> {
        let mut notes = Vec::new();
        if self.definition.network_mode.text() != Some("awsvpc") {
            notes.push((Severity::Info, NEEDS_SUBNETS.to_owned()));
        }
        if self.logging.configuration.is_none() {
            let firelens =
                if self.logging.has_firelens { " that they can use (awsfirelens is not copied)" } else { "" };
            let none = format!("the mesh's containers get no logConfiguration: no app container has one{firelens}");
            notes.push((Severity::Info, none));
        }
        notes
    }

    /// Removes Envoy, what redirects traffic to it, and what waits for it.
    fn remove_app_mesh(&self, edits: &mut Vec<Edit>, notes: &mut Vec<(Severity, String)>) -> Result<(), InjectError> {
        let mut remove = |place: &Place, what: String| -> Result<(), InjectError> {
            edits.extend(possible(Fix::remove(place), "proxyConfiguration")?);
            notes.push((Severity::Info, format!("removed {what}")));
            Ok(())
        };
        if !self.definition.proxy.is_absent() {
            remove(&self.definition.proxy.place, "proxyConfiguration".to_owned())?;
        }
        let Some(envoy) = self.envoy else { return Ok(()) };
        for app in &self.apps {
            let on_envoy = |wait: &&Dependency| wait.container.text().is_some_and(|name| envoy.is_called(name));
            for wait in app.depends_on.items.iter().rev().filter(on_envoy) {
                remove(&wait.place, format!("the dependency of {} on {}", app.label(), envoy.label()))?;
            }
        }
        remove(&envoy.place, format!("the container {}", envoy.label()))
    }
}

/// An app waits for the mesh's containers. A log router does not: the logs of a proxy that does not start are wanted too.
fn of_an_app(app: &Container, waits: &[Value]) -> Result<Vec<Edit>, InjectError> {
    let waits = if app.fire_lens.is_absent() { waits.to_vec() } else { Vec::new() };
    let mut edits = add_all(&app.depends_on, waits, "dependsOn")?;
    // In awsvpc mode, a host port equals the container's port or is absent.
    for mapping in &app.port_mappings.items {
        let differs =
            matches!((mapping.host_port.known(), mapping.container_port.known()), (Some(h), Some(c)) if h != c);
        if differs {
            edits.extend(possible(Fix::remove(&mapping.host_port.place), "hostPort")?);
        }
    }
    Ok(edits)
}

/// The log configuration of the apps.
struct Logging {
    /// That of the first essential container that has one, otherwise of the first other one, as the file spells it: with its
    /// intrinsic functions. None of a log router, nor of the router's own container, which logs for itself.
    configuration: Option<Value>,
    /// Whether an app sends its logs to a log router.
    has_firelens: bool,
}

/// The log configuration, and whether the task lacks an amount of memory. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html>
///
/// # Errors
/// The file does not parse.
fn in_the_file(definition: &TaskDefinition, apps: &[&Container]) -> Result<(Logging, bool), InjectError> {
    let (_, documents) = parse_all(&definition.file).map_err(|error| InjectError::Notation(error.to_string()))?;
    let at = |place: &Place, key: &str| {
        let mut steps = place.route.as_ref()?.steps();
        steps.push(PathStep::Key(definition.dialect.spell(key)));
        let (document, steps) = match steps.as_slice() {
            [PathStep::Document(index), steps @ ..] => (*index, steps),
            steps => (0, steps),
        };
        Some(documents.get(document)?.at(steps)?.json())
    };
    let mut has_firelens = false;
    let mut of = |container: &Container| {
        let json = at(&container.place, "logConfiguration")?;
        if json.is_null() || json.to_string().contains(HOLE) {
            return None;
        }
        let driver = json.get(definition.dialect.spell("logDriver")).and_then(Value::as_str);
        let is_firelens = driver == Some("awsfirelens");
        has_firelens |= is_firelens;
        (!is_firelens).then_some(json)
    };
    let apps = apps.iter().filter(|container| container.fire_lens.is_absent());
    let (essential, others): (Vec<&Container>, Vec<&Container>) =
        apps.partition(|container| container.is_essential() == Some(true));
    let configuration = essential.into_iter().chain(others).find_map(&mut of);
    Ok((Logging { configuration, has_firelens }, at(&definition.place, "memory").is_none()))
}

fn is_checked(app: &Container) -> bool {
    app.is_essential() == Some(true) && matches!(app.health_check, Field { value: Maybe::Known(_), .. })
}

fn service_name(definition: &TaskDefinition, options: &Options) -> Result<ServiceName, InjectError> {
    if let Some(name) = &options.service_name {
        return Ok(name.clone());
    }
    if let Maybe::Known(tag) = definition.tag(SERVICE_NAME_TAG) {
        let name = tag.value.text().ok_or(InjectError::Unknown(SERVICE_NAME_TAG))?;
        return name.parse().map_err(InjectError::ServiceName);
    }
    let family = definition.family.text().ok_or(InjectError::NoFamily)?;
    ServiceName::from_family(family).map_err(InjectError::ServiceName)
}

/// The port of the app: the only TCP port that its containers map.
fn port(apps: &[&Container], options: &Options) -> Result<u64, InjectError> {
    if let Some(port) = options.port {
        return Ok(port.into());
    }
    let mappings = apps.iter().flat_map(|container| &container.port_mappings.items);
    let tcp = mappings.filter(|mapping| mapping.protocol.text() != Some("udp"));
    let ports: Vec<u64> = tcp.filter_map(|mapping| mapping.container_port.known().copied()).collect();
    match ports.as_slice() {
        [port] => Ok(*port),
        [] => Err(InjectError::NoPort),
        _ => Err(InjectError::SeveralPorts(ports)),
    }
}

/// The edits that add `items` to `list`: one by one to an existing list, otherwise all at once.
fn add_all<T>(list: &List<T>, items: Vec<Value>, what: &'static str) -> Result<Vec<Edit>, InjectError> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    if !list.is_present {
        return possible(Fix::set(&list.place, Value::Array(items)), what);
    }
    let edits = items.into_iter().map(|item| possible(Fix::append(list, item), what));
    Ok(edits.collect::<Result<Vec<_>, _>>()?.concat())
}

fn possible(fix: Option<Fix>, what: &'static str) -> Result<Vec<Edit>, InjectError> {
    fix.map(|fix| fix.edits).ok_or(InjectError::Unknown(what))
}

#[cfg(test)]
mod tests;
