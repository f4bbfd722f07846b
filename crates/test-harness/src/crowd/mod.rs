//! Many tasks of many services at once, on the real stack: they start, register, log in, are told to stop and stop; and
//! what Consul and Secrets Manager then have to hold.

mod bulk;
mod census;
mod foreign;
mod work;

use aws_sdk_sqs::types::QueueAttributeName;

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::jwt::JwtAuthMethod;
use local_stack::{
    aws::Aws,
    consul::{Consul, Token},
    deploy::deploy,
    world::{Definition, GRACE, World, cluster_arn, documented_policy, envelope, task_id},
};

/// How many tasks one `RunTask` starts at most.
const RUN_AT_ONCE: usize = 10;
/// How many calls of the crowd itself are under way at once.
const HANDS: usize = 8;

/// A task.
#[derive(Clone)]
pub struct Member {
    /// Name of the Consul service that it is an instance of.
    pub service: String,
    /// The task's ARN.
    pub arn: String,
    /// Whether it still runs: false once the crowd has stopped it.
    pub lives: bool,
    /// What ECS said when it started.
    described: Value,
    /// The token that it has logged in for.
    login: Option<Token>,
}

/// The services of one cluster, and their tasks.
pub struct Crowd<'a> {
    /// The cluster, and the deployment that looks after it.
    pub world: World<'a>,
    /// All tasks in the order of their start, stopped ones included.
    pub members: Vec<Member>,
    /// The deployment's `TokenMode`.
    pub mode: &'static str,
    /// Whether tasks log in, as those of mode `auth-method` do.
    pub logs_in: bool,
    /// Whether work that creates tokens is interrupted: a token that was not shown for that stays until its service is idle.
    pub leaves_orphans: bool,
    services: Vec<(String, Definition)>,
    method: JwtAuthMethod<'a>,
    foreign: Option<foreign::Foreign>,
}

impl<'a> Crowd<'a> {
    /// A deployment of its own, whose functions find Consul at `address`.
    pub async fn deploy(
        aws: &'a Aws,
        consul: &'a Consul,
        (name, mode): (&'static str, &'static str),
        address: &str,
        further: &[(&str, &str)],
    ) -> Self {
        aws.ecs().create_cluster().cluster_name(name).send().await.expect("CreateCluster");
        let token = consul.token_with_rules(&format!("controller-{name}"), &documented_policy()).await;
        let secret = aws.secrets().create_secret().name(format!("{name}-controller")).secret_string(&token.secret_id);
        let secret = secret.send().await.expect("CreateSecret").arn.expect("an ARN");
        let (cluster, grace) = (cluster_arn(name), GRACE.as_secs().to_string());
        let mut parameters = vec![
            ("ConsulHttpAddr", address),
            ("ConsulHttpTokenSecretArn", &secret),
            ("EcsClusterArns", &cluster),
            ("TokenMode", mode),
            ("SecretNamePrefix", name),
            ("RevocationGraceSeconds", &grace),
            // The auth method of tasks is of a type that Consul has from 1.12 on.
            ("Bootstrap", "none"),
            ("Audit", "false"),
            // How much one sweep may delete is another test's business.
            ("MaxDeletePercent", "100"),
            // What events do must not be mistaken for what a sweep does.
            ("ReconcileRate", "rate(1 day)"),
        ];
        // The last word counts.
        parameters.retain(|(key, _)| further.iter().all(|(other, _)| other != key));
        parameters.extend(further.iter().copied());
        let deployed = deploy(aws, name, &parameters).await;
        let world = World { aws, consul, deployed, name, prefix: name };
        Self::of(world, mode).await
    }

    /// A crowd in a world that is there.
    pub async fn of(world: World<'a>, mode: &'static str) -> Self {
        let method = JwtAuthMethod::create(world.consul, world.name).await;
        let logs_in = mode == "auth-method";
        Self {
            world,
            members: Vec::new(),
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

    /// Registers a definition for each of so many further services.
    pub async fn found_services(&mut self, count: usize) {
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

    /// How many services there are.
    pub fn services(&self) -> usize {
        self.services.len()
    }

    /// Starts tasks of a service, each of which registers and, where tasks do, logs in. The answer are their events.
    pub async fn start(&mut self, service: usize, count: usize) -> Vec<Value> {
        let (name, definition) = self.services[service].clone();
        let mut started = Vec::new();
        for first in (0..count).step_by(RUN_AT_ONCE) {
            started.extend(self.run(&definition, RUN_AT_ONCE.min(count - first)).await);
        }
        let this = &*self;
        let joined = stream::iter(started).map(|task| this.join(&name, task)).buffered(HANDS);
        let joined: Vec<Member> = joined.collect().await;
        let events = joined.iter().map(|member| envelope(&member.described)).collect();
        self.members.extend(joined);
        events
    }

    async fn run(&self, definition: &Definition, count: usize) -> Vec<Value> {
        let body = json!({
            "cluster": self.world.name,
            "taskDefinition": definition.0,
            "launchType": "FARGATE",
            "count": count,
            "networkConfiguration": { "awsvpcConfiguration": { "subnets": ["subnet-1"] } },
        });
        let answer = self.world.ecs_call("RunTask", &body).await;
        answer["tasks"].as_array().unwrap_or_else(|| panic!("no tasks in {answer}")).clone()
    }

    async fn join(&self, service: &str, mut described: Value) -> Member {
        // Events carry no tags.
        described.as_object_mut().unwrap().remove("tags");
        let arn = described["taskArn"].as_str().unwrap().to_owned();
        self.world.register_instance(service, &arn).await;
        let login = if self.logs_in {
            Some(self.method.log_in_task(service, &self.world.cluster(), task_id(&arn)).await)
        } else {
            None
        };
        Member { service: service.to_owned(), arn, lives: true, described, login }
    }

    /// Stops a task: the events that it is told to, and that it is stopped.
    pub async fn stop(&mut self, index: usize) -> [Value; 2] {
        let member = &mut self.members[index];
        member.lives = false;
        let (arn, described) = (member.arn.clone(), member.described.clone());
        self.world.stop(&arn).await;
        let mut told = described.clone();
        told["desiredStatus"] = json!("STOPPED");
        told["version"] = json!(4);
        let mut stopped = told.clone();
        stopped["lastStatus"] = json!("STOPPED");
        stopped["version"] = json!(6);
        [envelope(&told), envelope(&stopped)]
    }

    /// A round: as many new services with their first tasks, and the stops of all tasks of the round before. The events.
    pub async fn come_and_go(&mut self, round: usize, services: usize, tasks: usize) -> Vec<Value> {
        let mut events = Vec::new();
        self.found_services(services).await;
        for service in round * services..(round + 1) * services {
            events.extend(self.start(service, tasks).await);
        }
        if round == 0 {
            self.plant_foreign().await;
        }
        for service in round.saturating_sub(1) * services..round * services {
            for index in self.living(service) {
                events.extend(self.stop(index).await);
            }
        }
        events
    }

    /// The tasks of a service that live, as indices.
    pub fn living(&self, service: usize) -> Vec<usize> {
        let name = &self.services[service].0;
        let living = |(_, member): &(usize, &Member)| member.lives && member.service == *name;
        self.members.iter().enumerate().filter(living).map(|(index, _)| index).collect()
    }

    /// The last event of every task once more: duplicates, as SQS and EventBridge may send them at any time.
    pub fn replay(&self) -> Vec<Value> {
        let last = |member: &Member| {
            let mut described = member.described.clone();
            if !member.lives {
                described["lastStatus"] = json!("STOPPED");
                described["desiredStatus"] = json!("STOPPED");
                described["version"] = json!(6);
            }
            envelope(&described)
        };
        self.members.iter().map(last).collect()
    }
}
