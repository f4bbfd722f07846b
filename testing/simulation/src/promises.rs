//! The promises that hold at every moment, checked against the true state: only ours, never the living, never blind, no leak,
//! nothing lost. docs/explanation/promises.md defines them.

use std::collections::BTreeSet;

use controller::{BatchReport, Delivery};
use mesh::{
    arn::{ClusterArn, TaskId},
    holder::TokenHolder,
    identity::MeshService,
    names::ServiceName,
    secret::SecretState,
    task::TaskPhase,
};
use report::{PlannedAction, SweepReport};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use uuid::Uuid;

use super::{
    catalog::Instance,
    consul::Record,
    containers::reports_lost_proxy,
    queue::about,
    task_lifecycle::TaskStatus,
    world::{World, note, service_name},
};

/// The version of a task's state with which its containers start.
const CONTAINERS_START: u64 = 3;

/// The longest duration of an invocation, in milliseconds.
const LONGEST_INVOCATION: u64 = 300_000;

impl World {
    /// Never the living: what belongs to a task is deleted only once the task has stopped.
    pub(crate) fn check_stopped(&mut self, id: &TaskId, how: &str) {
        if self.is_cleaned_up {
            return;
        }
        let living = self.ecs.tasks.iter().position(|task| task.arn.id() == id && !task.is_stopped());
        if let Some(index) = living {
            self.broken(format!("never the living: task {index} has not stopped, and {how}"));
        }
    }

    /// Records whether a sweep could read a cluster's tasks.
    pub(crate) fn was_read(&mut self, environment: usize, cluster: &ClusterArn, is_read: bool) {
        let Some(sweep_reads) = self.sweep_reads.get_mut(&environment) else { return };
        // The reading of an attempt begins.
        sweep_reads.of_flood = (0, 0);
        if is_read {
            sweep_reads.clusters.remove(cluster.as_str());
        } else if !sweep_reads.has_decided {
            sweep_reads.clusters.insert(cluster.as_str().to_owned());
        }
    }

    /// Records that a sweep has begun to write: later reads verify its decisions, and do not change them.
    pub(crate) fn has_decided(&mut self, environment: usize) {
        if let Some(sweep_reads) = self.sweep_reads.get_mut(&environment) {
            sweep_reads.has_decided = true;
        }
    }

    /// Never blind: a sweep that could not list a cluster's tasks deletes nothing of that cluster. It deletes a service's token
    /// (`None`) only if it has listed all clusters.
    pub(crate) fn check_not_blind(&mut self, cluster: Option<&str>) {
        let Some(sweep_reads) = self.sweep_reads.get_mut(&self.caller) else { return };
        sweep_reads.has_decided = true;
        let is_blind =
            cluster.map_or(!sweep_reads.clusters.is_empty(), |cluster| sweep_reads.clusters.contains(cluster));
        if is_blind {
            let clusters = sweep_reads.clusters.clone();
            self.broken(format!("never blind: a sweep that could not read {clusters:?} has deleted something there"));
        }
    }

    /// Never the living: no active task has read a token that is deleted.
    pub(crate) fn check_not_in_use(&mut self, half: &str) {
        if let (Some(index), false) = (self.holder_of(half), self.is_cleaned_up) {
            self.broken(format!("never the living: the token that task {index} has read is deleted"));
        }
    }

    /// A task reads its secret, with the lag of any other read. A token that it reads exists in Consul, and it finds one once
    /// an event of it was acknowledged.
    pub(crate) fn read_secret(&mut self, index: usize) {
        let number = self.ecs.tasks[index].service;
        let name =
            if self.ecs.tasks[index].reads_family { self.family_secret(number) } else { self.secret_name(number) };
        let state = self.version(&name).map_or(SecretState::Missing, |version| version.state(&name));
        let read = state.shown().map(|pair| pair.secret.expose_secret().to_owned());
        note!(self, "task {index} reads its secret: {state:?}");
        let is_valid = read.as_ref().is_some_and(|read| self.is_valid(read));
        let is_lost = read.as_ref().is_some_and(|read| self.manual_changes.lost.contains(read));
        let lag = self.scenario.secret_lag;
        // Nothing is done for a task with an unknown status.
        let is_judged = self.ecs.tasks[index].phase() != Some(TaskPhase::Unknown);
        let is_due = is_judged && self.ecs.tasks[index].acknowledged_at.is_some_and(|at| at + lag <= self.now);
        match (&read, self.is_changed_by_hand(number)) {
            (_, true) => {}
            // An idle service's token that Consul has lost is restored by the event of the next task.
            (Some(_), _) if !is_valid && is_lost && !is_due => {}
            (Some(_), _) if !is_valid => {
                self.broken(format!("never the living: task {index} reads a token that Consul does not have"));
            }
            (None, _) if is_due => {
                self.broken(format!("nothing lost: task {index} finds no token, although its event was acknowledged"));
            }
            _ => {}
        }
        self.ecs.tasks[index].read = read.filter(|_| is_valid);
    }

    /// Never the living: a service's token is hidden or deleted only once the last task that listings show has been stopped for the
    /// grace period.
    pub(crate) fn check_grace(&mut self, service: &ServiceName) {
        if self.is_cleaned_up || self.in_wrong_region.contains(&self.caller) {
            return;
        }
        let quiet = u64::from(self.scenario.grace) * 900;
        let quiet = quiet.saturating_sub(self.scenario.skew.unsigned_abs() + 1_000);
        // A task that started and stopped since the invocation began may not have been listed.
        let (lag, now) = (self.scenario.lag + LONGEST_INVOCATION, self.now);
        let is_recent = |task: &super::ecs::Task| {
            service_name(task.service) == *service
                && self.counts_for_token(task)
                && !self.ecs.deleted.iter().any(|(cluster, _)| *cluster == task.cluster)
                && task.created().is_some_and(|at| at + lag < now)
                && task.stopped_at().is_some_and(|at| now - at < quiet)
        };
        if let Some(index) = self.ecs.tasks.iter().position(is_recent) {
            self.broken(format!(
                "never the living: the token of {service} is revoked within the grace period of task {index}"
            ));
        }
    }

    /// One writer: of each version of a secret, one attempt is told that its write succeeded.
    pub(crate) fn check_writer(&mut self, name: &str, first: Option<Uuid>, now: Uuid) {
        if first != Some(now) {
            self.broken(format!("one writer: two were told that they wrote the same version of {name}"));
        }
    }

    /// Revoked for good: a token that was removed from its secret for deletion is never created again.
    pub(crate) fn check_not_revoked(&mut self, half: &str) {
        if self.revoked.contains(half) {
            self.broken("revoked for good: a token is created again that was revoked".to_owned());
        }
    }

    /// A write of a secret shows only a token that exists in Consul, and hides none that a task still has to read.
    pub(crate) fn check_write(&mut self, name: &str, text: &str) {
        let (written, _) = SecretState::parse(name, &SecretString::from(text)).unwrap();
        self.check_identity(name, &written);
        let Some(number) = (0..self.scenario.services).find(|number| self.secret_name(*number) == name) else { return };
        let before = self.secret(name);
        if let (SecretState::Retiring(pair, _), SecretState::Empty) = (&before, &written) {
            self.revoked.insert(pair.secret.expose_secret().to_owned());
        }
        match written.shown().map(|pair| pair.secret.expose_secret().to_owned()) {
            Some(shown) => {
                let is_new = before.shown().is_none_or(|pair| pair.secret.expose_secret() != shown);
                if is_new && !self.is_valid(&shown) && !self.is_changed_by_hand(number) {
                    self.broken(format!("never the living: {name} shows a token that Consul does not have"));
                }
            }
            None if before.shown().is_some() && !self.is_cleaned_up => {
                self.check_not_blind(None);
                self.check_grace(&service_name(number));
                let waits = |task: &super::ecs::Task| {
                    task.service == number
                        && task.phase() == Some(TaskPhase::Active)
                        && task.acknowledged_at.is_some()
                        && task.read.is_none()
                };
                let waiting = self.ecs.tasks.iter().position(waits);
                if let (Some(index), false) = (waiting, self.is_changed_by_hand(number)) {
                    self.broken(format!("nothing lost: {name} is hidden, and task {index} has not read it yet"));
                }
            }
            None => {}
        }
    }

    /// Only the admitted: a token of a service is written only into a secret with the service's name, ignoring case.
    fn check_identity(&mut self, name: &str, written: &SecretState) {
        let Some(half) = written.shown().map(|pair| pair.secret.expose_secret()) else { return };
        let shown = self.consul.tokens.iter().filter(|record| record.secret == half).filter_map(Record::service);
        let own = |service: &str| {
            let service = MeshService { tenancy: self.tenancy.clone(), name: service.parse().unwrap() };
            self.scope.names.of(&TokenHolder::Service(service))
        };
        let foreign = shown.filter(|service| !own(service).eq_ignore_ascii_case(name)).map(str::to_owned).next();
        if let Some(service) = foreign {
            self.broken(format!("only the admitted: {name} shows a token of {service}"));
        }
    }

    /// No leak: no output contains a secret half.
    pub(crate) fn check_no_leak(&mut self, text: &str) {
        if self.canaries.iter().any(|canary| text.contains(canary.as_str())) {
            self.broken(format!("no leak: a secret is in {text}"));
        }
    }

    pub(crate) fn check_sweep(&mut self, report: &SweepReport) {
        self.check_no_leak(&format!("{report:?}"));
        let skipped = report.clusters.iter().flat_map(|cluster| &cluster.skipped);
        let kept = skipped.filter(|it| it.why.contains("no other instance of"));
        let ids = kept.filter_map(|it| it.what.strip_prefix("task "));
        let undrained = report.clusters.iter().flat_map(|cluster| &cluster.blocked);
        let undrained = undrained.filter_map(|blocked| match &blocked.action {
            PlannedAction::MarkCritical { service_id, .. } => Some(service_id.as_str()),
            _ => None,
        });
        self.kept_in_rotation = ids.chain(undrained).map(str::to_owned).collect();
    }

    /// Acknowledges every message of a batch that did not fail, and checks that its work is done.
    pub(crate) fn check_batch(&mut self, messages: &[Delivery], report: &BatchReport) {
        for failure in &report.failures {
            self.check_no_leak(&format!("{} {:?}", failure.error, failure.error));
            let body = messages.iter().find(|message| message.id == failure.id).map(|message| &message.body);
            if let Some(body) = body {
                self.check_failure(body);
            }
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

    /// Nothing lost: the work of an acknowledged message is done, or a later message of the same task is still queued.
    fn check_done(&mut self, body: &Value) {
        let Some((arn, version)) = about(body) else { return };
        let is_later = |other: &super::queue::Message| {
            other.about.as_ref().is_some_and(|(task, newer)| *task == arn && *newer >= version)
        };
        if self.sqs.messages.iter().chain(&self.sqs.dead).any(is_later) {
            return;
        }
        let reported = TaskStatus::from_event(body).phase();
        let index = self.ecs.tasks.iter().position(|task| task.arn.as_str() == arn).unwrap();
        let is_still_so = self.ecs.tasks[index].phase() == Some(reported);
        if reports_lost_proxy(body) && self.is_drained_without_proxy(&self.ecs.tasks[index]) {
            self.check_drained(index, false);
        }
        match reported {
            TaskPhase::Stopped => self.check_cleared(index, false),
            TaskPhase::Stopping if is_still_so => self.check_drained(index, false),
            // ECS may not show the task's tags before its containers start.
            TaskPhase::Active if self.ecs.tasks[index].own_tags && version < CONTAINERS_START => {}
            TaskPhase::Active if is_still_so && self.ecs.tasks[index].reads_token => self.check_has_token(index),
            _ => {}
        }
    }

    /// Nothing of a stopped task is left: after a sweep, or once the event of its end was acknowledged. Then a sweep may just be
    /// registering it, and a person may just have restored it.
    pub(crate) fn check_cleared(&mut self, index: usize, is_swept: bool) {
        let id = self.ecs.tasks[index].arn.id().clone();
        let has_token = self
            .consul
            .tokens
            .iter()
            .any(|record| !record.foreign && record.description.login().is_some_and(|mark| mark.task == id));
        let is_proven = |instance: &Instance| is_swept || instance.unproven_since.is_none();
        let has_service = self.consul.instances.iter().any(|it| it.task == id && is_proven(it));
        if has_token || has_service {
            let when = if is_swept { "a sweep has passed" } else { "the event of its end was acknowledged" };
            self.broken(format!("task {index} is stopped and has left something, although {when}"));
        }
    }

    /// From now on, the task finds its token whenever it reads its secret.
    fn check_has_token(&mut self, index: usize) {
        let number = self.ecs.tasks[index].service;
        let now = self.now;
        self.ecs.tasks[index].acknowledged_at.get_or_insert(now);
        if !self.is_changed_by_hand(number) && !self.shows_valid_token(number) {
            self.broken(format!("nothing lost: task {index} is active, its event acknowledged, and it has no token"));
        }
    }
}
