//! Running tasks that cannot be repaired from outside.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;

use crate::{
    arn::{ClusterArn, TaskId},
    consul_ecs::{Registrar, names::DATAPLANE},
    member::MemberTask,
    task::{ContainerHealth, TaskContainer},
    time::elapsed,
    token::ListedToken,
};

/// How long after the start of its containers a task has logged in.
const LOGIN_TIME: Duration = Duration::from_mins(5);

/// Why a running task is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Connections to it fail.
    #[error("its container consul-dataplane has stopped")]
    ProxyStopped,
    /// Its proxy gets no new endpoints, and its health-sync cannot write.
    #[error("Consul has none of its login tokens: it works until its proxy reconnects")]
    NoTokens,
    /// Its proxy or its health-sync does not work.
    #[error("Consul has only one of its two login tokens, so its proxy or its health-sync does not work")]
    OneToken,
}

/// The login tokens that Consul lists, by the task that each names.
#[derive(Debug, Clone)]
pub struct LoginTokens<'a> {
    of_tasks: BTreeMap<&'a TaskId, Vec<&'a ListedToken>>,
    /// The clusters with a running task that has one. The tokens of other clusters may be in another datacenter.
    clusters: BTreeSet<&'a ClusterArn>,
}

impl<'a> LoginTokens<'a> {
    /// The login tokens among `tokens`, with the `running` tasks.
    pub fn new(
        tokens: impl IntoIterator<Item = &'a ListedToken>,
        running: impl IntoIterator<Item = (&'a ClusterArn, &'a TaskId)>,
    ) -> Self {
        let mut of_tasks: BTreeMap<&TaskId, Vec<&ListedToken>> = BTreeMap::new();
        for token in tokens {
            if let Some(login) = token.login().filter(|_| token.auth_method.is_some()) {
                of_tasks.entry(&login.task).or_default().push(token);
            }
        }
        let mut logins = Self { of_tasks, clusters: BTreeSet::new() };
        let with_token = running.into_iter().filter(|(cluster, task)| logins.listed(cluster, task) > 0);
        logins.clusters = with_token.map(|(cluster, _)| cluster).collect();
        logins
    }

    pub fn all(&self) -> impl Iterator<Item = &'a ListedToken> {
        self.of_tasks.values().flatten().copied()
    }

    /// The login tokens that name a task, in any cluster.
    pub fn of_task(&self, task: &TaskId) -> impl Iterator<Item = &'a ListedToken> {
        self.of_tasks.get(task).into_iter().flatten().copied()
    }

    /// How many login tokens of a task Consul lists.
    pub fn listed(&self, cluster: &ClusterArn, task: &TaskId) -> usize {
        self.of_task(task).filter(|token| token.is_login_of(task, cluster)).count()
    }

    /// How many login tokens a running task has; `None` if that is not known.
    pub fn of_running(&self, cluster: &ClusterArn, task: &TaskId) -> Option<usize> {
        self.clusters.contains(cluster).then(|| self.listed(cluster, task))
    }
}

impl MemberTask {
    /// Why the task is broken, if it is. Consul has `tokens` of its login tokens; `None` if that is not known. Nothing is
    /// said of a task that ECS has lost contact with.
    pub fn broken(&self, tokens: Option<usize>, now: Timestamp) -> Option<Broken> {
        let (task, definition) = (&self.task, &self.definition);
        if !task.is_running() || task.placement.is_disconnected || definition.runs_client_agent() {
            return None;
        }
        if task.losses(definition).proxy {
            return Some(Broken::ProxyStopped);
        }
        let logs_in = self.config().is_ok_and(|config| config.login().is_some());
        if definition.programs.sets_token || !logs_in {
            return None;
        }
        let have_all_logged_in = task.end.started_at.is_some_and(|at| elapsed(at, now) >= LOGIN_TIME);
        let is_healthy = |it: &TaskContainer| !it.is_stopped && it.health == ContainerHealth::Healthy;
        let has_logged_in = have_all_logged_in || task.container(DATAPLANE).is_some_and(is_healthy);
        // The dataplane holds one. health-sync logs in for another one; control-plane of 0.7 holds the dataplane's.
        let registrar = definition.programs.registrar.as_ref().map(|container| container.registrar);
        let logs_in_twice = registrar == Some(Registrar::MeshInit) && definition.programs.health_sync.is_some();
        match tokens? {
            0 if has_logged_in => Some(Broken::NoTokens),
            1 if logs_in_twice && have_all_logged_in => Some(Broken::OneToken),
            _ => None,
        }
    }

    /// How to replace the task, with the command.
    pub fn replacement(&self) -> String {
        let (cluster, id) = (&self.cluster, self.task.arn.id());
        let command =
            format!("aws ecs stop-task --region {} --cluster {} --task {id}", cluster.region(), cluster.name());
        match self.task.placement.service {
            Some(_) => format!("replace it with: {command}"),
            None => format!("no ECS service replaces it. Start another task, then run: {command}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::{cluster, login_token, task_id};

    /// A token whose description names a task of the cluster `prod`.
    fn token(number: u8, auth_method: Option<&str>) -> ListedToken {
        let auth_method = auth_method.map(str::to_owned);
        ListedToken { auth_method, ..login_token(number.into(), "prod", number) }
    }

    #[test]
    fn only_tokens_of_a_login_count_as_login_tokens() {
        let (prod, other) = (cluster("prod"), cluster("other"));
        let tasks = [1, 2, 3].map(task_id);
        let running = || tasks.iter().map(|task| (&prod, task));
        // Given a task with two logins, and another one that a token names which no auth method has created
        let method = Some("iam-ecs-service-token");
        let tokens = [token(1, method), token(1, method), token(2, None)];
        let logins = LoginTokens::new(&tokens, running());
        assert_eq!(tasks.each_ref().map(|task| logins.of_running(&prod, task)), [Some(2), Some(0), Some(0)]);
        // The token of a task of the same ID in another cluster is not its
        assert_eq!((logins.listed(&other, &tasks[0]), logins.of_running(&other, &tasks[0])), (0, None));
        // Where no running task has logged in, the tokens may be in another datacenter
        let tokens = [token(1, None), token(9, method)];
        assert_eq!(LoginTokens::new(&tokens, running()).of_running(&prod, &tasks[0]), None);
    }
}
