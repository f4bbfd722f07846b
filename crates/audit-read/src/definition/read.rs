//! Reads a task definition from a map whose values have the types of ECS's API.

use std::sync::Arc;

use super::{
    api::{Departure, SERVICE, Unread, departures, departures_from},
    bare_variable::BareVariable,
    container::{
        Container, ContainerHealthCheck, Dependency, MountPoint, PortMapping, RestartPolicy, Secret, Ulimit, Variable,
    },
    dialect::Dialect,
    field::{Field, List, Maybe, Text},
    reader::{MapReader, Mismatch, read_map},
    tag::Tag,
    task::{LoadBalancer, Network, ProxyConfiguration, ServiceSettings, ServiceUse, TaskDefinition},
    volume::Volume,
};
use document::{Node, SourceFile};

impl TaskDefinition {
    /// Reads a task definition from the map `node`; `None` if it is no map. Values whose type differs from ECS's API count
    /// as unknown, and are returned beside it.
    pub fn read(
        file: Arc<SourceFile>,
        address: String,
        node: &Node,
        dialect: Dialect,
    ) -> (Option<Self>, Vec<Mismatch>) {
        read_map(node, dialect, String::new(), |reader| {
            let family = reader.text("family");
            let reader = if family.is_absent() { reader } else { reader.owned_by(family.span()) };
            let (departures, unread) = departures(node, dialect);
            Self {
                file,
                dialect,
                address,
                construct: None,
                call: None,
                module: None,
                block: None,
                is_synthesised: false,
                shares_family: false,
                created_by: None,
                network_mode: reader.text("networkMode"),
                cpu: reader.text("cpu"),
                memory: reader.text("memory"),
                requires_compatibilities: reader.texts("requiresCompatibilities"),
                operating_system: reader
                    .map("runtimePlatform", |platform| platform.text("operatingSystemFamily"))
                    .flatten(),
                task_role: reader.text("taskRoleArn"),
                declared_role: None,
                execution_role: reader.text("executionRoleArn"),
                declared_execution_role: None,
                volumes: reader.maps("volumes", Volume::read),
                containers: numbered(reader.maps("containerDefinitions", container)),
                proxy: reader.map("proxyConfiguration", proxy),
                tags: reader.maps("tags", Tag::read),
                lost_tag: None,
                services: Vec::new(),
                repeated_keys: node.repeated_keys(),
                departures,
                unread,
                bare_variables: if dialect.is_lenient() { BareVariable::in_definition(node) } else { Vec::new() },
                undeclared: Vec::new(),
                place: reader.place(),
                shown_family: reader.shown("family"),
                family,
            }
        })
    }
}

/// Reads the parts of a service that concern its task definition, as [`TaskDefinition::read`] does.
pub fn service_use(
    file: Arc<SourceFile>,
    name: String,
    node: &Node,
    dialect: Dialect,
) -> (Option<ServiceUse>, Vec<Mismatch>) {
    read_map(node, dialect, name.clone(), |reader| ServiceUse {
        file,
        name,
        service_name: reader.text("serviceName"),
        propagate_tags: reader.text("propagateTags"),
        launch_type: reader.text("launchType"),
        strategy: reader.map("deploymentConfiguration", |deployment| deployment.text("strategy")).flatten(),
        controller: reader.map("deploymentController", |controller| controller.text("type")).flatten(),
        execute_command: reader.flag("enableExecuteCommand"),
        capacity_providers: reader.maps("capacityProviderStrategy", |item| item.text("capacityProvider")),
        tags: reader.maps("tags", Tag::read),
        load_balancers: reader.maps("loadBalancers", LoadBalancer::read),
        settings: Some(settings(&reader, departures_from(node, &SERVICE, dialect, false))),
        place: reader.place(),
    })
}

fn settings(reader: &MapReader<'_>, (departures, unread): (Vec<Departure>, Vec<Unread>)) -> ServiceSettings {
    let percent = |key| reader.map("deploymentConfiguration", |deployment| deployment.number(key)).flatten();
    let network = |network: &MapReader<'_>| network.map("awsvpcConfiguration", Network::read);
    ServiceSettings {
        cluster: reader.text("cluster"),
        network: reader.map("networkConfiguration", network).flatten(),
        scheduling: reader.text("schedulingStrategy"),
        minimum_percent: percent("minimumHealthyPercent"),
        maximum_percent: percent("maximumPercent"),
        role: reader.text("role"),
        platform_version: reader.text("platformVersion"),
        placements: ["placementStrategy", "placementConstraints"]
            .into_iter()
            .filter_map(|key| {
                let list = reader.maps(key, |_| ());
                (!list.items.is_empty()).then_some((key, list.place))
            })
            .collect(),
        departures,
        unread,
    }
}

fn numbered(mut containers: List<Container>) -> List<Container> {
    for (number, container) in containers.items.iter_mut().enumerate() {
        container.number = number;
    }
    containers
}

fn container(reader: &MapReader<'_>) -> Container {
    let name = reader.text("name");
    let reader = &if name.is_absent() { reader.clone() } else { reader.clone().owned_by(name.span()) };
    let linux = reader.map("linuxParameters", |linux| {
        let capabilities = linux.map("capabilities", |capabilities| capabilities.texts("add"));
        (capabilities, linux.flag("initProcessEnabled"))
    });
    let (added_capabilities, init_process) = linux_parameters(&linux);
    let logs = reader.map("logConfiguration", |logs| (logs.text("logDriver"), logs.options("options")));
    let log_option = |name| {
        let options = |logs: &MapReader<'_>| logs.map("options", |options| options.own_text(name)).flatten();
        reader.map("logConfiguration", options).flatten()
    };
    let (log_driver, log_options) = match logs.value {
        Maybe::Known(logs) => logs,
        Maybe::Absent => {
            (Field { value: Maybe::Absent, place: logs.place.clone() }, List::without_items(true, &logs.place))
        }
        Maybe::Unknown => {
            (Field { value: Maybe::Unknown, place: logs.place.clone() }, List::without_items(false, &logs.place))
        }
    };
    let mut environment = reader.maps("environment", Variable::read);
    // An environment file is in S3 and may contain any variable.
    environment.is_complete &= !reader.maps("environmentFiles", |_| ()).is_present;
    let mut mount_points = reader.maps("mountPoints", MountPoint::read);
    // The mounts of the other container are added to these.
    let borrowed = reader.maps("volumesFrom", |source| source.text("sourceContainer"));
    mount_points.is_complete &= borrowed.is_certainly_empty();
    Container {
        number: 0,
        image: reader.text("image"),
        cpu: reader.number("cpu"),
        memory: reader.number("memory"),
        memory_reservation: reader.number("memoryReservation"),
        essential: reader.flag("essential"),
        entry_point: reader.words("entryPoint"),
        command: reader.words("command"),
        environment,
        secrets: reader.maps("secrets", Secret::read),
        fire_lens: reader.map("firelensConfiguration", |_| ()),
        mount_points,
        volumes_from: borrowed,
        port_mappings: reader.maps("portMappings", PortMapping::read),
        links: reader.texts("links"),
        hostname: reader.text("hostname"),
        extra_hosts: reader.maps("extraHosts", |_| ()),
        dns_servers: reader.texts("dnsServers"),
        dns_search_domains: reader.texts("dnsSearchDomains"),
        disable_networking: reader.flag("disableNetworking"),
        depends_on: reader.maps("dependsOn", Dependency::read),
        health_check: reader.map("healthCheck", ContainerHealthCheck::read),
        ulimits: reader.maps("ulimits", Ulimit::read),
        user: reader.text("user"),
        start_timeout: reader.number("startTimeout"),
        stop_timeout: reader.number("stopTimeout"),
        restart_policy: reader.map("restartPolicy", RestartPolicy::read),
        privileged: reader.flag("privileged"),
        added_capabilities,
        init_process,
        log_driver,
        log_options,
        log_group: log_option("awslogs-group"),
        creates_log_group: log_option("awslogs-create-group"),
        place: reader.place(),
        shown_name: reader.shown("name"),
        name,
    }
}

type Capabilities = Field<List<Field<Text>>>;

/// The values of `linuxParameters`, as if they were properties of the container.
fn linux_parameters(linux: &Field<(Capabilities, Field<bool>)>) -> (List<Field<Text>>, Field<bool>) {
    let nothing = |is_complete| List::without_items(is_complete, &linux.place);
    match &linux.value {
        Maybe::Absent => (nothing(true), Field { value: Maybe::Absent, place: linux.place.clone() }),
        Maybe::Unknown => (nothing(false), Field { value: Maybe::Unknown, place: linux.place.clone() }),
        Maybe::Known((capabilities, init)) => {
            let added = match &capabilities.value {
                Maybe::Known(added) => added.clone(),
                Maybe::Absent => nothing(true),
                Maybe::Unknown => nothing(false),
            };
            (added, init.clone())
        }
    }
}

fn proxy(reader: &MapReader<'_>) -> ProxyConfiguration {
    ProxyConfiguration {
        kind: reader.text("type"),
        container: reader.text("containerName"),
        properties: reader.maps("properties", |property| Tag {
            key: property.text("name"),
            value: property.text("value"),
            place: property.place(),
        }),
        place: reader.place(),
    }
}
