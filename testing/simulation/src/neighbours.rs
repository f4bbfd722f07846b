//! The neighbours of the mesh: tasks of another kind of definition, events of other clusters, statuses that ECS has added since, and a
//! cluster whose name differs from a selected one only in case.

use aws::ecs::ClusterStatus;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    consul_ecs::instance_id,
    task::{DescribedTask, TaskEnd},
};
use mesh_examples::described;
use report::LostNodeOrder;
use serde_json::{Value, json};

use super::{
    catalog::Instance,
    world::{CLUSTER_ARN_PREFIX, World, note, time_at},
};

/// A last status of next year.
pub(crate) const NEW_STATUS: &str = "HIBERNATING";
/// A cluster in scope, without tasks.
pub(crate) const MANAGED: &str = "cluster-LONELY";
/// Its namesake, whose node it would share.
const NAMESAKE: &str = "cluster-lonely";

/// Where the numbers of neighbours begin.
const FIRST: u128 = 1 << 64;

fn cluster(name: &str) -> ClusterArn {
    format!("{CLUSTER_ARN_PREFIX}{name}").parse().unwrap()
}

fn task(cluster: &ClusterArn, number: usize) -> TaskArn {
    TaskArn::in_cluster(cluster, &format!("{:032x}", FIRST + number as u128).parse().unwrap())
}

/// Whether nothing of a message concerns the mesh.
fn is_of_neighbour(body: &str) -> bool {
    body.contains(":daemon-task-definition/") || body.contains(":cluster/elsewhere\"")
}

impl World {
    /// The namesake of a cluster in scope.
    fn namesake(&self) -> Option<ClusterArn> {
        self.scenario.has_namesake.then(|| cluster(NAMESAKE))
    }

    /// Whether this is the node of the namesake, in any case.
    fn is_of_namesake(&self, node: &str) -> bool {
        self.namesake().is_some_and(|namesake| namesake.as_str().eq_ignore_ascii_case(node))
    }

    /// The neighbours that ECS runs in a cluster: a daemon in each, and the task of the namesake.
    pub(crate) fn neighbours_in(&self, of: &ClusterArn) -> Vec<TaskArn> {
        if self.in_wrong_region.contains(&self.caller) {
            return Vec::new();
        }
        let daemon = self.clusters.iter().position(|cluster| cluster == of).filter(|_| self.scenario.has_neighbours);
        let of_namesake = (self.namesake().as_ref() == Some(of)).then_some(self.clusters.len());
        daemon.into_iter().chain(of_namesake).map(|number| task(of, number)).collect()
    }

    /// What ECS says of a neighbour.
    pub(crate) fn describe_neighbour(&self, arn: &TaskArn) -> Option<DescribedTask> {
        let of = arn.cluster().filter(|cluster| self.neighbours_in(cluster).contains(arn))?;
        let definition = of.as_str().replace(&format!(":cluster/{}", of.name()), ":daemon-task-definition/agent:1");
        Some(DescribedTask {
            definition: TaskDefinitionArn::of_task(&definition).unwrap(),
            end: TaskEnd { created_at: Some(time_at(0)), ..TaskEnd::default() },
            ..described(arn.clone(), "RUNNING", "RUNNING")
        })
    }

    /// The status of a cluster that is not one of the schedule's tasks.
    pub(crate) fn status_of_neighbour(&self, of: &ClusterArn) -> Option<ClusterStatus> {
        let namesake = self.namesake()?;
        match of.name() {
            MANAGED if self.scenario.is_managed_deleted => Some(ClusterStatus::Deleted),
            MANAGED => Some(ClusterStatus::Active { tasks: 0 }),
            _ if *of == namesake => Some(ClusterStatus::Active { tasks: self.neighbours_in(of).len() }),
            _ => None,
        }
    }

    /// The clusters of neighbours that ECS lists.
    pub(crate) fn listed_neighbours(&self) -> impl Iterator<Item = ClusterArn> {
        let all = [MANAGED, NAMESAKE].map(cluster).into_iter();
        all.filter(|cluster| matches!(self.status_of_neighbour(cluster), Some(ClusterStatus::Active { .. })))
    }

    /// The node of the namesake, and an instance of its task, whose `mesh-init` writes no ARN.
    pub(crate) fn create_neighbours(&mut self) {
        let Some(namesake) = self.namesake() else { return };
        let node = namesake.as_str();
        self.consul.nodes.insert(node.to_owned());
        if self.scenario.is_managed_deleted {
            return;
        }
        self.consul.index += 1;
        let task = task(&namesake, self.clusters.len());
        let written = (self.consul.index, self.tenancy.clone());
        let mut instance = Instance::new(node, &instance_id("lonely", task.id()), "lonely", &task, written);
        instance.seen.task_arn = None;
        self.consul.instances.push(instance);
    }

    /// Only ours: nothing is removed from the node of the namesake.
    pub(crate) fn check_not_of_namesake(&mut self, node: &str) {
        if self.is_of_namesake(node) {
            self.broken(format!("only ours: something is removed from node {node}, whose cluster has another name"));
        }
    }

    /// Whether a sweep has left the cluster and its namesake alone, which keeps it from nothing else.
    pub(crate) fn is_refusal(&self, fault: &report::Problem) -> bool {
        fault.cluster_arn.as_deref().is_some_and(|cluster| self.is_of_namesake(cluster))
    }

    /// Sometimes, an event of a neighbour follows a task's. Only its cluster and its definition are valid. Or it is a forged order to
    /// sweep the cluster, in the function that handles events.
    pub(crate) fn neighbour_event(&mut self) -> Option<Value> {
        if !self.scenario.has_neighbours || self.random.u32(..3) > 0 {
            return None;
        }
        let own = self.clusters[0].clone();
        let (of, kind) = match self.random.u32(..3) {
            0 => (own, "daemon-task-definition"),
            1 => (cluster("elsewhere"), "task-definition"),
            _ => {
                note!(self, "a forged order to sweep {}", own.name());
                return Some(json!(LostNodeOrder { clusters: vec![own.to_string()] }.message()));
            }
        };
        note!(self, "an event of a neighbour in {}", of.name());
        let definition = of.as_str().replace(&format!(":cluster/{}", of.name()), &format!(":{kind}/agent:1"));
        let detail = json!({ "clusterArn": of.as_str(), "taskDefinitionArn": definition, "lastStatus": 7 });
        Some(json!({ "source": "aws.ecs", "detail-type": "ECS Task State Change", "detail": detail }))
    }

    /// Contained: a neighbour's event is acknowledged.
    pub(crate) fn check_failure(&mut self, body: &str) {
        if is_of_neighbour(body) {
            self.broken("contained: the event of a task outside the mesh has failed".to_owned());
        }
    }
}
