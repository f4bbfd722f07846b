//! Checks that change nothing: the preflight check of the controller's own token, and the check of an installation from
//! where the functions run, whose findings are no errors.

use std::{fmt, sync::Arc};

use consul::{ConsulError, Fields, Object, ObjectKind, OwnToken};
use mesh::{
    cluster_selection::ClusterPattern,
    permissions::{Permission, exceeding, required, required_to_observe},
    settings::Mode,
    tenancy::{Tenancy, TenancyName},
};
use observe::Deadline;
use report::{CheckReport, Problem, SetUpReport, SweepReport, TokenReport};
use serde_json::Value;

use crate::{
    bootstrap::{Bootstrap, BootstrapReport},
    context::Context,
    error::ControllerError,
};

/// What the bootstrap would do.
fn set_up(report: BootstrapReport) -> SetUpReport {
    let failures = report.failures.iter().map(|failure| failure.error.to_string());
    SetUpReport {
        missing: report.created,
        incomplete: report.updated,
        skipped: report.skipped,
        failed: failures.chain(report.not_created.values().map(ToString::to_string)).collect(),
        complete: report.unchanged.len(),
    }
}

/// Adds what a dry run could not read, would leave alone, and would hold back.
pub(crate) fn add_sweep(report: &mut CheckReport, swept: SweepReport) {
    report.problems.extend(swept.problems);
    report.faults.extend(swept.faults);
    let guarded = swept.clusters.into_iter().filter_map(|cluster| Some((cluster.cluster_arn, cluster.guard?)));
    report.held_back.extend(guarded.map(|(cluster, reason)| format!("{cluster}: {reason}")));
}

pub(crate) struct InstallationCheck {
    /// Without writes.
    pub(crate) bootstrap: Bootstrap,
}

impl InstallationCheck {
    pub(crate) async fn run(&self, preflight: &Preflight, deadline: Deadline) -> CheckReport {
        let context = &preflight.context;
        let mut report = CheckReport { mode: context.scope.mode, ..CheckReport::default() };
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
        report.version = context.observer.consul.version().await.ok();
        match context.observer.consul.own_token().await {
            Ok(token) => {
                report.acls_disabled = token.is_none();
                if let Some(OwnToken { accessor_id, policies }) = token {
                    let excess = excess(context, &policies).await;
                    report.token = Some(TokenReport { accessor_id, policies, excess });
                }
            }
            Err(error) => report.problems.push(unreadable(error)),
        }
        report.set_up = set_up(self.bootstrap.run(deadline).await);
        report
    }
}

/// The rules of these policies that the controller does not need. A policy that cannot be read has none.
async fn excess(context: &Context, policies: &[String]) -> Vec<String> {
    let mut excess = Vec::new();
    for name in policies {
        let policy =
            Object { kind: ObjectKind::Policy, name: name.clone(), tenancy: Tenancy::Community, body: Fields::new() };
        let fields = context.observer.consul.read(&policy).await.ok().flatten().unwrap_or_default();
        let rules = fields.get("Rules").and_then(Value::as_str).unwrap_or_default();
        excess.extend(exceeding(rules, context.scope.mode, context.scope.needs_operator()));
    }
    excess
}

fn unreadable(error: ConsulError) -> Problem {
    ControllerError::from(error).problem(None)
}

/// A permission that the controller's own token does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPermission {
    pub permission: Permission,
    /// The partition, and the names and patterns of the clusters in it (Enterprise).
    pub place: Option<(TenancyName, Vec<ClusterPattern>)>,
}

impl fmt::Display for MissingPermission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.permission)?;
        let Some((partition, clusters)) = &self.place else { return Ok(()) };
        let names: Vec<String> = clusters.iter().map(ClusterPattern::to_string).collect();
        write!(f, " in partition {partition} (for the clusters {})", names.join(", "))
    }
}

/// Why the preflight check failed.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// The token does not have all required permissions.
    #[error(
        "the controller's Consul token lacks: {}; add them to its policy (see docs/how-to/install-sam.md)",
        .0.iter().map(MissingPermission::to_string).collect::<Vec<_>>().join("; ")
    )]
    MissingPermissions(Vec<MissingPermission>),
    /// Consul cannot be reached, or does not know the token.
    #[error(transparent)]
    Consul(#[from] ConsulError),
}

/// Runs the preflight check.
pub(crate) struct Preflight {
    pub(crate) context: Arc<Context>,
}

impl Preflight {
    /// Checks that Consul answers, and that the controller's own token has every required permission in the clusters'
    /// partitions. Changes nothing.
    ///
    /// # Errors
    /// The missing permissions, as the rules that grant them; or why Consul could not be asked.
    pub(crate) async fn run(&self) -> Result<(), PreflightError> {
        let mut tenancies = self.context.scope.tenancies();
        let required = |patterns: &[ClusterPattern]| {
            let scope = &self.context.scope;
            match scope.mode {
                Mode::Act => required(&scope.clusters, patterns, scope.needs_operator()),
                Mode::Observe => required_to_observe(),
            }
        };
        // The policy of a partition cannot grant permissions of the whole datacenter: these are checked separately.
        let local = tenancies.remove(&Tenancy::Community).unwrap_or_default();
        let has_local = !local.is_empty();
        let whole = required(&local).into_iter().filter(|permission| has_local || permission.is_global()).collect();
        let mut missing = self.missing_in(&Tenancy::Community, whole, &local).await?;
        for (tenancy, clusters) in tenancies {
            let local = required(&clusters).into_iter().filter(|permission| !permission.is_global()).collect();
            missing.extend(self.missing_in(tenancy, local, &clusters).await?);
        }
        if missing.is_empty() { Ok(()) } else { Err(PreflightError::MissingPermissions(missing)) }
    }

    async fn missing_in(
        &self,
        tenancy: &Tenancy,
        permissions: Vec<Permission>,
        clusters: &[ClusterPattern],
    ) -> Result<Vec<MissingPermission>, ConsulError> {
        let missing = self.context.observer.consul.missing_permissions(tenancy, &permissions).await?;
        let place = tenancy.partition().map(|partition| (partition.clone(), clusters.to_vec()));
        Ok(missing.into_iter().map(|permission| MissingPermission { permission, place: place.clone() }).collect())
    }
}
