//! The rows of `versions.toml`.

use std::{fmt, sync::LazyLock};

use semver::{Version, VersionReq};
use serde::Deserialize;
use toml::value::Datetime;

use mesh::release::Release;

#[expect(clippy::expect_used, reason = "the text is part of the program, and every test of the table parses it")]
static TABLE: LazyLock<Table> =
    LazyLock::new(|| toml::from_str(include_str!("versions.toml")).expect("versions.toml is a table of releases"));

pub fn table() -> &'static Table {
    &TABLE
}

/// What is known of the releases. Rows are sorted from the oldest to the newest.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Table {
    /// The day on which the sources were read.
    pub as_of: Datetime,
    /// The lines of Consul.
    pub consul: Vec<Consul>,
    /// The lines of consul-ecs.
    pub consul_ecs: Vec<ConsulEcs>,
    /// The lines of Consul Dataplane.
    #[serde(rename = "consul-dataplane")]
    pub dataplane: Vec<Dataplane>,
    /// The known defects.
    #[serde(rename = "defect")]
    pub defects: Vec<Defect>,
}

/// A line of Consul.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Consul {
    pub line: Release,
    /// Its newest release. `None` before its first one, and of lines whose releases the table does not follow.
    #[serde(default)]
    pub newest: Option<Release>,
    /// The end of its support, in the edition that has the longest.
    pub supported_until: Support,
    /// The lines of Envoy that it supports. None if no source names them.
    pub envoy: Vec<Release>,
    /// The lines of Consul Dataplane that it supports. None before 1.14.
    #[serde(default)]
    pub dataplane: Vec<Release>,
    /// What HashiCorp demands before the servers are updated to this line, in one phrase.
    #[serde(default)]
    pub before: Option<String>,
    /// What it demands of the config entry `mesh`.
    #[serde(default)]
    pub before_of_mesh_entry: Option<String>,
    /// The pages that say so.
    pub sources: Vec<String>,
}

/// The end of a line's support.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Support {
    Day(Datetime),
    /// The release of another line.
    Line(Release),
}

/// A line of consul-ecs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ConsulEcs {
    pub line: Release,
    pub newest: Release,
    /// The lines of Consul that it goes with.
    pub consul: Vec<Release>,
    /// The pages that say so.
    pub sources: Vec<String>,
}

/// A line of Consul Dataplane.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Dataplane {
    pub line: Release,
    pub newest: Release,
    /// The Envoy in its images.
    pub envoy: Vec<Bundled>,
    /// The pages that say so.
    pub sources: Vec<String>,
}

/// The Envoy in images of Consul Dataplane.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundled {
    /// The releases of Consul Dataplane.
    pub releases: VersionReq,
    /// The line of Envoy.
    pub line: Release,
}

/// A program of the mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    ConsulEcs,
    /// Consul Dataplane.
    #[serde(rename = "consul-dataplane")]
    Dataplane,
    /// Consul: its servers and client agents.
    Consul,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ConsulEcs => "consul-ecs",
            Self::Dataplane => "consul-dataplane",
            Self::Consul => "Consul",
        })
    }
}

/// A feature that a definition may not use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Admin partitions of Consul Enterprise.
    Partitions,
    /// Containers in `healthSyncContainers`.
    SyncedContainers,
    /// A mesh gateway.
    MeshGateway,
    /// An image with FIPS 140 cryptography, whose programs are dynamically linked.
    Fips,
}

/// A known defect.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Defect {
    /// Its name in the table.
    pub id: String,
    /// The program that has it.
    pub program: Program,
    /// The releases that are known to have it.
    pub releases: VersionReq,
    /// What happens, in one phrase.
    pub what: String,
    /// What to do, in one phrase.
    pub action: String,
    /// Whether it is the reason for which HashiCorp has withdrawn these releases.
    #[serde(default, rename = "withdrawn")]
    pub is_withdrawn: bool,
    /// The release that corrects it, if there is one.
    pub fixed_in: Option<Release>,
    /// Whether the controller of consul-ecs has it, and not the tasks of the mesh.
    #[serde(default, rename = "of-controller")]
    pub is_of_controller: bool,
    /// The feature without which it does not show.
    pub needs: Option<Need>,
    /// The rule that reports it, if a task definition shows it.
    pub rule: Option<String>,
    /// The pages that say so.
    pub sources: Vec<String>,
}

/// Whether a requirement of the table matches a release.
pub(super) fn matches(requirement: &VersionReq, release: Release) -> bool {
    requirement.matches(&Version::new(release.major, release.minor, release.patch.unwrap_or_default()))
}

impl Defect {
    /// Whether a release has the defect.
    pub fn is_in(&self, release: Release) -> bool {
        matches(&self.releases, release)
    }
}
