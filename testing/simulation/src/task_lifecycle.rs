//! The lifecycle of tasks: each steps through ECS's statuses, does in the mesh what its containers do, and every step publishes an
//! event.

use mesh::{secret::SecretState, settings::TokenMode, task::TaskPhase};
use serde_json::{Value, json};

use super::{
    containers::in_event,
    ecs::{End, Kind, Start, definition_arn},
    neighbours::NEW_STATUS,
    world::{World, note},
};

/// A task's last status and desired status: an index into [`LIFECYCLE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskStatus(usize);

/// The last status and the desired status of a task, step by step.
pub(crate) const LIFECYCLE: [(&str, &str); 8] = [
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
/// The step in which the containers start.
const ACTIVATING: usize = 2;

impl TaskStatus {
    pub(crate) fn phase(self) -> TaskPhase {
        match self.0 {
            0..TOLD_TO_STOP => TaskPhase::Active,
            TOLD_TO_STOP..STOPPED => TaskPhase::Stopping,
            _ => TaskPhase::Stopped,
        }
    }

    pub(crate) fn is_meant_to_run(self) -> bool {
        LIFECYCLE[self.0].1 == "RUNNING"
    }

    /// `lastStatus` and `desiredStatus`.
    pub(crate) fn in_ecs(self) -> (&'static str, &'static str) {
        LIFECYCLE[self.0]
    }

    /// Whether all containers have started, and are meant to run.
    pub(crate) fn is_running(self) -> bool {
        self.0 == RUNNING
    }

    /// Whether ECS has told its containers to stop.
    pub(crate) fn is_stopping(self) -> bool {
        self.0 > TOLD_TO_STOP
    }

    /// The status that an event reports.
    pub(crate) fn from_event(event: &Value) -> Self {
        let (last, desired) =
            (event["detail"]["lastStatus"].as_str().unwrap(), event["detail"]["desiredStatus"].as_str().unwrap());
        let reported = (if last == NEW_STATUS { "RUNNING" } else { last }, desired);
        Self(LIFECYCLE.iter().position(|status| *status == reported).unwrap())
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
    pub(crate) fn ready_tasks(&self) -> Vec<usize> {
        let may_step = |index: &usize| {
            let task = &self.ecs.tasks[*index];
            match task.status() {
                None => match task.start {
                    _ if self.sqs.messages.is_empty() => true,
                    Start::AnyTime => true,
                    Start::DuringIdleCheck => !self.checking_idle.is_empty(),
                    Start::AfterRevocation => !self.revoked.is_empty(),
                    Start::WhileHidden => self.is_hidden(task.service),
                    Start::WhileDeleted => self.is_hidden(task.service) && !self.checking_idle.is_empty(),
                },
                // Otherwise the containers start once no answer can be older than the task.
                Some(TaskStatus(status)) if status + 1 == ACTIVATING && !task.starts_early(&self.scenario) => {
                    task.created().is_some_and(|at| at + self.scenario.assumed_lag() < self.now)
                }
                Some(status) => !status.is_last_of(task.end),
            }
        };
        (0..self.ecs.tasks.len()).filter(may_step).collect()
    }

    fn is_hidden(&self, service: usize) -> bool {
        matches!(self.secret(&self.secret_name(service)), SecretState::Retiring(..))
    }

    /// Whether every task has reached its last step.
    pub(crate) fn have_all_tasks_ended(&self) -> bool {
        let is_over = |task: &super::ecs::Task| task.status().is_some_and(|status| status.is_last_of(task.end));
        self.ecs.tasks.iter().all(is_over)
    }

    /// The tasks that are starting or running, and have not read their token yet.
    pub(crate) fn tasks_without_token(&self) -> Vec<usize> {
        let reads = |index: &usize| {
            let task = &self.ecs.tasks[*index];
            // ECS may show a task's own tags only when its containers start.
            let first = if task.own_tags { ACTIVATING } else { 0 };
            (task.reads_token || task.reads_family)
                && task.read.is_none()
                && task.status().is_some_and(|TaskStatus(status)| (first..=RUNNING).contains(&status))
        };
        (0..self.ecs.tasks.len()).filter(reads).collect()
    }

    /// One of the tasks without a token reads its secret.
    pub(crate) fn read_any(&mut self) {
        let tasks_without_token = self.tasks_without_token();
        let index = tasks_without_token[self.random.usize(..tasks_without_token.len())];
        self.read_secret(index);
    }

    /// One of these tasks takes its next step.
    pub(crate) fn step_any(&mut self, tasks: &[usize]) {
        let index = tasks[self.random.usize(..tasks.len())];
        self.step(index);
    }

    /// A task takes its next step.
    pub(crate) fn step(&mut self, index: usize) {
        let next = match self.ecs.tasks[index].status() {
            None => 0,
            // A task may fail to start, and may be killed at any time.
            Some(TaskStatus(status))
                if status < TOLD_TO_STOP && self.random.u32(..20) == 0 && self.ecs.tasks[index].end == End::Stops =>
            {
                [TOLD_TO_STOP, STOPPED][self.random.usize(..2)]
            }
            Some(TaskStatus(status)) => status + 1,
        };
        let now = self.now;
        self.ecs.tasks[index].history.push((now, TaskStatus(next)));
        note!(self, "task {index} of service {} is {:?}", self.ecs.tasks[index].service, LIFECYCLE[next]);
        match next {
            ACTIVATING if !self.ecs.tasks[index].reads_token => self.log_in(index),
            RUNNING => self.register(index),
            STOPPED => {
                // `health-sync` deregisters the task.
                let task = &self.ecs.tasks[index];
                let may_be_clean = !task.containers().has_lost_sync && !task.host.is_gone;
                let is_clean = self.random.bool() && may_be_clean;
                if self.ecs.tasks[index].has_agent {
                    self.end_agent(index, is_clean);
                }
                if is_clean {
                    self.clean_up(index);
                }
            }
            _ => {}
        }
        self.publish(index);
    }

    /// The clean-up of a task that ends properly: it deregisters its services, and may log out.
    fn clean_up(&mut self, index: usize) {
        let id = self.ecs.tasks[index].arn.id().clone();
        self.consul.forget_task(&id, self.random.bool());
        note!(self, "task {index} has cleaned up after itself");
    }

    /// Publishes the event of a change.
    pub fn publish(&mut self, index: usize) {
        let task = &self.ecs.tasks[index];
        let (last_status, desired_status) = task.shown_as(task.status().unwrap_or(TaskStatus(0)));
        let time = jiff::Timestamp::from_second(self.time().as_second()).unwrap();
        let body = json!({
            "source": "aws.ecs",
            "detail-type": "ECS Task State Change",
            "time": time.to_string(),
            "detail": {
                "taskArn": task.arn.as_str(),
                "clusterArn": task.cluster.as_str(),
                "taskDefinitionArn": task.definition.as_str(),
                "lastStatus": last_status,
                "desiredStatus": desired_status,
                "version": task.version(),
                "containers": in_event(task),
            },
        });
        self.deliver(&body.to_string());
        if let Some(event) = self.neighbour_event() {
            self.deliver(&event.to_string());
        }
    }

    /// The event of a task definition's registration.
    pub(crate) fn register_definition(&mut self, service: usize) {
        let definition = definition_arn(service, Kind::Plain, self.scenario.mode != TokenMode::AuthMethod);
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

    /// `EventBridge` sends the event to the queue: late, twice, or not at all.
    pub(crate) fn deliver(&mut self, body: &str) {
        let lost = self.scenario.lost;
        if !self.fault_free && self.chance(lost) {
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
