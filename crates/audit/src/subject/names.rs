//! The names that the Terraform modules of consul-ecs give the containers.

/// Registers the service, and then stops.
pub const MESH_INIT: &str = "consul-ecs-mesh-init";
/// Registers the service, and keeps running (consul-ecs 0.7).
pub const CONTROL_PLANE: &str = "consul-ecs-control-plane";
/// Copies health from ECS to Consul.
pub const HEALTH_SYNC: &str = "consul-ecs-health-sync";
/// The task's Consul client agent.
pub const CLIENT: &str = "consul-client";
/// Envoy, in the client generation.
pub const SIDECAR_PROXY: &str = "sidecar-proxy";
/// Waits for the task of a Consul server, and then stops (before consul-ecs 0.2).
pub const DISCOVER_SERVERS: &str = "discover-servers";
/// The controller of consul-ecs from 0.7 on.
pub const CONTROLLER: &str = "consul-ecs-controller";
/// The ACL controller of consul-ecs up to 0.6.
pub const ACL_CONTROLLER: &str = "consul-acl-controller";
/// Consul Dataplane, which runs Envoy without a client agent.
pub const DATAPLANE: &str = "consul-dataplane";
