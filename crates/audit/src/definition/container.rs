//! A container of a task definition. Source:
//! <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html>

use super::field::{Field, List, Maybe, Text};
use crate::document::{Place, Span};

/// Seconds that ECS waits between TERM and KILL where a container says nothing else. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html>
pub const DEFAULT_STOP_TIMEOUT: u64 = 30;

/// A container definition.
#[derive(Debug, Clone)]
pub struct Container {
    /// Its name, unique in its task definition.
    pub name: Field<Text>,
    /// Its image.
    pub image: Field<Text>,
    /// Whether its end is the task's. Absent means yes.
    pub essential: Field<bool>,
    /// The program, where the image's is not wanted.
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
    /// Ports that it listens on.
    pub port_mappings: List<PortMapping>,
    /// Containers whose names it knows in `bridge` mode.
    pub links: List<Field<Text>>,
    /// Containers that have to come first.
    pub depends_on: List<Dependency>,
    /// ECS's health check.
    pub health_check: Field<HealthCheck>,
    /// Limits of resources.
    pub ulimits: List<Ulimit>,
    /// The user that it runs as.
    pub user: Field<Text>,
    /// Seconds after which what it depends on counts as failed.
    pub start_timeout: Field<u64>,
    /// Seconds between TERM and KILL.
    pub stop_timeout: Field<u64>,
    /// Whether it runs with all of the host's privileges.
    pub privileged: Field<bool>,
    /// Capabilities that it gets beyond the defaults.
    pub added_capabilities: List<Field<Text>>,
    /// Whether a small init process passes signals on to it.
    pub init_process: Field<bool>,
    /// The whole of it.
    pub place: Place,
}

impl Container {
    /// Its name as messages say it.
    #[must_use]
    pub fn label(&self) -> String {
        self.name.known().map_or_else(|| "(name unknown)".to_owned(), Text::shown)
    }

    /// Whether it is certainly the container called `name`.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name.text() == Some(name)
    }

    /// What to point at where something is missing: its name.
    #[must_use]
    pub fn span(&self) -> Span {
        if self.name.is_absent() { self.place.span } else { self.name.span() }
    }

    /// Whether its end ends the task; `None` where only a deployment can tell.
    #[must_use]
    pub fn is_essential(&self) -> Option<bool> {
        self.essential.or(true)
    }

    /// A plain environment variable.
    #[must_use]
    pub fn variable(&self, name: &str) -> Maybe<&Variable> {
        self.environment.find_named(name, |variable| &variable.name)
    }

    /// A secret environment variable.
    #[must_use]
    pub fn secret(&self, name: &str) -> Maybe<&Secret> {
        self.secrets.find_named(name, |secret| &secret.name)
    }

    /// Whether it has a health check; `None` where only a deployment can tell. The check `NONE` is none.
    #[must_use]
    pub fn has_health_check(&self) -> Option<bool> {
        match &self.health_check.value {
            Maybe::Absent => Some(false),
            Maybe::Unknown => None,
            Maybe::Known(check) if check.command.items.first().and_then(Field::text) == Some("NONE") => Some(false),
            Maybe::Known(_) => Some(true),
        }
    }

    /// What it runs: entry point and command in one, if all of it is known.
    #[must_use]
    pub fn command_line(&self) -> Option<Vec<&str>> {
        let mut words = self.entry_point.texts()?;
        words.extend(self.command.texts()?);
        Some(words)
    }

    /// What it sees at `path`.
    #[must_use]
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

    /// Whether it certainly has the variable `name`, plain or secret; [`Maybe::Absent`] where it certainly has not.
    #[must_use]
    pub fn environment_has(&self, name: &str) -> Maybe<()> {
        match (self.variable(name), self.secret(name)) {
            (Maybe::Known(_), _) | (_, Maybe::Known(_)) => Maybe::Known(()),
            (Maybe::Absent, Maybe::Absent) => Maybe::Absent,
            _ => Maybe::Unknown,
        }
    }

    /// The condition under which it waits for the container called `name`.
    #[must_use]
    pub fn waits_for(&self, name: &str) -> Maybe<&Dependency> {
        self.depends_on.find_named(name, |dependency| &dependency.container)
    }
}

/// An environment variable.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name.
    pub name: Field<Text>,
    /// Its value.
    pub value: Field<Text>,
    /// The whole of it.
    pub place: Place,
}

/// An environment variable with a secret value.
#[derive(Debug, Clone)]
pub struct Secret {
    /// Its name.
    pub name: Field<Text>,
    /// Where its value is.
    pub value_from: Field<Text>,
    /// The whole of it.
    pub place: Place,
}

/// A mounted volume.
#[derive(Debug, Clone)]
pub struct MountPoint {
    /// The volume's name.
    pub source_volume: Field<Text>,
    /// Where the container sees it.
    pub container_path: Field<Text>,
    /// Whether it cannot write there. Absent means that it can.
    pub read_only: Field<bool>,
    /// The whole of it.
    pub place: Place,
}

/// A port that a container listens on.
#[derive(Debug, Clone)]
pub struct PortMapping {
    /// The port.
    pub container_port: Field<u64>,
    /// The host's port; with `awsvpc` the same.
    pub host_port: Field<u64>,
    /// `tcp` (the default) or `udp`.
    pub protocol: Field<Text>,
    /// The whole of it.
    pub place: Place,
}

impl PortMapping {
    /// The port, where it is certainly one of TCP.
    #[must_use]
    pub fn tcp_port(&self) -> Option<u64> {
        let is_tcp = self.protocol.is_absent() || self.protocol.text() == Some("tcp");
        self.container_port.known().copied().filter(|_| is_tcp)
    }
}

/// A container that another one waits for.
#[derive(Debug, Clone)]
pub struct Dependency {
    /// Its name.
    pub container: Field<Text>,
    /// START, COMPLETE, SUCCESS or HEALTHY.
    pub condition: Field<Text>,
    /// The whole of it.
    pub place: Place,
}

/// A health check by ECS. Times in seconds. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html>
#[derive(Debug, Clone)]
pub struct HealthCheck {
    /// `CMD` and a program with arguments, or `CMD-SHELL` and a line.
    pub command: List<Field<Text>>,
    /// Between two checks; 30 if absent.
    pub interval: Field<u64>,
    /// How long one may take; 5 if absent.
    pub timeout: Field<u64>,
    /// How many in a row must fail; 3 if absent.
    pub retries: Field<u64>,
    /// How long failures do not count at first; none if absent.
    pub start_period: Field<u64>,
    /// The whole of it.
    pub place: Place,
}

/// A limit of a resource.
#[derive(Debug, Clone)]
pub struct Ulimit {
    /// Which: `nofile`…
    pub name: Field<Text>,
    /// The limit that holds.
    pub soft: Field<u64>,
    /// The limit that it may be raised to.
    pub hard: Field<u64>,
    /// The whole of it.
    pub place: Place,
}
