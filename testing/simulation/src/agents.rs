//! Simulated Consul: the client agents of tasks, each with its own node (client generation). A node is named after its
//! task's address, which another task may get after the first has ended.

use mesh::{
    arn::TaskId,
    catalog::{AgentStatus, Member},
};

use super::{
    dialect::Answer,
    world::{World, note},
};

/// The number of addresses, which are reused.
const ADDRESSES: usize = 3;
/// How long gossip takes to detect that an agent was killed, in milliseconds.
const FAILURE_DETECTED_AFTER: u64 = 45_000;

/// An agent of a task.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    name: String,
    pub(crate) task: TaskId,
    /// The time at which it was killed.
    killed_at: Option<u64>,
    has_left: bool,
}

impl Agent {
    fn status(&self, now: u64) -> AgentStatus {
        match self.killed_at {
            _ if self.has_left => AgentStatus::Left,
            Some(at) if at + FAILURE_DETECTED_AFTER <= now => AgentStatus::Failed,
            _ => AgentStatus::Alive,
        }
    }
}

impl World {
    /// A task's agent joins the datacenter: the name of its node. An earlier node with that name is replaced.
    pub(crate) fn join(&mut self, index: usize) -> String {
        let free: Vec<usize> = (0..ADDRESSES).filter(|address| !self.is_in_use(&node_name(*address))).collect();
        let address = match free.len() {
            0 => ADDRESSES + index,
            count => free[self.random.usize(..count)],
        };
        let name = node_name(address);
        self.consul.agents.retain(|agent| agent.name != name);
        self.consul.remove_node(&name);
        let task = self.ecs.tasks[index].arn.id().clone();
        self.consul.agents.push(Agent { name: name.clone(), task, killed_at: None, has_left: false });
        name
    }

    fn is_in_use(&self, name: &str) -> bool {
        self.consul.agents.iter().any(|agent| agent.name == name && agent.killed_at.is_none() && !agent.has_left)
    }

    /// A task has ended: its agent has left, or was killed with it.
    pub(crate) fn end_agent(&mut self, index: usize, is_clean: bool) {
        let (now, task) = (self.now, self.ecs.tasks[index].arn.id().clone());
        let Some(agent) = self.consul.agents.iter_mut().find(|agent| agent.task == task) else { return };
        let name = agent.name.clone();
        if is_clean {
            agent.has_left = true;
            self.consul.remove_node(&name);
            note!(self, "agent {name} of task {index} has left");
        } else {
            agent.killed_at = Some(now);
            note!(self, "agent {name} of task {index} was killed");
        }
    }

    /// Whether a task's agent is alive as far as Consul knows.
    pub(crate) fn is_agent_failure_undetected(&self, index: usize) -> bool {
        let task = self.ecs.tasks[index].arn.id();
        self.consul.agents.iter().any(|agent| agent.task == *task && agent.status(self.now) == AgentStatus::Alive)
    }

    /// The time until gossip has detected every agent that was killed.
    pub(crate) fn undetected_for(&self) -> u64 {
        let detected_at =
            self.consul.agents.iter().filter_map(|agent| agent.killed_at).map(|at| at + FAILURE_DETECTED_AFTER);
        detected_at.max().unwrap_or_default().saturating_sub(self.now)
    }

    pub(crate) fn members(&self) -> Vec<Member> {
        let server = Member { name: "server".to_owned(), status: AgentStatus::Alive };
        let agents = self.consul.agents.iter();
        let agents = agents.map(|agent| Member { name: agent.name.clone(), status: agent.status(self.now) });
        std::iter::once(server).chain(agents).collect()
    }

    /// Only a failed agent is forced to leave; an agent that is alive refutes it.
    pub(crate) fn force_leave(&mut self, name: &str) -> Result<(), Answer> {
        let agent = self.consul.agents.iter().find(|agent| agent.name == name);
        let agent = agent.ok_or_else(|| Answer::no_agent(name))?;
        if agent.status(self.now) != AgentStatus::Failed {
            return Ok(());
        }
        let of_cluster = self.consul.instances.iter().find(|instance| instance.node == name);
        let cluster = of_cluster.and_then(|instance| {
            self.clusters.iter().find(|c| instance.task_arn.as_ref().is_some_and(|arn| arn.is_in(c)))
        });
        if let Some(cluster) = cluster.map(|cluster| cluster.as_str().to_owned()) {
            self.check_not_blind(Some(&cluster));
        }
        self.check_node_is_free(name);
        self.consul.agents.retain(|agent| agent.name != name);
        self.consul.remove_node(name);
        Ok(())
    }
}

fn node_name(address: usize) -> String {
    format!("ip-10-0-0-{address}")
}
