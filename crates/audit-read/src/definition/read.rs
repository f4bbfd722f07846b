//! Reads a task definition from a map.

use std::sync::Arc;

use super::{
    Container, Dependency, Dialect, HealthCheck, Mismatch, MountPoint, PortMapping, ProxyConfiguration, RestartPolicy,
    Secret, Tag, TaskDefinition, Ulimit, Variable, reader::MapReader,
};
use crate::{document::Node, source::SourceFile};

impl TaskDefinition {
    /// Reads a task definition from the map `node`.
    ///
    /// # Errors
    /// A value has another type than in ECS's API.
    pub fn read(file: Arc<SourceFile>, address: String, node: &Node, dialect: Dialect) -> Result<Self, Mismatch> {
        let reader = MapReader::new(node, dialect, String::new())?;
        let family = reader.text("family")?;
        let reader = if family.is_absent() { reader } else { reader.owned_by(family.span()) };
        Ok(Self {
            file,
            dialect,
            address,
            construct: None,
            is_synthesised: false,
            shares_family: false,
            network_mode: reader.text("networkMode")?,
            requires_compatibilities: reader.texts("requiresCompatibilities")?,
            task_role: reader.text("taskRoleArn")?,
            execution_role: reader.text("executionRoleArn")?,
            volumes: volumes(&reader)?,
            containers: reader.maps("containerDefinitions", container)?,
            proxy: reader.map("proxyConfiguration", proxy)?,
            tags: reader.maps("tags", tag)?,
            services: Vec::new(),
            place: reader.place(),
            family,
        })
    }
}

/// Reads the parts of a service that concern its task definition.
///
/// # Errors
/// A value has another type than in ECS's API.
pub fn service_use(name: String, node: &Node, dialect: Dialect) -> Result<super::ServiceUse, Mismatch> {
    let reader = MapReader::new(node, dialect, name.clone())?;
    Ok(super::ServiceUse {
        name,
        service_name: reader.text("serviceName")?,
        propagate_tags: reader.text("propagateTags")?,
        launch_type: reader.text("launchType")?,
        capacity_providers: reader.maps("capacityProviderStrategy", |item| item.text("capacityProvider"))?,
        tags: reader.maps("tags", tag)?,
        place: reader.place(),
    })
}

fn volumes(reader: &MapReader<'_>) -> Result<super::List<super::Field<super::Text>>, Mismatch> {
    reader.maps("volumes", |volume| volume.text("name"))
}

fn container(reader: &MapReader<'_>) -> Result<Container, Mismatch> {
    let name = reader.text("name")?;
    let reader = &if name.is_absent() { reader.clone() } else { reader.clone().owned_by(name.span()) };
    let linux = reader.map("linuxParameters", |linux| {
        let capabilities = linux.map("capabilities", |capabilities| capabilities.texts("add"))?;
        Ok((capabilities, linux.flag("initProcessEnabled")?))
    })?;
    let (added_capabilities, init_process) = linux_parameters(&linux);
    let mut environment = reader.maps("environment", |variable| {
        Ok(Variable { name: variable.text("name")?, value: variable.text("value")?, place: variable.place() })
    })?;
    // An environment file is in S3 and may contain any variable.
    environment.is_complete &= !reader.maps("environmentFiles", |_| Ok(()))?.is_present;
    let mut mount_points = reader.maps("mountPoints", mount_point)?;
    // The mounts of the other container are added to these.
    let borrowed = reader.maps("volumesFrom", |_| Ok(()))?;
    mount_points.is_complete &= borrowed.is_certainly_empty();
    Ok(Container {
        image: reader.text("image")?,
        essential: reader.flag("essential")?,
        entry_point: reader.texts("entryPoint")?,
        command: reader.texts("command")?,
        environment,
        secrets: reader.maps("secrets", |secret| {
            Ok(Secret { name: secret.text("name")?, value_from: secret.text("valueFrom")?, place: secret.place() })
        })?,
        fire_lens: reader.map("firelensConfiguration", |_| Ok(()))?,
        mount_points,
        port_mappings: reader.maps("portMappings", port_mapping)?,
        links: reader.texts("links")?,
        depends_on: reader.maps("dependsOn", |dependency| {
            Ok(Dependency {
                container: dependency.text("containerName")?,
                condition: dependency.text("condition")?,
                place: dependency.place(),
            })
        })?,
        health_check: reader.map("healthCheck", health_check)?,
        ulimits: reader.maps("ulimits", ulimit)?,
        user: reader.text("user")?,
        start_timeout: reader.number("startTimeout")?,
        stop_timeout: reader.number("stopTimeout")?,
        restart_policy: reader.map("restartPolicy", |policy| {
            Ok(RestartPolicy { enabled: policy.flag("enabled")?, place: policy.place() })
        })?,
        privileged: reader.flag("privileged")?,
        added_capabilities,
        init_process,
        place: reader.place(),
        name,
    })
}

type Capabilities = super::Field<super::List<super::Field<super::Text>>>;

/// The values of `linuxParameters`, as if they were properties of the container.
fn linux_parameters(
    linux: &super::Field<(Capabilities, super::Field<bool>)>,
) -> (super::List<super::Field<super::Text>>, super::Field<bool>) {
    use super::{Field, List, Maybe};
    let nothing = |is_complete| List { items: Vec::new(), is_complete, place: linux.place.clone(), is_present: false };
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

fn mount_point(reader: &MapReader<'_>) -> Result<MountPoint, Mismatch> {
    Ok(MountPoint {
        source_volume: reader.text("sourceVolume")?,
        container_path: reader.text("containerPath")?,
        read_only: reader.flag("readOnly")?,
        place: reader.place(),
    })
}

fn port_mapping(reader: &MapReader<'_>) -> Result<PortMapping, Mismatch> {
    Ok(PortMapping {
        container_port: reader.number("containerPort")?,
        host_port: reader.number("hostPort")?,
        protocol: reader.text("protocol")?,
        place: reader.place(),
    })
}

fn health_check(reader: &MapReader<'_>) -> Result<HealthCheck, Mismatch> {
    Ok(HealthCheck {
        command: reader.texts("command")?,
        interval: reader.number("interval")?,
        timeout: reader.number("timeout")?,
        retries: reader.number("retries")?,
        start_period: reader.number("startPeriod")?,
        place: reader.place(),
    })
}

fn ulimit(reader: &MapReader<'_>) -> Result<Ulimit, Mismatch> {
    Ok(Ulimit {
        name: reader.text("name")?,
        soft: reader.number("softLimit")?,
        hard: reader.number("hardLimit")?,
        place: reader.place(),
    })
}

fn proxy(reader: &MapReader<'_>) -> Result<ProxyConfiguration, Mismatch> {
    Ok(ProxyConfiguration {
        kind: reader.text("type")?,
        container: reader.text("containerName")?,
        properties: reader.maps("properties", |property| {
            Ok(Tag { key: property.text("name")?, value: property.text("value")?, place: property.place() })
        })?,
        place: reader.place(),
    })
}

fn tag(reader: &MapReader<'_>) -> Result<Tag, Mismatch> {
    Ok(Tag { key: reader.text("key")?, value: reader.text("value")?, place: reader.place() })
}
