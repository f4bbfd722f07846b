//! A container of a task definition. Source:
//! <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html>

use std::{ops::RangeInclusive, sync::OnceLock};

use super::{
    field::{Field, List, Maybe, Text},
    reader::{MapReader, record},
};
use document::{Node, ParseError, Place, Span, Value, embedded_json};

/// Seconds between TERM and KILL for a container without `stopTimeout`. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html>
pub const DEFAULT_STOP_TIMEOUT: u64 = 30;

/// A container definition.
#[derive(Debug, Clone)]
pub struct Container {
    /// Its number among the containers of its definition that are known.
    pub number: usize,
    /// Its name, unique in its task definition.
    pub name: Field<Text>,
    /// Its name as the file spells it, with placeholders.
    pub shown_name: Option<String>,
    pub image: Field<Text>,
    /// The CPU units that ECS reserves for it.
    pub cpu: Field<u64>,
    /// The mebibytes beyond which ECS kills it.
    pub memory: Field<u64>,
    /// The mebibytes that ECS reserves for it.
    pub memory_reservation: Field<u64>,
    /// Whether ECS stops the task when this container stops. Absent means yes.
    pub essential: Field<bool>,
    /// The program, instead of the image's own.
    pub entry_point: List<Field<Text>>,
    /// The program's arguments.
    pub command: List<Field<Text>>,
    /// Plain environment variables.
    pub environment: List<Variable>,
    /// Environment variables whose values ECS reads from Secrets Manager or the Parameter Store.
    pub secrets: List<Secret>,
    /// The settings of a log router, if it is one.
    pub fire_lens: Field<()>,
    /// Volumes that it mounts.
    pub mount_points: List<MountPoint>,
    /// Containers whose mounts it has as well.
    pub volumes_from: List<Field<Text>>,
    /// Ports that it listens on.
    pub port_mappings: List<PortMapping>,
    /// Containers that it can reach by name in `bridge` mode.
    pub links: List<Field<Text>>,
    /// Its host name in `bridge` mode.
    pub hostname: Field<Text>,
    /// Lines of `/etc/hosts`, in `bridge` mode.
    pub extra_hosts: List<()>,
    /// Its DNS servers, in `bridge` mode.
    pub dns_servers: List<Field<Text>>,
    /// The domains that complete its DNS names, in `bridge` mode.
    pub dns_search_domains: List<Field<Text>>,
    /// Whether it has no network, in `bridge` mode.
    pub disable_networking: Field<bool>,
    /// Containers that ECS starts first.
    pub depends_on: List<Dependency>,
    /// The health check that ECS runs.
    pub health_check: Field<ContainerHealthCheck>,
    /// Its resource limits.
    pub ulimits: List<Ulimit>,
    /// The user that its processes run as.
    pub user: Field<Text>,
    /// Seconds within which it must reach the condition that other containers wait for.
    pub start_timeout: Field<u64>,
    /// Seconds between TERM and KILL.
    pub stop_timeout: Field<u64>,
    /// `awslogs`, `awsfirelens`, …
    pub log_driver: Field<Text>,
    /// The options of its log driver.
    pub log_options: List<LogOption>,
    /// The group that the driver `awslogs` writes to.
    pub log_group: Field<Text>,
    /// Whether `awslogs` creates the group.
    pub creates_log_group: Field<Text>,
    /// Whether ECS starts it again when it exits.
    pub restart_policy: Field<RestartPolicy>,
    /// Whether it has all privileges of the host.
    pub privileged: Field<bool>,
    /// Linux capabilities in addition to the defaults.
    pub added_capabilities: List<Field<Text>>,
    /// Whether an init process forwards signals to its processes.
    pub init_process: Field<bool>,
    /// Its place in the file.
    pub place: Place,
}

/// An option of a log driver.
#[derive(Debug, Clone)]
pub struct LogOption {
    pub name: Field<Text>,
    pub value: Field<Text>,
}

impl Container {
    /// Its name in messages.
    pub fn label(&self) -> String {
        self.shown_name.clone().unwrap_or_else(|| "(name unknown)".to_owned())
    }

    /// Whether it is certainly the container called `name`.
    pub fn is_called(&self, name: &str) -> bool {
        self.name.text() == Some(name)
    }

    /// The bytes that findings point at if something is missing: its name.
    pub fn span(&self) -> Span {
        if self.name.is_absent() { self.place.span } else { self.name.span() }
    }

    /// Whether ECS stops the task when this container stops; `None` if it is known only at deployment.
    pub fn is_essential(&self) -> Option<bool> {
        self.essential.or(true)
    }

    /// What it certainly has of what ECS refuses in `awsvpc` mode, because it changes the network of a single container:
    /// names and places.
    pub fn bridge_properties(&self) -> impl Iterator<Item = (&'static str, Span)> {
        let properties = self.possible_bridge_properties().into_iter();
        properties.filter_map(|(name, span, is_there)| (is_there == Some(true)).then_some((name, span)))
    }

    /// Whether it certainly has nothing of that.
    pub fn lacks_bridge_properties(&self) -> bool {
        self.possible_bridge_properties().into_iter().all(|(.., is_there)| is_there == Some(false))
    }

    /// Each with its place, and whether the container has it, if that is known.
    fn possible_bridge_properties(&self) -> [(&'static str, Span, Option<bool>); 6] {
        let hostname = match &self.hostname.value {
            Maybe::Absent => Some(false),
            Maybe::Unknown => None,
            Maybe::Known(name) => Some(!name.0.is_empty()),
        };
        [
            ("links", self.links.place.span, self.links.has_items()),
            ("hostname", self.hostname.span(), hostname),
            ("extraHosts", self.extra_hosts.place.span, self.extra_hosts.has_items()),
            ("dnsServers", self.dns_servers.place.span, self.dns_servers.has_items()),
            ("dnsSearchDomains", self.dns_search_domains.place.span, self.dns_search_domains.has_items()),
            ("disableNetworking", self.disable_networking.span(), self.disable_networking.or(false)),
        ]
    }

    /// A plain environment variable.
    pub fn variable(&self, name: &str) -> Maybe<&Variable> {
        self.environment.find_named(name, |variable| &variable.name)
    }

    /// A secret environment variable.
    pub fn secret(&self, name: &str) -> Maybe<&Secret> {
        self.secrets.find_named(name, |secret| &secret.name)
    }

    /// Whether it has a health check; `None` if it is known only at deployment. `NONE` disables the image's health
    /// check.
    pub fn has_health_check(&self) -> Option<bool> {
        match &self.health_check.value {
            Maybe::Absent => Some(false),
            Maybe::Unknown => None,
            Maybe::Known(check) if check.command.items.first().and_then(Field::text) == Some("NONE") => Some(false),
            Maybe::Known(_) => Some(true),
        }
    }

    /// The words of its entry point and command, if all of them are known.
    pub fn command_line(&self) -> Option<Vec<&str>> {
        let mut words = self.entry_point.texts()?;
        words.extend(self.command.texts()?);
        Some(words)
    }

    pub fn mount_at(&self, path: &str) -> Maybe<&MountPoint> {
        let path = path.trim_end_matches('/');
        let is_there =
            |mount: &MountPoint| mount.container_path.text().map(|at| at.trim_end_matches('/')) == Some(path);
        match self.mount_points.find(is_there) {
            Maybe::Absent if self.mount_points.items.iter().any(|mount| mount.container_path.text().is_none()) => {
                Maybe::Unknown
            }
            found => found,
        }
    }

    /// Whether it certainly mounts no volume at a directory above `path`.
    pub fn lacks_mount_above(&self, path: &str) -> bool {
        let may_be_above = |mount: &MountPoint| {
            mount.container_path.text().is_none_or(|at| {
                let rest = path.strip_prefix(at.trim_end_matches('/'));
                rest.is_some_and(|rest| rest.starts_with('/'))
            })
        };
        self.mount_points.lacks(may_be_above)
    }

    /// Whether it certainly has the variable `name`, plain or secret; [`Maybe::Absent`] if it certainly does not.
    pub fn environment_has(&self, name: &str) -> Maybe<()> {
        match (self.variable(name), self.secret(name)) {
            (Maybe::Known(_), _) | (_, Maybe::Known(_)) => Maybe::Known(()),
            (Maybe::Absent, Maybe::Absent) => Maybe::Absent,
            _ => Maybe::Unknown,
        }
    }

    /// Its dependency on the container called `name`.
    pub fn waits_for(&self, name: &str) -> Maybe<&Dependency> {
        self.depends_on.find_named(name, |dependency| &dependency.container)
    }
}

impl PortMapping {
    /// The ports that it certainly maps.
    pub fn ports(&self) -> Option<RangeInclusive<u64>> {
        if let Some(port) = self.container_port.known() {
            return Some(*port..=*port);
        }
        let (first, last) = self.container_port_range.text()?.split_once('-')?;
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?).filter(|ports| !ports.is_empty())
    }

    /// Whether its protocol is certainly UDP.
    pub fn is_udp(&self) -> bool {
        self.protocol.text() == Some("udp")
    }

    /// Whether its protocol is certainly TCP.
    pub fn is_tcp(&self) -> bool {
        self.protocol.is_absent() || self.protocol.text() == Some("tcp")
    }

    /// Its ports, if its protocol is certainly TCP.
    pub fn tcp_ports(&self) -> Option<RangeInclusive<u64>> {
        self.ports().filter(|_| self.is_tcp())
    }
}

/// An environment variable.
#[derive(Debug, Clone)]
pub struct Variable {
    pub name: Field<Text>,
    pub value: Field<Text>,
    pub place: Place,
    /// The value as JSON, once it was read.
    json: OnceLock<Maybe<Result<Node, ParseError>>>,
}

impl Variable {
    pub(super) fn read(reader: &MapReader<'_>) -> Self {
        let (name, value) = (reader.text("name"), reader.literal("value"));
        Self { name, value, place: reader.place(), json: OnceLock::new() }
    }

    /// The JSON in the value, with its places in `source`, the text of the file. Parts of it may be unknown. It is read once.
    pub fn json(&self, source: &str) -> &Maybe<Result<Node, ParseError>> {
        self.json.get_or_init(|| {
            let Maybe::Known(text) = &self.value.value else {
                return if self.value.is_absent() { Maybe::Absent } else { Maybe::Unknown };
            };
            let read = |text: &Text| {
                let host = Node { value: Value::Text(text.0.clone()), place: self.value.place.clone() };
                embedded_json(source, &host)
            };
            let opened = Text::opened(&text.0);
            // A placeholder in one of JSON's strings moves no place. Another one has to go before the text is JSON.
            let json = match read(text) {
                Ok(mut node) if opened != *text => {
                    node.open_placeholders();
                    Ok(node)
                }
                Err(_) if opened != *text => read(&opened),
                read => read,
            };
            match json {
                // An unknown part may be outside of JSON's strings.
                Err(_) if opened.whole().is_none() => Maybe::Unknown,
                Ok(Node { value: Value::Unknown, .. }) => Maybe::Unknown,
                read => Maybe::Known(read),
            }
        })
    }
}

record! {
    /// An environment variable with a secret value.
    pub struct Secret {
        /// The name of the variable.
        name: text("name"),
        /// The secret or parameter that contains the value.
        value_from: text("valueFrom"),
    }

    /// A mounted volume.
    pub struct MountPoint {
        /// The volume's name.
        source_volume: text("sourceVolume"),
        container_path: text("containerPath"),
        /// Whether it is read-only. Absent means no.
        read_only: flag("readOnly"),
    }

    /// A port that a container listens on.
    pub struct PortMapping {
        container_port: number("containerPort"),
        /// Several ports instead of one: `8000-8010`.
        container_port_range: text("containerPortRange"),
        /// The host's port; with `awsvpc` the same.
        host_port: number("hostPort"),
        /// `tcp` (the default) or `udp`.
        protocol: text("protocol"),
    }

    /// A dependency on another container.
    pub struct Dependency {
        /// The name of the other container.
        container: text("containerName"),
        /// START, COMPLETE, SUCCESS or HEALTHY.
        condition: text("condition"),
    }

    /// A health check that ECS runs. Times are in seconds. Source:
    /// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html>
    pub struct ContainerHealthCheck {
        /// `CMD` and a program with its arguments, or `CMD-SHELL` and a line for the shell.
        command: words("command"),
        /// Time between two checks; 30 if absent.
        interval: number("interval"),
        /// Maximum duration of one check; 5 if absent.
        timeout: number("timeout"),
        /// Consecutive failures until the container is unhealthy; 3 if absent.
        retries: number("retries"),
        /// Time after the start in which failures do not count; none if absent.
        start_period: number("startPeriod"),
    }

    /// A resource limit.
    pub struct Ulimit {
        /// Its name: `nofile`…
        name: text("name"),
        /// The limit in effect.
        soft: limit("softLimit"),
        /// The highest value that the process may raise it to.
        hard: limit("hardLimit"),
    }

    /// Whether ECS starts a container again when it exits. Source:
    /// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerRestartPolicy.html>
    pub struct RestartPolicy {
        /// Whether it does.
        enabled: flag("enabled"),
    }
}
