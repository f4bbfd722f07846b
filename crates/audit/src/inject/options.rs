//! The parameters of an injection, which a definition does not contain.

use std::str::FromStr;

use crate::{
    rules::servers::wrong_address,
    subject::{Generation, Image, Release},
    versions::{Program, lines_of, newest_pair_for, newest_partner},
};
use mesh::{
    consul_ecs::NEWEST,
    names::{InvalidField, ServiceName},
};

/// The parameters of an injection.
#[derive(Debug, Clone)]
pub struct Options {
    /// The service's name; by default the family.
    pub service_name: Option<ServiceName>,
    /// The port that the app listens on; by default the only TCP port of its mappings.
    pub port: Option<u16>,
    /// The address of the Consul servers: an IP address, a DNS name, or `exec=` and a program that prints addresses.
    pub consul_hosts: String,
    /// The services that the app calls.
    pub upstreams: Vec<Upstream>,
    /// The secret with the CA certificate of the Consul servers. Without it, TLS is off.
    pub ca_secret: Option<String>,
    /// Whether Consul's ACLs are on.
    pub acls: bool,
    /// The task role, if the definition has none.
    pub task_role: Option<String>,
    /// The images of the containers.
    pub images: Images,
}

/// The images of the mesh's containers.
#[derive(Debug, Clone)]
pub struct Images {
    pub consul_ecs: String,
    /// Consul Dataplane.
    pub dataplane: String,
}

impl Images {
    /// The newest pair of releases in the [table of releases](crate::versions).
    pub fn newest() -> Self {
        let (consul_ecs, dataplane) = lines_of(Program::Consul).into_iter().rev().find_map(pair).unzip();
        Self { consul_ecs: image(CONSUL_ECS, consul_ecs), dataplane: image(DATAPLANE, dataplane) }
    }

    /// The newest releases that go with a line of Consul's servers.
    ///
    /// # Errors
    /// The table of releases has none with the containers that are injected.
    pub fn of_consul(servers: Release) -> Result<Self, InjectError> {
        let (consul_ecs, dataplane) = pair(servers).ok_or_else(|| {
            let known = lines_of(Program::Consul).into_iter().rev().filter(|line| pair(*line).is_some());
            let known = known.map(|line| line.to_string()).collect::<Vec<_>>().join(", ");
            InjectError::NoImages { servers, known }
        })?;
        Ok(Self { consul_ecs: image(CONSUL_ECS, Some(consul_ecs)), dataplane: image(DATAPLANE, Some(dataplane)) })
    }

    /// This image of consul-ecs, with the newest release of Consul Dataplane that goes with it; if the image's release is
    /// unknown, with the newest of all.
    ///
    /// # Errors
    /// The tag of the image names a release that does not have the containers that are injected.
    pub fn of_consul_ecs(image_of_consul_ecs: &str) -> Result<Self, InjectError> {
        let consul_ecs = image_of_consul_ecs.to_owned();
        let version = Image::parse(image_of_consul_ecs).version();
        if version.is_some_and(|version| !Generation::Dataplane.fits(version)) {
            return Err(InjectError::OtherContainers(consul_ecs));
        }
        let partner = version.and_then(|version| newest_partner(version.in_line()));
        let dataplane = partner.map_or_else(|| Self::newest().dataplane, |release| image(DATAPLANE, Some(release)));
        Ok(Self { consul_ecs, dataplane })
    }
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
        of_image.filter(|version| Generation::Dataplane.fits(*version)).unwrap_or(NEWEST)
    }

    /// Checks what the containers look up. They run the program after `exec=` (<https://github.com/hashicorp/go-netaddrs>),
    /// and have their ports elsewhere.
    pub(super) fn check_hosts(&self) -> Result<(), InjectError> {
        let hosts = self.consul_hosts.trim();
        if hosts.starts_with("exec=") {
            return Ok(());
        }
        wrong_address(hosts).map_or(Ok(()), |(_, advice)| Err(InjectError::Hosts { hosts: hosts.to_owned(), advice }))
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
    #[error("--consul-hosts {hosts}: consul-ecs cannot use this address; write {advice}")]
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
    /// The images of the mesh are for Linux.
    #[error("the task runs on {0}, and the images of the mesh are for Linux")]
    Windows(String),
    /// External instances have no network mode `awsvpc`.
    #[error(
        "the task is for external instances, which have no network mode awsvpc. Remove EXTERNAL from requiresCompatibilities first"
    )]
    External,
    /// ECS refuses a property in the mode that the mesh needs.
    #[error("{container} has {property}, which ECS refuses with awsvpc, the network mode of the mesh. Remove it first")]
    OfBridge { container: String, property: &'static str },
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
    /// No releases with the containers that are injected go with a line of Consul.
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
    /// The release of an image of consul-ecs has other containers.
    #[error(
        "{0} does not have the containers that inject adds. Pass an image of consul-ecs {releases} with --consul-ecs-image",
        releases = Generation::Dataplane.releases()
    )]
    OtherContainers(String),
    /// The file does not parse.
    #[error("the file cannot be read again for its log configuration: {0}")]
    Notation(String),
    /// An upstream is invalid.
    #[error("upstream {0:?}: expected name:port, such as orders:1234")]
    Upstream(String),
}
