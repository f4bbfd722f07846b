//! A task definition, and the services that run it.

use std::sync::Arc;

use super::{
    api::{Departure, Unread},
    bare_variable::BareVariable,
    container::{Container, PortMapping},
    dialect::{Dialect, replace_words},
    field::{Field, List, Maybe, Text},
    reader::record,
    role::IamRole,
    tag::Tag,
    undeclared::Undeclared,
    volume::Volume,
};
use document::{Place, RepeatedKey, SourceFile, Span};
use mesh::release::Release;

/// A task definition. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html>
#[derive(Debug, Clone)]
pub struct TaskDefinition {
    /// The file that it is from.
    pub file: Arc<SourceFile>,
    /// The spelling of its keys.
    pub dialect: Dialect,
    /// Its name in the file: a logical ID, a resource address, an ARN, its index in a list. Empty if the file contains
    /// nothing else.
    pub address: String,
    /// The path of its construct, if the AWS CDK has synthesised the file.
    pub construct: Option<String>,
    /// The call of the Terraform module that declares it; `None` for the root module.
    pub call: Option<Arc<ModuleCall>>,
    /// The module of HashiCorp that makes it. What the module makes by itself has the place of the call.
    pub module: Option<HashiCorpModule>,
    /// The block that it is an instance of, in a plan, which repeats the block for each instance and call.
    pub block: Option<String>,
    /// Whether the AWS CDK has synthesised the file: then an edit of it is lost.
    pub is_synthesised: bool,
    /// Whether the file contains another definition of its family, so that only the address distinguishes the two.
    pub shares_family: bool,
    /// The template or root module that certainly creates it once, in one region. `None` if it has a condition or
    /// instances.
    pub created_by: Option<String>,
    pub family: Field<Text>,
    /// Its family as the file spells it, with placeholders.
    pub shown_family: Option<String>,
    /// `awsvpc`, `bridge`, `host` or `none`.
    pub network_mode: Field<Text>,
    /// Its CPU units, or its CPUs with the unit `vCPU`.
    pub cpu: Field<Text>,
    /// Its memory in mebibytes, or with the unit `GB`.
    pub memory: Field<Text>,
    /// `EC2`, `FARGATE`, `EXTERNAL`.
    pub requires_compatibilities: List<Field<Text>>,
    /// `LINUX`, `WINDOWS_SERVER_2022_CORE`, …
    pub operating_system: Field<Text>,
    /// The role that its containers use.
    pub task_role: Field<Text>,
    /// That role, if the input declares it.
    pub declared_role: Option<IamRole>,
    /// The role with which ECS pulls images and reads secrets.
    pub execution_role: Field<Text>,
    /// That role, if the input declares it.
    pub declared_execution_role: Option<IamRole>,
    pub volumes: List<Volume>,
    pub containers: List<Container>,
    /// App Mesh's proxy configuration.
    pub proxy: Field<ProxyConfiguration>,
    pub tags: List<Tag>,
    /// What a running account says of the mesh tag that it does not have.
    pub lost_tag: Option<LostTag>,
    /// The services of the input that run it.
    pub services: Vec<ServiceUse>,
    pub repeated_keys: Vec<RepeatedKey>,
    /// Where it departs from ECS's API.
    pub departures: Vec<Departure>,
    /// The values that no rule reads.
    pub unread: Vec<Unread>,
    /// Texts with a variable that a lost `Fn::Sub` does not replace, in a template.
    pub bare_variables: Vec<BareVariable>,
    /// References of it and of its services and roles to what the input does not declare.
    pub undeclared: Vec<Undeclared>,
    /// Its place in the file.
    pub place: Place,
}

/// Who had the mesh tag that a registered revision does not have.
#[derive(Debug, Clone)]
pub enum LostTag {
    /// An earlier revision had it.
    From {
        /// The newest such revision, `family:revision`.
        earlier: String,
        /// The principal that registered the later revision, without its account, if ECS says it.
        registered_by: Option<String>,
        /// When that was, if ECS says it.
        registered_at: Option<String>,
    },
    /// An earlier revision could not be read: it, and why.
    Unread(String, String),
}

/// The call of a Terraform module, through which its definitions are read.
#[derive(Debug)]
pub struct ModuleCall {
    /// The address of the module: `module.web["eu"].module.task`.
    pub module: String,
    /// The file of the call in the root module. Of a plan, the plan.
    pub file: Arc<SourceFile>,
    /// The name of that call. In a plan, the address of the definition.
    pub span: Span,
}

/// A module of HashiCorp for Consul on ECS, in one of its versions.
#[derive(Debug, Clone)]
pub struct HashiCorpModule {
    pub name: &'static str,
    /// A line if a version constraint leaves the patch open.
    pub release: Release,
    /// Whether it is a fork, which may have other arguments.
    pub is_fork: bool,
    /// Whether the call says which version it wants. Otherwise Terraform takes the newest.
    pub is_pinned: bool,
    /// The bytes of the call's name.
    pub call: Span,
    /// The arguments of the call, also the ones that every call may have.
    pub arguments: Vec<Argument>,
    /// The arguments that the module refuses or ignores.
    pub refused: Vec<Refusal>,
}

/// An argument of a call.
#[derive(Debug, Clone)]
pub struct Argument {
    pub name: String,
    /// The bytes of its name.
    pub span: Span,
    /// Whether its value certainly is a text, a number or a boolean.
    pub is_scalar: bool,
    /// The bytes of its value and the value, if it is a text.
    pub text: Option<(Span, String)>,
}

/// An argument that a module refuses or ignores.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The bytes of the argument's name, or of the call's.
    pub span: Span,
    pub what: String,
    /// What to do.
    pub help: String,
    /// Whether the module accepts the argument, and ignores it.
    pub is_ignored: bool,
}

/// Settings of consul-ecs, and the inputs of the modules that alone decide them. Source:
/// <https://github.com/hashicorp/terraform-aws-consul-ecs/blob/main/modules/mesh-task/variables.tf>
const INPUTS: [(&str, &str); 7] = [
    ("transparentProxy.enabled", "enable_transparent_proxy"),
    ("transparentProxy.consulDNS.enabled", "enable_consul_dns"),
    ("consulServers.defaults.tlsServerName", "tls_server_name"),
    ("consulServers.hosts", "consul_server_hosts"),
    ("consulServers.defaults.tls", "tls"),
    ("consulLogin.enabled", "acls"),
    ("service.port", "port"),
];

impl HashiCorpModule {
    /// `text`, which names settings as consul-ecs does, with the inputs of the module.
    pub fn spell_inputs(&self, text: String) -> String {
        INPUTS.iter().fold(text, |text, (setting, input)| replace_words(&text, setting, input))
    }

    /// The help for something that the module makes by itself, and that a user of it cannot edit.
    pub fn help(&self, help: &str, corrected_in: Option<Release>) -> String {
        let Self { name, release, .. } = self;
        match corrected_in {
            Some(corrected) => format!("set the version of the module {name} to {corrected} or newer"),
            None => {
                format!("{help}. The module {name} {release} makes it: change the inputs or the version of the module")
            }
        }
    }
}

impl TaskDefinition {
    /// Its name in reports: the family, or else its construct or address. Beside the family, it has its construct, and
    /// its address if the file contains another definition of its family.
    pub fn label(&self) -> String {
        let name = self.name();
        match &self.construct {
            Some(construct) if *construct != name => format!("{name} ({construct})"),
            None if self.shares_family => format!("{name} ({})", self.address),
            _ => name,
        }
    }

    /// Its family; its construct or address if it has no family.
    pub fn name(&self) -> String {
        let address = || self.construct.as_ref().unwrap_or(&self.address).clone();
        self.shown_family.clone().unwrap_or_else(address)
    }

    /// Whether a user means it by `choice`: its family, its address, its construct, or its name in reports.
    pub fn is_meant_by(&self, choice: &str) -> bool {
        let is_its_construct = self.construct.as_deref() == Some(choice);
        is_its_construct || self.name() == choice || self.address == choice || self.label() == choice
    }

    /// The container called `name`.
    pub fn container(&self, name: &str) -> Maybe<&Container> {
        self.containers.find_named(name, |container| &container.name)
    }

    pub fn tag(&self, key: &str) -> Maybe<&Tag> {
        self.tags.find_named(key, |tag| &tag.key)
    }

    /// Whether it certainly has nothing that ECS refuses in `awsvpc` mode: external instances, properties of the mode `bridge`,
    /// and host ports that differ from the container's.
    pub fn suits_awsvpc(&self) -> bool {
        let has_own_port = |mapping: &PortMapping| match mapping.host_port.value {
            Maybe::Absent | Maybe::Known(0) => false,
            Maybe::Known(port) => mapping.container_port.known() != Some(&port),
            Maybe::Unknown => true,
        };
        let is_external = |item: &Field<Text>| item.may_be("EXTERNAL");
        let is_suitable = |container: &Container| {
            let ports = &container.port_mappings;
            container.lacks_bridge_properties() && ports.is_complete && !ports.items.iter().any(has_own_port)
        };
        self.requires_compatibilities.lacks(is_external) && self.containers.items.iter().all(is_suitable)
    }

    /// The bytes that findings point at if something is missing in the definition itself: its family, if it has one.
    pub fn span(&self) -> Span {
        if self.family.is_absent() { self.place.span } else { self.family.span() }
    }

    /// Whether it certainly runs on Fargate, by its compatibilities, or by the launch type or a capacity provider of a
    /// service.
    pub fn runs_on_fargate(&self) -> bool {
        let is_fargate = |field: &Field<Text>| matches!(field.text(), Some("FARGATE" | "FARGATE_SPOT"));
        let on_service = |service: &ServiceUse| {
            is_fargate(&service.launch_type) || service.capacity_providers.items.iter().any(is_fargate)
        };
        self.requires_compatibilities.items.iter().any(is_fargate) || self.services.iter().any(on_service)
    }
}

/// The proxy configuration of a task. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html>
#[derive(Debug, Clone)]
pub struct ProxyConfiguration {
    /// `APPMESH`, the default and the only value.
    pub kind: Field<Text>,
    /// The name of the proxy's container.
    pub container: Field<Text>,
    pub properties: List<Tag>,
    /// Its place in the file.
    pub place: Place,
}

impl ProxyConfiguration {
    /// A property. It counts as unknown if the key of a property differs from `name` only by case: another rule reports
    /// that.
    pub fn property(&self, name: &str) -> Maybe<&Tag> {
        let is_misspelled =
            |property: &Tag| property.key.text().is_some_and(|key| key.eq_ignore_ascii_case(name) && key != name);
        match self.properties.find_named(name, |property| &property.key) {
            Maybe::Absent if self.properties.items.iter().any(is_misspelled) => Maybe::Unknown,
            Maybe::Absent if self.properties.items.iter().any(|property| property.key.text().is_none()) => {
                Maybe::Unknown
            }
            found => found,
        }
    }

    /// The comma-separated items of a property, if all of them are known.
    pub fn items(&self, name: &str) -> Option<Vec<&str>> {
        let Maybe::Known(property) = self.property(name) else { return None };
        let text = property.value.text()?;
        Some(text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect())
    }

    /// The ports of a property; `None` if one of its items is not a port.
    pub fn ports(&self, name: &str) -> Option<Vec<u16>> {
        self.items(name)?.into_iter().map(|item| item.parse().ok().filter(|port| *port != 0)).collect()
    }
}

/// A service that runs a task definition.
#[derive(Debug, Clone)]
pub struct ServiceUse {
    /// The file that it is from.
    pub file: Arc<SourceFile>,
    /// Its address or logical ID, or its name where it has no other.
    pub name: String,
    /// Its name in ECS.
    pub service_name: Field<Text>,
    /// `TASK_DEFINITION`, `SERVICE` or `NONE`.
    pub propagate_tags: Field<Text>,
    /// `EC2`, `FARGATE`, `EXTERNAL`.
    pub launch_type: Field<Text>,
    /// How a deployment shifts requests: `ROLLING`, `BLUE_GREEN`, `LINEAR` or `CANARY`.
    pub strategy: Field<Text>,
    /// What deploys it: `ECS`, `CODE_DEPLOY` or `EXTERNAL`.
    pub controller: Field<Text>,
    /// Whether `ExecuteCommand` may run programs in its tasks.
    pub execute_command: Field<bool>,
    /// The names of its capacity providers, which it has instead of a launch type.
    pub capacity_providers: List<Field<Text>>,
    /// The tags of the service itself.
    pub tags: List<Tag>,
    pub load_balancers: List<LoadBalancer>,
    /// What else a file says of it; `None` of a service that exists, which ECS has accepted.
    pub settings: Option<ServiceSettings>,
    /// The bytes that findings point at.
    pub place: Place,
}

impl ServiceUse {
    /// With the types of the targets of its load balancers, if they are as many: `None` for one that is not known.
    #[must_use]
    pub(crate) fn with_target_types(mut self, types: Vec<Option<String>>) -> Self {
        let balancers = &mut self.load_balancers.items;
        if balancers.len() == types.len() {
            for (balancer, target_type) in balancers.iter_mut().zip(types) {
                let value = target_type.map_or(Maybe::Unknown, |text| Maybe::Known(Text(text)));
                balancer.target_type = Field { value, place: balancer.place.clone() };
            }
        }
        self
    }
}

/// Settings of a service. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html>
#[derive(Debug, Clone)]
pub struct ServiceSettings {
    /// The cluster of its tasks; absent means the default one.
    pub cluster: Field<Text>,
    /// The network of its tasks with `awsvpc`.
    pub network: Field<Network>,
    /// `REPLICA` or `DAEMON`.
    pub scheduling: Field<Text>,
    /// The percentages of its tasks that run at least and at most while it is deployed.
    pub minimum_percent: Field<u64>,
    pub maximum_percent: Field<u64>,
    /// The role with which ECS registers its tasks at a load balancer.
    pub role: Field<Text>,
    /// The version of Fargate.
    pub platform_version: Field<Text>,
    /// The keys that place tasks on instances, with the places of the rules that they have.
    pub placements: Vec<(&'static str, Place)>,
    /// Where it departs from ECS's API.
    pub departures: Vec<Departure>,
    /// The values that no rule reads.
    pub unread: Vec<Unread>,
}

record! {
    /// The network of a service's tasks.
    pub struct Network {
        /// `ENABLED` or `DISABLED`.
        public_ip: text("assignPublicIp"),
        subnets: words("subnets"),
    }

    /// A load balancer of a service. Source:
    /// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_LoadBalancer.html>
    pub struct LoadBalancer {
        /// The container that gets the requests.
        container: text("containerName"),
        container_port: number("containerPort"),
        /// `ip` or `instance`: what its target group has as targets, if the input declares it.
        target_type: text("targetType"),
    }
}
