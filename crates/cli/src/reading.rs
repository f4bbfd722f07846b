//! What the commands that read clusters have in common: ECS and Consul, as a person reaches them.

use std::env;

use aws::{ecs::AwsEcs, sdk::SdkConfig};
use clap::Args;
use consul::HttpConsul;
use diagnosis::{Reader, Scope, clusters::select};
use mesh::{arn::ClusterArn, field::InvalidField, secret_name::SecretNamePrefix, tenancy::Tenancy};

use crate::{connect::AwsArguments, consul_variables::ConsulVariables, exit::Failure};

/// How the stack is configured
#[derive(Debug, Args)]
pub(super) struct PrefixArguments {
    /// The prefix of the names of secrets: the stack's parameter `SecretNamePrefix`
    #[arg(long, value_name = "PREFIX", default_value = "consul-ecs", value_parser = secret_prefix)]
    secret_name_prefix: SecretNamePrefix,
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
}

impl Clients {
    /// The clients of this account and region, and of the Consul that the variables name.
    pub(super) async fn new(aws: &AwsArguments) -> Result<Self, Failure> {
        let variables = ConsulVariables::read(|name| env::var(name).ok())?;
        let sdk = aws.sdk().await?;
        Ok(Self { ecs: AwsEcs::new(&sdk), sdk, consul: variables.client()?, tenancy: variables.tenancy })
    }

    /// A reader of clusters.
    pub(super) fn reader(&self, prefix: &PrefixArguments) -> Reader<'_> {
        let secret_prefix = prefix.secret_name_prefix.clone();
        Reader::new(&self.ecs, &self.consul, Scope { secret_prefix, default_tenancy: self.tenancy.clone() })
    }
}

/// The clusters with these names or ARNs; every cluster, without any.
pub(super) async fn selected(ecs: &AwsEcs, named: &[String]) -> Result<Vec<ClusterArn>, Failure> {
    select(ecs, named).await.map_err(|error| Failure::Message(error.to_string()))
}
