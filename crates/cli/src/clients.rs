//! The clients of ECS and Consul, and what commands read with them.

use std::{collections::BTreeSet, env, time::Duration};

use aws::{ecs::AwsEcs, sdk::SdkConfig};
use consul::{ConsulAddresses, HttpConsul};
use diagnosis::{Tokens, unread};
use mesh::{arn::ClusterArn, tenancy::Tenancy};
use observe::{Deadline, Inspection, Inspector};

use crate::{
    account::AwsArguments, consul_variables::ConsulVariables, installation::Installation, output::Progress,
    streams::Failure,
};

pub(super) struct Clients {
    pub(super) sdk: SdkConfig,
    pub(super) ecs: AwsEcs,
    pub(super) consul: HttpConsul,
    /// The tenancy of tasks without Enterprise tags.
    pub(super) tenancy: Tenancy,
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

    pub(super) fn tenancy(&self) -> &Tenancy {
        &self.tenancy
    }

    pub(super) fn inspector(&self, installation: &Installation) -> Inspector<'_> {
        Inspector {
            ecs: &self.ecs,
            consul: &self.consul,
            secret_prefix: installation.prefix.clone(),
            default_tenancy: self.tenancy.clone(),
            deadline: Deadline::after(LONGEST_READING),
        }
    }

    /// Reads the clusters in ECS and in Consul, and then the tokens.
    pub(super) async fn read(
        &self,
        installation: &Installation,
        clusters: &[ClusterArn],
        progress: &Progress,
    ) -> (Inspection, ReadTokens) {
        let say = |what: &str| progress.say(&format!("reading {what}"));
        let (observed, tokens) = self.inspector(installation).inspect(clusters, &say).await;
        let of_stack = installation.parameter("ConsulHttpAddr").and_then(|text| text.parse::<ConsulAddresses>().ok());
        let consul_hosts = of_stack.iter().flat_map(ConsulAddresses::hosts).chain(self.consul_hosts.clone()).collect();
        let tokens = tokens.map(|tokens| tokens.map(|tokens| Tokens::of_consul(tokens, consul_hosts)));
        (observed, tokens.map_err(|error| unread(&error)))
    }
}

/// The limit on a command's reads. Users interrupt long before.
pub(super) const LONGEST_READING: Duration = Duration::from_hours(1);

/// The tokens in Consul; `None` if ACLs are off. An error says why they could not be read.
pub(super) type ReadTokens = Result<Option<Tokens>, String>;

/// The tokens, if they are known.
pub(super) fn known(tokens: &ReadTokens) -> Option<&Tokens> {
    tokens.as_ref().ok().and_then(Option::as_ref)
}
