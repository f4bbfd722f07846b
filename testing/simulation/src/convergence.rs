//! The promises that are checked once faults have ended: after one sweep, the state has converged.

use mesh::{holder::TokenHolder, identity::MeshService, settings::TokenMode, task::TaskPhase};
use secrecy::ExposeSecret;

use super::{
    consul::Record,
    world::{CLIENT_SECRET, World, service_name},
};

impl World {
    /// After one sweep, the service of every active task has its token, and no stopped task has anything. The same holds without a
    /// sweep where no event was lost, except for the mark of a token that was pre-provisioned while its first task started, and for
    /// what an earlier sweep has registered and could not ask ECS about again.
    pub(crate) fn check_converged(&mut self, is_swept: bool) {
        for index in 0..self.ecs.tasks.len() {
            if self.ecs.tasks[index].is_stopped() && !self.is_agent_failure_undetected(index) {
                self.check_cleared(index, is_swept);
            }
        }
        self.check_spellings();
        for number in 0..self.scenario.services {
            if self.ecs.of_service(number).any(|task| task.reads_token && task.phase() == Some(TaskPhase::Active)) {
                self.check_provisioned(number, is_swept);
            }
        }
        let is_active = self.ecs.tasks.iter().any(|task| task.reads_token && task.phase() == Some(TaskPhase::Active));
        let client = self.secret(CLIENT_SECRET);
        if is_active && !client.shown().is_some_and(|pair| self.is_valid(pair.secret.expose_secret())) {
            self.broken("converges: the client agents have no token".to_owned());
        }
    }

    /// After a sweep, the node of a deleted cluster is gone, unless another owner's service is on it.
    pub(crate) fn check_deleted_clusters(&mut self) {
        for (cluster, _) in &self.ecs.deleted {
            let is_its = |node: &String| node == cluster.as_str();
            let has_others = self.consul.others.iter().any(|(node, _)| is_its(node));
            if self.consul.nodes.iter().any(is_its) && !has_others {
                let how = format!("converges: {} was deleted, and its node is still there", cluster.name());
                return self.broken(how);
            }
        }
    }

    /// After the grace period, an idle service has no tokens.
    pub(crate) fn check_idle(&mut self) {
        for number in 0..self.scenario.services {
            if self.ecs.of_service(number).any(|task| task.is_living() && self.counts_for_token(task)) {
                continue;
            }
            let left = self.tokens_of(number).iter().filter(|record| !self.is_of_unknown_secret(record)).count();
            if left > 0 {
                self.broken(format!("converges: service {number} is idle, and has {left} tokens"));
            }
        }
    }

    /// After the clean-up, everything of the controller's is gone, and nothing else.
    pub(crate) fn check_cleaned_up(&mut self) {
        let is_ours = |record: &&Record| {
            let named = record.description.cluster();
            // A task may have named another cluster in its login.
            let is_here = named.is_some_and(|name| self.clusters.iter().any(|cluster| cluster.is_named_by(name)));
            !record.foreign && is_here && !self.is_of_unknown_secret(record)
        };
        let left = self.consul.tokens.iter().filter(is_ours).count();
        let services = self.consul.instances.iter().filter(|instance| instance.node.starts_with("arn:")).count();
        let foreign = self.consul.tokens.iter().filter(|record| record.foreign).count();
        if left + services > 0 {
            self.broken(format!("no leak: the clean-up has left {left} tokens and {services} services"));
        } else if foreign != self.foreign_tokens || self.scenario.foreign_tokens && self.consul.others.is_empty() {
            self.broken("only ours: the clean-up has deleted something of another owner".to_owned());
        }
        for number in 0..self.scenario.services {
            // A pair that was never created in Consul grants nothing.
            let held = self.secret(&self.secret_name(number));
            if held.shown().is_some_and(|pair| self.revoked.contains(pair.secret.expose_secret())) {
                self.broken("no leak: after the clean-up a secret still holds a token".to_owned());
            }
        }
    }

    fn check_provisioned(&mut self, number: usize, is_swept: bool) {
        if self.is_changed_by_hand(number) {
            return;
        }
        let tokens = self.tokens_of(number);
        let name = self.secret_name(number);
        let held = self.secret(&name);
        let shown = held.shown().map(|pair| pair.secret.expose_secret().to_owned());
        let is_held = |token: &&Record| shown.as_deref() == Some(token.secret.as_str());
        // Tasks may hold a token that was shown before a person emptied the secret. The controller cannot tell such a token
        // from one whose creator was interrupted: both are deleted when the service is idle.
        let can_be_read = |token: &&Record| self.was_shown(&name, &token.secret);
        let extra = tokens.iter().filter(|token| !is_held(token) && !can_be_read(token)).count();
        let waits = tokens.iter().filter(is_held).any(|token| token.description.as_str().contains("unused-since"));
        if tokens.iter().filter(is_held).count() != 1 {
            self.broken(format!(
                "converges: service {number} has a task, and its secret shows no token that Consul has"
            ));
        } else if extra > self.possible_leftovers {
            let possible_leftovers = self.possible_leftovers;
            self.broken(format!(
                "converges: service {number} has {extra} tokens that no task can have read; faults can have left {possible_leftovers}"
            ));
        } else if waits && is_swept {
            self.broken(format!("converges: service {number} has a task, and its token is still marked as unused"));
        }
        for index in 0..self.ecs.tasks.len() {
            let task = &self.ecs.tasks[index];
            let is_its = task.service == number && task.reads_token && task.is_living();
            let is_dead = |read: &String| !self.is_valid(read) && !self.manual_changes.lost.contains(read);
            if is_its && task.read.as_ref().is_some_and(is_dead) {
                self.broken(format!("never the living: task {index} is active, and its token is deleted for good"));
            }
        }
    }

    /// The controller's tokens for a service.
    pub(crate) fn tokens_of(&self, number: usize) -> Vec<Record> {
        let name = service_name(number);
        let is_its = |record: &&Record| {
            !record.foreign && record.description.holder_mark().is_some_and(|mark| mark.service.as_ref() == Some(&name))
        };
        self.consul.tokens.iter().filter(is_its).cloned().collect()
    }

    /// Whether the controller cannot know which secret holds the token: with the mode `auto`, a token of consul-ecs that it
    /// has not marked, and that the secret of the service does not contain.
    fn is_of_unknown_secret(&self, record: &Record) -> bool {
        let Some(mark) = record.description.holder_mark() else { return false };
        let by_service = mark.service.clone().map(|name| MeshService { tenancy: self.tenancy.clone(), name });
        let held = by_service.map(|service| self.secret(&self.scope.names.of(&TokenHolder::Service(service))));
        let is_held = held.is_some_and(|held| held.pair().is_some_and(|pair| pair.accessor == record.accessor));
        self.scenario.mode == TokenMode::Auto && mark.secret.is_none() && !is_held
    }
}
