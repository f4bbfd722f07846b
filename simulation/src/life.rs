//! The lives of tasks: each steps through ECS's statuses, does in the mesh what its containers do, and every step is
//! an event.

use mesh::{phase::TaskPhase, secret::SecretState};
use serde_json::{Value, json};

use super::{
    ecs::{End, Kind, Start, definition_arn},
    world::{World, note},
};

/// Where a task stands: its last status, and the desired one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stand(usize);

/// A life from beginning to end.
pub(crate) const LIFE: [(&str, &str); 8] = [
    ("PROVISIONING", "RUNNING"),
    ("PENDING", "RUNNING"),
    ("ACTIVATING", "RUNNING"),
    ("RUNNING", "RUNNING"),
    ("RUNNING", "STOPPED"),
    ("STOPPING", "STOPPED"),
    ("DEPROVISIONING", "STOPPED"),
    ("STOPPED", "STOPPED"),
];
const RUNNING: usize = 3;
const TOLD_TO_STOP: usize = 4;
const STOPPED: usize = 7;
/// When the containers start.
const ACTIVATING: usize = 2;

impl Stand {
    pub(crate) fn phase(self) -> TaskPhase {
        match self.0 {
            0..TOLD_TO_STOP => TaskPhase::Active,
            TOLD_TO_STOP..STOPPED => TaskPhase::Stopping,
            _ => TaskPhase::Stopped,
        }
    }

    pub(crate) fn is_meant_to_run(self) -> bool {
        LIFE[self.0].1 == "RUNNING"
    }

    /// What an event says.
    pub(crate) fn told_by(event: &Value) -> Self {
        let told =
            (event["detail"]["lastStatus"].as_str().unwrap(), event["detail"]["desiredStatus"].as_str().unwrap());
        Self(LIFE.iter().position(|stand| *stand == told).unwrap())
    }

    fn is_last_of(self, end: End) -> bool {
        let last = match end {
            End::Runs => RUNNING,
            End::Drains => TOLD_TO_STOP,
            End::Stops => STOPPED,
        };
        self.0 == last
    }
}

impl World {
    /// The tasks that may take a step now.
    pub(crate) fn restless(&self) -> Vec<usize> {
        let may_step = |index: &usize| {
            let task = &self.ecs.tasks[*index];
            match task.stand() {
                None => match task.start {
                    _ if self.sqs.messages.is_empty() => true,
                    Start::AnyTime => true,
                    Start::DuringLook => !self.looking.is_empty(),
                    Start::AfterRevocation => !self.revoked.is_empty(),
                    Start::WhileHidden => self.is_hidden(task.service),
                    Start::WhileDeleted => self.is_hidden(task.service) && !self.looking.is_empty(),
                },
                // Its containers start later than answers lag.
                Some(Stand(stand)) if stand + 1 == ACTIVATING => {
                    task.created().is_some_and(|at| at + self.scenario.assumed_lag() < self.now)
                }
                Some(stand) => !stand.is_last_of(task.end),
            }
        };
        (0..self.ecs.tasks.len()).filter(may_step).collect()
    }

    fn is_hidden(&self, service: usize) -> bool {
        matches!(self.secret(&self.secret_name(service)), SecretState::Retiring(..))
    }

    /// Whether every task has done all it will do.
    pub(crate) fn is_lived_out(&self) -> bool {
        let is_over = |task: &super::ecs::Task| task.stand().is_some_and(|stand| stand.is_last_of(task.end));
        self.ecs.tasks.iter().all(is_over)
    }

    /// The tasks that start, and have not read their token yet.
    pub(crate) fn unread(&self) -> Vec<usize> {
        if !self.makes_tokens() {
            return Vec::new();
        }
        let reads = |index: &usize| {
            let task = &self.ecs.tasks[*index];
            // Who is to be told apart by its tags reads when its containers start.
            let first = if task.own_tags { ACTIVATING } else { 0 };
            task.read.is_none() && task.stand().is_some_and(|Stand(stand)| (first..=RUNNING).contains(&stand))
        };
        (0..self.ecs.tasks.len()).filter(reads).collect()
    }

    /// One of them reads it.
    pub(crate) fn read_any(&mut self) {
        let unread = self.unread();
        let index = unread[self.random.usize(..unread.len())];
        self.read_secret(index);
    }

    /// A task takes its next step.
    pub(crate) fn step(&mut self, index: usize) {
        let next = match self.ecs.tasks[index].stand() {
            None => 0,
            // It may fail to start, and be killed at any time.
            Some(Stand(stand))
                if stand < TOLD_TO_STOP && self.random.u32(..20) == 0 && self.ecs.tasks[index].end == End::Stops =>
            {
                [TOLD_TO_STOP, STOPPED][self.random.usize(..2)]
            }
            Some(Stand(stand)) => stand + 1,
        };
        let now = self.now;
        self.ecs.tasks[index].history.push((now, Stand(next)));
        note!(self, "task {index} of service {} is {:?}", self.ecs.tasks[index].service, LIFE[next]);
        match next {
            ACTIVATING if !self.makes_tokens() => self.log_in(index),
            RUNNING => self.register(index),
            STOPPED => {
                let is_clean = self.random.bool();
                if self.ecs.tasks[index].has_agent {
                    self.part(index, is_clean);
                }
                if is_clean {
                    self.clean_up(index);
                }
            }
            _ => {}
        }
        self.publish(index, next);
    }

    /// What a well-behaved task does at its end.
    fn clean_up(&mut self, index: usize) {
        let id = self.ecs.tasks[index].arn.id().clone();
        self.consul.forget_task(&id, self.random.bool());
        note!(self, "task {index} has cleaned up after itself");
    }

    /// `EventBridge` tells of a step: late, twice, or not at all.
    fn publish(&mut self, index: usize, stand: usize) {
        let task = &self.ecs.tasks[index];
        let time = jiff::Timestamp::from_second(self.time().as_second()).unwrap();
        let body = json!({
            "source": "aws.ecs",
            "detail-type": "ECS Task State Change",
            "time": time.to_string(),
            "detail": {
                "taskArn": task.arn.as_str(),
                "clusterArn": task.cluster.as_str(),
                "taskDefinitionArn": task.definition.as_str(),
                "lastStatus": LIFE[stand].0,
                "desiredStatus": LIFE[stand].1,
                "version": task.history.len(),
            },
        });
        self.deliver(&body.to_string());
    }

    /// Somebody registers the definition of a service, or an ECS service uses it.
    pub(crate) fn register_definition(&mut self, service: usize) {
        let definition = definition_arn(service, Kind::Plain);
        let body = json!({
            "source": "aws.ecs",
            "detail-type": "AWS API Call via CloudTrail",
            "time": self.time().to_string(),
            "detail": {
                "eventSource": "ecs.amazonaws.com",
                "eventName": "RegisterTaskDefinition",
                "responseElements": { "taskDefinition": { "taskDefinitionArn": definition.as_str() } },
            },
        });
        note!(self, "the definition of service {service} is registered");
        self.deliver(&body.to_string());
    }

    fn deliver(&mut self, body: &str) {
        let lost = self.scenario.lost;
        if !self.calm && self.chance(lost) {
            self.note("its event is lost");
            return;
        }
        let duplicated = self.scenario.duplicated;
        for _ in 0..=u32::from(self.chance(duplicated)) {
            let delay = if self.random.u32(..3) == 0 { self.random.u64(..60_000) } else { 0 };
            self.sqs.send(body.to_owned(), self.now + delay);
        }
    }
}
