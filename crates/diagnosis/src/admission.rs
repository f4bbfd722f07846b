//! The tokens in Consul, and what they prove of admission ([`mesh::admission`]). The second proof, the IAM role of a task, is
//! read and judged by the sweep alone.

use std::collections::BTreeSet;

use mesh::{
    admission::{Claim, TokenFacts, TokenGap},
    broken::LoginTokens,
    phase::TaskPhase,
    repair::TaskFacts,
    token::ListedToken,
};

use crate::observed::ObservedCluster;

/// The tokens of tasks and services in Consul, without their secret IDs.
#[derive(Debug, Clone)]
pub struct Tokens {
    /// As Consul lists them.
    pub listed: Vec<ListedToken>,
    /// What decides what they grant; `None` with the default policy `allow`, where nothing has to be proven. An error says why
    /// it could not be read, in one sentence.
    pub facts: Result<Option<TokenFacts>, String>,
    /// The hosts of this Consul, with which global tokens of another datacenter are told from those of this one.
    pub consul_hosts: BTreeSet<String>,
}

impl Tokens {
    /// Why no login token proves that Consul has admitted a task as what it claims to be; `None` if one does, if nothing has to be
    /// proven, or if it is not known.
    pub(crate) fn gap(&self, task: &TaskFacts<'_>, claim: &Claim<'_>) -> Option<TokenGap> {
        let facts = self.facts.as_ref().ok()?.as_ref()?;
        let login = task.config().ok().and_then(|config| config.login().cloned());
        let uses_this_consul = login.is_some_and(|login| login.uses(&self.consul_hosts));
        claim.proven_by_token(&self.listed, facts, uses_this_consul).err()
    }

    /// The tokens, with the login tokens of the tasks of a cluster.
    pub(crate) fn of_cluster<'a>(&'a self, cluster: &'a ObservedCluster) -> ClusterTokens<'a> {
        let tasks = cluster.tasks.iter().map(|member| &member.state.task);
        let running = tasks.filter(|task| task.phase == TaskPhase::Active).map(|task| (&cluster.arn, task.arn.id()));
        ClusterTokens { all: self, logins: LoginTokens::new(&self.listed, running) }
    }
}

/// The tokens in Consul, as far as the tasks of one cluster are concerned.
pub(crate) struct ClusterTokens<'a> {
    pub(crate) all: &'a Tokens,
    pub(crate) logins: LoginTokens<'a>,
}
