//! Setting Consul up: what is missing is created, and what others share is extended.
//!
//! Consul compares nothing when it writes an auth method, a role or a token: of two controllers that read at the same
//! time, the second one to write undoes what the first one added. So everything that was written is read again after
//! a pause, longer than the time between another's reading and writing, and written again if it was lost.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::PoisonError,
    time::Duration,
};

use jiff::SignedDuration;
use tracing::{info, warn};

use super::{Controller, ControllerError, Deadline};
use crate::{
    consul::ConsulError,
    mesh::{
        arn::ClusterArn,
        bootstrap::{
            BootstrapExtent, Wishes, enterprise,
            merge::{OtherType, Upsert, merge},
            object::{Kind, Object},
            objects,
        },
        plan::TokenMode,
        tenancy::{Tenancy, TenancyName},
    },
};

/// How often an environment sets Consul up.
const BOOTSTRAP_EVERY: SignedDuration = SignedDuration::from_hours(1);
/// How often an object is written at most.
const ROUNDS: usize = 6;
/// The shortest pause before what was written is read again, and how much longer it may be by chance: of several
/// controllers, one must be the last.
const PAUSE: Duration = Duration::from_millis(500);
const JITTER: Duration = Duration::from_millis(500);

/// Why an object is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// It is something else, and in use.
    #[error(transparent)]
    OtherType(#[from] OtherType),
    /// Consul has no such type of auth methods.
    #[error(
        "{method}: this Consul has no auth methods of type aws-iam: TokenMode auth-method needs Consul 1.12 or newer; \
         upgrade Consul, or set TokenMode to secrets-manager"
    )]
    NeedsNewerConsul {
        /// The auth method.
        method: String,
    },
    /// Consul has no partitions.
    #[error("partition {name}: this Consul has no partitions; leave CONSUL_PARTITION empty, or use Consul Enterprise")]
    NeedsEnterprise {
        /// The partition's name.
        name: String,
    },
    /// What it refers to could not be made.
    #[error("{object}: not attempted, because {missing} failed")]
    NotAttempted {
        /// The object.
        object: String,
        /// What it refers to.
        missing: String,
    },
    /// Somebody writes another value over it again and again.
    #[error("{object}: somebody else keeps writing it; see who else sets Consul up, and do this again")]
    Unsettled {
        /// The object.
        object: String,
    },
    /// Consul, or the time.
    #[error(transparent)]
    Controller(#[from] ControllerError),
}

/// An object that is not as it should be.
#[derive(Debug)]
pub struct BootstrapFailure {
    /// The object.
    pub object: String,
    /// Why.
    pub error: BootstrapError,
}

/// What setting Consul up came to, by object.
#[derive(Debug, Default)]
pub struct BootstrapReport {
    /// What was missing, and is there now.
    pub created: Vec<String>,
    /// What was extended.
    pub updated: Vec<String>,
    /// What was as it should be.
    pub unchanged: Vec<String>,
    /// What is not as it should be. Doing it all again is safe, and mends what can be mended.
    pub failures: Vec<BootstrapFailure>,
}

impl BootstrapReport {
    fn fail(&mut self, object: String, error: BootstrapError) {
        warn!(action = "bootstrap", outcome = "failed", object, error = %error);
        self.failures.push(BootstrapFailure { object, error });
    }

    fn has_failed(&self, object: &Object) -> bool {
        let name = object.to_string();
        self.failures.iter().any(|failure| failure.object == name)
    }
}

/// What was done about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Created,
    Updated,
    Unchanged,
}

impl Controller {
    /// Sets Consul up, as far as the deployment wants it. Each object stands for itself: one that fails does not keep
    /// the others from being made.
    pub async fn bootstrap(&self, deadline: Deadline) -> BootstrapReport {
        let mut report = BootstrapReport::default();
        let scope = &self.scope;
        if scope.bootstrap.extent == BootstrapExtent::None {
            return report;
        }
        let is_primary = scope.mode == TokenMode::AuthMethod && self.is_primary(deadline, &mut report).await;
        let mut partitions: BTreeMap<&Tenancy, Vec<ClusterArn>> = BTreeMap::new();
        for cluster in &scope.clusters {
            partitions.entry(scope.tenancy_of(cluster)).or_default().push(cluster.clone());
        }
        for (tenancy, clusters) in partitions {
            self.bootstrap_partition(tenancy, &clusters, is_primary, deadline, &mut report).await;
        }
        *self.bootstrapped.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.edges.clock.now());
        report
    }

    /// Sets Consul up again if that was long ago: others may have changed what they share with us.
    pub(super) async fn bootstrap_now_and_then(&self, deadline: Deadline) -> BootstrapReport {
        let last = *self.bootstrapped.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| self.edges.clock.now().duration_since(last) < BOOTSTRAP_EVERY) {
            return BootstrapReport::default();
        }
        self.bootstrap(deadline).await
    }

    /// Makes the namespaces that tasks ask for with their tags, where Consul lacks them (Enterprise).
    pub(super) async fn make_namespaces(&self, tenancies: &BTreeSet<Tenancy>, deadline: Deadline) -> BootstrapReport {
        let mut report = BootstrapReport::default();
        let mut partitions: BTreeMap<&TenancyName, Vec<&TenancyName>> = BTreeMap::new();
        for tenancy in tenancies {
            if let Tenancy::Enterprise { partition, namespace } = tenancy {
                partitions.entry(partition).or_default().push(namespace);
            }
        }
        if self.scope.bootstrap.extent == BootstrapExtent::None {
            return report;
        }
        for (partition, wanted) in partitions {
            let Some(known) = self.namespaces(partition, deadline, &mut report).await else { continue };
            let missing: Vec<Object> = wanted
                .into_iter()
                .filter(|name| !known.contains(name))
                .map(|name| enterprise::namespace(partition, name))
                .collect();
            if !missing.is_empty() {
                let home = Tenancy::default_namespace_of(partition.clone());
                let mut objects = vec![enterprise::cross_namespace_policy(&home, partition)];
                objects.extend(missing);
                self.settle(&objects, deadline, &mut report).await;
            }
        }
        report
    }

    async fn bootstrap_partition(
        &self,
        tenancy: &Tenancy,
        clusters: &[ClusterArn],
        is_primary: bool,
        deadline: Deadline,
        report: &mut BootstrapReport,
    ) {
        let namespaces = match tenancy {
            Tenancy::Enterprise { partition, .. } => self.namespaces(partition, deadline, report).await,
            Tenancy::Community => Some(Vec::new()),
        };
        // Without the partition there is no place for anything else.
        let Some(namespaces) = namespaces else { return };
        let scope = &self.scope.bootstrap;
        let wishes = Wishes { scope, mode: self.scope.mode, clusters, tenancy, namespaces: &namespaces, is_primary };
        self.settle(&objects(&wishes), deadline, report).await;
    }

    /// Makes the partition, if need be, and lists its namespaces.
    async fn namespaces(
        &self,
        partition: &TenancyName,
        deadline: Deadline,
        report: &mut BootstrapReport,
    ) -> Option<Vec<TenancyName>> {
        let object = enterprise::partition(partition);
        self.settle(std::slice::from_ref(&object), deadline, report).await;
        if report.has_failed(&object) {
            return None;
        }
        match deadline.run(self.edges.bootstrap.namespaces(partition)).await {
            Ok(namespaces) => Some(namespaces),
            Err(error) => {
                report.fail(format!("the namespaces of partition {partition}"), error.into());
                Some(Vec::new())
            }
        }
    }

    /// Whether the anonymous token is this datacenter's business.
    async fn is_primary(&self, deadline: Deadline, report: &mut BootstrapReport) -> bool {
        match deadline.run(self.edges.bootstrap.is_primary()).await {
            Ok(is_primary) => is_primary,
            Err(error) => {
                report.fail("Consul's datacenter".to_owned(), error.into());
                false
            }
        }
    }

    /// Brings the objects about, and looks at what was written until it stays.
    async fn settle(&self, objects: &[Object], deadline: Deadline, report: &mut BootstrapReport) {
        let mut changes: Vec<(&Object, Change)> = Vec::new();
        let mut pending: Vec<&Object> = objects.iter().collect();
        for round in 0..ROUNDS {
            if round > 0 {
                let pause = PAUSE + JITTER.mul_f64(fastrand::f64());
                tokio::time::sleep(pause.min(deadline.left())).await;
            }
            let mut unproven = Vec::new();
            for object in pending {
                match self.bring_about(object, objects, deadline, report).await {
                    Ok(change) => {
                        if change != Change::Unchanged {
                            unproven.push(object);
                        }
                        if !changes.iter().any(|(known, _)| *known == object) {
                            changes.push((object, change));
                        }
                    }
                    // Somebody else has just made it: look again.
                    Err(BootstrapError::Controller(ControllerError::Consul(ConsulError::Conflict { .. }))) => {
                        unproven.push(object);
                    }
                    Err(error) => report.fail(object.to_string(), error),
                }
            }
            pending = unproven;
            if pending.is_empty() {
                break;
            }
        }
        for object in pending {
            report.fail(object.to_string(), BootstrapError::Unsettled { object: object.to_string() });
        }
        note(&changes, report);
    }

    /// Reads, merges and writes one object.
    async fn bring_about(
        &self,
        object: &Object,
        among: &[Object],
        deadline: Deadline,
        report: &BootstrapReport,
    ) -> Result<Change, BootstrapError> {
        if let Some(missing) = among.iter().find(|other| object.needs(other) && report.has_failed(other)) {
            let (object, missing) = (object.to_string(), missing.to_string());
            return Err(BootstrapError::NotAttempted { object, missing });
        }
        let consul = &self.edges.bootstrap;
        let existing = deadline.run(consul.read(object)).await?;
        let (change, written) = match merge(existing.as_ref(), object)? {
            Upsert::Unchanged => return Ok(Change::Unchanged),
            Upsert::Create(body) => (Change::Created, deadline.run(consul.create(object, body)).await),
            Upsert::Update(body) => (Change::Updated, deadline.run(consul.update(object, body)).await),
        };
        written.map(|()| change).map_err(|error| explained(object, error))
    }
}

/// Says of answers that come from a Consul which lacks a feature what it lacks.
fn explained(object: &Object, error: ControllerError) -> BootstrapError {
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
