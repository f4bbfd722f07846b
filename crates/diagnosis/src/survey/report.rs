//! What `survey` answers, as it is printed and as programs read it.

use audit::severity::Severity;
use jiff::Timestamp;
use report::SweptStatus;
use serde::Serialize;

/// A survey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SurveyReport {
    /// When it was read.
    pub read_at: Timestamp,
    /// The account of the clusters; null if no cluster was found, or names are left out.
    pub account: Option<String>,
    /// Their region; null as well.
    pub region: Option<String>,
    /// The version of Consul's servers; null if Consul did not say.
    pub consul: Option<String>,
    /// What could not be read, so nothing is said of it.
    pub unread: Vec<Unread>,
    /// The clusters.
    pub clusters: Vec<SurveyedCluster>,
    /// What is wrong, worst first.
    pub findings: Vec<SurveyFinding>,
}

/// What could not be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Unread {
    /// What, and why.
    pub what: String,
    /// The permission that is missing, if that is the cause and it is known.
    pub permission: Option<String>,
    /// What and why without names, for strangers.
    #[serde(skip)]
    pub nameless: &'static str,
}

/// A cluster that was surveyed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SurveyedCluster {
    /// Its ARN.
    pub arn: String,
    /// `active`, `deleted`, or `unread` if its tasks could not be read.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub status: SweptStatus,
    /// How many of its tasks have not stopped.
    pub tasks: usize,
    /// How many of them are in the mesh.
    pub mesh_tasks: usize,
    /// How many other tasks may be in the mesh: ECS does not describe them, or their definition could not be read.
    pub unsorted_tasks: usize,
    /// The services of the mesh.
    pub services: usize,
    /// The controllers of consul-ecs that run in it, with their images.
    pub controllers: Vec<String>,
}

impl SurveyedCluster {
    pub fn name(&self) -> &str {
        name_of(&self.arn)
    }
}

/// The name in the ARN of a cluster.
pub(super) fn name_of(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or_default()
}

/// Something that is wrong, with everything it concerns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SurveyFinding {
    /// Its name: `left-in-consul`, or the rule of a task definition.
    pub id: String,
    /// `error`, `warning` or `info`.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub severity: Severity,
    /// What is wrong.
    pub title: String,
    /// What it costs to leave it.
    pub cost: String,
    /// Since when, if that is known.
    pub since: Option<Timestamp>,
    /// What it concerns.
    pub objects: Vec<SurveyObject>,
    /// The commands that show more, or that correct it.
    pub commands: Vec<String>,
}

/// One thing that a finding concerns.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SurveyObject {
    /// The name of its cluster; null if it is in none.
    pub cluster: Option<String>,
    /// Its name or ID.
    pub name: String,
    /// Why it is listed.
    pub why: String,
    /// Since when, if that is known.
    pub since: Option<Timestamp>,
    /// What a controller would do with it; null if only a person can.
    pub controller: Option<String>,
}

impl SurveyReport {
    /// Whether something could not be read for want of a permission.
    pub fn lacks_a_permission(&self) -> bool {
        self.unread.iter().any(|unread| unread.permission.is_some())
    }

    /// How many findings have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

impl SurveyFinding {
    /// Whether one of its objects says why it is listed: an anonymous survey leaves reasons out.
    pub fn has_why(&self) -> bool {
        self.objects.iter().any(|object| !object.why.is_empty())
    }

    /// A finding without commands. It is as old as the oldest thing that it concerns.
    pub(super) fn new(
        id: &str,
        severity: Severity,
        title: impl Into<String>,
        cost: &str,
        mut objects: Vec<SurveyObject>,
    ) -> Self {
        objects.sort();
        objects.dedup();
        let since = objects.iter().filter_map(|object| object.since).min();
        Self {
            id: id.to_owned(),
            severity,
            title: title.into(),
            cost: cost.to_owned(),
            since,
            objects,
            commands: Vec::new(),
        }
    }

    pub(super) fn with_commands(self, commands: impl IntoIterator<Item = String>) -> Self {
        Self { commands: commands.into_iter().collect(), ..self }
    }
}
