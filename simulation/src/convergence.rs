//! The promise of the end: when all is quiet, one sweep later, everything is as it should be.

use mesh::{
    mark::{HolderMark, LoginMark},
    phase::TaskPhase,
};
use secrecy::ExposeSecret;

use super::{
    consul::Record,
    world::{World, service_name},
};

impl World {
    /// After one sweep: who lives has its token, who stopped has nothing. The same holds without a sweep where no event was
    /// lost, but for the mark of a token that was made ahead of a task and for it at the same moment.
    pub(crate) fn check_converged(&mut self, is_swept: bool) {
        for index in 0..self.ecs.tasks.len() {
            if self.ecs.tasks[index].is_stopped() && !self.is_agent_unmissed(index) {
                self.check_cleared(index, "a sweep has passed");
            }
        }
        if !self.makes_tokens() {
            return;
        }
        for number in 0..self.scenario.services {
            if self.ecs.of_service(number).any(|task| task.phase() == Some(TaskPhase::Active)) {
                self.check_provisioned(number, is_swept);
            }
        }
        let is_active = self.ecs.tasks.iter().any(|task| task.phase() == Some(TaskPhase::Active));
        let client = self.secret("consul-ecs-consul-client-token");
        if is_active && !client.shown().is_some_and(|pair| self.is_valid(pair.secret.expose_secret())) {
            self.broken("converges: the client agents have no token".to_owned());
        }
    }

    /// After a sweep: whoever was told to stop is drained.
    pub(crate) fn check_all_drained(&mut self) {
        for index in 0..self.ecs.tasks.len() {
            if self.ecs.tasks[index].phase() == Some(TaskPhase::Stopping) {
                self.check_drained(index);
            }
        }
    }

    /// After a sweep: of a deleted cluster nothing is left, unless somebody else is on its node.
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

    /// After the grace period: who is idle has nothing.
    pub(crate) fn check_idle(&mut self) {
        for number in 0..self.scenario.services {
            if self.ecs.of_service(number).any(super::ecs::Task::is_living) {
                continue;
            }
            let left = self.tokens_of(number).len();
            if left > 0 {
                self.broken(format!("converges: service {number} is idle, and has {left} tokens"));
            }
        }
    }

    /// After the clean-up: nothing of the controller's is left, and everything else is.
    pub(crate) fn check_cleaned_up(&mut self) {
        let is_ours = |record: &&Record| {
            let login = LoginMark::parse(&record.description).map(|mark| mark.cluster);
            let named = login.or_else(|| HolderMark::parse(&record.description).map(|mark| mark.cluster));
            !record.foreign && named.is_some()
        };
        let left = self.consul.tokens.iter().filter(is_ours).count();
        let services = self.consul.instances.iter().filter(|instance| instance.node.starts_with("arn:")).count();
        let foreign = self.consul.tokens.iter().filter(|record| record.foreign).count();
        if left + services > 0 {
            self.broken(format!("no leak: the clean-up has left {left} tokens and {services} services"));
        } else if foreign != self.strangers || self.scenario.strangers && self.consul.others.is_empty() {
            self.broken("only ours: the clean-up has taken something of others".to_owned());
        }
        for number in 0..self.scenario.services {
            // A pair that never was a token in Consul opens nothing.
            let held = self.secret(&self.secret_name(number));
            if held.shown().is_some_and(|pair| self.revoked.contains(pair.secret.expose_secret())) {
                self.broken("no leak: after the clean-up a secret still holds a token".to_owned());
            }
        }
    }

    fn check_provisioned(&mut self, number: usize, is_swept: bool) {
        if self.is_disturbed(number) {
            return;
        }
        let tokens = self.tokens_of(number);
        let name = self.secret_name(number);
        let held = self.secret(&name);
        let shown = held.shown().map(|pair| pair.secret.expose_secret().to_owned());
        let is_held = |token: &&Record| shown.as_deref() == Some(token.secret.as_str());
        // One that was shown before a person emptied the secret may be what tasks hold, and one whose creator was interrupted may
        // pass for such: they go when the service is idle.
        let extra = tokens.iter().filter(|token| !is_held(token) && !self.was_shown(&name, &token.secret)).count();
        let waits = tokens.iter().filter(is_held).any(|token| token.description.contains("unused-since"));
        if tokens.iter().filter(is_held).count() != 1 {
            self.broken(format!(
                "converges: service {number} has a task, and its secret shows no token that Consul has"
            ));
        } else if extra > self.mishaps {
            let mishaps = self.mishaps;
            self.broken(format!(
                "converges: service {number} has {extra} tokens that no task can have read, after {mishaps} mishaps"
            ));
        } else if waits && is_swept {
            self.broken(format!("converges: service {number} has a task, and its token still waits for one"));
        }
        for index in 0..self.ecs.tasks.len() {
            let task = &self.ecs.tasks[index];
            let is_its = task.service == number && task.is_living();
            let is_dead = |read: &String| !self.is_valid(read) && !self.disturbances.lost.contains(read);
            if is_its && task.read.as_ref().is_some_and(is_dead) {
                self.broken(format!("never the living: task {index} lives with a token that is dead for good"));
            }
        }
    }

    /// The tokens of ours for a service.
    pub(crate) fn tokens_of(&self, number: usize) -> Vec<Record> {
        let name = service_name(number);
        let is_its = |record: &&Record| {
            !record.foreign
                && HolderMark::parse(&record.description).is_some_and(|mark| mark.service.as_ref() == Some(&name))
        };
        self.consul.tokens.iter().filter(is_its).cloned().collect()
    }
}
