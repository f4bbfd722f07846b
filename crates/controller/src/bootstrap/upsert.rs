//! Upserts objects: missing ones are created, shared ones extended.
//!
//! Consul has no check-and-set for auth methods, roles and tokens: of two controllers that read concurrently, the later
//! write undoes the earlier one. So every written object is read again after a pause, longer than the time between
//! another controller's read and write, and written again if the change was lost.

use std::{sync::Arc, time::Duration};

use consul::{ConsulBootstrap, ConsulError, Kind, Object};
use mesh::{mode::Mode, token_mode::TokenMode};
use tracing::info;

use super::{
    merge::{Upsert, merge},
    report::{BootstrapError, BootstrapReport},
};
use crate::{deadline::Deadline, error::ControllerError};

/// The most writes of an object.
const ROUNDS: usize = 6;
/// The shortest pause before a written object is read again, and its random extension, so that one of several
/// controllers writes last.
const PAUSE: Duration = Duration::from_millis(500);
const JITTER: Duration = Duration::from_millis(500);

/// The effect on an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Created,
    Updated,
    Unchanged,
}

/// Creates and extends objects in Consul.
pub(super) struct Upserter {
    pub(super) consul: Arc<dyn ConsulBootstrap>,
    pub(super) mode: TokenMode,
    pub(super) operation: Mode,
}

impl Upserter {
    /// Ensures that the objects exist, and verifies each write until it persists. In mode `observe` there is none to verify.
    pub(super) async fn ensure(&self, objects: &[Object], deadline: Deadline, report: &mut BootstrapReport) {
        let mut changes: Vec<(&Object, Change)> = Vec::new();
        let mut pending: Vec<&Object> = objects.iter().collect();
        for round in 0..ROUNDS {
            if round > 0 {
                let pause = PAUSE + JITTER.mul_f64(fastrand::f64());
                tokio::time::sleep(pause.min(deadline.left())).await;
            }
            let mut written_objects = Vec::new();
            for object in pending {
                if objects.iter().any(|other| object.refers_to(other) && report.has_skipped(other)) {
                    report.skipped.push(object.to_string());
                    continue;
                }
                match self.upsert(object, objects, deadline, report).await {
                    Ok(change) => {
                        if change != Change::Unchanged && self.operation.acts() {
                            written_objects.push(object);
                        }
                        if !changes.iter().any(|(known, _)| *known == object) {
                            changes.push((object, change));
                        }
                    }
                    // Another writer has just created it.
                    Err(BootstrapError::Controller(ControllerError::Consul(ConsulError::Conflict { .. }))) => {
                        written_objects.push(object);
                    }
                    Err(error) if error.is_acceptable(self.mode) => report.skip(object.to_string(), &error),
                    Err(error) => report.fail(object.to_string(), error),
                }
            }
            pending = written_objects;
            if pending.is_empty() {
                break;
            }
        }
        for object in pending {
            report.fail(object.to_string(), BootstrapError::Overwritten { object: object.to_string() });
        }
        record(&changes, self.operation, report);
    }

    /// Reads, merges and writes one object.
    async fn upsert(
        &self,
        object: &Object,
        among: &[Object],
        deadline: Deadline,
        report: &BootstrapReport,
    ) -> Result<Change, BootstrapError> {
        if let Some(missing) = among.iter().find(|other| object.refers_to(other) && report.has_failed(other)) {
            let (object, missing) = (object.to_string(), missing.to_string());
            return Err(BootstrapError::NotAttempted { object, missing });
        }
        let consul = &self.consul;
        let existing = deadline.run(consul.read(object)).await?;
        let (change, written) = match merge(existing.as_ref(), object)? {
            Upsert::Unchanged => return Ok(Change::Unchanged),
            Upsert::Create(body) => (Change::Created, deadline.run(consul.create(object, body)).await),
            Upsert::Update(body) => (Change::Updated, deadline.run(consul.update(object, body)).await),
        };
        written.map(|()| change).map_err(|error| explain(object, error))
    }
}

/// Translates errors of a Consul without a required feature.
fn explain(object: &Object, error: ControllerError) -> BootstrapError {
    match (object.kind, &error) {
        (Kind::AuthMethod, ControllerError::Consul(ConsulError::Refused { reason, .. }))
            if reason.contains("Type should be one of") =>
        {
            BootstrapError::NeedsNewerConsul { method: object.to_string() }
        }
        // A missing partition is created, so that this error means that Consul does not have the endpoint.
        (Kind::Partition, ControllerError::Consul(ConsulError::NotFound { .. })) => {
            BootstrapError::NeedsEnterprise { name: object.name.clone() }
        }
        _ => error.into(),
    }
}

fn record(changes: &[(&Object, Change)], operation: Mode, report: &mut BootstrapReport) {
    for (object, change) in changes {
        let object = object.to_string();
        let (list, outcome) = match change {
            Change::Created => (&mut report.created, "created"),
            Change::Updated => (&mut report.updated, "updated"),
            Change::Unchanged => (&mut report.unchanged, "unchanged"),
        };
        let is_observed = *change != Change::Unchanged && !operation.acts();
        info!(action = "bootstrap", outcome = if is_observed { operation.done() } else { outcome }, object);
        list.push(object);
    }
}
