//! How tasks get their ACL tokens, the tokens in Consul, and what they prove of admission ([`mesh::admission`]). The second
//! proof, the IAM role of a task, is read and judged by the sweep alone.

use std::collections::BTreeSet;

use mesh::{
    admission::{Claim, TokenFacts, TokenGap},
    broken::LoginTokens,
    consul_ecs::Configuration,
    definition::TaskDefinition,
    identity::MeshIdentity,
    member::MemberTask,
    task::TaskPhase,
    token::ListedToken,
};
use observe::{CallError, InspectedCluster, InspectedTokens};
use serde::Serialize;

/// The tokens of tasks and services in Consul, without their secret IDs.
#[derive(Debug, Clone)]
pub struct Tokens {
    /// As Consul lists them.
    pub listed: Vec<ListedToken>,
    /// What decides what they grant; `None` with the default policy `allow`, where nothing has to be proven.
    pub facts: Result<Option<TokenFacts>, CallError>,
    /// The hosts of this Consul, which tell this datacenter's global tokens from another's.
    pub consul_hosts: BTreeSet<String>,
}

impl Tokens {
    /// Why no login token proves that Consul has admitted a task as what it claims to be; `None` if one does, if nothing has to be
    /// proven, or if it is not known.
    pub(crate) fn gap(&self, task: &MemberTask, claim: &Claim<'_>) -> Option<TokenGap> {
        let facts = self.facts.as_ref().ok()?.as_ref()?;
        let login = task.config().ok().and_then(|config| config.login().cloned());
        let uses_this_consul = login.is_some_and(|login| login.uses(&self.consul_hosts));
        claim.proven_by_token(&self.listed, facts, uses_this_consul).err()
    }

    pub(crate) fn of_cluster<'a>(&'a self, cluster: &'a InspectedCluster) -> ClusterTokens<'a> {
        let tasks = cluster.tasks.iter().map(|member| &member.task);
        let running = tasks.filter(|task| task.phase == TaskPhase::Active).map(|task| (&cluster.arn, task.arn.id()));
        ClusterTokens { all: self, logins: LoginTokens::new(&self.listed, running) }
    }

    /// The tokens, of a Consul with these hosts.
    pub fn of_consul(inspected: InspectedTokens, consul_hosts: BTreeSet<String>) -> Self {
        let InspectedTokens { listed, facts } = inspected;
        Self { listed, facts, consul_hosts }
    }
}

/// The tokens in Consul that concern the tasks of one cluster.
pub(crate) struct ClusterTokens<'a> {
    pub(crate) all: &'a Tokens,
    pub(crate) logins: LoginTokens<'a>,
}

/// How a task gets its ACL token.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "source", rename_all = "kebab-case")]
pub enum TokenSource {
    /// It logs in.
    AuthMethod {
        /// The auth method, if its configuration names one.
        method: Option<String>,
    },
    /// It reads secrets.
    SecretsManager {
        /// Their names.
        secrets: Vec<String>,
    },
    /// It has none: its configuration neither has a login nor does it read a secret of the controller.
    None,
    /// Its configuration is not known.
    Unknown,
}

impl TokenSource {
    /// How a task gets its token.
    pub(crate) fn of_task(member: &MemberTask, cluster: &InspectedCluster) -> Self {
        Self::of(&member.definition, &member.identity, cluster)
    }

    /// How the tasks of a definition get their tokens. A secret that is read counts even if the task is configured to log
    /// in: consul-ecs skips the login then.
    pub(crate) fn of(definition: &TaskDefinition, identity: &MeshIdentity, cluster: &InspectedCluster) -> Self {
        let settings = cluster.token_settings();
        let read = settings.read(identity);
        if !read.is_empty() {
            return Self::SecretsManager { secrets: read.iter().map(|holder| settings.names.of(holder)).collect() };
        }
        match definition.config.as_ref().map(Configuration::login) {
            Some(Ok(Some(login))) => Self::AuthMethod { method: login.method().map(str::to_owned) },
            Some(Ok(None)) => Self::None,
            Some(Err(_)) | None => Self::Unknown,
        }
    }

    /// It, in one or two words.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::AuthMethod { .. } => "auth method",
            Self::SecretsManager { .. } => "Secrets Manager",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }
}
