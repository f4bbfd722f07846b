//! Builders for the examples of the guard.

use super::*;
use crate::{
    catalog::{AgentStatus, CatalogNode, ClientAgent, Member, ServiceInstance},
    examples::{self, instance_of, token, unidentified},
    holder::TokenHolder,
    lifecycle::Idle,
    secret::Retirement,
    task::{MeshTask, TaskPhase},
    tenancy::Tenancy,
    token::{Grants, ServiceGrant},
};

/// When the sweep began.
fn now() -> Timestamp {
    Timestamp::from_second(1_000_000).unwrap()
}

/// What was read of the cluster `prod`, and the removals that are planned.
#[derive(Debug, Clone)]
pub(super) struct Prod {
    pub(super) observed: Observed,
    pub(super) planned: Vec<Planned>,
}

impl Prod {
    pub(super) fn counting(counted: usize, listed: usize) -> Self {
        let mut observed = Observed::default();
        observed.counts.insert(cluster("prod"), TaskCounts { counted, listed, young: 0 });
        Self { observed, planned: Vec::new() }
    }

    /// Adds instances of a service, of tasks that run.
    pub(super) fn living(mut self, service: &str, tasks: Range<u8>) -> Self {
        self.observed.instances.extend(tasks.map(|number| instance_of("prod", service, number)));
        self
    }

    /// Adds instances of a service, of tasks that ECS describes as STOPPED.
    pub(super) fn stopped(self, service: &str, tasks: Range<u8>) -> Self {
        tasks.fold(self, |prod, number| prod.gone("prod", service, number))
    }

    /// Adds instances of a service, of tasks that ECS does not know.
    pub(super) fn unknown(self, service: &str, tasks: Range<u8>) -> Self {
        self.unknown_in("prod", service, tasks)
    }

    pub(super) fn unknown_in(self, cluster_name: &str, service: &str, tasks: Range<u8>) -> Self {
        tasks.fold(self, |mut prod, number| {
            prod.observed.unknown.insert(arn(cluster_name, number));
            prod.gone(cluster_name, service, number)
        })
    }

    fn gone(mut self, cluster_name: &str, service: &str, number: u8) -> Self {
        let (instance, task) =
            (instance_of(cluster_name, service, number), unidentified(cluster_name, number, TaskPhase::Stopped));
        self.planned.push(Planned {
            action: Action::Deregister(instance.clone()),
            cluster: task.cluster.clone(),
            tasks: vec![task.arn.clone()],
        });
        self.observed.instances.push(instance);
        self.observed.tasks.push(task);
        self
    }

    /// Adds login tokens of a service, of tasks that were added as gone.
    pub(super) fn logged_in(mut self, service: &str, tasks: Range<u8>, seconds_ago: i64) -> Self {
        for number in tasks {
            let grant = ServiceGrant { service: service.to_owned(), datacenters: Vec::new() };
            let token = ListedToken {
                accessor: token(self.observed.tokens.len().try_into().unwrap(), "").accessor,
                auth_method: Some("iam-ecs-service-token".to_owned()),
                grants: Grants { services: vec![grant], ..Grants::default() },
                created_at: Timestamp::from_second(now().as_second() - seconds_ago).ok(),
                ..login_token("prod", number)
            };
            let action = Action::DeleteLoginToken(token.clone());
            self.planned.push(Planned { action, cluster: cluster("prod"), tasks: vec![arn("prod", number)] });
            self.observed.tokens.push(token);
        }
        self
    }

    /// Adds old login tokens of tasks that ECS does not know, and that have no instances.
    pub(super) fn gone_login(mut self, service: &str, tasks: Range<u8>) -> Self {
        for number in tasks.clone() {
            self.observed.unknown.insert(arn("prod", number));
            self.observed.tasks.push(unidentified("prod", number, TaskPhase::Stopped));
        }
        self.logged_in(service, tasks, 90_000)
    }

    pub(super) fn judged(&self, percent: u8, waited: Option<&BTreeSet<TaskArn>>) -> Divided {
        let limit = MaxDeletePercent::new(percent).unwrap();
        let guard = Guard { limit, bounds: &Bounds::DEFAULT, now: now(), waited, is_forced: false };
        guard.divide(self.planned.clone(), &self.observed)
    }

    pub(super) fn first_sweep(&self, percent: u8) -> Divided {
        self.judged(percent, None)
    }

    /// The second look at all tasks that ECS does not know.
    pub(super) fn second_look(&self, percent: u8) -> Divided {
        self.judged(percent, Some(&self.observed.unknown))
    }

    /// The second look of a forced sweep, at the first of the tasks that ECS does not know.
    pub(super) fn forced_second_look(&self, percent: u8, tasks: usize) -> Divided {
        let named: BTreeSet<TaskArn> = self.observed.unknown.iter().take(tasks).cloned().collect();
        let limit = MaxDeletePercent::new(percent).unwrap();
        let guard = Guard { limit, bounds: &Bounds::DEFAULT, now: now(), waited: Some(&named), is_forced: true };
        guard.divide(self.planned.clone(), &self.observed)
    }

    /// The alarms of `prod` at the second look.
    pub(super) fn alarms(&self, percent: u8) -> Vec<Alarm> {
        self.second_look(percent).alarms.into_iter().map(|(_, alarm)| alarm).collect()
    }
}

fn arn(cluster_name: &str, number: u8) -> TaskArn {
    TaskArn::in_cluster(&cluster(cluster_name), &task_id(number))
}

pub(super) fn active_with_agent(number: u8) -> MeshTask {
    MeshTask { runs_client_agent: true, ..unidentified("prod", number, TaskPhase::Active) }
}

pub(super) fn login_token(cluster_name: &str, number: u8) -> ListedToken {
    examples::login_token(number.into(), cluster(cluster_name).as_str(), number)
}

pub(super) fn service_token(cluster_name: &str, accessor: u8, name: &str) -> ListedToken {
    token(accessor.into(), TokenHolder::Service(service(name)).token_description(&cluster(cluster_name)).as_str())
}

pub(super) fn instances(cluster_name: &str, count: u8) -> Vec<ServiceInstance> {
    (0..count).map(|number| instance(cluster_name, number)).collect()
}

pub(super) fn agent(instances: Vec<ServiceInstance>) -> ClientAgent {
    ClientAgent {
        member: Member { name: "ip-10-0-0-7".to_owned(), status: AgentStatus::Failed },
        node: CatalogNode { instances, ..CatalogNode::default() },
        tenancy: Tenancy::Community,
    }
}

/// The action that hides the token of an idle service.
pub(super) fn retirement_of(name: &str) -> Action {
    let retirement = Retirement::default();
    Action::Hide(TokenHolder::Service(service(name)), Idle { retirement, listed_at: Timestamp::UNIX_EPOCH })
}

pub(super) fn plan_of(actions: impl IntoIterator<Item = Action>) -> Vec<Planned> {
    actions.into_iter().map(|action| Planned { action, cluster: cluster("prod"), tasks: Vec::new() }).collect()
}
