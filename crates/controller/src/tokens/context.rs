//! The state that the attempts at all holders' tokens share.

use std::sync::Arc;

use aws::{queue::MessageSender, secrets::SecretStore};
use consul::Acl;
use mesh::{arn::ClusterArn, rules::Rules, token::TokenHolder};

use super::demand::Demand;
use crate::{
    announcer::Announcer, clock::Clock, entropy::Entropy, error::ControllerError, scope::Scope, tasks::TaskReader,
    timestamp_cache::TimestampCache,
};

/// The tokens of services and client agents, in Consul and in Secrets Manager.
pub(crate) struct Tokens {
    pub(crate) scope: Arc<Scope>,
    pub(crate) acl: Arc<dyn Acl>,
    pub(crate) secrets: Arc<dyn SecretStore>,
    pub(crate) queue: Arc<dyn MessageSender>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) tasks: TaskReader,
    /// Until when a holder's token is valid without a read: see [`mesh::bounds::Bounds::cached_until`].
    pub(crate) cached_until: TimestampCache<TokenHolder>,
    pub(crate) announcer: Arc<Announcer>,
}

impl Tokens {
    /// Whether the holder's token is cached as valid.
    pub(crate) fn is_cached(&self, holder: &TokenHolder) -> bool {
        self.cached_until.get(holder).is_some_and(|until| self.clock.now() < until)
    }

    /// The cluster of a task that requires the token; `None` if none does any more.
    pub(super) async fn cluster_of_demand(&self, demand: &Demand<'_>) -> Result<Option<ClusterArn>, ControllerError> {
        match demand {
            Demand::Listed(cluster) | Demand::Registered(cluster) => Ok(Some((*cluster).clone())),
            Demand::Events(changes) => self.tasks.cluster_of_active_task(changes).await,
        }
    }

    pub(super) fn rules(&self) -> Rules<'_> {
        self.scope.rules(self.clock.now())
    }
}
