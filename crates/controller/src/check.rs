//! The check of an installation, from where the functions run. It changes nothing, and what it finds is no error.

use std::sync::Arc;

use consul::{ConsulError, Fields, Kind, Object, OwnToken};
use mesh::{mode::Mode, policy_rules::exceeding, tenancy::Tenancy};
use serde::Serialize;
use serde_json::Value;

use crate::{
    bootstrap::{Bootstrap, BootstrapReport},
    deadline::Deadline,
    edges::{Edges, Setup},
    error::ControllerError,
    observing,
    preflight::{Preflight, PreflightError},
    problem::ProblemReport,
    scope::Scope,
    sweep::SweepReport,
    tasks::TaskReader,
};

/// What the functions find out about their installation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// `act` or `observe`.
    pub mode: &'static str,
    /// Why Consul could not be asked; then nothing else is known.
    pub consul: Option<ProblemReport>,
    /// The version of Consul, if its token may read it.
    pub version: Option<String>,
    /// The permissions that the controller's token lacks, as the rules that grant them.
    pub missing_permissions: Vec<String>,
    /// The controller's token; `None` if ACLs are off in Consul, or if it could not be read.
    pub token: Option<TokenReport>,
    /// Whether ACLs are off in Consul.
    pub acls_disabled: bool,
    /// What the bootstrap would do.
    pub set_up: SetUpReport,
    /// What a sweep could not read.
    pub problems: Vec<ProblemReport>,
    /// The clusters of which a sweep would hold something back, with the reason.
    pub held_back: Vec<String>,
}

/// The controller's token, without its secret ID.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenReport {
    /// Its accessor ID.
    pub accessor_id: String,
    /// The policies that are attached to it.
    pub policies: Vec<String>,
    /// The rules of these policies that the controller does not need.
    pub excess: Vec<String>,
}

/// What the bootstrap would do.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetUpReport {
    /// The objects that Consul does not have.
    pub missing: Vec<String>,
    /// The objects that it would extend.
    pub incomplete: Vec<String>,
    /// The objects that this Consul cannot have.
    pub skipped: Vec<String>,
    /// Why objects could not be compared.
    pub failed: Vec<String>,
    /// How many objects are as they should be.
    pub complete: usize,
}

impl From<BootstrapReport> for SetUpReport {
    fn from(report: BootstrapReport) -> Self {
        Self {
            missing: report.created,
            incomplete: report.updated,
            skipped: report.skipped,
            failed: report.failures.iter().map(|failure| failure.error.to_string()).collect(),
            complete: report.unchanged.len(),
        }
    }
}

impl CheckReport {
    /// Adds what a dry run could not read, and would hold back.
    pub(crate) fn add_sweep(&mut self, swept: SweepReport) {
        self.problems.extend(swept.problems);
        let guarded = swept.clusters.into_iter().filter_map(|cluster| Some((cluster.cluster_arn, cluster.guard?)));
        self.held_back.extend(guarded.map(|(cluster, reason)| format!("{cluster}: {reason}")));
    }
}

/// Checks an installation.
pub(crate) struct InstallationCheck {
    mode: Mode,
    consul: Arc<dyn Setup>,
    /// Without writes.
    bootstrap: Bootstrap,
}

impl InstallationCheck {
    pub(crate) fn new(scope: &Scope, edges: &Edges, tasks: &TaskReader) -> Self {
        let observing = observing::in_mode(Mode::Observe, edges.clone());
        let scope_of_reads = Arc::new(Scope { operation: Mode::Observe, ..scope.clone() });
        let tasks = TaskReader { scope: scope_of_reads, ..tasks.clone() };
        Self { mode: scope.operation, consul: edges.bootstrap.clone(), bootstrap: Bootstrap::new(&observing, &tasks) }
    }

    pub(crate) async fn run(&self, preflight: &Preflight, deadline: Deadline) -> CheckReport {
        let mut report = CheckReport {
            mode: self.mode.as_str(),
            consul: None,
            version: None,
            missing_permissions: Vec::new(),
            token: None,
            acls_disabled: false,
            set_up: SetUpReport::default(),
            problems: Vec::new(),
            held_back: Vec::new(),
        };
        match preflight.run().await {
            Ok(()) => {}
            Err(PreflightError::MissingPermissions(missing)) => {
                report.missing_permissions = missing.iter().map(ToString::to_string).collect();
            }
            Err(PreflightError::Consul(error)) => {
                report.consul = Some(unreadable(error));
                return report;
            }
        }
        report.version = self.consul.version().await.ok();
        match self.consul.own_token().await {
            Ok(token) => {
                report.acls_disabled = token.is_none();
                if let Some(OwnToken { accessor_id, policies }) = token {
                    let excess = self.excess(&policies).await;
                    report.token = Some(TokenReport { accessor_id, policies, excess });
                }
            }
            Err(error) => report.problems.push(unreadable(error)),
        }
        report.set_up = self.bootstrap.run(deadline).await.into();
        report
    }

    /// The rules of these policies that the controller does not need. A policy that cannot be read has none.
    async fn excess(&self, policies: &[String]) -> Vec<String> {
        let mut excess = Vec::new();
        for name in policies {
            let policy =
                Object { kind: Kind::Policy, name: name.clone(), tenancy: Tenancy::Community, body: Fields::new() };
            let fields = self.consul.read(&policy).await.ok().flatten().unwrap_or_default();
            let rules = fields.get("Rules").and_then(Value::as_str).unwrap_or_default();
            excess.extend(exceeding(rules, self.mode));
        }
        excess
    }
}

fn unreadable(error: ConsulError) -> ProblemReport {
    ProblemReport::new(None, &ControllerError::from(error))
}
