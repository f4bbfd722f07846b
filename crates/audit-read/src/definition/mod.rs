//! Task definitions as the rules read them: every value is known, absent, or unknown until deployment, and has a place.

mod container;
mod dialect;
mod field;
mod policy;
mod read;
mod task;

pub(crate) use self::policy::{allowed, grants_no_lookup};
pub use self::{
    container::{
        Container, DEFAULT_STOP_TIMEOUT, Dependency, HealthCheck, MountPoint, PortMapping, RestartPolicy, Secret,
        Ulimit, Variable,
    },
    dialect::Dialect,
    field::{Field, List, Maybe, Text},
    read::{Mismatch, iam_role, service_use},
    task::{IamRole, LoadBalancer, ModuleCall, ProxyConfiguration, ServiceUse, Tag, TaskDefinition},
};
