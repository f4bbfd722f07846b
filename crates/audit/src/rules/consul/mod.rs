//! Task definitions of Consul's mesh.

pub(super) mod client;
pub(super) mod configuration;
pub(super) mod dataplane;
pub(super) mod gateway;
pub(super) mod releases;
pub(super) mod tags;
pub(super) mod task;
