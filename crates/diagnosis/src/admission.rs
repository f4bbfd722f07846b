//! The tokens in Consul, and what they prove of admission ([`mesh::admission`]). The second proof, the IAM role of a task, is
//! read and judged by the sweep alone.

use std::collections::BTreeSet;

use mesh::{
    admission::{TokenFacts, TokenGap},
    registration::Registration,
    repair::TaskFacts,
    token::ListedToken,
};

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
    /// Why no login token proves that Consul has admitted a task as the service of its registration; `None` if one does, if
    /// nothing has to be proven, or if it is not known.
    pub(crate) fn gap(&self, task: &TaskFacts<'_>, expected: &[Registration]) -> Option<TokenGap> {
        let facts = self.facts.as_ref().ok()?.as_ref()?;
        let claim = task.claim(expected)?;
        let login = task.config().ok().and_then(|config| config.login().cloned());
        let uses_this_consul = login.is_some_and(|login| login.uses(&self.consul_hosts));
        claim.proven_by_token(&self.listed, facts, uses_this_consul).err()
    }
}
