//! The promises that hold at every moment, checked against the truth: only ours, never the living, never blind, no leak,
//! nothing lost.

use std::collections::BTreeSet;

use ecs_mesh_controller::controller::{BatchReport, Delivery, SweepReport};
use mesh::{
    arn::{ClusterArn, TaskId},
    mark::LoginMark,
    phase::TaskPhase,
    secret::SecretState,
    service_name::ServiceName,
    token::{Grant, NewToken},
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{
    catalog::Instance,
    life::Stand,
    queue::about,
    world::{World, service_name},
};

/// The version of a task's state from which on its containers start.
const CONTAINERS_START: u64 = 3;

/// How long an invocation takes at most, in milliseconds.
const LONGEST_INVOCATION: u64 = 300_000;

/// A service token that was deleted.
#[derive(Debug, Clone)]
pub(crate) struct Deletion {
    pub(crate) environment: usize,
    pub(crate) at: u64,
    pub(crate) service: ServiceName,
    pub(crate) secret: String,
}

impl World {
    /// Never the living: what belongs to a task goes only when it has stopped for good.
    pub(crate) fn check_stopped(&mut self, id: &TaskId, how: &str) {
        if self.is_farewell {
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

    /// Never the living, of service tokens: who deletes one while a task lives, which every list shows, has put it back
    /// when the invocation is over, unless Consul refused.
    pub(crate) fn check_put_back(&mut self, environment: usize) {
        let (own, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.deletions).into_iter().partition(|deletion| deletion.environment == environment);
        self.deletions = others;
        for deletion in own {
            let lag = self.scenario.lag;
            let has_seen = |task: &super::ecs::Task| {
                service_name(task.service) == deletion.service
                    && task.is_living()
                    && task.created().is_some_and(|at| at + lag <= deletion.at)
            };
            let living = self.ecs.tasks.iter().position(has_seen);
            // Whoever has deleted it again since has to put it back now.
            let is_its_turn = |other: &Deletion| other.secret == deletion.secret && other.at >= deletion.at;
            if self.deletions.iter().any(is_its_turn) {
                continue;
            }
            let could_not = self.refused.get(&environment).is_some_and(|at| *at >= deletion.at);
            if let (Some(index), false, false) = (living, self.is_valid(&deletion.secret), could_not) {
                self.broken(format!(
                    "never the living: task {index} of {} lived when its service's token was deleted at {} ms, and \
                     nobody has put it back",
                    deletion.service, deletion.at
                ));
            }
        }
    }

    /// One token per service: a new pair is created only by whoever has made the secret decide on it.
    pub(crate) fn check_claimed(&mut self, new: &NewToken) {
        let claim = (self.caller, new.pair.secret.expose_secret().to_owned());
        let is_put_back = matches!(new.grant, Grant::AsBefore(_));
        if !is_put_back && !self.claimed.contains(&claim) {
            let accessor = new.pair.accessor;
            self.broken(format!("converges: token {accessor} is created by somebody who has not claimed it"));
        }
    }

    /// Never the living: a service's token goes only when its last task, which every list shows, has been gone for the grace
    /// period.
    pub(crate) fn check_grace(&mut self, service: &ServiceName) {
        if self.is_farewell || self.lost.contains(&self.caller) {
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

    /// Never the living, of secrets: a token is shown to tasks only if Consul has held it, but for the first of a secret's
    /// life, which nothing can contradict.
    pub(crate) fn check_shown(&mut self, name: &str, text: &str) {
        let shown = SecretState::parse(name, &SecretString::from(text)).unwrap();
        let Some(shown) = shown.pair().map(|pair| pair.secret.expose_secret().to_owned()) else { return };
        let before = self.secret(name);
        let is_new = before.pair().is_none_or(|pair| pair.secret.expose_secret() != shown);
        let is_first = matches!(before, SecretState::Missing);
        if is_new && !is_first && !self.is_valid(&shown) && !self.revoked.contains(&shown) {
            self.broken(format!("never the living: {name} shows a token that Consul never held"));
        }
    }

    /// No leak: no secret half in any text that comes out.
    pub(crate) fn check_no_leak(&mut self, text: &str) {
        if self.canaries.iter().any(|canary| text.contains(canary.as_str())) {
            self.broken(format!("no leak: a secret stands in {text}"));
        }
    }

    pub(crate) fn check_sweep(&mut self, environment: usize, report: &SweepReport) {
        self.check_no_leak(&format!("{report:?}"));
        self.check_put_back(environment);
    }

    /// What a batch came to: every message that is not handed back is acknowledged.
    pub(crate) fn check_batch(&mut self, environment: usize, messages: &[Delivery], report: &BatchReport) {
        for failure in &report.failures {
            self.check_no_leak(&format!("{} {:?}", failure.error, failure.error));
        }
        self.check_put_back(environment);
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

    fn check_has_token(&mut self, index: usize) {
        let number = self.ecs.tasks[index].service;
        let name = service_name(number);
        let held = self.secret(&self.secret_name(number));
        let is_held = held.pair().is_some_and(|pair| self.is_valid(pair.secret.expose_secret()));
        // Somebody is in the middle of a revocation, and will put it back.
        let is_being_revoked = self.deletions.iter().any(|deletion| deletion.service == name);
        // Or was, and has died, so that its message comes back. A revocation that is complete is wrong only where ECS did
        // not show the task yet; then the look that follows it is still to come.
        let is_unfinished = held.decided().is_some() || !self.tokens_of(number).is_empty() || self.scenario.lag > 0;
        let is_asked_for = |message: &super::queue::Message| {
            message.body.contains("Service Idle Check") && message.body.contains(name.as_str())
        };
        let will_be_mended = is_unfinished && self.sqs.messages.iter().any(is_asked_for);
        // A sweep has no message: the next one mends what it left.
        let may_be_swept = is_unfinished && self.scenario.sweeps > 0 && self.scenario.is_troubled();
        if !is_held && !is_being_revoked && !will_be_mended && !may_be_swept {
            self.broken(format!("nothing lost: task {index} is active, its event acknowledged, and it has no token"));
        }
    }
}

/// What a sweep could not read, before it wrote anything.
#[derive(Debug, Default)]
pub(crate) struct Blind {
    clusters: BTreeSet<String>,
    has_decided: bool,
}
