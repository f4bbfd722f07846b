//! Reads a task definition from a map whose values have the types of ECS's API.

use std::sync::Arc;

use super::{
    Container, Dependency, Dialect, Field, HealthCheck, List, LoadBalancer, Maybe, MountPoint, PortMapping,
    ProxyConfiguration, RestartPolicy, Secret, ServiceUse, Tag, TaskDefinition, Text, Ulimit, Variable,
};
use document::{HOLE, InputProblem, Node, Place, SourceFile, Span, Step, Value};

/// A value whose type differs from ECS's API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {found} where {wanted} is expected")]
pub struct Mismatch {
    /// The bytes of the value.
    pub span: Span,
    /// Its path: `containerDefinitions[0].essential`.
    pub path: String,
    /// The type of the value.
    pub found: String,
    /// The type in ECS's API.
    pub wanted: &'static str,
}

impl Mismatch {
    /// The problem of the definition called `address`.
    pub(crate) fn problem(&self, file: &SourceFile, address: &str) -> InputProblem {
        let owner = if address.is_empty() { String::new() } else { format!("{address}: ") };
        InputProblem::unexpected(file, self.span, &format!("{owner}{self}"))
    }
}

/// Records of ECS's API: each field with its type and with its key, as ECS spells it.
macro_rules! record {
    ($($(#[$doc:meta])* pub struct $name:ident {
        $($(#[$about:meta])* $field:ident: $kind:ident($key:literal),)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $name {
            $($(#[$about])* pub $field: $crate::definition::read::field!($kind),)*
            /// Its place in the file.
            pub place: document::Place,
        }

        impl $name {
            pub(super) fn read(reader: &super::read::MapReader<'_>) -> Result<Self, super::Mismatch> {
                Ok(Self { $($field: reader.$kind($key)?,)* place: reader.place() })
            }
        }
    )*};
}

/// The type of a field that [`MapReader`] reads by the method of this name.
macro_rules! field {
    (text) => { $crate::definition::Field<$crate::definition::Text> };
    (texts) => { $crate::definition::List<$crate::definition::read::field!(text)> };
    (number) => { $crate::definition::Field<u64> };
    (flag) => { $crate::definition::Field<bool> };
}
pub(super) use {field, record};

/// A map, and the spelling of its keys.
#[derive(Clone)]
pub(super) struct MapReader<'n> {
    node: &'n Node,
    dialect: Dialect,
    path: String,
    /// The bytes that findings point at if a value is absent.
    owner: Span,
}

impl<'n> MapReader<'n> {
    pub(super) fn new(node: &'n Node, dialect: Dialect, path: String) -> Result<Self, Mismatch> {
        let this = Self { node, dialect, path, owner: node.place.span };
        match node.value {
            Value::Map(_) => Ok(this),
            _ => Err(this.mismatch("a map")),
        }
    }

    /// Points findings about absent values at `span`.
    pub(super) fn owned_by(mut self, span: Span) -> Self {
        self.owner = span;
        self
    }

    pub(super) fn place(&self) -> Place {
        self.node.place.clone()
    }

    fn child(&self, key: &str) -> Option<&'n Node> {
        self.node.get(&self.dialect.spell(key))
    }

    fn at(&self, key: &str) -> String {
        let key = self.dialect.spell(key);
        if self.path.is_empty() { key } else { format!("{}.{key}", self.path) }
    }

    /// Where a value would be. A null is there already: an edit replaces it, if edits reach it.
    fn absent(&self, key: &str) -> Place {
        let key = self.dialect.spell(key);
        match self.node.entries().iter().find(|entry| entry.key == key) {
            Some(null) => Place { span: self.owner, ..null.node.place.clone() },
            None => self.node.place.then(Step::Key(key), self.owner),
        }
    }

    fn mismatch(&self, wanted: &'static str) -> Mismatch {
        mismatch(self.node, self.path.clone(), wanted)
    }

    fn field<T>(
        &self,
        key: &str,
        read: impl Fn(&Node) -> Option<T>,
        wanted: &'static str,
    ) -> Result<Field<T>, Mismatch> {
        let Some(node) = self.child(key) else {
            return Ok(Field { value: Maybe::Absent, place: self.absent(key) });
        };
        let value = match &node.value {
            Value::Unknown => Maybe::Unknown,
            // A string with unknown parts has an unknown value, unless its type allows such strings.
            Value::Text(text) if text.contains(HOLE) => read(node).map_or(Maybe::Unknown, Maybe::Known),
            _ => Maybe::Known(read(node).ok_or_else(|| mismatch(node, self.at(key), wanted))?),
        };
        Ok(Field { value, place: node.place.clone() })
    }

    pub(super) fn text(&self, key: &str) -> Result<Field<Text>, Mismatch> {
        let dialect = self.dialect;
        self.field(key, move |node| text(node, dialect), "a string")
    }

    pub(super) fn flag(&self, key: &str) -> Result<Field<bool>, Mismatch> {
        let dialect = self.dialect;
        let read = move |node: &Node| match &node.value {
            Value::Bool(value) => Some(*value),
            // CloudFormation reads YAML 1.1.
            Value::Text(text) if dialect.is_lenient() => match text.to_lowercase().as_str() {
                "true" | "yes" | "on" => Some(true),
                "false" | "no" | "off" => Some(false),
                _ => None,
            },
            _ => None,
        };
        self.field(key, read, "true or false")
    }

    pub(super) fn number(&self, key: &str) -> Result<Field<u64>, Mismatch> {
        let dialect = self.dialect;
        let read = move |node: &Node| match &node.value {
            Value::Number(number) => whole(number),
            Value::Text(text) if dialect.is_lenient() => whole(text),
            _ => None,
        };
        self.field(key, read, "a whole number")
    }

    /// A nested map.
    pub(super) fn map<T>(
        &self,
        key: &str,
        read: impl Fn(&MapReader<'n>) -> Result<T, Mismatch>,
    ) -> Result<Field<T>, Mismatch> {
        let Some(node) = self.child(key) else {
            return Ok(Field { value: Maybe::Absent, place: self.absent(key) });
        };
        let value = match node.value {
            Value::Unknown => Maybe::Unknown,
            _ => Maybe::Known(read(&MapReader::new(node, self.dialect, self.at(key))?)?),
        };
        Ok(Field { value, place: node.place.clone() })
    }

    pub(super) fn maps<T>(
        &self,
        key: &str,
        read: impl Fn(&MapReader<'n>) -> Result<T, Mismatch>,
    ) -> Result<List<T>, Mismatch> {
        self.list(key, |node, path| read(&MapReader::new(node, self.dialect, path)?))
    }

    pub(super) fn texts(&self, key: &str) -> Result<List<Field<Text>>, Mismatch> {
        self.list(key, |node, path| {
            let value = text(node, self.dialect).ok_or_else(|| mismatch(node, path, "a string"))?;
            Ok(Field { value: Maybe::Known(value), place: node.place.clone() })
        })
    }

    fn list<T>(&self, key: &str, read: impl Fn(&'n Node, String) -> Result<T, Mismatch>) -> Result<List<T>, Mismatch> {
        let Some(node) = self.child(key) else {
            return Ok(List { items: Vec::new(), is_complete: true, place: self.absent(key), is_present: false });
        };
        let mut list = List { items: Vec::new(), is_complete: true, place: node.place.clone(), is_present: true };
        match &node.value {
            Value::Unknown => list.is_complete = false,
            Value::List(items) => {
                list.items.reserve_exact(items.len());
                for (index, item) in items.iter().enumerate() {
                    match item.value {
                        Value::Unknown => list.is_complete = false,
                        Value::Null => {}
                        _ => list.items.push(read(item, format!("{}[{index}]", self.at(key)))?),
                    }
                }
            }
            _ => return Err(mismatch(node, self.at(key), "a list")),
        }
        Ok(list)
    }
}

fn text(node: &Node, dialect: Dialect) -> Option<Text> {
    match &node.value {
        Value::Text(text) => Some(Text(text.clone())),
        Value::Number(number) if dialect.is_lenient() => Some(Text(number.clone())),
        Value::Bool(value) if dialect.is_lenient() => Some(Text(value.to_string())),
        _ => None,
    }
}

fn whole(number: &str) -> Option<u64> {
    number.parse().ok().or_else(|| number.strip_suffix(".0")?.parse().ok())
}

fn mismatch(node: &Node, path: String, wanted: &'static str) -> Mismatch {
    // The value may be a secret, or one in the wrong place: the message contains only its type.
    let found = node.kind().to_owned();
    let path = if path.is_empty() { "the task definition".to_owned() } else { path };
    Mismatch { span: node.place.span, path, found, wanted }
}

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
            call: None,
            block: None,
            is_synthesised: false,
            shares_family: false,
            created_by: None,
            network_mode: reader.text("networkMode")?,
            requires_compatibilities: reader.texts("requiresCompatibilities")?,
            task_role: reader.text("taskRoleArn")?,
            declared_role: None,
            execution_role: reader.text("executionRoleArn")?,
            volumes: reader.maps("volumes", |volume| volume.text("name"))?,
            containers: reader.maps("containerDefinitions", container)?,
            proxy: reader.map("proxyConfiguration", proxy)?,
            tags: reader.maps("tags", Tag::read)?,
            services: Vec::new(),
            repeated_keys: node.repeated_keys(),
            place: reader.place(),
            family,
        })
    }
}

/// Reads the parts of a service that concern its task definition.
///
/// # Errors
/// A value has another type than in ECS's API.
pub fn service_use(file: Arc<SourceFile>, name: String, node: &Node, dialect: Dialect) -> Result<ServiceUse, Mismatch> {
    let reader = MapReader::new(node, dialect, name.clone())?;
    Ok(ServiceUse {
        file,
        name,
        service_name: reader.text("serviceName")?,
        propagate_tags: reader.text("propagateTags")?,
        launch_type: reader.text("launchType")?,
        capacity_providers: reader.maps("capacityProviderStrategy", |item| item.text("capacityProvider"))?,
        tags: reader.maps("tags", Tag::read)?,
        load_balancers: reader.maps("loadBalancers", LoadBalancer::read)?,
        place: reader.place(),
    })
}

fn container(reader: &MapReader<'_>) -> Result<Container, Mismatch> {
    let name = reader.text("name")?;
    let reader = &if name.is_absent() { reader.clone() } else { reader.clone().owned_by(name.span()) };
    let linux = reader.map("linuxParameters", |linux| {
        let capabilities = linux.map("capabilities", |capabilities| capabilities.texts("add"))?;
        Ok((capabilities, linux.flag("initProcessEnabled")?))
    })?;
    let (added_capabilities, init_process) = linux_parameters(&linux);
    let log_driver = reader.map("logConfiguration", |logs| logs.text("logDriver"))?;
    let mut environment = reader.maps("environment", Variable::read)?;
    // An environment file is in S3 and may contain any variable.
    environment.is_complete &= !reader.maps("environmentFiles", |_| Ok(()))?.is_present;
    let mut mount_points = reader.maps("mountPoints", MountPoint::read)?;
    // The mounts of the other container are added to these.
    let borrowed = reader.maps("volumesFrom", |_| Ok(()))?;
    mount_points.is_complete &= borrowed.is_certainly_empty();
    Ok(Container {
        image: reader.text("image")?,
        essential: reader.flag("essential")?,
        entry_point: reader.texts("entryPoint")?,
        command: reader.texts("command")?,
        environment,
        secrets: reader.maps("secrets", Secret::read)?,
        fire_lens: reader.map("firelensConfiguration", |_| Ok(()))?,
        mount_points,
        port_mappings: reader.maps("portMappings", PortMapping::read)?,
        links: reader.texts("links")?,
        depends_on: reader.maps("dependsOn", Dependency::read)?,
        health_check: reader.map("healthCheck", HealthCheck::read)?,
        ulimits: reader.maps("ulimits", Ulimit::read)?,
        user: reader.text("user")?,
        start_timeout: reader.number("startTimeout")?,
        stop_timeout: reader.number("stopTimeout")?,
        restart_policy: reader.map("restartPolicy", RestartPolicy::read)?,
        privileged: reader.flag("privileged")?,
        added_capabilities,
        init_process,
        log_driver: match log_driver.value {
            Maybe::Known(driver) => driver,
            Maybe::Absent => Field { value: Maybe::Absent, place: log_driver.place },
            Maybe::Unknown => Field { value: Maybe::Unknown, place: log_driver.place },
        },
        place: reader.place(),
        name,
    })
}

type Capabilities = Field<List<Field<Text>>>;

/// The values of `linuxParameters`, as if they were properties of the container.
fn linux_parameters(linux: &Field<(Capabilities, Field<bool>)>) -> (List<Field<Text>>, Field<bool>) {
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
