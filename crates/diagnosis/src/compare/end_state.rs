//! What is so now.

use jiff::Timestamp;
use mesh::{mark::HolderMark, phase::TaskPhase, service_name::ServiceName};

use super::{Kind, past::Planned};
use crate::{
    observed::{CatalogReading, Member, Observed, ObservedCluster},
    status::{MAINTENANCE, OnNode, TaskVerdict, facts, verdict},
    tokens::Tokens,
};

/// What ECS runs and what Consul has.
pub(super) struct EndState<'a> {
    pub(super) observed: &'a Observed,
    /// `None` if they could not be read.
    pub(super) tokens: Option<&'a Tokens>,
    pub(super) now: Timestamp,
}

impl EndState<'_> {
    /// Whether something that was planned is still to do; `None` if that is not known.
    pub(super) fn is_left(&self, planned: &Planned) -> Option<bool> {
        let subject = planned.subject.as_str();
        match planned.kind {
            Kind::InstancesDeregistered => {
                let catalog = self.catalog(planned)?;
                Some(catalog.instances.iter().any(|instance| instance.id == subject))
            }
            Kind::LoginTokensDeleted | Kind::TokensDeleted => {
                Some(self.tokens?.listed.iter().any(|token| token.accessor.to_string() == subject))
            }
            Kind::TokensCreated => {
                let has_it = |mark: HolderMark| is_holder(&mark, subject);
                Some(!self.tokens?.listed.iter().any(|token| HolderMark::parse(&token.description).is_some_and(has_it)))
            }
            Kind::InstancesDrained => {
                let (catalog, instance) = (self.catalog(planned)?, subject.strip_prefix(MAINTENANCE)?);
                let is_registered = catalog.instances.iter().any(|it| it.id == instance);
                Some(is_registered && catalog.checks.iter().all(|check| check.id != subject))
            }
            Kind::TasksRepaired => {
                let (cluster, on_node) = (self.cluster(planned)?, OnNode::new(self.catalog(planned)?));
                let is_missing = |member: &Member| !on_node.is_registered(&facts(member, cluster));
                self.is_active_and(planned, is_missing)
            }
            Kind::TasksCorrected => {
                let (cluster, on_node) = (self.cluster(planned)?, OnNode::new(self.catalog(planned)?));
                let tokens = self.tokens.map(|tokens| tokens.of_cluster(cluster));
                let is_wrong = |member: &Member| {
                    let verdict = verdict(member, cluster, Some(&on_node), tokens.as_ref(), self.now);
                    matches!(verdict, TaskVerdict::NotPassing(_) | TaskVerdict::Broken(_))
                };
                self.is_active_and(planned, is_wrong)
            }
        }
    }

    fn cluster(&self, planned: &Planned) -> Option<&ObservedCluster> {
        let arn = planned.cluster.as_deref()?;
        self.observed.clusters.iter().find(|cluster| cluster.arn.as_str() == arn)
    }

    fn catalog(&self, planned: &Planned) -> Option<&CatalogReading> {
        self.cluster(planned)?.catalog.as_ref()
    }

    /// Whether the task is meant to run, and something is so of it; `None` if its cluster or its definition could not be
    /// read.
    fn is_active_and(&self, planned: &Planned, is_so: impl Fn(&Member) -> bool) -> Option<bool> {
        let is_it = |member: &&Member| member.state.task.arn.id().as_str() == planned.subject;
        let cluster = self.cluster(planned)?;
        if cluster.unsorted.iter().any(|task| task.as_str() == planned.subject) {
            return None;
        }
        let task = cluster.tasks.iter().find(is_it);
        Some(task.is_some_and(|member| member.state.task.phase == TaskPhase::Active && is_so(member)))
    }
}

/// Whether a token is of the holder that the log names: `service web`, `service web in the secret Web` or `consul-client`.
fn is_holder(mark: &HolderMark, holder: &str) -> bool {
    let service = holder.strip_prefix("service ").and_then(|it| it.split(' ').next());
    mark.service.as_ref().map(ServiceName::as_str) == service
}
