//! Audits an account, and announces new findings.

use std::{path::Path, sync::Arc};

use audit::{
    Deployment, audit_in,
    ignore::{self, Config},
    report::Report,
};
use audit_live::{LiveScope, gather_live};
use aws::{ecs::Inventory, events::EventPublisher};
use futures::{StreamExt, stream};
use mesh::cluster_selection::ClusterSelection;
use report::AuditScope;
use serde_json::Value;
use tracing::{error, info, warn};

use crate::{
    announce::{self, Topic},
    announcement_log::{AnnouncementLog, RevisionFindings},
    order::{AuditedScope, Invocation, Order},
    report_store::{ReportStore, Responder},
};

/// The most concurrent reads and writes of records.
const CONCURRENCY: usize = 8;

/// The external services of the auditor, behind traits.
#[derive(Clone)]
pub struct AuditEdges {
    /// The task definitions of the account.
    pub inventory: Arc<dyn Inventory>,
    /// The bucket of reports and records.
    pub store: Arc<dyn ReportStore>,
    pub topic: Arc<dyn Topic>,
    pub bus: Arc<dyn EventPublisher>,
}

pub struct Auditor {
    clusters: ClusterSelection,
    deployment: Deployment,
    configuration: Config,
    edges: AuditEdges,
}

/// An audit that failed in part, with a summary of the report.
#[derive(Debug, thiserror::Error)]
#[error("{}\n{summary}", reasons.join("; "))]
pub struct Incomplete {
    pub reasons: Vec<String>,
    /// The summary of the report, in one line.
    pub summary: String,
}

impl Auditor {
    /// An auditor with the clusters of scheduled audits, the controller's deployment, and the ignored findings in
    /// `configuration`.
    pub fn new(clusters: ClusterSelection, deployment: Deployment, configuration: Config, edges: AuditEdges) -> Self {
        Self { clusters, deployment, configuration, edges }
    }

    /// Runs an order. The answer is the report, or its location.
    ///
    /// # Errors
    /// Something could not be announced or stored; or, if no caller waits for the answer, could not be read. Everything
    /// else was done.
    pub async fn run(&self, order: &Order, invocation: &Invocation) -> Result<Value, Incomplete> {
        let report = self.report(&order.scope).await;
        let mut reasons: Vec<String> = Vec::new();
        let announced = if order.announces { self.announce(&report, invocation, &mut reasons).await } else { 0 };
        let responder = Responder { store: self.edges.store.as_ref(), invocation };
        let answer =
            responder.answer(&report, order.format).await.map_err(|error| reasons.push(error.to_string())).ok();
        for problem in &report.problems {
            warn!(action = "audit", outcome = "unreadable", reason = %problem);
        }
        if order.scope.is_unattended() {
            reasons.extend(report.problems.iter().map(ToString::to_string));
        }
        log(&report, announced, &reasons);
        match answer {
            Some(answer) if reasons.is_empty() => Ok(answer),
            _ => Err(Incomplete { reasons, summary: report.summary() }),
        }
    }

    async fn report(&self, scope: &AuditedScope) -> Report {
        let gathered = gather_live(self.edges.inventory.as_ref(), &self.live_scope(scope), &|_, _| {}).await;
        let found = audit_in(&gathered.material, Some(&self.deployment));
        let sorted = ignore::sort(found, &gathered.material, &self.configuration, Path::new(""));
        let threshold = self.configuration.fail_on.as_ref().map(|fail_on| *fail_on.get_ref());
        Report::new(&gathered, &sorted, threshold.unwrap_or_default())
    }

    fn live_scope(&self, scope: &AuditedScope) -> LiveScope {
        let mut live = LiveScope::default();
        match scope {
            AuditedScope::Ordered(AuditScope::All) => {}
            AuditedScope::Ordered(AuditScope::Scheduled) => live.deployed = Some(self.clusters.clone()),
            AuditedScope::Ordered(AuditScope::Cluster(name)) => live.clusters.push(name.clone()),
            AuditedScope::Ordered(AuditScope::Family(name)) => live.families.push(name.clone()),
            AuditedScope::Ordered(AuditScope::TaskDefinition(name)) => live.definitions.push(name.clone()),
            AuditedScope::Registered(arn) => live.definitions.push(arn.as_str().to_owned()),
        }
        live
    }

    /// Announces the new findings of `report`. Returns their number.
    async fn announce(&self, report: &Report, invocation: &Invocation, reasons: &mut Vec<String>) -> usize {
        let announcement_log = AnnouncementLog { store: self.edges.store.as_ref(), now: invocation.now };
        let by_revision = RevisionFindings::all_in(report, reasons);
        let reads = stream::iter(&by_revision).map(|found| announcement_log.fresh(found)).buffered(CONCURRENCY);
        let mut fresh = Vec::new();
        for read in reads.collect::<Vec<_>>().await {
            match read {
                Ok(of_revision) if of_revision.findings.is_empty() => {}
                Ok(of_revision) => fresh.push(of_revision),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        let failed = self.publish(&fresh).await;
        if !failed.is_empty() {
            reasons.extend(failed);
            return 0;
        }
        let writes = stream::iter(&fresh).map(|announced| announcement_log.record(announced)).buffered(CONCURRENCY);
        let written: Vec<_> = writes.collect().await;
        reasons.extend(written.into_iter().filter_map(|written| written.err().map(|error| error.to_string())));
        fresh.iter().map(|of_revision| of_revision.findings.len()).sum()
    }

    /// Announces findings on the event bus and the topic. Returns why that failed, if it did: one channel does not need the
    /// other.
    async fn publish(&self, fresh: &[RevisionFindings<'_>]) -> Vec<String> {
        let events = announce::events(fresh);
        if events.is_empty() {
            return Vec::new();
        }
        let mut failed = Vec::new();
        failed.extend(self.edges.bus.publish(&events).await.err().map(|error| error.to_string()));
        for message in announce::messages(fresh) {
            failed.extend(self.edges.topic.notify(&message).await.err().map(|error| error.to_string()));
        }
        failed
    }
}

fn log(report: &Report, announced: usize, reasons: &[String]) {
    let counts = report.counts;
    telemetry::findings(counts.errors, counts.warnings, counts.infos);
    macro_rules! line {
        ($level:ident, $outcome:literal) => {
            $level!(
                action = "audit",
                outcome = $outcome,
                errors = counts.errors,
                warnings = counts.warnings,
                infos = counts.infos,
                announced,
                definitions = counts.definitions,
                reason = reasons.join("; "),
            )
        };
    }
    // A failure is logged with every `LogLevel`: the alarm's first command looks for it.
    if reasons.is_empty() { line!(info, "done") } else { line!(error, "failed") }
}
