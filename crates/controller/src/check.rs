//! The check of an installation, from where the functions run. It changes nothing, and what it finds is no error.

use std::sync::Arc;

use consul::{ConsulError, Fields, Kind, Object, OwnToken};
use mesh::{mode::Mode, policy_rules::exceeding, tenancy::Tenancy};
use report::{CheckReport, Problem, SetUpReport, SweepReport, TokenReport};
use serde_json::Value;

use crate::{
    bootstrap::{Bootstrap, BootstrapReport},
    deadline::Deadline,
    edges::{Edges, Setup},
    error::ControllerError,
    observing,
    preflight::{Preflight, PreflightError},
    scope::Scope,
    tasks::TaskReader,
};

/// What the bootstrap would do.
fn set_up(report: BootstrapReport) -> SetUpReport {
    SetUpReport {
        missing: report.created,
        incomplete: report.updated,
        skipped: report.skipped,
        failed: report.failures.iter().map(|failure| failure.error.to_string()).collect(),
        complete: report.unchanged.len(),
    }
}

/// Adds what a dry run could not read, and would hold back.
pub(crate) fn add_sweep(report: &mut CheckReport, swept: SweepReport) {
    report.problems.extend(swept.problems);
    let guarded = swept.clusters.into_iter().filter_map(|cluster| Some((cluster.cluster_arn, cluster.guard?)));
    report.held_back.extend(guarded.map(|(cluster, reason)| format!("{cluster}: {reason}")));
}

/// Checks an installation.
pub(crate) struct InstallationCheck {
    mode: Mode,
    needs_operator: bool,
    consul: Arc<dyn Setup>,
    /// Without writes.
    bootstrap: Bootstrap,
}

impl InstallationCheck {
    pub(crate) fn new(scope: &Scope, edges: &Edges, tasks: &TaskReader) -> Self {
        let observing = observing::in_mode(Mode::Observe, edges.clone());
        let scope_of_reads = Arc::new(Scope { operation: Mode::Observe, ..scope.clone() });
        let tasks = TaskReader { scope: scope_of_reads, ..tasks.clone() };
        Self {
            mode: scope.operation,
            needs_operator: scope.needs_operator(),
            consul: edges.bootstrap.clone(),
            bootstrap: Bootstrap::new(&observing, &tasks),
        }
    }

    pub(crate) async fn run(&self, preflight: &Preflight, deadline: Deadline) -> CheckReport {
        let mut report = CheckReport { mode: self.mode, ..CheckReport::default() };
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
        report.set_up = set_up(self.bootstrap.run(deadline).await);
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
            excess.extend(exceeding(rules, self.mode, self.needs_operator));
        }
        excess
    }
}

fn unreadable(error: ConsulError) -> Problem {
    ControllerError::from(error).problem(None)
}
