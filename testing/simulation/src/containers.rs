//! The containers of tasks. `mesh-init` registers its task and exits. The app may fail its health check, or be restarted by its
//! `restartPolicy`; the proxy or `health-sync` may stop while the task runs, which ECS reports by an event. The container with a
//! client agent does none of this.

use std::net::Ipv4Addr;

use mesh::{
    consul_ecs::{
        CONFIG_VARIABLE, MeshConfig, Programs, Registrar, RegistrarContainer, Registration, TaskPlace,
        names::{DATAPLANE, HEALTH_SYNC, MESH_INIT},
        registrations,
    },
    definition::ContainerDefinition,
    task::{ContainerHealth, DescribedTask, Placement, TaskContainer},
    tenancy::Tenancy,
};
use mesh_examples::{container, exited};
use serde_json::{Value, json};

use super::{
    admission::{HOST, login_config},
    ecs::Task,
    hosts::container_instance,
    task_lifecycle::TaskStatus,
    world::{World, note, service_name},
};

pub(crate) const APP: &str = "app";

/// The containers of a task at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Containers {
    /// Whether the app fails its health check.
    pub is_unhealthy: bool,
    /// Whether the proxy has stopped.
    pub has_lost_proxy: bool,
    /// Whether `health-sync` has stopped.
    pub has_lost_sync: bool,
    /// Whether an answer of ECS does not tell the health of what runs.
    pub is_hidden: bool,
}

impl Containers {
    /// The containers as an answer of ECS shows them.
    pub(crate) fn shown(task: &DescribedTask) -> Self {
        let is_stopped = |name: &str| task.container(name).is_some_and(|container| container.is_stopped);
        Self {
            is_unhealthy: task.container(APP).is_some_and(|app| app.health == ContainerHealth::Unhealthy),
            has_lost_proxy: is_stopped(DATAPLANE),
            has_lost_sync: is_stopped(HEALTH_SYNC),
            is_hidden: task.container(APP).is_some_and(|app| app.health == ContainerHealth::Unknown),
        }
    }
}

/// The configuration of a service's tasks, with the hosts of their Consul.
pub(crate) fn config_json(service: usize, tenancy: &Tenancy, hosts: &str) -> String {
    let mut service = json!({ "name": service_name(service).as_str(), "port": 8080 });
    if let Tenancy::Enterprise { partition, namespace } = tenancy {
        service["partition"] = partition.as_str().into();
        service["namespace"] = namespace.as_str().into();
    }
    let mut config = json!({
        "service": service,
        "proxy": {},
        "transparentProxy": { "enabled": false },
        "healthSyncContainers": [APP],
    });
    for (field, value) in login_config(hosts) {
        config[field] = value;
    }
    config.to_string()
}

/// The names of the containers of a definition, one of them with a client agent.
pub(crate) fn names(agent: Option<&'static str>) -> Vec<ContainerDefinition> {
    let own = if agent.is_some() { &[APP, DATAPLANE][..] } else { &[APP, DATAPLANE, HEALTH_SYNC, MESH_INIT] };
    let names = own.iter().copied().chain(agent).map(str::to_owned);
    names.map(|name| ContainerDefinition { name, ..ContainerDefinition::default() }).collect()
}

impl Task {
    /// Its containers at a time.
    pub(crate) fn containers_at(&self, at: u64) -> Containers {
        let seen = self.containers.iter().rev().find(|(since, _)| *since <= at);
        seen.map(|(_, containers)| *containers).unwrap_or_default()
    }

    /// Its containers now.
    pub(crate) fn containers(&self) -> Containers {
        self.containers_at(u64::MAX)
    }

    /// Whether `mesh-init` has registered it by a time: then all its containers have started.
    pub(crate) fn has_registered_at(&self, at: u64) -> bool {
        self.history.iter().any(|(since, status)| *since <= at && status.is_running())
    }

    /// Whether it is of the dataplane generation and admitted, and all its containers that are to run have started, as ECS shows.
    pub(crate) fn runs_in_mesh(&self) -> bool {
        let is_running = self.status().is_some_and(TaskStatus::is_running) && !self.hibernates;
        !self.has_agent && self.standing.is_admitted() && is_running
    }

    /// Whether it is meant to run, and its proxy has stopped.
    pub(crate) fn has_lost_proxy(&self) -> bool {
        self.runs_in_mesh() && self.containers().has_lost_proxy
    }

    /// The version of its state in events: it increases with each of them.
    pub(crate) fn version(&self) -> usize {
        let count =
            |containers: &Containers| usize::from(containers.has_lost_proxy) + usize::from(containers.has_lost_sync);
        self.history.len() + count(&self.containers())
    }
}

impl World {
    /// What `mesh-init` registers for a task: everything critical.
    pub(crate) fn registrations(&self, index: usize) -> Vec<Registration> {
        let task = &self.ecs.tasks[index];
        let config = MeshConfig::parse(&config_json(task.service, &self.tenancy, HOST), Registrar::MeshInit).unwrap();
        let place = TaskPlace {
            arn: task.arn.clone(),
            cluster: task.cluster.clone(),
            family: task.definition.family().clone(),
            address: address(index),
            zone: None,
            region: None,
        };
        registrations(&config, &place, &self.tenancy).unwrap()
    }

    /// The programs of consul-ecs in a definition without a client agent.
    pub(crate) fn programs(&self, config_json: &str) -> Programs {
        let registrar = RegistrarContainer::new(MESH_INIT, Registrar::MeshInit, Some(config_json));
        Programs {
            registrar: Some(registrar),
            health_sync: self.scenario.healing.runs_health_sync.then(|| HEALTH_SYNC.to_owned()),
            release: self.scenario.healing.release.in_image(),
            sets_token: false,
            controller: None,
        }
    }

    /// The containers of a task as ECS shows its state at a time.
    pub(crate) fn shown_containers(&self, index: usize, at: u64) -> Vec<TaskContainer> {
        let task = &self.ecs.tasks[index];
        let containers = task.containers_at(at);
        let health = |is_unhealthy: bool| match is_unhealthy {
            _ if task.hides_health => ContainerHealth::Unknown,
            true => ContainerHealth::Unhealthy,
            false => ContainerHealth::Healthy,
        };
        let last =
            if self.scenario.healing.shows_last_health { ContainerHealth::Healthy } else { ContainerHealth::Unknown };
        let mut shown = vec![
            container(APP, health(containers.is_unhealthy)),
            if containers.has_lost_proxy {
                TaskContainer { health: last, ..exited(DATAPLANE, 1) }
            } else {
                container(DATAPLANE, health(false))
            },
        ];
        if task.has_agent {
            return shown;
        }
        let unknown = ContainerHealth::Unknown;
        shown.push(if containers.has_lost_sync { exited(HEALTH_SYNC, 1) } else { container(HEALTH_SYNC, unknown) });
        let has_registered = task.has_registered_at(at);
        shown.push(if has_registered { exited(MESH_INIT, 0) } else { container(MESH_INIT, unknown) });
        shown
    }

    /// The tasks with a container that may stop while they run.
    pub(crate) fn tasks_that_may_lose_a_container(&self) -> Vec<usize> {
        let may = |index: &usize| {
            let task = &self.ecs.tasks[*index];
            let containers = task.containers();
            task.runs_in_mesh() && task.is_connected() && !(containers.has_lost_proxy && containers.has_lost_sync)
        };
        (0..self.ecs.tasks.len()).filter(may).collect()
    }

    /// The proxy or `health-sync` of a random task stops. The task goes on, and an event reports it.
    pub(crate) fn lose_container(&mut self) {
        let candidates = self.tasks_that_may_lose_a_container();
        let index = candidates[self.random.usize(..candidates.len())];
        let mut containers = self.ecs.tasks[index].containers();
        let is_proxy = containers.has_lost_sync || !containers.has_lost_proxy && self.random.bool();
        (containers.has_lost_proxy, containers.has_lost_sync) =
            (containers.has_lost_proxy || is_proxy, containers.has_lost_sync || !is_proxy);
        note!(self, "container {} of task {index} has stopped", if is_proxy { DATAPLANE } else { HEALTH_SYNC });
        self.change_containers(index, containers);
        self.publish(index);
    }

    /// A random task's app begins to fail its health check, or recovers, also by a restart of its container: without an event.
    pub(crate) fn toggle_health(&mut self) {
        let index = self.random.usize(..self.ecs.tasks.len());
        let mut containers = self.ecs.tasks[index].containers();
        containers.is_unhealthy = !containers.is_unhealthy;
        note!(self, "the app of task {index} {}", if containers.is_unhealthy { "is unhealthy" } else { "is healthy" });
        self.change_containers(index, containers);
    }

    /// The containers of a task change.
    pub fn change_containers(&mut self, index: usize, containers: Containers) {
        let now = self.now;
        self.ecs.tasks[index].containers.push((now, containers));
    }
}

/// The containers that an event of the task reports as stopped.
pub(crate) fn in_event(task: &Task) -> Value {
    let containers = task.containers();
    let stopped = [
        (MESH_INIT, !task.has_agent && task.has_registered_at(u64::MAX)),
        (DATAPLANE, containers.has_lost_proxy),
        (HEALTH_SYNC, containers.has_lost_sync),
    ];
    let stopped = stopped.iter().filter(|(_, is_stopped)| *is_stopped);
    stopped.map(|(name, _)| json!({ "name": name, "lastStatus": "STOPPED" })).collect()
}

/// Whether an event reports that the proxy has stopped.
pub(crate) fn reports_lost_proxy(event: &Value) -> bool {
    let containers = event["detail"]["containers"].as_array().into_iter().flatten();
    containers.filter_map(|container| container["name"].as_str()).any(|name| name == DATAPLANE)
}

/// Where a task runs, as ECS shows it.
pub(crate) fn placement(index: usize, task: &Task, tenancy: &Tenancy) -> Placement {
    let mut placement = Placement {
        is_disconnected: task.host.is_disconnected,
        container_instance: Some(container_instance(&task.cluster, index)),
        address: Some(address(index)),
        role: task.standing.own_role(),
        ..Placement::default()
    };
    if task.standing.hosts() != HOST {
        let config = config_json(task.service, tenancy, task.standing.hosts());
        let own = [(CONFIG_VARIABLE.to_owned(), config)];
        placement.overrides.insert(MESH_INIT.to_owned(), own.into());
    }
    placement
}

fn address(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 1, u8::try_from(index).unwrap())
}
