//! A fleet of tasks of many services on the local stack: they start, register, log in, are told to stop and stop. The expected
//! state of Consul and Secrets Manager follows from the tasks that run.

mod bulk;
mod convergence;
mod foreign;
mod violations;

use aws_sdk_sqs::types::QueueAttributeName;

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::jwt::JwtAuthMethod;
use local_stack::{
    aws::Aws,
    consul::{Consul, Token},
    deploy::install,
    world::{Definition, GRACE, World, documented_policy, envelope, task_id},
};

/// The most tasks that one `RunTask` starts.
const RUN_AT_ONCE: usize = 10;
/// The most concurrent calls of the fleet.
const CONCURRENT_CALLS: usize = 8;

#[derive(Clone)]
pub struct FleetTask {
    /// Name of the Consul service that it is an instance of.
    pub service: String,
    /// The task's ARN.
    pub arn: String,
    /// Whether it is running: false once the fleet has stopped it.
    pub is_running: bool,
    /// ECS's description of the task when it started.
    described: Value,
    login: Option<Token>,
}

/// The services of one cluster, and their tasks.
pub struct Fleet<'a> {
    /// The cluster, and the deployment that manages it.
    pub world: World<'a>,
    /// All tasks in the order of their start, stopped ones included.
    pub tasks: Vec<FleetTask>,
    /// The deployment's `TokenMode`.
    pub mode: &'static str,
    /// Whether tasks log in, as those of mode `auth-method` do.
    pub logs_in: bool,
    /// Whether the test interrupts the creation of tokens: a token that was therefore not shown stays until its service is idle.
    pub leaves_orphans: bool,
    services: Vec<(String, Definition)>,
    method: JwtAuthMethod<'a>,
    foreign: Option<foreign::Foreign>,
}

impl<'a> Fleet<'a> {
    /// Deploys a stack whose functions call Consul at `address`.
    pub async fn deploy(
        aws: &'a Aws,
        consul: &'a Consul,
        (name, mode): (&'static str, &'static str),
        address: &str,
        further: &[(&str, &str)],
    ) -> Self {
        let token = consul.token_with_rules(&format!("controller-{name}"), &documented_policy()).await;
        let grace = GRACE.as_secs().to_string();
        let parameters = [
            ("TokenMode", mode),
            ("RevocationGraceSeconds", &grace),
            // The tasks' auth method has a type that Consul supports since 1.12.
            ("Bootstrap", "none"),
            ("Audit", "false"),
            // The guard has tests of its own.
            ("MaxDeletePercent", "100"),
        ];
        let deployed =
            install(aws, address, name, &[name], &token.secret_id, &[&parameters, further].concat()).await.unwrap();
        let world = World { aws, consul, deployed, name, prefix: name };
        Self::of(world, mode).await
    }

    /// A fleet in an existing world.
    pub async fn of(world: World<'a>, mode: &'static str) -> Self {
        let method = JwtAuthMethod::create(world.consul, world.name).await;
        let logs_in = mode == "auth-method";
        Self {
            world,
            tasks: Vec::new(),
            mode,
            logs_in,
            leaves_orphans: false,
            services: Vec::new(),
            method,
            foreign: None,
        }
    }

    /// Sets an attribute of the function's queue.
    pub async fn set_queue(&self, attribute: QueueAttributeName, value: &str) {
        let call = self.world.aws.sqs().set_queue_attributes().queue_url(&self.world.deployed.queue_url);
        call.attributes(attribute, value).send().await.expect("SetQueueAttributes");
    }

    /// Adds `count` services, each with a task definition.
    pub async fn add_services(&mut self, count: usize) {
        for _ in 0..count {
            let service = format!("{}-{}", self.world.name, self.services.len());
            let definition = self.world.mesh_definition(&service).await;
            self.services.push((service, definition));
        }
    }

    /// The ARN of a service's definition.
    pub fn definition(&self, service: usize) -> &str {
        &self.services[service].1.0
    }

    /// The number of services.
    pub fn services(&self) -> usize {
        self.services.len()
    }

    /// Starts tasks of a service. Each registers, and logs in if `logs_in`. Returns their events.
    pub async fn start(&mut self, service: usize, count: usize) -> Vec<Value> {
        let mut tasks = self.registered(&[service], count).await;
        for task in tasks.iter_mut().filter(|_| self.logs_in) {
            let (cluster, id) = (self.world.cluster(), task_id(&task.arn));
            task.login = Some(self.method.log_in_task(&task.service, &cluster, id).await);
        }
        self.add(tasks)
    }

    /// Runs `count` tasks of these services in turn. Each registers its service and its sidecar proxy.
    async fn registered(&self, services: &[usize], count: usize) -> Vec<FleetTask> {
        let run = |number: usize| async move {
            let (service, definition) = &self.services[services[number % services.len()]];
            let count = RUN_AT_ONCE.min(count - number * RUN_AT_ONCE);
            let tasks = self.world.run_all(definition, count, &json!([])).await;
            tasks.into_iter().map(|task| (service.clone(), task)).collect::<Vec<_>>()
        };
        let runs = stream::iter(0..count.div_ceil(RUN_AT_ONCE)).map(run);
        let tasks: Vec<_> = runs.buffered(CONCURRENT_CALLS).concat().await;
        let register = |(service, mut described): (String, Value)| async move {
            // Events carry no tags.
            described.as_object_mut().unwrap().remove("tags");
            let arn = described["taskArn"].as_str().unwrap().to_owned();
            self.world.register_instance(&service, &arn).await;
            FleetTask { service, arn, is_running: true, described, login: None }
        };
        stream::iter(tasks).map(register).buffered(CONCURRENT_CALLS).collect().await
    }

    fn add(&mut self, tasks: Vec<FleetTask>) -> Vec<Value> {
        let events = tasks.iter().map(|task| envelope(&task.described)).collect();
        self.tasks.extend(tasks);
        events
    }

    /// Stops a task. Returns the events of its stopping and of its stop.
    pub async fn stop(&mut self, index: usize) -> [Value; 2] {
        let task = &mut self.tasks[index];
        task.is_running = false;
        let (arn, described) = (task.arn.clone(), task.described.clone());
        self.world.stop(&arn).await;
        let mut told = described.clone();
        told["desiredStatus"] = json!("STOPPED");
        told["version"] = json!(4);
        let mut stopped = told.clone();
        stopped["lastStatus"] = json!("STOPPED");
        stopped["version"] = json!(6);
        [envelope(&told), envelope(&stopped)]
    }

    /// One round: adds services with their first tasks, and stops all tasks of the round before. Returns the events.
    pub async fn replace_services(&mut self, round: usize, services: usize, tasks: usize) -> Vec<Value> {
        let mut events = Vec::new();
        self.add_services(services).await;
        for service in round * services..(round + 1) * services {
            events.extend(self.start(service, tasks).await);
        }
        if round == 0 {
            self.create_foreign().await;
        }
        for service in round.saturating_sub(1) * services..round * services {
            for index in self.running(service) {
                events.extend(self.stop(index).await);
            }
        }
        events
    }

    /// The indices of a service's running tasks.
    pub fn running(&self, service: usize) -> Vec<usize> {
        let name = &self.services[service].0;
        let living = |(_, task): &(usize, &FleetTask)| task.is_running && task.service == *name;
        self.tasks.iter().enumerate().filter(living).map(|(index, _)| index).collect()
    }

    /// The last event of every task again: SQS and EventBridge may deliver duplicates at any time.
    pub fn replay(&self) -> Vec<Value> {
        let last = |task: &FleetTask| {
            let mut described = task.described.clone();
            if !task.is_running {
                described["lastStatus"] = json!("STOPPED");
                described["desiredStatus"] = json!("STOPPED");
                described["version"] = json!(6);
            }
            envelope(&described)
        };
        self.tasks.iter().map(last).collect()
    }
}
