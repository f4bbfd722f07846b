//! The promises that hold at every moment, checked against the truth: only ours, never the living, never blind, no leak,
//! nothing lost.

use std::collections::BTreeSet;

use controller::{BatchReport, Delivery, SweepReport};
use mesh::{
    arn::{ClusterArn, TaskId},
    mark::LoginMark,
    phase::TaskPhase,
    secret::SecretState,
    service_name::ServiceName,
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use uuid::Uuid;

use super::{
    catalog::Instance,
    life::Stand,
    queue::about,
    world::{World, note, service_name},
};

/// The version of a task's state from which on its containers start.
const CONTAINERS_START: u64 = 3;

/// How long an invocation takes at most, in milliseconds.
const LONGEST_INVOCATION: u64 = 300_000;

impl World {
    /// Never the living: what belongs to a task goes only when it has stopped for good.
    pub(crate) fn check_stopped(&mut self, id: &TaskId, how: &str) {
        if self.is_cleaned_up {
            return;
        }
        let living = self.ecs.tasks.iter().position(|task| task.arn.id() == id && !task.is_stopped());
        if let Some(index) = living {
            self.broken(format!("never the living: task {index} has not stopped, and {how}"));
        }
    }

    /// Never the living: only what was told to stop is drained.
    pub(crate) fn check_told_to_stop(&mut self, id: &TaskId) {
        let is_active = |task: &super::ecs::Task| task.arn.id() == id && task.phase() == Some(TaskPhase::Active);
        if let Some(index) = self.ecs.tasks.iter().position(is_active) {
            self.broken(format!("never the living: task {index} is meant to run, and was drained"));
        }
    }

    /// A sweep has read a cluster's tasks, or could not.
    pub(crate) fn was_read(&mut self, environment: usize, cluster: &ClusterArn, is_read: bool) {
        let Some(blind) = self.blind.get_mut(&environment) else { return };
        if is_read {
            blind.clusters.remove(cluster.as_str());
        } else if !blind.has_decided {
            blind.clusters.insert(cluster.as_str().to_owned());
        }
    }

    /// A sweep that begins to write has read what it decides by; what it reads from then on is to verify.
    pub(crate) fn has_decided(&mut self, environment: usize) {
        if let Some(blind) = self.blind.get_mut(&environment) {
            blind.has_decided = true;
        }
    }

    /// Never blind: a sweep that could not list a cluster's tasks deletes nothing of it; and no service's token unless
    /// it has read all of them. `None` is a service's token.
    pub(crate) fn check_not_blind(&mut self, cluster: Option<&str>) {
        let Some(blind) = self.blind.get_mut(&self.caller) else { return };
        blind.has_decided = true;
        let is_blind = cluster.map_or(!blind.clusters.is_empty(), |cluster| blind.clusters.contains(cluster));
        if is_blind {
            let clusters = blind.clusters.clone();
            self.broken(format!("never blind: a sweep that could not read {clusters:?} has deleted something there"));
        }
    }

    /// Never the living: no task holds a token that is deleted.
    pub(crate) fn check_not_in_use(&mut self, half: &str) {
        if let (Some(index), false) = (self.holder_of(half), self.is_cleaned_up) {
            self.broken(format!("never the living: the token that task {index} has read is deleted"));
        }
    }

    /// A task reads its token, as late as anybody else. What it reads, Consul has; and it finds one once an event of it is
    /// worked off.
    pub(crate) fn read_secret(&mut self, index: usize) {
        let number = self.ecs.tasks[index].service;
        let name = self.secret_name(number);
        let state = self.version(&name).map_or(SecretState::Missing, |version| version.state(&name));
        let read = state.shown().map(|pair| pair.secret.expose_secret().to_owned());
        note!(self, "task {index} reads its secret: {state:?}");
        let is_valid = read.as_ref().is_some_and(|read| self.is_valid(read));
        let is_lost = read.as_ref().is_some_and(|read| self.disturbances.lost.contains(read));
        let lag = self.scenario.secret_lag;
        let is_due = self.ecs.tasks[index].worked_off.is_some_and(|at| at + lag <= self.now);
        match (&read, self.is_disturbed(number)) {
            (_, true) => {}
            // Of an idle service nobody looks whether Consul has lost its token: the event of the next task restores it.
            (Some(_), _) if !is_valid && is_lost && !is_due => {}
            (Some(_), _) if !is_valid => {
                self.broken(format!("never the living: task {index} reads a token that Consul does not have"));
            }
            (None, _) if is_due => {
                self.broken(format!("nothing lost: task {index} finds no token, although its event is worked off"));
            }
            _ => {}
        }
        self.ecs.tasks[index].read = read.filter(|_| is_valid);
    }

    /// Never the living: a service's token goes only when its last task, which every list shows, has been gone for the grace
    /// period.
    pub(crate) fn check_grace(&mut self, service: &ServiceName) {
        if self.is_cleaned_up || self.lost.contains(&self.caller) {
            return;
        }
        let quiet = u64::from(self.scenario.grace) * 900;
        let quiet = quiet.saturating_sub(self.scenario.skew.unsigned_abs() + 1_000);
        // Who has come and gone since the invocation began may have been missed.
        let (lag, now) = (self.scenario.lag + LONGEST_INVOCATION, self.now);
        let is_recent = |task: &super::ecs::Task| {
            service_name(task.service) == *service
                && !self.ecs.deleted.iter().any(|(cluster, _)| *cluster == task.cluster)
                && task.created().is_some_and(|at| at + lag < now)
                && task.stopped_at().is_some_and(|at| now - at < quiet)
        };
        if let Some(index) = self.ecs.tasks.iter().position(is_recent) {
            self.broken(format!(
                "never the living: the token of {service} goes within the grace period of task {index}"
            ));
        }
    }

    /// One writer of each version: whoever is told that a write succeeded did write it.
    pub(crate) fn check_writer(&mut self, name: &str, first: Option<Uuid>, now: Uuid) {
        if first != Some(now) {
            self.broken(format!("one writer: two were told that they wrote the same version of {name}"));
        }
    }

    /// Revoked for good: what was taken from a secret to be deleted is never created again.
    pub(crate) fn check_not_revoked(&mut self, half: &str) {
        if self.revoked.contains(half) {
            self.broken("revoked for good: a token is created again that was revoked".to_owned());
        }
    }

    /// A write of a secret: a token is shown only if Consul has it, and none is hidden that a task is about to read.
    pub(crate) fn check_write(&mut self, name: &str, text: &str) {
        let Some(number) = (0..self.scenario.services).find(|number| self.secret_name(*number) == name) else { return };
        let (written, _) = SecretState::parse(name, &SecretString::from(text)).unwrap();
        let before = self.secret(name);
        if let (SecretState::Retiring(pair, _), SecretState::Empty) = (&before, &written) {
            self.revoked.insert(pair.secret.expose_secret().to_owned());
        }
        match written.shown().map(|pair| pair.secret.expose_secret().to_owned()) {
            Some(shown) => {
                let is_new = before.shown().is_none_or(|pair| pair.secret.expose_secret() != shown);
                if is_new && !self.is_valid(&shown) && !self.is_disturbed(number) {
                    self.broken(format!("never the living: {name} shows a token that Consul does not have"));
                }
            }
            None if before.shown().is_some() && !self.is_cleaned_up => {
                self.check_not_blind(None);
                self.check_grace(&service_name(number));
                let waits = |task: &super::ecs::Task| {
                    task.service == number
                        && task.phase() == Some(TaskPhase::Active)
                        && task.worked_off.is_some()
                        && task.read.is_none()
                };
                let waiting = self.ecs.tasks.iter().position(waits);
                if let (Some(index), false) = (waiting, self.is_disturbed(number)) {
                    self.broken(format!("nothing lost: {name} is hidden, and task {index} has not read it yet"));
                }
            }
            None => {}
        }
    }

    /// No leak: no secret half in any text that comes out.
    pub(crate) fn check_no_leak(&mut self, text: &str) {
        if self.canaries.iter().any(|canary| text.contains(canary.as_str())) {
            self.broken(format!("no leak: a secret stands in {text}"));
        }
    }

    pub(crate) fn check_sweep(&mut self, report: &SweepReport) {
        self.check_no_leak(&format!("{report:?}"));
    }

    /// What a batch came to: every message that is not handed back is acknowledged.
    pub(crate) fn check_batch(&mut self, messages: &[Delivery], report: &BatchReport) {
        for failure in &report.failures {
            self.check_no_leak(&format!("{} {:?}", failure.error, failure.error));
        }
        let failed: BTreeSet<&str> = report.failures.iter().map(|failure| failure.id.as_str()).collect();
        for message in messages.iter().filter(|message| !failed.contains(message.id.as_str())) {
            self.acknowledge(&message.id);
        }
        for message in messages.iter().filter(|message| !failed.contains(message.id.as_str())) {
            let body: Value = serde_json::from_str(&message.body).unwrap();
            self.check_done(&body);
        }
    }

    /// Nothing lost: the work of an acknowledged message is done, or a later message of the same task is still there.
    fn check_done(&mut self, body: &Value) {
        let Some((arn, version)) = about(body) else { return };
        let is_later = |other: &super::queue::Message| {
            other.about.as_ref().is_some_and(|(task, newer)| *task == arn && *newer >= version)
        };
        if self.sqs.messages.iter().chain(&self.sqs.dead).any(is_later) {
            return;
        }
        let told = Stand::told_by(body).phase();
        let index = self.ecs.tasks.iter().position(|task| task.arn.as_str() == arn).unwrap();
        let is_still_so = self.ecs.tasks[index].phase() == Some(told);
        match told {
            TaskPhase::Stopped => self.check_cleared(index, "the event of its end was acknowledged"),
            TaskPhase::Stopping if is_still_so => self.check_drained(index),
            // Until its containers start, ECS may not show its tags yet.
            TaskPhase::Active if self.ecs.tasks[index].own_tags && version < CONTAINERS_START => {}
            TaskPhase::Active if is_still_so && self.makes_tokens() => self.check_has_token(index),
            _ => {}
        }
    }

    /// A stopped task has nothing left.
    pub(crate) fn check_cleared(&mut self, index: usize, when: &str) {
        let id = self.ecs.tasks[index].arn.id().clone();
        let has_token =
            self.consul.tokens.iter().any(|record| {
                !record.foreign && LoginMark::parse(&record.description).is_some_and(|mark| mark.task == id)
            });
        let has_service = self.consul.instances.iter().any(|instance| *instance.task.id() == id);
        if has_token || has_service {
            self.broken(format!("task {index} is stopped and has left something, although {when}"));
        }
    }

    /// Traffic keeps away from each instance of a task, and from now on for good.
    pub(crate) fn check_drained(&mut self, index: usize) {
        let id = self.ecs.tasks[index].arn.id();
        // On a client agent's node the agent drains.
        let is_its = |instance: &&Instance| instance.task.id() == id && instance.node.starts_with("arn:");
        let own: Vec<Instance> = self.consul.instances.iter().filter(is_its).cloned().collect();
        if !own.iter().all(|instance| self.consul.is_in_maintenance(instance)) {
            self.broken(format!("nothing lost: task {index} was told to stop, and its checks still pass"));
        }
        self.drained.extend(own.into_iter().map(|instance| (instance.node, instance.id)));
    }

    /// Nothing lost: a drain holds until the instance goes, whoever writes its checks.
    pub(crate) fn check_no_drain_undone(&mut self) {
        let was_drained = |instance: &&Instance| self.drained.contains(&(instance.node.clone(), instance.id.clone()));
        let drained: Vec<&Instance> = self.consul.instances.iter().filter(was_drained).collect();
        if let Some(undone) = drained.into_iter().find(|instance| !self.consul.is_critical(instance)) {
            let how = format!("nothing lost: {} was drained, and its checks pass again", undone.id);
            self.broken(how);
        }
    }

    /// From now on the task finds its token whenever it reads.
    fn check_has_token(&mut self, index: usize) {
        let number = self.ecs.tasks[index].service;
        let now = self.now;
        self.ecs.tasks[index].worked_off.get_or_insert(now);
        if !self.is_disturbed(number) && !self.shows_valid_token(number) {
            self.broken(format!("nothing lost: task {index} is active, its event acknowledged, and it has no token"));
        }
    }
}

/// What a sweep could not read, before it wrote anything.
#[derive(Debug)]
pub(crate) struct Blind {
    /// When the sweep began.
    pub(crate) began: u64,
    clusters: BTreeSet<String>,
    has_decided: bool,
}

impl From<u64> for Blind {
    fn from(began: u64) -> Self {
        Self { began, clusters: BTreeSet::new(), has_decided: false }
    }
}
