//! The stack of the controller, and how it is configured.

use std::collections::BTreeMap;

use aws::{ecs::AwsEcs, installation::AwsInstallation, sdk::SdkConfig};
use clap::Args;
use mesh::{arn::ClusterArn, cluster_selection::ClusterSelection, names::InvalidField, secret_name::SecretNamePrefix};

use crate::{account::selected, streams::Failure};

/// The stack of the controller
#[derive(Debug, Args)]
#[command(next_help_heading = "Stack")]
pub(super) struct StackArguments {
    /// Use the controller's stack with this name
    #[arg(long, value_name = "NAME", default_value = "ecs-mesh-controller")]
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

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.as_ref()?.get(name).map(String::as_str)
    }

    /// The clusters with these names or ARNs; without any, the clusters that the stack manages.
    pub(super) async fn clusters(&self, ecs: &AwsEcs, named: &[String]) -> Result<Vec<ClusterArn>, Failure> {
        let mut clusters = selected(ecs, named).await?;
        if let (true, Some(wanted), Some(first)) =
            (named.is_empty(), self.parameter("EcsClusterArns"), clusters.first())
        {
            let prefix = first.as_str().strip_suffix(first.name());
            let managed = ClusterSelection::parse(wanted, prefix).map_err(Failure::new)?;
            clusters.retain(|cluster| managed.contains(cluster));
        }
        Ok(clusters)
    }
}

pub(super) fn secret_prefix(text: &str) -> Result<SecretNamePrefix, String> {
    text.parse().map_err(|invalid: InvalidField| invalid.to_string())
}
