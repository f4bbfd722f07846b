//! What injection cannot find in a definition.

use std::str::FromStr;

use mesh::{field::InvalidField, service_name::ServiceName};

/// The generation to inject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Consul Dataplane.
    Dataplane,
    /// A Consul client agent and Envoy.
    Client,
}

/// What to inject.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which containers.
    pub target: Target,
    /// The service's name; the family, if there is none.
    pub service_name: Option<ServiceName>,
    /// The port that the app listens on; the only TCP port of its mappings, if there is none.
    pub port: Option<u16>,
    /// Where Consul's servers are: an address, a DNS name or a cloud auto-join string.
    pub consul_hosts: String,
    /// Consul's datacenter, for client agents.
    pub datacenter: String,
    /// The services that the app calls.
    pub upstreams: Vec<Upstream>,
    /// The secret with the certificate authority of Consul's servers. Without one, TLS is off.
    pub ca_secret: Option<String>,
    /// Whether Consul has ACLs.
    pub acls: bool,
    /// The secrets with the tokens of the client agents and of the service, for the client generation with ACLs.
    pub token_secrets: Option<TokenSecrets>,
    /// The task role, where the definition has none.
    pub task_role: Option<String>,
    /// The images, in the versions to run.
    pub images: Images,
}

/// Secrets Manager secrets whose key `token` holds a token.
#[derive(Debug, Clone)]
pub struct TokenSecrets {
    /// The client agents' secret.
    pub client: String,
    /// The service's secret.
    pub service: String,
}

/// The images of the mesh's containers.
#[derive(Debug, Clone)]
pub struct Images {
    /// consul-ecs.
    pub consul_ecs: String,
    /// Consul Dataplane.
    pub dataplane: String,
    /// Consul, for client agents.
    pub consul: String,
    /// Envoy, beside client agents.
    pub envoy: String,
}

impl Images {
    /// Versions that go together. Source: <https://developer.hashicorp.com/consul/docs/ecs/compatibility>
    #[must_use]
    pub fn of(target: Target) -> Self {
        let consul_ecs = match target {
            Target::Dataplane => "public.ecr.aws/hashicorp/consul-ecs:0.9.3",
            Target::Client => "public.ecr.aws/hashicorp/consul-ecs:0.4.2",
        };
        Self {
            consul_ecs: consul_ecs.to_owned(),
            dataplane: "hashicorp/consul-dataplane:1.6.5".to_owned(),
            consul: "public.ecr.aws/hashicorp/consul:1.12.9".to_owned(),
            envoy: "envoyproxy/envoy-alpine:v1.21.4".to_owned(),
        }
    }
}

impl Options {
    /// Whether tasks log in with their role.
    pub(super) fn logs_in(&self) -> bool {
        self.acls && self.target == Target::Dataplane
    }

    /// Whether ECS has to read secrets for the task.
    pub(super) fn needs_secrets(&self) -> bool {
        self.ca_secret.is_some() || (self.acls && self.target == Target::Client)
    }
}

/// A service that the app calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its name in Consul.
    pub name: String,
    /// The local port on which the app finds it.
    pub port: u16,
}

impl FromStr for Upstream {
    type Err = InjectError;

    /// `name:port`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InjectError::Upstream(text.to_owned());
        let (name, port) = text.split_once(':').ok_or_else(invalid)?;
        let name: ServiceName = name.parse().map_err(|_| invalid())?;
        let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(invalid)?;
        Ok(Self { name: name.as_str().to_owned(), port })
    }
}

/// Why a definition cannot be taken into the mesh.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InjectError {
    /// It is in one.
    #[error("{0} is in a mesh already; mesh-audit check tells whether it is right")]
    InAMesh(String),
    /// Something that decides is known only to a deployment, or cannot be edited there.
    #[error("{0}: the value is computed, so that it cannot be edited; write it out, or edit its source")]
    Unknown(&'static str),
    /// Nothing says what the service is called.
    #[error("the family is left to the deployment, so that it names no service; choose a name with --service-name")]
    NoFamily,
    /// Nothing says where the app listens.
    #[error("no container maps a TCP port; say which port the app listens on with --port")]
    NoPort,
    /// Several things could be meant.
    #[error("the containers map the ports {0:?}; say which one is the service's with --port")]
    SeveralPorts(Vec<u64>),
    /// The name is not one.
    #[error("{0}; choose one with --service-name")]
    ServiceName(InvalidField),
    /// A task without a role cannot log in.
    #[error("with ACLs a task logs in by its role, and the definition has none; give one with --task-role")]
    NoTaskRole,
    /// Nobody could read the secrets.
    #[error("ECS reads secrets by executionRoleArn, and the definition has none; add one first")]
    NoExecutionRole,
    /// An upstream that is none.
    #[error("upstream {0:?}: expected name:port, such as orders:1234")]
    Upstream(String),
}
