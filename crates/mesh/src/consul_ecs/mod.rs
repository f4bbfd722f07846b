//! What HashiCorp's consul-ecs is: its releases and what differs between them, the roles of its containers, the fields of its
//! configuration, and what it registers in Consul. Everything else asks this module.
//!
//! - `release`: the releases, and which of them have what.
//! - `container`: the role of a container, and the programs of a task definition.
//! - `fields`: the declaration of `CONSUL_ECS_CONFIG_JSON`. `schema`: its types, and the check of a configuration.
//! - `config`: the configuration as the controller reads it. `registration`: what `mesh-init` registers with it. `ids`: the IDs and
//!   names of that.

mod config;
mod container;
mod fields;
mod ids;
mod registration;
mod release;
mod schema;
#[cfg(test)]
mod tests;

pub use self::{
    config::{CONFIG_VARIABLE, Configuration, EcsConfig, MeshConfig, NamedLogin, REGION_VARIABLE},
    container::{
        ContainerTraits, Programs, RegistrarContainer, Role, Subcommand, Words, configures_controller, is_subcommand,
        names,
    },
    fields::*,
    ids::{check_id, instance_id, is_sidecar, service_behind, sidecar_of, task_of},
    registration::{
        InstanceKind, Locality, Proxy, ProxyDestination, Registration, ServiceAddress, TASK_ID_META, TaskPlace,
        registrations, synced_check,
    },
    release::{
        ControllerKind, FIRST_CONSUL_WITH_HYBRID_GROUPS, FIRST_CONSUL_WITH_LOGINS, Feature, Generation, NEWEST,
        NEWEST_CONSUL, Registrar, Releases,
    },
    schema::{ConfigCheck, ConfigFault, ConfigProblem, ConfigTree, FieldValue, Section},
};

/// Ports that a configuration may leave out, or cannot change.
pub mod ports {
    /// The public listener of a sidecar proxy.
    pub const PUBLIC_LISTENER: u16 = 20_000;
    /// A gateway, and each of its addresses.
    pub const GATEWAY: u16 = 8443;
    /// The readiness check of Consul Dataplane.
    pub const READINESS: u16 = 22_000;
    /// Envoy's administration interface.
    pub const ENVOY_ADMIN: u16 = 19_000;
    /// The health check of `control-plane`.
    pub const CONTROL_PLANE: u16 = 10_000;
    /// The listener for requests of the app, with transparent proxy.
    pub const OUTBOUND_LISTENER: u16 = 15_001;
    /// The DNS server of Consul Dataplane, with transparent proxy and Consul DNS.
    pub const DNS: u16 = 8600;
    /// The DNS listeners of Envoy, with transparent proxy and servers of Consul 2.1 that have the feature gate `localized-dns`.
    /// Source: <https://developer.hashicorp.com/consul/docs/connect/proxy/transparent-proxy/localized-dns>
    pub const LOCALIZED_DNS: [u16; 2] = [8653, 8654];
}

// Metadata of services and gateways, which HashiCorp's modules write into the configuration from variables of their own:
// <https://github.com/hashicorp/terraform-aws-consul-ecs/pull/431>. Nothing compares it with the images.
/// The release of consul-ecs.
pub const ECS_VERSION_META: &str = "ecs-version";
/// The release of consul-dataplane.
pub const DATAPLANE_VERSION_META: &str = "dataplane-version";

/// The auth method of services and gateways, which a task uses whose configuration names none.
pub const SERVICE_METHOD: &str = "iam-ecs-service-token";
// Tags of IAM roles. They contain dots, because a binding rule cannot refer to a tag with a slash.
/// The tag of an IAM role with the kind of gateway.
pub const GATEWAY_KIND_ENTITY_TAG: &str = "consul.hashicorp.com.gateway-kind";
/// The tag of an IAM role with the namespace (Enterprise).
pub const NAMESPACE_ENTITY_TAG: &str = "consul.hashicorp.com.namespace";
/// The tag of an IAM role with the name of the service.
pub const SERVICE_NAME_ENTITY_TAG: &str = "consul.hashicorp.com.service-name";

// Tags of tasks and task definitions: <https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference>
/// `true`: the task is in the mesh. A task with any other value, or without the tag, is ignored.
pub const MESH_TAG: &str = "consul.hashicorp.com/mesh";
/// The Consul service that the task is an instance of.
pub const SERVICE_NAME_TAG: &str = "consul.hashicorp.com/service-name";
/// The admin partition (Consul Enterprise).
pub const PARTITION_TAG: &str = "consul.hashicorp.com/partition";
/// The namespace (Consul Enterprise).
pub const NAMESPACE_TAG: &str = "consul.hashicorp.com/namespace";
