//! Task definitions as the rules read them: every value is known, absent, or unknown until deployment, and has a place.

pub mod api;
mod bare_variable;
mod container;
mod dialect;
mod field;
mod order;
mod read;
mod reader;
mod role;
mod tag;
mod task;
mod undeclared;
mod volume;

pub(crate) use self::undeclared::{DECLARE, forget_excerpts};
pub use self::{
    bare_variable::BareVariable,
    container::{
        Container, ContainerHealthCheck, DEFAULT_STOP_TIMEOUT, Dependency, LogOption, MountPoint, PortMapping,
        RestartPolicy, Secret, Ulimit, Variable,
    },
    dialect::Dialect,
    field::{Field, List, Maybe, Text},
    order::{After, Before, Order},
    read::service_use,
    reader::Mismatch,
    role::{IamRole, PolicyDocument, Statement},
    tag::Tag,
    task::{
        Argument, HashiCorpModule, LoadBalancer, LostTag, ModuleCall, Network, ProxyConfiguration, Refusal,
        ServiceSettings, ServiceUse, TaskDefinition,
    },
    undeclared::Undeclared,
    volume::{FileSystem, Volume},
};
