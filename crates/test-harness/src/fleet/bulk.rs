//! Thousands of tasks, started and stopped in few calls.

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::{CONCURRENT_CALLS, Fleet, FleetTask, RUN_AT_ONCE};
use local_stack::{
    consul::Token,
    world::{envelope, task_id},
};

/// Tasks registered by one transaction: each needs four operations, and Consul's limit is 64.
const REGISTERED_AT_ONCE: usize = 16;

impl Fleet<'_> {
    /// Starts `count` tasks, spread over all services. Each registers its service and sidecar proxy, and has a login token if
    /// `logged_in`. Returns their events.
    pub async fn fill(&mut self, count: usize, logged_in: bool) -> Vec<Value> {
        let runs = count.div_ceil(RUN_AT_ONCE);
        let this = &*self;
        let run = |number: usize| async move {
            let (service, definition) = &this.services[number % this.services.len()];
            let tasks = this.run(definition, RUN_AT_ONCE.min(count - number * RUN_AT_ONCE)).await;
            tasks.into_iter().map(|task| (service.clone(), task)).collect::<Vec<_>>()
        };
        let tasks: Vec<_> = stream::iter(0..runs).map(run).buffered(CONCURRENT_CALLS).concat().await;
        // The node, which the first registration of a task creates.
        self.world.register_raw(&json!({})).await;
        let register = |chunk: Vec<(String, Value)>| async move { this.register_all(&chunk).await };
        let chunks = tasks.chunks(REGISTERED_AT_ONCE).map(<[_]>::to_vec);
        stream::iter(chunks).for_each_concurrent(CONCURRENT_CALLS, register).await;
        let join = |(service, mut described): (String, Value)| async move {
            described.as_object_mut().unwrap().remove("tags");
            let arn = described["taskArn"].as_str().unwrap().to_owned();
            let login = if logged_in { Some(this.token_as_of_login(&service, &arn).await) } else { None };
            FleetTask { service, arn, is_running: true, described, login }
        };
        let tasks: Vec<FleetTask> = stream::iter(tasks).map(join).buffered(CONCURRENT_CALLS).collect().await;
        let events = tasks.iter().map(|task| envelope(&task.described)).collect();
        self.tasks.extend(tasks);
        events
    }

    async fn register_all(&self, tasks: &[(String, Value)]) {
        let node = self.world.cluster();
        let operations: Vec<Value> =
            tasks.iter().flat_map(|(service, task)| registration(&node, service, task)).collect();
        self.world.consul.put("/v1/txn", &Value::Array(operations)).await;
    }

    /// A token like that of a login, created without one: thousands of signatures take too long.
    async fn token_as_of_login(&self, service: &str, arn: &str) -> Token {
        let meta = json!({
            "consul.hashicorp.com/cluster": self.world.cluster(),
            "consul.hashicorp.com/task-id": task_id(arn),
        });
        let body = json!({
            "Description": format!("token created via login: {meta}"),
            "ServiceIdentities": [{ "ServiceName": service }],
        });
        Token::from(&self.world.consul.put("/v1/acl/token", &body).await)
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

fn registration(node: &str, service: &str, task: &Value) -> [Value; 4] {
    let arn = task["taskArn"].as_str().unwrap();
    let id = format!("{service}-{}", task_id(arn));
    let (proxy, sidecar) = (format!("{id}-sidecar-proxy"), format!("{service}-sidecar-proxy"));
    let meta = json!({ "task-id": task_id(arn), "task-arn": arn, "source": "consul-ecs" });
    let proxied = json!({ "DestinationServiceName": service, "DestinationServiceID": id, "LocalServicePort": 9090 });
    let app = json!({ "ID": id, "Service": service, "Port": 9090, "Meta": meta });
    let side = json!({ "ID": proxy, "Service": sidecar, "Kind": "connect-proxy", "Port": 20000, "Proxy": proxied, "Meta": meta });
    let set = |service: Value| json!({ "Service": { "Verb": "set", "Node": node, "Service": service } });
    let check = |of: &str| {
        let check = json!({
            "Node": node, "CheckID": format!("{of}-check"), "Name": "Consul ECS health check synced",
            "Status": "passing", "ServiceID": of,
        });
        json!({ "Check": { "Verb": "set", "Check": check } })
    };
    let checks = [check(&id), check(&proxy)];
    let [first, second] = checks;
    [set(app), first, set(side), second]
}
