//! The names that the Terraform modules of consul-ecs give the containers.

/// Registers the service, and ends.
pub const MESH_INIT: &str = "consul-ecs-mesh-init";
/// The same, and stays (consul-ecs 0.7).
pub const CONTROL_PLANE: &str = "consul-ecs-control-plane";
/// Copies health from ECS to Consul.
pub const HEALTH_SYNC: &str = "consul-ecs-health-sync";
/// The task's Consul client agent.
pub const CLIENT: &str = "consul-client";
/// Envoy, with a client agent.
pub const SIDECAR_PROXY: &str = "sidecar-proxy";
/// Waits for the Consul server's own task, and ends (before consul-ecs 0.2).
pub const DISCOVER_SERVERS: &str = "discover-servers";
/// Envoy, without one.
pub const DATAPLANE: &str = "consul-dataplane";
