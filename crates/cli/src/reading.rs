//! What the commands that read clusters have in common: ECS and Consul, as a person reaches them.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
};

use aws::{ecs::AwsEcs, installation::AwsInstallation, sdk::SdkConfig};
use clap::Args;
use consul::{ConsulAddresses, HttpConsul};
use diagnosis::{Reader, Scope, Tokens, clusters::select};
use mesh::{
    arn::ClusterArn, cluster_selection::ClusterSelection, field::InvalidField, secret_name::SecretNamePrefix,
    tenancy::Tenancy,
};

use crate::{connect::AwsArguments, consul_variables::ConsulVariables, exit::Failure};

/// The prefix of the names of secrets if there is no stack: the default of the template.
const DEFAULT_PREFIX: &str = "consul-ecs";

/// How the stack is configured
#[derive(Debug, Args)]
pub(super) struct PrefixArguments {
    /// The prefix of the names of secrets [default: the parameter `SecretNamePrefix` of the stack; `consul-ecs` without a stack]
    #[arg(long, value_name = "PREFIX", value_parser = secret_prefix)]
    secret_name_prefix: Option<SecretNamePrefix>,
}

/// How the stack is installed.
pub(super) struct Installation {
    /// Its parameters; none if there is no such stack.
    parameters: Option<BTreeMap<String, String>>,
    prefix: SecretNamePrefix,
    /// Why the stack could not be read.
    pub(super) problem: Option<String>,
}

impl Installation {
    /// The value of a parameter.
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
            let invalid = |invalid: InvalidField| Failure::Message(invalid.to_string());
            let managed = ClusterSelection::parse(wanted, prefix).map_err(invalid)?;
            clusters.retain(|cluster| managed.contains(cluster));
        }
        Ok(clusters)
    }
}

/// Parses the prefix of the names of secrets.
pub(super) fn secret_prefix(text: &str) -> Result<SecretNamePrefix, String> {
    text.parse().map_err(|invalid: InvalidField| invalid.to_string())
}

/// The clients of ECS and Consul.
pub(super) struct Clients {
    pub(super) sdk: SdkConfig,
    pub(super) ecs: AwsEcs,
    pub(super) consul: HttpConsul,
    /// The tenancy of tasks without Enterprise tags.
    tenancy: Tenancy,
    /// The hosts of `CONSUL_HTTP_ADDR`.
    consul_hosts: BTreeSet<String>,
}

impl Clients {
    /// The clients of this account and region, and of the Consul that the variables name.
    pub(super) async fn new(aws: &AwsArguments) -> Result<Self, Failure> {
        let variables = ConsulVariables::read(|name| env::var(name).ok())?;
        let sdk = aws.sdk().await?;
        Ok(Self {
            ecs: AwsEcs::new(&sdk),
            sdk,
            consul: variables.client()?,
            consul_hosts: variables.hosts(),
            tenancy: variables.tenancy,
        })
    }

    /// How the stack of this name is installed. What the command line says takes precedence.
    pub(super) async fn installation(&self, stack: &str, prefix: &PrefixArguments) -> Result<Installation, Failure> {
        let (found, problem) = match AwsInstallation::new(&self.sdk).stack(stack).await {
            Ok(found) => (found, None),
            Err(error) => (None, Some(format!("how {stack} is installed is not known: {error}"))),
        };
        let parameters = found.map(|stack| stack.parameters);
        let of_stack = || {
            let name = parameters.as_ref().and_then(|all| all.get("SecretNamePrefix"));
            secret_prefix(name.map_or(DEFAULT_PREFIX, String::as_str)).map_err(Failure::Message)
        };
        let prefix = prefix.secret_name_prefix.clone().map_or_else(of_stack, Ok)?;
        Ok(Installation { parameters, prefix, problem })
    }

    /// A reader of clusters.
    pub(super) fn reader(&self, installation: &Installation) -> Reader<'_> {
        let secret_prefix = installation.prefix.clone();
        let of_stack = installation.parameter("ConsulHttpAddr").and_then(|text| text.parse::<ConsulAddresses>().ok());
        let consul_hosts = of_stack.iter().flat_map(ConsulAddresses::hosts).chain(self.consul_hosts.clone()).collect();
        let scope = Scope { secret_prefix, default_tenancy: self.tenancy.clone(), consul_hosts };
        Reader::new(&self.ecs, &self.consul, scope)
    }
}

/// The tokens in Consul; `None` if ACLs are off. An error says why they could not be read.
pub(super) type ReadTokens = Result<Option<Tokens>, String>;

/// The tokens, as far as they are known.
pub(super) fn known(tokens: &ReadTokens) -> Option<&Tokens> {
    tokens.as_ref().ok().and_then(Option::as_ref)
}

/// The clusters with these names or ARNs; every cluster, without any.
pub(super) async fn selected(ecs: &AwsEcs, named: &[String]) -> Result<Vec<ClusterArn>, Failure> {
    select(ecs, named).await.map_err(|error| Failure::Message(error.to_string()))
}
