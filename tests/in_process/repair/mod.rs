//! What sweeps and events find of running tasks, in the world of the simulation: reports, announcements, plans and calls. The world
//! checks each write against the promises, and the schedules of the simulation search for one that breaks them.

mod admission;
mod flood;
mod guarded;
mod half_dead;
mod hosts;
mod lost_nodes;
mod untagged;

use std::{collections::BTreeMap, time::Duration};

use controller::{Controller, Delivery};
use mesh::{arn::TaskId, catalog::CheckStatus, scope::Scope};
use observe::{Deadline, SweepOrder};
use report::SweepReport;
use serde_json::Value;
use simulation::{containers::Containers, direct::Direct, world::World};

/// Running tasks of the service `service-0`, registered and healthy, unless a test has changed the world.
struct Mesh(Direct);

impl Mesh {
    fn running(tasks: usize) -> Self {
        Self(Direct::with_running(tasks, |_| ()))
    }

    fn change(&self, change: impl FnOnce(&mut World)) {
        self.0.with(change);
    }

    fn set_containers(&self, task: usize, containers: Containers) {
        self.change(|world| world.change_containers(task, containers));
    }

    fn id(&self, task: usize) -> TaskId {
        self.0.with(|world| world.ecs.tasks[task].arn.id().clone())
    }

    /// Consul loses what a task has registered.
    fn lose(&self, task: usize) {
        let id = self.id(task);
        self.change(|world| world.consul.forget_task(&id, false));
    }

    /// Consul loses the login tokens of a task.
    fn log_out(&self, task: usize) {
        let id = self.id(task);
        self.change(|world| world.consul.log_out(&id));
    }

    /// A controller whose two reads of a check follow each other at once, unless the settings change that.
    fn controller(&self, settings: impl FnOnce(&mut Scope)) -> Controller {
        let mut scope = self.0.with(|world| {
            world.trace = Some(Vec::new());
            world.scope.clone()
        });
        scope.bounds.health_lag = Duration::ZERO;
        settings(&mut scope);
        Controller::new(scope, self.0.edges.clone())
    }

    async fn sweep_with(&self, order: &SweepOrder, settings: impl FnOnce(&mut Scope)) -> SweepReport {
        let controller = self.controller(settings);
        self.0.serve(Box::pin(controller.sweep(order, Deadline::after(Duration::from_secs(100))))).await
    }

    async fn sweep(&self) -> SweepReport {
        self.sweep_with(&SweepOrder::default(), |_| ()).await
    }

    async fn dry_run(&self) -> SweepReport {
        self.sweep_with(&SweepOrder { dry_run: true, ..SweepOrder::default() }, |_| ()).await
    }

    /// Handles an event, or an own message.
    async fn handle(&self, body: &Value, settings: impl FnOnce(&mut Scope)) {
        let batch = [Delivery { id: "1".to_owned(), receipt: None, receives: 1, body: body.to_string() }];
        let controller = self.controller(settings);
        let work = controller.handle(&batch, Deadline::after(Duration::from_secs(60)));
        let report = self.0.serve(Box::pin(work)).await;
        assert!(report.failures.is_empty(), "{:?}", report.failures);
    }

    /// The message that was sent last.
    fn message(&self) -> Value {
        let body = self.0.with(|world| world.sqs.messages.pop().expect("a message").body);
        serde_json::from_str(&body).expect("JSON")
    }

    /// The event of a task's current state.
    fn event(&self, task: usize) -> Value {
        self.change(|world| world.publish(task));
        self.message()
    }

    /// The steps since the last sweep or event began that begin so, without this beginning.
    fn steps(&self, start: &str) -> Vec<String> {
        let steps = self.0.with(|world| world.trace.clone()).unwrap_or_default();
        let steps = steps.iter().filter_map(|step| step.split_once("s  ")?.1.strip_prefix(start));
        steps.map(str::to_owned).collect()
    }

    /// The calls of a service, without their answers.
    fn calls(&self, service: &str) -> Vec<String> {
        let calls = self.steps(&format!("environment 0 {service}: "));
        calls.iter().filter_map(|call| Some(call.split_once(" -> ")?.0.to_owned())).collect()
    }

    /// The published events: the end of their type, and their mode; sorted.
    fn announced(&self) -> Vec<(String, String)> {
        let event = |step: &String| {
            let (kind, detail) = step.split_once(": ").expect("an event");
            let detail: Value = serde_json::from_str(detail).expect("JSON");
            (kind.to_owned(), detail["mode"].as_str().expect("a mode").to_owned())
        };
        let mut announced: Vec<(String, String)> = self.steps("ECS Mesh ").iter().map(event).collect();
        announced.sort();
        announced
    }

    /// The statuses of a task's checks, by ID without the task's.
    fn statuses(&self, task: usize) -> BTreeMap<String, CheckStatus> {
        let id = self.id(task).to_string();
        let checks = self.0.with(|world| world.consul.checks.clone());
        let own = checks.into_iter().filter(|check| check.id.contains(&id));
        own.map(|check| (check.id.replace(&id, "*"), check.status)).collect()
    }

    fn are_all(&self, task: usize, status: CheckStatus) -> bool {
        self.statuses(task).values().all(|seen| *seen == status)
    }

    /// The reason with which a report mentions a task.
    fn why_skipped(&self, report: &SweepReport, task: usize) -> String {
        let what = format!("task {}", self.id(task));
        let mut skipped = report.clusters[0].skipped.iter().filter(|it| it.what == what);
        let why = skipped.next().unwrap_or_else(|| panic!("{what} is not in {report:?}")).why.clone();
        assert_eq!(skipped.next(), None, "it is reported once");
        why
    }
}
