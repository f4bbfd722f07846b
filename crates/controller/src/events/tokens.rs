//! Messages about the tokens of a service: idle checks, a grace period after a task stopped or after the token was hidden;
//! and pre-provisioning, when a task definition is registered or a service uses it, before a task starts.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aws::ecs::EcsError;
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    holder::TokenHolder,
    identity::MeshIdentity,
    idleness::{Idleness, TaskListing, judge},
    tags::Tags,
    task::MeshTask,
};
use observe::{CallError, Deadline, concurrently};
use report::{LogAction, LogLine, LogOutcome};
use tracing::{info, warn};

use super::TaskEvents;
use crate::{
    error::ControllerError,
    failures::Failures,
    message::RequestedCheck,
    tokens::{NeededBy, TokenUsage},
};

impl TaskEvents {
    /// Checks the tokens of holders: one listing of tasks serves all of them.
    pub(super) async fn check_idleness(
        &self,
        checks: &BTreeMap<TokenHolder, RequestedCheck>,
        deadline: Deadline,
    ) -> Failures<TokenHolder> {
        if checks.is_empty() {
            return Failures::new();
        }
        let listing = match deadline.run(self.context.observer.list_all_tasks(deadline)).await {
            Ok(Some(listing)) => listing,
            Ok(None) => {
                kept(None, None, "ECS lists no cluster of the deployment, so no service is proven idle").warn();
                return Failures::new();
            }
            // Sweeps judge the same tokens, and report the cluster.
            Err(error @ CallError::Ecs(EcsError::UnknownCluster(_))) => {
                kept(None, None, &error.to_string()).warn();
                return Failures::new();
            }
            Err(error) => {
                let error = ControllerError::shared(error);
                return checks.keys().map(|holder| (holder.clone(), Arc::clone(&error))).collect();
            }
        };
        let checks = checks.iter().map(|(holder, request)| {
            let listing = &listing;
            async move {
                let checked = deadline.run(self.check(holder, request.hops, listing)).await;
                checked.err().map(|error| (holder.clone(), Arc::new(error)))
            }
        });
        concurrently(checks).await.into_iter().flatten().collect()
    }

    async fn check(&self, holder: &TokenHolder, hops: u32, listing: &TaskListing) -> Result<(), ControllerError> {
        match judge(holder, listing, self.context.plan_settings()) {
            Idleness::Living(task) => {
                kept(Some(holder), Some(&task), "a task uses the token").info();
                let scope = &self.context.scope;
                let is_required = |identity: &MeshIdentity| scope.tokens().required(identity).contains(holder);
                let requires = |task: &&MeshTask| task.phase.is_living() && task.identities().any(is_required);
                let requiring = listing.tasks.iter().filter(requires);
                let clusters: BTreeSet<_> = requiring.filter_map(|task| scope.clusters.cluster_of(&task.arn)).collect();
                if !clusters.is_empty() {
                    let usage = TokenUsage::Needed(&NeededBy::Listed(&clusters));
                    self.tokens.reconcile(holder, usage, None).await?;
                }
            }
            // The check for its own stop is still to come, or the sweep if the grace period is longer than a message
            // can be delayed.
            Idleness::RecentlyStopped(task) => {
                kept(Some(holder), Some(&task), "a task stopped within the grace period").info();
            }
            Idleness::Idle(idle) => {
                self.tokens.reconcile(holder, TokenUsage::Idle { idle: &idle, hops }, None).await?;
            }
        }
        Ok(())
    }

    /// Ensures the tokens of the holders that tasks of this definition would require.
    pub(super) async fn pre_provision(
        &self,
        definition: &TaskDefinitionArn,
        cluster: Option<&ClusterArn>,
        deadline: Deadline,
    ) -> Result<Failures<TokenHolder>, ControllerError> {
        let (scope, mut failures) = (&self.context.scope, Failures::new());
        let Some(cluster) = self.cluster_for_marks(definition, cluster, deadline).await? else {
            info!(
                task_definition = definition.as_str(),
                outcome = "ignored",
                "the cluster is unknown or not in ECS_CLUSTER_ARNS"
            );
            return Ok(failures);
        };
        let known = match deadline.run(self.context.observer.ecs.task_definition(definition)).await {
            Ok(known) => known,
            // It was deleted since.
            Err(CallError::Ecs(EcsError::UnknownTaskDefinition(_))) => return Ok(failures),
            Err(error) => return Err(error.into()),
        };
        // A service may give its tasks other tags, which are only in the tasks' events.
        let identity = match known.identify(&Tags::default(), scope.tenancy_of(&cluster), scope.tokens()) {
            Ok(identity) => identity,
            Err(reason) => {
                self.context.observer.ecs.forget(definition);
                warn!(task_definition = definition.as_str(), field = reason.field(), %reason, outcome = "ignored",
                    "its tasks will not get a token");
                return Ok(failures);
            }
        };
        if let Some(Err(reason)) = identity.as_ref().map(|identity| scope.check_partition(&identity.service.tenancy)) {
            warn!(task_definition = definition.as_str(), field = reason.field(), %reason, outcome = "ignored",
                "its tasks will not get a token");
            return Ok(failures);
        }
        // One after the other: of several new spellings only the first one gets a token.
        for holder in identity.iter().flat_map(|identity| scope.tokens().required(identity)) {
            let usage = TokenUsage::Needed(&NeededBy::Registered(&cluster));
            let provisioned = deadline.run(self.tokens.reconcile(&holder, usage, None)).await;
            failures.extend(provisioned.err().map(|error| (holder, Arc::new(error))));
        }
        Ok(failures)
    }

    /// The cluster that marks the tokens: the service's, or the deployment's first one if there is no service yet.
    async fn cluster_for_marks(
        &self,
        definition: &TaskDefinitionArn,
        cluster: Option<&ClusterArn>,
        deadline: Deadline,
    ) -> Result<Option<ClusterArn>, ControllerError> {
        let selection = &self.context.scope.clusters;
        if let Some(cluster) = cluster {
            return Ok(selection.contains(cluster).then(|| cluster.clone()));
        }
        let first = match selection.named().next() {
            Some(named) => Some(named),
            None => deadline.run(self.context.observer.clusters()).await?.into_iter().next(),
        };
        Ok(first.filter(|cluster| definition.is_beside(cluster)))
    }
}

fn kept(holder: Option<&TokenHolder>, task: Option<&TaskArn>, why: &str) -> LogLine {
    LogLine {
        holder: holder.map(ToString::to_string),
        task_id: task.map(|task| task.id().to_string()),
        message: Some(why.to_owned()),
        ..LogLine::of(LogAction::Revoke, LogOutcome::Kept)
    }
}
