//! Thousands of tasks, started and stopped in few calls.

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::{CONCURRENT_CALLS, Fleet};

impl Fleet<'_> {
    /// Starts `count` tasks, spread over all services. Each registers its service and sidecar proxy, and has a login token if
    /// `logged_in`. Returns their events.
    pub async fn fill(&mut self, count: usize, logged_in: bool) -> Vec<Value> {
        let services: Vec<usize> = (0..self.services.len()).collect();
        let mut tasks = self.registered(&services, count).await;
        let (this, all) = (&*self, stream::iter(&mut tasks).filter(|_| std::future::ready(logged_in)));
        all.for_each_concurrent(CONCURRENT_CALLS, |task| async move {
            task.login = Some(this.world.token_as_of_login(&task.service, &task.arn).await);
        })
        .await;
        self.add(tasks)
    }

    /// Stops every task, and returns the events.
    pub async fn stop_all(&mut self) -> Vec<Value> {
        let this = &*self;
        let arns = self.tasks.iter().map(|task| task.arn.clone());
        // No task is started meanwhile, so that the calls can be concurrent.
        let stop = |arn: String| async move {
            let body = json!({ "cluster": this.world.name, "task": arn, "reason": "test" });
            this.world.aws.call("ecs", "AmazonEC2ContainerServiceV20141113.StopTask", &body).await;
        };
        stream::iter(arns).for_each_concurrent(CONCURRENT_CALLS, stop).await;
        for task in &mut self.tasks {
            task.is_running = false;
        }
        self.replay()
    }

    /// The number of events that are not handled yet, and of idle checks that are due later.
    pub async fn events_and_idle_checks_left(&self) -> (usize, usize) {
        let waiting = self.world.waiting(&self.world.deployed.queue_url).await;
        let is_idle_check =
            |message: &&Value| message["Body"].as_str().unwrap_or_default().contains("Service Idle Check");
        let idle_checks = waiting.iter().filter(is_idle_check).count();
        (waiting.len() - idle_checks, idle_checks)
    }

    /// Delivers many events concurrently.
    pub async fn deliver_all(&self, events: &[Value]) {
        let chunks = events.chunks(100);
        stream::iter(chunks).for_each_concurrent(CONCURRENT_CALLS, |chunk| self.world.deliver(chunk)).await;
    }
}
