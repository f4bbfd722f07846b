//! Bringing objects about: what is missing is created, and what others share is extended.
//!
//! Consul compares nothing when it writes an auth method, a role or a token: of two controllers that read at the same
//! time, the second one to write undoes what the first one added. So everything that was written is read again after
//! a pause, longer than the time between another's reading and writing, and written again if it was lost.

use std::{sync::Arc, time::Duration};

use consul::{ConsulBootstrap, ConsulError, Kind, Object};
use tracing::info;

use super::{
    merge::{Upsert, merge},
    report::{BootstrapError, BootstrapReport},
};
use crate::{deadline::Deadline, error::ControllerError};

/// How often an object is written at most.
const ROUNDS: usize = 6;
/// The shortest pause before what was written is read again, and how much longer it may be by chance: of several
/// controllers, one must be the last.
const PAUSE: Duration = Duration::from_millis(500);
const JITTER: Duration = Duration::from_millis(500);

/// What was done about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Created,
    Updated,
    Unchanged,
}

/// Makes objects of Consul what they should be.
pub(super) struct Upserter {
    pub(super) consul: Arc<dyn ConsulBootstrap>,
}

impl Upserter {
    /// Brings the objects about, and looks at what was written until it stays.
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
                match self.upsert(object, objects, deadline, report).await {
                    Ok(change) => {
                        if change != Change::Unchanged {
                            written_objects.push(object);
                        }
                        if !changes.iter().any(|(known, _)| *known == object) {
                            changes.push((object, change));
                        }
                    }
                    // Somebody else has just made it: look again.
                    Err(BootstrapError::Controller(ControllerError::Consul(ConsulError::Conflict { .. }))) => {
                        written_objects.push(object);
                    }
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
        note(&changes, report);
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

/// Says of answers that come from a Consul which lacks a feature what it lacks.
fn explain(object: &Object, error: ControllerError) -> BootstrapError {
    match (object.kind, &error) {
        (Kind::AuthMethod, ControllerError::Consul(ConsulError::Refused { reason, .. }))
            if reason.contains("Type should be one of") =>
        {
            BootstrapError::NeedsNewerConsul { method: object.to_string() }
        }
        // The partition's own absence is no error: it was about to be made.
        (Kind::Partition, ControllerError::Consul(ConsulError::NotFound { .. })) => {
            BootstrapError::NeedsEnterprise { name: object.name.clone() }
        }
        _ => error.into(),
    }
}

fn note(changes: &[(&Object, Change)], report: &mut BootstrapReport) {
    for (object, change) in changes {
        let object = object.to_string();
        let (list, outcome) = match change {
            Change::Created => (&mut report.created, "created"),
            Change::Updated => (&mut report.updated, "updated"),
            Change::Unchanged => (&mut report.unchanged, "unchanged"),
        };
        info!(action = "bootstrap", outcome, object);
        list.push(object);
    }
}
