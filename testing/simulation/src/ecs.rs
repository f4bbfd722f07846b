//! Simulated ECS: tasks with their whole history. Answers may show an older state, by the lag of the scenario.

use std::collections::BTreeMap;

use aws::ecs::{ClusterStatus, EcsError};
use fastrand::Rng;
use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    consul_ecs::{MESH_TAG, Programs, SERVICE_NAME_TAG},
    definition::TaskDefinition,
    secret_reference::SecretReference,
    tags::Tags,
    task::{DescribedTask, TaskEnd, TaskPhase},
};

use super::{
    admission::{HOST, Standing, role_of},
    containers::{Containers, config_json, names, placement},
    health_sync::HealthSync,
    hosts::Host,
    neighbours::NEW_STATUS,
    scenario::Scenario,
    task_lifecycle::{LIFECYCLE, TaskStatus},
    world::{CLIENT_SECRET, World, note, service_name, time_at},
};

/// How long ECS remembers a stopped task, in milliseconds.
const REMEMBERED: u64 = 3_600_000;

/// When a task may start: at any time, or only at one of the moments that are critical for its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    AnyTime,
    /// While an idle check or a sweep is running.
    DuringIdleCheck,
    /// After a service's token was deleted.
    AfterRevocation,
    /// While the service's token is hidden.
    WhileHidden,
    /// While the service's token is hidden, and an idle check or a sweep is running.
    WhileDeleted,
}

/// The last step of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Stops,
    /// It was told to stop, and does not stop before the end of the schedule.
    Drains,
    Runs,
}

/// A task.
pub struct Task {
    pub arn: TaskArn,
    pub cluster: ClusterArn,
    pub(crate) definition: TaskDefinitionArn,
    pub(crate) service: usize,
    /// Whether its definition reads the token's secret. Otherwise it logs in.
    pub(crate) reads_token: bool,
    /// Whether only the task's own tags, and not its definition's, mark it as in the mesh.
    pub(crate) own_tags: bool,
    /// Whether ECS shows it with an unknown status while it runs.
    pub(crate) hibernates: bool,
    /// How long after the task's creation ECS shows its tags, in milliseconds.
    tagged_after: u64,
    pub(crate) start: Start,
    /// Whether it runs a Consul client agent.
    pub(crate) has_agent: bool,
    pub standing: Standing,
    /// Whether it reads the secret of its family.
    pub(crate) reads_family: bool,
    pub(crate) end: End,
    /// Its statuses, each with the time since which it had it.
    pub(crate) history: Vec<(u64, TaskStatus)>,
    /// Its containers after each change, with the time of the change.
    pub(crate) containers: Vec<(u64, Containers)>,
    /// Whether ECS does not learn the health of its containers, as on hosts without the telemetry endpoint.
    pub(crate) hides_health: bool,
    pub host: Host,
    /// What its `health-sync` remembers.
    pub(crate) health_sync: HealthSync,
    /// The token that it read from its secret.
    pub(crate) read: Option<String>,
    /// When an event of it was first acknowledged that needs its token.
    pub(crate) acknowledged_at: Option<u64>,
}

impl Task {
    pub(crate) fn status(&self) -> Option<TaskStatus> {
        self.history.last().map(|(_, status)| *status)
    }

    pub(crate) fn phase(&self) -> Option<TaskPhase> {
        self.status().map(|status| if self.hibernates_in(status) { TaskPhase::Unknown } else { status.phase() })
    }

    fn hibernates_in(&self, status: TaskStatus) -> bool {
        self.hibernates && status.is_running()
    }

    /// The last status and the desired status that ECS shows for a status.
    pub(crate) fn shown_as(&self, status: TaskStatus) -> (&'static str, &'static str) {
        let (last, desired) = status.in_ecs();
        (if self.hibernates_in(status) { NEW_STATUS } else { last }, desired)
    }

    pub(crate) fn is_living(&self) -> bool {
        self.phase().is_some_and(TaskPhase::is_living)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.phase() == Some(TaskPhase::Stopped)
    }

    pub(crate) fn created(&self) -> Option<u64> {
        self.history.first().map(|(at, _)| *at)
    }

    pub(crate) fn stopped_at(&self) -> Option<u64> {
        self.history.iter().find(|(_, status)| status.phase() == TaskPhase::Stopped).map(|(at, _)| *at)
    }

    /// Whether its containers may start before ECS describes it. ECS shows the tags of a task itself only when they start.
    pub(crate) fn starts_early(&self, scenario: &Scenario) -> bool {
        scenario.starts_early && !self.own_tags
    }

    /// When it was told to stop, or stopped.
    pub(crate) fn ends_at(&self) -> Option<u64> {
        self.history.iter().find(|(_, status)| status.phase() != TaskPhase::Active).map(|(at, _)| *at)
    }

    fn seen_at(&self, at: u64) -> Option<TaskStatus> {
        self.history.iter().rev().find(|(since, _)| *since <= at).map(|(_, status)| *status)
    }
}

/// All tasks, and the deleted clusters with the times of their deletion.
pub struct Ecs {
    pub tasks: Vec<Task>,
    pub(crate) deleted: Vec<(ClusterArn, u64)>,
    /// What tests change in the answers.
    pub rewrites: Rewrites,
}

/// Changes to answers about tasks and definitions that no schedule has.
pub struct Rewrites {
    pub task: Box<dyn Fn(&mut DescribedTask) + Send>,
    pub definition: Box<dyn Fn(&mut TaskDefinition) + Send>,
    /// The configuration of consul-ecs, as JSON.
    pub config: Box<dyn Fn(String) -> String + Send>,
}

impl Default for Rewrites {
    fn default() -> Self {
        Self { task: Box::new(|_| ()), definition: Box::new(|_| ()), config: Box::new(|config| config) }
    }
}

impl Ecs {
    pub(crate) fn new(scenario: &Scenario, clusters: &[ClusterArn], random: &mut Rng) -> Self {
        let tasks = (0..scenario.tasks).map(|number| {
            let cluster = clusters[random.usize(..clusters.len())].clone();
            let service = random.usize(..scenario.services);
            let kind = match random.u32(..5) {
                0 => Kind::TaggedItself,
                1 if scenario.agents => Kind::WithAgent,
                2 if scenario.reads_family_secrets => Kind::ReadsFamily,
                _ => Kind::Plain,
            };
            let is_in_deleted_cluster = scenario.deletes && Some(&cluster) == clusters.last();
            let end = if is_in_deleted_cluster || random.u32(..1_000) >= scenario.survivors {
                End::Stops
            } else if random.u32(..4) == 0 {
                End::Drains
            } else {
                End::Runs
            };
            let reads_token = scenario.reads_token(random) && kind != Kind::ReadsFamily;
            Task {
                arn: TaskArn::in_cluster(&cluster, &format!("{number:032x}").parse().unwrap()),
                cluster,
                definition: definition_arn(service, kind, reads_token),
                service,
                reads_token,
                own_tags: kind == Kind::TaggedItself,
                hibernates: scenario.has_neighbours && random.u32(..3) == 0,
                tagged_after: random.u64(..=scenario.lag),
                has_agent: kind == Kind::WithAgent,
                standing: Standing::draw(random, scenario.has_liars && kind != Kind::WithAgent),
                reads_family: kind == Kind::ReadsFamily,
                start: if random.u32(..1_000) < scenario.late {
                    let starts =
                        [Start::DuringIdleCheck, Start::AfterRevocation, Start::WhileHidden, Start::WhileDeleted];
                    starts[random.usize(..starts.len())]
                } else {
                    Start::AnyTime
                },
                end,
                history: Vec::with_capacity(LIFECYCLE.len()),
                containers: Vec::new(),
                hides_health: random.u32(..5) == 0,
                host: Host::default(),
                health_sync: HealthSync::default(),
                read: None,
                acknowledged_at: None,
            }
        });
        let mut tasks: Vec<Task> = tasks.collect();
        tasks.extend(scenario.hostile.map(|hostile| Task {
            arn: TaskArn::in_cluster(&clusters[0], &format!("{:032x}", scenario.tasks).parse().unwrap()),
            cluster: clusters[0].clone(),
            definition: definition_arn(hostile.service(), Kind::Plain, true),
            service: hostile.service(),
            // No promise says that it finds a token.
            reads_token: false,
            own_tags: false,
            hibernates: false,
            tagged_after: 0,
            has_agent: false,
            standing: Standing::Member,
            reads_family: false,
            start: Start::AnyTime,
            end: if scenario.survivors > 0 { End::Runs } else { End::Stops },
            history: Vec::with_capacity(LIFECYCLE.len()),
            containers: Vec::new(),
            hides_health: false,
            host: Host::default(),
            health_sync: HealthSync::default(),
            read: None,
            acknowledged_at: None,
        }));
        Self { tasks, deleted: Vec::new(), rewrites: Rewrites::default() }
    }

    pub(crate) fn of_service(&self, number: usize) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(move |task| task.service == number)
    }
}

/// The kinds of a service's tasks. Each has its own revision of the task definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain = 1,
    /// Only the task's own tags mark it as in the mesh.
    TaggedItself,
    /// It runs a client agent.
    WithAgent,
    /// It reads the secret of its family, not of the service that its tags name.
    ReadsFamily,
}

/// The revision of a definition from which on tasks log in: each kind has one that reads the token's secret, and one that
/// does not.
const FIRST_LOGIN: usize = 11;

/// The task definition of a kind of a service's tasks.
pub(crate) fn definition_arn(service: usize, kind: Kind, reads_token: bool) -> TaskDefinitionArn {
    let revision = kind as usize + if reads_token { 0 } else { FIRST_LOGIN - 1 };
    format!("arn:aws:ecs:us-east-1:123456789012:task-definition/family-{service}:{revision}").parse().unwrap()
}

fn mesh_tags(number: usize) -> Tags {
    [(MESH_TAG, "true".to_owned()), (SERVICE_NAME_TAG, service_name(number).to_string())].into_iter().collect()
}

impl World {
    /// The task definition with this ARN, without its secrets, and the number of its service.
    fn definition_without_secrets(&self, arn: &TaskDefinitionArn) -> Option<(usize, TaskDefinition)> {
        let number = arn.family().as_str().rsplit('-').next()?.parse().ok()?;
        let kind = arn.revision().parse::<usize>().ok()? % (FIRST_LOGIN - 1);
        let own_tags = kind == Kind::TaggedItself as usize;
        let agent = (kind == Kind::WithAgent as usize).then_some("consul-client");
        let config_json = (self.ecs.rewrites.config)(config_json(number, &self.tenancy, HOST));
        let definition = TaskDefinition {
            tags: if own_tags { Tags::default() } else { mesh_tags(number) },
            programs: if agent.is_some() { Programs::default() } else { self.programs(&config_json) },
            config: Some(config_json.as_str().into()),
            containers: names(agent),
            task_role: Some(role_of(number)),
            ..mesh_examples::definition(arn.clone())
        };
        Some((number, definition))
    }

    /// The task definition with this ARN, if it belongs to a service of the schedule.
    pub(crate) fn definition(&self, arn: &TaskDefinitionArn) -> Option<TaskDefinition> {
        let (number, definition) = self
            .definition_without_secrets(arn)
            .filter(|(number, _)| *number < self.scenario.services || self.hostile_reads(*number).is_some())?;
        let revision = arn.revision().parse::<usize>().ok()?;
        let hostile = self.hostile_reads(number);
        let names = match revision {
            _ if hostile.is_some() => hostile.unwrap_or_default(),
            _ if revision % (FIRST_LOGIN - 1) == Kind::ReadsFamily as usize => {
                vec![self.family_secret(number)]
            }
            FIRST_LOGIN.. => Vec::new(),
            _ => vec![self.secret_name(number), CLIENT_SECRET.to_owned()],
        };
        Some(TaskDefinition {
            secrets: names.iter().filter_map(|name| SecretReference::parse(name)).collect(),
            ..definition
        })
    }

    /// The time whose state an answer shows now.
    fn horizon(&mut self) -> u64 {
        let lag = self.random.u64(..=self.scenario.lag);
        self.now.saturating_sub(lag)
    }

    /// A task's status in an answer, and the time of that status; `None` if ECS does not show the task.
    fn shown(&mut self, index: usize, no_older_than: u64) -> Option<(TaskStatus, u64)> {
        let at = self.horizon().max(no_older_than);
        let task = &self.ecs.tasks[index];
        let is_forgotten = task.stopped_at().is_some_and(|stopped| stopped + REMEMBERED < self.now);
        if is_forgotten || self.in_wrong_region.contains(&self.caller) { None } else { Some((task.seen_at(at)?, at)) }
    }

    /// Whether the last cluster is to be deleted, and all its tasks have stopped.
    pub(crate) fn is_cluster_over(&self) -> bool {
        let last = self.clusters.last();
        self.scenario.deletes
            && self.ecs.deleted.is_empty()
            && self.ecs.tasks.iter().all(|task| Some(&task.cluster) != last || task.is_stopped())
    }

    pub(crate) fn delete_cluster(&mut self) -> ClusterArn {
        let cluster = self.clusters.last().unwrap().clone();
        note!(self, "cluster {} is deleted", cluster.name());
        self.ecs.deleted.push((cluster.clone(), self.now));
        cluster
    }

    /// Whether ECS's answers show by now that the cluster was deleted.
    pub(crate) fn is_seen_deleted(&mut self, cluster: &ClusterArn) -> bool {
        let at = self.horizon();
        self.ecs.deleted.iter().any(|(deleted, since)| deleted == cluster && *since <= at)
    }

    /// The clusters that a listing shows: another region has none.
    pub(crate) fn listed_clusters(&mut self) -> Vec<ClusterArn> {
        if self.in_wrong_region.contains(&self.caller) {
            return Vec::new();
        }
        let own: Vec<ClusterArn> =
            self.clusters.clone().into_iter().filter(|cluster| !self.is_seen_deleted(cluster)).collect();
        own.into_iter().chain(self.listed_neighbours()).collect()
    }

    /// The error for a cluster that is unknown or deleted. Only ours: clusters of other deployments are not read.
    pub(crate) fn check_exists(&mut self, cluster: &ClusterArn) -> Result<(), EcsError> {
        match self.status_of_neighbour(cluster) {
            Some(ClusterStatus::Active { .. }) => return Ok(()),
            Some(_) => return Err(EcsError::UnknownCluster(cluster.clone())),
            None => {}
        }
        if !self.clusters.contains(cluster) {
            self.broken(format!("only ours: the tasks of {cluster} are read"));
        }
        if self.clusters.contains(cluster) && !self.is_seen_deleted(cluster) {
            Ok(())
        } else {
            Err(EcsError::UnknownCluster(cluster.clone()))
        }
    }

    /// The number of running and pending tasks that an answer shows, and one more if ECS miscounts.
    pub(crate) fn counted(&mut self, cluster: &ClusterArn) -> usize {
        let of_cluster = (0..self.ecs.tasks.len()).filter(|index| self.ecs.tasks[*index].cluster == *cluster);
        let of_cluster: Vec<usize> = of_cluster.collect();
        let shown = of_cluster.into_iter().filter_map(|index| Some((index, self.shown(index, 0)?.0)));
        let shown: Vec<(usize, TaskStatus)> = shown.collect();
        let is_counted = |(index, status): &&(usize, TaskStatus)| {
            ["RUNNING", "PENDING"].contains(&self.ecs.tasks[*index].shown_as(*status).0)
        };
        let counted = shown.iter().filter(is_counted).count() + self.neighbours_in(cluster).len();
        counted + usize::from(self.scenario.miscounts && counted > 0)
    }

    /// A listing of running or stopped tasks, and for each task the time of the status that it showed.
    pub(crate) fn list(
        &mut self,
        cluster: &ClusterArn,
        running: bool,
        seen: &BTreeMap<usize, u64>,
    ) -> (Vec<TaskArn>, BTreeMap<usize, u64>) {
        let (mut listed, mut views) = (if running { self.neighbours_in(cluster) } else { Vec::new() }, BTreeMap::new());
        for index in 0..self.ecs.tasks.len() {
            if self.ecs.tasks[index].cluster != *cluster {
                continue;
            }
            let Some((status, at)) = self.shown(index, seen.get(&index).copied().unwrap_or_default()) else { continue };
            views.insert(index, at);
            if status.is_meant_to_run() == running {
                listed.push(self.ecs.tasks[index].arn.clone());
            }
        }
        (listed, views)
    }

    pub(crate) fn describe(&mut self, arns: &[TaskArn]) -> Vec<DescribedTask> {
        self.check_quota(arns, None);
        let mut described = Vec::new();
        for arn in arns {
            let Some(index) = self.ecs.tasks.iter().position(|task| task.arn == *arn) else {
                described.extend(self.describe_neighbour(arn));
                described.extend(self.describe_departed(arn).filter(|_| !self.in_wrong_region.contains(&self.caller)));
                continue;
            };
            // An answer of a host that lags, at the moment at which a sweep asks whether to take a registration back.
            if self.scenario.lag > 0 && self.is_just_registered(arn.id()) && self.random.u32(..3) == 0 {
                self.leave_to_the_next_sweep(arn.id());
                continue;
            }
            let Some((status, at)) = self.shown(index, 0) else { continue };
            let (now, task) = (self.now, &self.ecs.tasks[index]);
            let is_tagged = task.own_tags && task.created().is_some_and(|at| at + task.tagged_after <= now);
            let stopped_at = (status.phase() == TaskPhase::Stopped).then(|| task.stopped_at()).flatten();
            let (last, desired) = task.shown_as(status);
            described.push(DescribedTask {
                definition: Some(task.definition.clone()),
                tags: if is_tagged { mesh_tags(task.service) } else { Tags::default() },
                containers: self.shown_containers(index, at),
                placement: placement(index, task, &self.tenancy),
                end: TaskEnd {
                    created_at: task.created().map(time_at),
                    stopped_at: stopped_at.and_then(|at| Timestamp::from_second(time_at(at).as_second()).ok()),
                    ..TaskEnd::default()
                },
                ..mesh_examples::described(arn.clone(), last, desired)
            });
        }
        described
    }
}
