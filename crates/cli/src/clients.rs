//! The clients of ECS and Consul, and what commands read with them.

use std::{collections::BTreeSet, env, time::Duration};

use aws::{ecs::AwsEcs, sdk::SdkConfig};
use consul::{ConsulAddresses, HttpConsul};
use diagnosis::{Tokens, unread};
use mesh::tenancy::Tenancy;
use observe::{Deadline, Inspector};

use crate::{account::AwsArguments, consul_variables::ConsulVariables, installation::Installation, streams::Failure};

pub(super) struct Clients {
    pub(super) sdk: SdkConfig,
    pub(super) ecs: AwsEcs,
    pub(super) consul: HttpConsul,
    /// The tenancy of tasks without Enterprise tags.
    tenancy: Tenancy,
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

    pub(super) fn inspector(&self, installation: &Installation) -> Inspector<'_> {
        Inspector {
            ecs: &self.ecs,
            consul: &self.consul,
            secret_prefix: installation.prefix.clone(),
            default_tenancy: self.tenancy.clone(),
            deadline: Deadline::after(LONGEST_READING),
        }
    }

    /// Reads the tokens in Consul.
    pub(super) async fn tokens(&self, inspector: &Inspector<'_>, installation: &Installation) -> ReadTokens {
        let read = inspector.tokens().await.map_err(|error| unread(&error))?;
        let of_stack = installation.parameter("ConsulHttpAddr").and_then(|text| text.parse::<ConsulAddresses>().ok());
        let consul_hosts = of_stack.iter().flat_map(ConsulAddresses::hosts).chain(self.consul_hosts.clone()).collect();
        Ok(read.map(|tokens| Tokens::of_consul(tokens, consul_hosts)))
    }
}

/// The longest that a command reads: a person ends it before.
pub(super) const LONGEST_READING: Duration = Duration::from_hours(1);

/// The tokens in Consul; `None` if ACLs are off. An error says why they could not be read.
pub(super) type ReadTokens = Result<Option<Tokens>, String>;

/// The tokens, if they are known.
pub(super) fn known(tokens: &ReadTokens) -> Option<&Tokens> {
    tokens.as_ref().ok().and_then(Option::as_ref)
}
