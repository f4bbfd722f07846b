//! Task definitions as the rules read them: every value is known, absent, or unknown until deployment, and has a place.

mod container;
mod dialect;
mod field;
mod proxy;
mod read;
mod reader;
mod service;
mod tag;
mod task;

pub use self::read::service_use;
pub use self::{
    container::{
        Container, DEFAULT_STOP_TIMEOUT, Dependency, HealthCheck, MountPoint, PortMapping, RestartPolicy, Secret,
        Ulimit, Variable,
    },
    dialect::Dialect,
    field::{Field, List, Maybe, Text},
    proxy::ProxyConfiguration,
    reader::Mismatch,
    service::ServiceUse,
    tag::Tag,
    task::TaskDefinition,
};
