//! The parameters of an injection, which a definition does not contain.

use std::str::FromStr;

use crate::{
    rules::servers::wrong_address,
    subject::{Feature, Generation, Image, Release},
    versions::{Program, lines_of, newest_for, newest_pair_for, newest_partner, table},
};
use mesh::{
    consul_ecs::NEWEST,
    names::{InvalidField, ServiceName},
};

/// The generation to inject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Consul Dataplane.
    Dataplane,
    /// A Consul client agent and Envoy, with tokens in Secrets Manager.
    Client,
}

impl Target {
    /// Whether a version of consul-ecs has the programs and reads the configuration of the containers that are injected.
    fn fits(self, version: Release) -> bool {
        match self {
            Self::Dataplane => Generation::Dataplane.fits(version),
            Self::Client => Generation::Client.fits(version) && Feature::Configuration.is_in(version),
        }
    }
}

/// The parameters of an injection.
#[derive(Debug, Clone)]
pub struct Options {
    /// The generation of the containers.
    pub target: Target,
    /// The service's name; by default the family.
    pub service_name: Option<ServiceName>,
    /// The port that the app listens on; by default the only TCP port of its mappings.
    pub port: Option<u16>,
    /// The address of the Consul servers: an IP address, a DNS name or a cloud auto-join string.
    pub consul_hosts: String,
    /// Consul's datacenter, for client agents.
    pub datacenter: String,
    /// The services that the app calls.
    pub upstreams: Vec<Upstream>,
    /// The secret with the CA certificate of the Consul servers. Without it, TLS is off.
    pub ca_secret: Option<String>,
    /// Whether Consul's ACLs are on.
    pub acls: bool,
    /// The secrets with the tokens of the client agents and of the service, for the client generation with ACLs.
    pub token_secrets: Option<TokenSecrets>,
    /// The task role, if the definition has none.
    pub task_role: Option<String>,
    /// The images of the containers.
    pub images: Images,
}

/// Secrets Manager secrets with a token in the key `token`.
#[derive(Debug, Clone)]
pub struct TokenSecrets {
    /// The secret of the client agents.
    pub client: String,
    /// The secret of the service.
    pub service: String,
}

/// The images of the mesh's containers.
#[derive(Debug, Clone)]
pub struct Images {
    /// consul-ecs.
    pub consul_ecs: String,
    /// Consul Dataplane.
    pub dataplane: String,
    /// Consul, of client agents.
    pub consul: String,
    /// Envoy, of the client generation.
    pub envoy: String,
}

impl Images {
    /// The newest pair of releases in the [table of releases](crate::versions); for client agents, the newest releases
    /// of the last line of consul-ecs with tokens in Secrets Manager.
    pub fn of(target: Target) -> Self {
        let (consul_ecs, dataplane) = match target {
            Target::Dataplane => lines_of(Program::Consul).into_iter().rev().find_map(pair).unzip(),
            Target::Client => (newest_with_tokens(), None),
        };
        let agents = &table().client_agents;
        Self {
            consul_ecs: image(CONSUL_ECS, consul_ecs),
            dataplane: image(DATAPLANE, dataplane),
            consul: image("public.ecr.aws/hashicorp/consul", Some(agents.consul)),
            envoy: format!("envoyproxy/envoy-alpine:v{}", agents.envoy),
        }
    }

    /// The newest releases that go with a line of Consul's servers.
    ///
    /// # Errors
    /// The table of releases has none with the containers of the dataplane generation.
    pub fn of_consul(self, servers: Release) -> Result<Self, InjectError> {
        let (consul_ecs, dataplane) = pair(servers).ok_or_else(|| {
            let known = lines_of(Program::Consul).into_iter().rev().filter(|line| pair(*line).is_some());
            let known = known.map(|line| line.to_string()).collect::<Vec<_>>().join(", ");
            InjectError::NoImages { servers, known }
        })?;
        let consul_ecs = image(CONSUL_ECS, Some(consul_ecs));
        Ok(Self { consul_ecs, dataplane: image(DATAPLANE, Some(dataplane)), ..self })
    }

    /// With another image of consul-ecs, and for the dataplane generation the newest release of Consul Dataplane that goes
    /// with it, if that is known.
    ///
    /// # Errors
    /// The tag of the image names a release that does not have the containers of this generation.
    pub fn with_consul_ecs(self, target: Target, image_of_consul_ecs: &str) -> Result<Self, InjectError> {
        let consul_ecs = image_of_consul_ecs.to_owned();
        let version = Image::parse(image_of_consul_ecs).version();
        if version.is_some_and(|version| !target.fits(version)) {
            return Err(InjectError::OtherGeneration(consul_ecs));
        }
        let version = version.filter(|_| target == Target::Dataplane);
        let partner = version.and_then(|version| newest_partner(version.in_line()));
        let dataplane = partner.map_or(self.dataplane, |release| image(DATAPLANE, Some(release)));
        Ok(Self { consul_ecs, dataplane, ..self })
    }
}

/// The newest release whose tasks get their tokens from Secrets Manager.
fn newest_with_tokens() -> Option<Release> {
    newest_for(Program::ConsulEcs, &[], |line| !Feature::Login.is_in(line))
}

const CONSUL_ECS: &str = "public.ecr.aws/hashicorp/consul-ecs";
const DATAPLANE: &str = "hashicorp/consul-dataplane";

/// The newest releases that go with a line of Consul's servers, with the containers that are injected.
fn pair(servers: Release) -> Option<(Release, Release)> {
    newest_pair_for(&[servers], |line| Generation::Dataplane.fits(line))
}

fn image(repository: &str, release: Option<Release>) -> String {
    release.map_or_else(|| repository.to_owned(), |release| format!("{repository}:{release}"))
}

impl Options {
    /// The release whose module makes the containers: the image's, if that is certain.
    pub(super) fn release(&self) -> Release {
        let of_image = Image::parse(&self.images.consul_ecs).consul_ecs_version();
        match self.target {
            Target::Dataplane => of_image.filter(|version| self.target.fits(*version)).unwrap_or(NEWEST),
            Target::Client => newest_with_tokens().unwrap_or(Feature::Configuration.releases().since),
        }
    }

    /// Checks what the containers look up. The dataplane generation runs the program after `exec=`
    /// (<https://github.com/hashicorp/go-netaddrs>), and has its ports elsewhere; client agents have cloud auto-join built in.
    pub(super) fn check_hosts(&self) -> Result<(), InjectError> {
        let hosts = self.consul_hosts.trim();
        let program = hosts.strip_prefix("exec=");
        let advice = match (self.target, program) {
            (Target::Dataplane, Some(_)) => None,
            (Target::Dataplane, None) => wrong_address(hosts).map(|(_, right)| right),
            (Target::Client, Some(program)) => {
                let provider = program.find("provider=").and_then(|at| program.get(at..));
                Some(provider.unwrap_or("provider=…").to_owned())
            }
            (Target::Client, None) => {
                let (_, rest) = hosts.split_once("://").unzip();
                rest.and_then(|rest| rest.split(['/', ':']).next()).map(str::to_owned)
            }
        };
        advice.map_or(Ok(()), |advice| Err(InjectError::Hosts { hosts: hosts.to_owned(), advice }))
    }

    /// Whether tasks log in to Consul with their IAM role.
    pub(super) fn logs_in(&self) -> bool {
        self.acls && self.target == Target::Dataplane
    }

    /// Whether ECS reads secrets for the task.
    pub(super) fn needs_secrets(&self) -> bool {
        self.ca_secret.is_some() || (self.acls && self.target == Target::Client)
    }
}

/// A service that the app calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its name in Consul.
    pub name: String,
    /// The local port at which the app reaches it.
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

/// Why nothing can be injected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InjectError {
    /// The definition is in a mesh already.
    #[error("{0} is already in a mesh. To check it, run ecs-mesh check")]
    InAMesh(String),
    /// Envoy is the only container.
    #[error("{0} is a virtual gateway of App Mesh; use HashiCorp's module gateway-task instead")]
    VirtualGateway(String),
    /// The task would not find Consul's servers.
    #[error("--consul-hosts {hosts}: the containers of this generation cannot use this address; write {advice}")]
    Hosts {
        /// As it was given.
        hosts: String,
        advice: String,
    },
    /// The definition is in a Terraform source.
    #[error(
        "{0} is in a Terraform source, which inject does not edit; use HashiCorp's module mesh-task, or inject into ECS's JSON"
    )]
    TerraformSource(String),
    /// A value that is needed is known only at deployment, or edits cannot reach it.
    #[error("{0}: the value is computed and cannot be edited; replace it with a literal value, or edit its source")]
    Unknown(&'static str),
    /// The AWS CDK has written the file.
    #[error("{0}: the next `cdk synth` would overwrite the file; add the mesh to the construct")]
    Synthesised(String),
    /// The family is known only at deployment, and there is no other name for the service.
    #[error("the family is known only at deployment. Name the service with --service-name")]
    NoFamily,
    /// There is no mapped port, and none was given.
    #[error("no container maps a TCP port. Pass the app's port with --port")]
    NoPort,
    /// There are several mapped ports, and none was given.
    #[error("the containers map several ports {0:?}. Choose the service's port with --port")]
    SeveralPorts(Vec<u64>),
    /// The service's name is invalid.
    #[error("{0}. Pass a valid name with --service-name")]
    ServiceName(InvalidField),
    /// A task logs in with its IAM role.
    #[error("with ACLs, a task logs in with its IAM role, but the definition has none. Pass one with --task-role")]
    NoTaskRole,
    /// ECS reads secrets with the execution role.
    #[error("ECS reads secrets with the role in executionRoleArn, but the definition has none. Add one first")]
    NoExecutionRole,
    /// Another release than those whose modules are known.
    #[error("the containers of consul-ecs {0} are unknown")]
    NoModule(Release),
    /// No releases of the dataplane generation go with a line of Consul.
    #[error(
        "no known images of consul-ecs {} support Consul {servers} (supported: {known}). Pass --consul-ecs-image \
         instead",
        Generation::Dataplane.releases()
    )]
    NoImages {
        /// The line of Consul.
        servers: Release,
        /// The lines that have images.
        known: String,
    },
    /// The generation does not have the release of an image of consul-ecs.
    #[error(
        "{0} does not match --generation: dataplane needs consul-ecs {dataplane}, client needs {first} to {last}. \
         Pass a matching image or generation",
        dataplane = Generation::Dataplane.releases(),
        first = Feature::Configuration.releases().since,
        last = Generation::Client.releases().example()
    )]
    OtherGeneration(String),
    /// The file does not parse.
    #[error("the file cannot be read again for its log configuration: {0}")]
    Notation(String),
    /// An upstream is invalid.
    #[error("upstream {0:?}: expected name:port, such as orders:1234")]
    Upstream(String),
}
