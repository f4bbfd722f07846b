//! The stack of the controller, and how it is configured.

use std::collections::{BTreeMap, BTreeSet};

use aws::{ecs::AwsEcs, installation::AwsInstallation, sdk::SdkConfig};
use clap::Args;
use mesh::{arn::ClusterArn, cluster_selection::ClusterSelection, names::InvalidField, secret_name::SecretNamePrefix};

use crate::{account::selected, streams::Failure};

/// The name of the stack that the pages deploy.
pub(super) const DEFAULT_STACK: &str = "ecs-mesh-controller";

/// The stack of the controller
#[derive(Debug, Args)]
#[command(next_help_heading = "Stack")]
pub(super) struct StackArguments {
    /// Use the controller's stack with this name
    #[arg(long, value_name = "NAME", default_value = DEFAULT_STACK)]
    pub(super) stack: String,
}

/// The prefix of the names of secrets if there is no stack: the default of the template.
pub(super) const DEFAULT_PREFIX: &str = "consul-ecs";

/// How the stack is configured
#[derive(Debug, Args)]
pub(super) struct PrefixArguments {
    /// Set the prefix of secret names [default: the stack's `SecretNamePrefix`; `consul-ecs` without a stack]
    #[arg(long, value_name = "PREFIX", value_parser = secret_prefix)]
    secret_name_prefix: Option<SecretNamePrefix>,
}

pub(super) struct Installation {
    /// Its parameters; none if there is no such stack.
    parameters: Option<BTreeMap<String, String>>,
    pub(super) prefix: SecretNamePrefix,
    /// Why the stack could not be read.
    pub(super) problem: Option<String>,
}

impl Installation {
    /// How the stack of this name is installed. What the command line says takes precedence.
    pub(super) async fn read(sdk: &SdkConfig, stack: &str, prefix: &PrefixArguments) -> Result<Self, Failure> {
        let (found, problem) = match AwsInstallation::new(sdk).stack(stack).await {
            Ok(found) => (found, None),
            Err(error) => (None, Some(format!("cannot read the parameters of stack {stack}: {error}"))),
        };
        let parameters = found.map(|stack| stack.parameters);
        let of_stack = || {
            let name = parameters.as_ref().and_then(|all| all.get("SecretNamePrefix"));
            secret_prefix(name.map_or(DEFAULT_PREFIX, String::as_str)).map_err(Failure::new)
        };
        let prefix = prefix.secret_name_prefix.clone().map_or_else(of_stack, Ok)?;
        Ok(Self { parameters, prefix, problem })
    }

    /// Whether there certainly is no such stack.
    pub(super) fn is_absent(&self) -> bool {
        self.parameters.is_none() && self.problem.is_none()
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.as_ref()?.get(name).map(String::as_str)
    }

    /// The clusters with these names or ARNs; without any, the clusters that the stack manages.
    pub(super) async fn clusters(&self, ecs: &AwsEcs, named: &[String]) -> Result<Vec<ClusterArn>, Failure> {
        let mut clusters = selected(ecs, named).await?;
        if let (true, Some(managed)) = (named.is_empty(), self.managed(&clusters)?) {
            clusters.retain(|cluster| managed.contains(cluster));
        }
        Ok(clusters)
    }

    /// Those of some clusters that the stack does not manage.
    pub(super) fn unmanaged(&self, clusters: &[ClusterArn]) -> BTreeSet<ClusterArn> {
        let managed = self.managed(clusters).ok().flatten();
        let is_managed = |cluster: &&ClusterArn| managed.as_ref().is_none_or(|managed| managed.contains(cluster));
        clusters.iter().filter(|cluster| !is_managed(cluster)).cloned().collect()
    }

    /// How the stack is configured, and what it does not manage of the `clusters` that were asked for; `None` without a stack.
    pub(super) fn line(&self, stack: &str, clusters: Option<&[ClusterArn]>) -> Option<String> {
        let (mode, wanted) = (self.parameter("Mode")?, self.parameter("EcsClusterArns")?);
        let unmanaged = self.unmanaged(clusters.unwrap_or_default());
        let names: Vec<&str> = unmanaged.iter().map(ClusterArn::name).collect();
        let not = match (clusters, names.as_slice()) {
            (Some([]), _) => ", which selects no cluster of this account and region".to_owned(),
            (_, []) => String::new(),
            (_, names) => format!(", which does not select {}: the controller does nothing there", names.join(", ")),
        };
        Some(format!("Stack {stack}: Mode={mode}, EcsClusterArns={wanted}{not}"))
    }

    /// The clusters that the stack manages, in the account and region of these; `None` without a stack or clusters.
    fn managed(&self, clusters: &[ClusterArn]) -> Result<Option<ClusterSelection>, Failure> {
        let (Some(wanted), Some(first)) = (self.parameter("EcsClusterArns"), clusters.first()) else { return Ok(None) };
        let prefix = first.as_str().strip_suffix(first.name());
        ClusterSelection::parse(wanted, prefix).map(Some).map_err(Failure::new)
    }
}

pub(super) fn secret_prefix(text: &str) -> Result<SecretNamePrefix, String> {
    text.parse().map_err(|invalid: InvalidField| invalid.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_that_the_stack_does_not_manage_is_named() {
        let parameters = [("Mode", "act"), ("EcsClusterArns", "prod-*")];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let installation = Installation {
            parameters: Some(parameters.into()),
            prefix: DEFAULT_PREFIX.parse().unwrap(),
            problem: None,
        };
        let line = |names: Option<&[&str]>| {
            let arn = |name: &&str| format!("arn:aws:ecs:us-east-1:123456789012:cluster/{name}").parse().unwrap();
            let clusters: Option<Vec<ClusterArn>> = names.map(|names| names.iter().map(arn).collect());
            installation.line("mesh", clusters.as_deref()).unwrap()
        };
        let managed = "Stack mesh: Mode=act, EcsClusterArns=prod-*";
        assert_eq!((line(Some(&["prod-1"])), line(None)), (managed.to_owned(), managed.to_owned()));
        let unmanaged = format!("{managed}, which does not select prod: the controller does nothing there");
        assert_eq!(line(Some(&["prod", "prod-1"])), unmanaged);
        assert_eq!(line(Some(&[])), format!("{managed}, which selects no cluster of this account and region"));
    }
}
