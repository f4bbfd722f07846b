//! Upserts objects: missing ones are created, shared ones extended.
//!
//! Consul has no check-and-set for auth methods, roles and tokens: of two controllers that read concurrently, the later
//! write undoes the earlier one. So every written object is read again after a pause, longer than the time between
//! another controller's read and write, and written again if the change was lost.

use std::{collections::BTreeMap, slice, sync::Arc, time::Duration};

use consul::{ConsulError, Object, ObjectKind};
use mesh::{
    consul_ecs::FIRST_CONSUL_WITH_LOGINS,
    settings::{Mode, TokenMode},
};
use observe::{CallError, Deadline};
use serde_json::{Map, Value};
use tracing::{info, warn};

use super::{ClusterPlace, NotCreated};
use crate::{context::Context, edges::Writes, error::ControllerError};

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
    pub(super) context: Arc<Context>,
    pub(super) mode: Mode,
    pub(super) writes: Writes,
}

impl Upserter {
    /// Ensures that the objects exist, and verifies each write until it persists. In mode `observe` there is nothing to verify.
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
                        if change != Change::Unchanged && self.mode.acts() {
                            written_objects.push(object);
                        }
                        if !changes.iter().any(|(known, _)| *known == object) {
                            changes.push((object, change));
                        }
                    }
                    // Another writer has just created it.
                    Err(BootstrapError::Call(CallError::Consul(ConsulError::Conflict { .. }))) => {
                        written_objects.push(object);
                    }
                    Err(error) if error.is_acceptable(self.context.scope.token_mode) => {
                        report.skip(object.to_string(), &error);
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
        record(&changes, self.mode, report);
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
        let consul = &self.writes.consul;
        let existing = deadline.run(self.context.observer.consul.read(object)).await?;
        let (change, written) = match merge(existing.as_ref(), object)? {
            Upsert::Unchanged => return Ok(Change::Unchanged),
            Upsert::Create(body) => (Change::Created, deadline.run(consul.create(object, body)).await),
            Upsert::Update(body) => (Change::Updated, deadline.run(consul.update(object, body)).await),
        };
        written.map(|()| change).map_err(|error| explain(object, error))
    }
}

/// Translates errors of a Consul without a required feature.
fn explain(object: &Object, error: CallError) -> BootstrapError {
    match (object.kind, &error) {
        (ObjectKind::AuthMethod, CallError::Consul(ConsulError::Refused { reason, .. }))
            if reason.contains("Type should be one of") =>
        {
            BootstrapError::NeedsNewerConsul { method: object.to_string() }
        }
        // A missing partition is created, so that this error means that Consul does not have the endpoint.
        (ObjectKind::Partition, CallError::Consul(ConsulError::NotFound { .. })) => {
            BootstrapError::NeedsEnterprise { name: object.name.clone() }
        }
        _ => error.into(),
    }
}

fn record(changes: &[(&Object, Change)], mode: Mode, report: &mut BootstrapReport) {
    for (object, change) in changes {
        let object = object.to_string();
        let (list, outcome) = match change {
            Change::Created => (&mut report.created, "created"),
            Change::Updated => (&mut report.updated, "updated"),
            Change::Unchanged => (&mut report.unchanged, "unchanged"),
        };
        let is_observed = *change != Change::Unchanged && !mode.acts();
        info!(action = "bootstrap", outcome = if is_observed { mode.done() } else { outcome }, object);
        list.push(object);
    }
}

/// The write that the desired object requires.
#[derive(Debug, Clone, PartialEq)]
pub enum Upsert {
    /// The object does not exist.
    Create(Map<String, Value>),
    /// The object exists, but has to be extended to these fields.
    Update(Map<String, Value>),
    /// The object exists, and needs no change.
    Unchanged,
}

/// An auth method with the same name has another type. Replacing it would break the logins of its users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "auth method {method}: exists with type {found:?} instead of \"aws-iam\" and was not changed. Delete it in Consul \
     if nothing uses it, or set BOOTSTRAP=none and set Consul up manually"
)]
pub struct OtherType {
    pub method: String,
    pub found: String,
}

/// Merges `desired` into the object that Consul has under its name.
///
/// An existing policy, binding rule, partition or node is not changed: users may have extended it.
///
/// # Errors
/// An auth method of that name has another type.
pub fn merge(existing: Option<&Map<String, Value>>, desired: &Object) -> Result<Upsert, OtherType> {
    let Some(existing) = existing else {
        return Ok(Upsert::Create(desired.body.clone()));
    };
    match desired.kind {
        ObjectKind::Partition | ObjectKind::Policy | ObjectKind::BindingRule | ObjectKind::SyntheticNode => {
            return Ok(Upsert::Unchanged);
        }
        ObjectKind::AuthMethod => {
            let found = existing.get("Type").and_then(Value::as_str);
            if found != desired.text("Type") {
                let found = found.unwrap_or_default().to_owned();
                return Err(OtherType { method: desired.name.clone(), found });
            }
        }
        ObjectKind::Namespace | ObjectKind::Role | ObjectKind::AnonymousToken => {}
    }
    let merged = union_of_fields(existing, &desired.body);
    Ok(if merged == *existing { Upsert::Unchanged } else { Upsert::Update(merged) })
}

fn union_of_fields(existing: &Map<String, Value>, desired: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = existing.clone();
    for (field, value) in desired {
        // Consul matches field names without regard to case, and would ignore one of two spellings.
        let other_spelling = || existing.keys().find(|key| key.eq_ignore_ascii_case(field));
        let key = if existing.contains_key(field) { field } else { other_spelling().unwrap_or(field) };
        let value = existing.get(key).map_or_else(|| value.clone(), |existing| union(existing, value));
        merged.insert(key.clone(), value);
    }
    merged
}

fn union(existing: &Value, desired: &Value) -> Value {
    match (existing, desired) {
        // Consul returns an empty list as null.
        (Value::Null, _) => desired.clone(),
        (Value::Object(existing), Value::Object(desired)) => Value::Object(union_of_fields(existing, desired)),
        (Value::Array(existing), Value::Array(desired)) => extended(existing, desired),
        // Consul treats a single value as a list of one.
        (single, Value::Array(desired)) => extended(slice::from_ref(single), desired),
        // The only desired boolean, EnableIAMEntityDetails, only adds to the values that a binding rule can refer to.
        (_, Value::Bool(true)) => Value::Bool(true),
        (existing, _) => existing.clone(),
    }
}

fn extended(existing: &[Value], desired: &[Value]) -> Value {
    let mut all = existing.to_vec();
    for value in desired {
        if !all.iter().any(|known| is_same(known, value)) {
            all.push(value.clone());
        }
    }
    Value::Array(all)
}

/// Whether a list entry is the desired one: Consul adds fields to entries, for example the ID to the name of a policy.
fn is_same(known: &Value, desired: &Value) -> bool {
    match (known, desired) {
        (Value::Object(known), Value::Object(desired)) => {
            desired.iter().all(|(field, value)| known.get(field) == Some(value))
        }
        _ => known == desired,
    }
}

/// Why an object could not be created or updated.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// An auth method of that name has another type.
    #[error(transparent)]
    OtherType(#[from] OtherType),
    /// Consul does not support auth methods of type `aws-iam`.
    #[error(
        "{method}: this Consul has no auth methods of type aws-iam: TokenMode auth-method needs Consul \
         {FIRST_CONSUL_WITH_LOGINS} or newer; upgrade Consul, or set TokenMode to auto or secrets-manager"
    )]
    NeedsNewerConsul { method: String },
    /// Consul does not support partitions.
    #[error("partition {name}: this Consul has no partitions; leave CONSUL_PARTITION empty, or use Consul Enterprise")]
    NeedsEnterprise { name: String },
    /// An object that it refers to could not be created.
    #[error("{object}: not attempted, because {missing} failed")]
    NotAttempted { object: String, missing: String },
    /// Another writer keeps replacing it.
    #[error("{object}: another tool keeps changing it. Find the other tool that sets Consul up, then try again")]
    Overwritten { object: String },
    /// A call failed, or time ran out.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl BootstrapError {
    /// Whether a Consul without the object is set up correctly in the mode: ACLs are off, or no task of this Consul can
    /// log in.
    fn is_acceptable(&self, mode: TokenMode) -> bool {
        match self {
            Self::Call(CallError::Consul(ConsulError::AclsDisabled { .. })) => true,
            Self::NeedsNewerConsul { .. } => mode == TokenMode::Auto,
            _ => false,
        }
    }
}

impl From<BootstrapError> for ControllerError {
    fn from(error: BootstrapError) -> Self {
        match error {
            BootstrapError::Call(error) => error.into(),
            other => Self::NotSetUp(other.to_string()),
        }
    }
}

/// An object that could not be created or updated.
#[derive(Debug)]
pub struct BootstrapFailure {
    pub object: String,
    pub error: BootstrapError,
}

/// The result of the bootstrap, by object.
#[derive(Debug, Default)]
pub struct BootstrapReport {
    pub created: Vec<String>,
    pub updated: Vec<String>,
    /// The objects that needed no change.
    pub unchanged: Vec<String>,
    /// The objects that this Consul cannot have: ACLs are off, or it is too old for logins.
    pub skipped: Vec<String>,
    /// The failed objects. The bootstrap may be repeated.
    pub failures: Vec<BootstrapFailure>,
    /// The clusters' nodes and the tasks' namespaces that failed: others do not need them.
    pub not_created: NotCreated,
}

impl BootstrapReport {
    pub(crate) fn fail(&mut self, object: String, error: BootstrapError) {
        warn!(action = "bootstrap", outcome = "failed", object, error = %error);
        self.failures.push(BootstrapFailure { object, error });
    }

    pub(crate) fn skip(&mut self, object: String, reason: &BootstrapError) {
        info!(action = "bootstrap", outcome = "skipped", object, %reason);
        self.skipped.push(object);
    }

    /// Moves the failures of these objects to `not_created`, by place. `refused` makes the error of an object that Consul refused.
    pub(super) fn set_apart<'a>(
        &mut self,
        objects: impl Iterator<Item = (&'a ClusterPlace, Object)>,
        refused: impl Fn(ConsulError) -> ControllerError,
    ) {
        let mut places: BTreeMap<String, Vec<ClusterPlace>> = BTreeMap::new();
        for (place, object) in objects {
            places.entry(object.to_string()).or_default().push(place.clone());
        }
        let of_place = |failure: &mut BootstrapFailure| places.contains_key(&failure.object);
        for failure in self.failures.extract_if(.., of_place) {
            let error = match ControllerError::from(failure.error) {
                ControllerError::Call(CallError::Consul(error @ ConsulError::Refused { .. })) => refused(error),
                error => error,
            };
            let error = Arc::new(error);
            let of = places.get(&failure.object).into_iter().flatten();
            self.not_created.extend(of.map(|place| (place.clone(), Arc::clone(&error))));
        }
    }

    fn has_skipped(&self, object: &Object) -> bool {
        self.skipped.contains(&object.to_string())
    }

    pub(crate) fn has_failed(&self, object: &Object) -> bool {
        let name = object.to_string();
        self.failures.iter().any(|failure| failure.object == name)
    }
}

#[cfg(test)]
mod tests;
