//! The rules, by subject.

mod app;
mod app_mesh_envoy;
mod app_mesh_nodes;
mod app_mesh_proxy;
mod app_mesh_routes;
mod app_mesh_settings;
mod app_mesh_values;
mod bare_variables;
mod client_agent;
mod client_configuration;
mod client_script;
mod collisions;
mod configuration;
mod containers;
mod controller;
mod credentials;
mod dataplane;
mod defects;
mod dependencies;
mod deployments;
mod discover;
mod entry_point;
mod essential;
mod execution_role;
mod fargate;
mod fixes;
mod gateway;
mod health_sync;
mod identity;
mod images;
mod keys;
pub(crate) mod live_mesh;
mod login;
mod logs;
mod mesh_init;
mod mesh_ports;
mod modules;
mod permissions;
pub(crate) mod platform;
mod prelude;
mod proxy;
mod proxy_config;
pub(crate) mod references;
mod registration;
mod releases;
mod role_policies;
mod role_trust;
mod roles;
mod secrets;
mod server_lookup;
pub(crate) mod servers;
mod service;
mod service_checks;
mod service_settings;
mod shared_volumes;
mod sidecar_proxy;
mod tags;
mod task_role;
mod tokens;
mod transparent_proxy;
mod units;
mod upstreams;
mod values;

#[cfg(test)]
pub(crate) mod tests;

use super::rule::Rule;

static RULES: &[&Rule] = &[
    &containers::CONSUL_NETWORK_MODE,
    &platform::CONSUL_TASK_PLATFORM,
    &mesh_init::CONSUL_VOLUMES,
    &shared_volumes::CONSUL_SHARED_VOLUME,
    &mesh_init::CONSUL_MESH_INIT_MISSING,
    &images::CONSUL_ECS_IMAGE,
    &entry_point::CONSUL_ECS_ENTRY_POINT,
    &images::CONSUL_CONTROLLER_COMMAND,
    &task_role::CONSUL_CONTROLLER_ROLE,
    &controller::CONSUL_CONTROLLER_SETTINGS,
    &mesh_init::CONSUL_MESH_INIT_COMMAND,
    &mesh_init::CONSUL_MESH_INIT_ESSENTIAL,
    &mesh_init::CONSUL_MESH_INIT_MOUNTS,
    &proxy::CONSUL_PROXY_ORDER,
    &proxy::CONSUL_PROXY_MOUNT,
    &proxy::CONSUL_PROXY_MOUNT_READ_ONLY,
    &proxy::CONSUL_PROXY_OPEN_FILES,
    &proxy::CONSUL_PROXY_OPEN_FILES_DEFAULT,
    &app::CONSUL_APP_ESSENTIAL,
    &app::CONSUL_APP_ORDER,
    &app::CONSUL_APP_SHUTDOWN_DELAY,
    &app::CONSUL_APP_ENTRY_POINT_MOUNT,
    &proxy::CONSUL_HELPER_ESSENTIAL,
    &health_sync::CONSUL_HEALTH_SYNC_MISSING,
    &health_sync::CONSUL_HEALTH_SYNC_NEEDLESS,
    &health_sync::CONSUL_HEALTH_SYNC_COMMAND,
    &health_sync::CONSUL_HEALTH_SYNC_ORDER,
    &health_sync::CONSUL_HEALTH_SYNC_END,
    &health_sync::CONSUL_HEALTH_SYNC_CONFIGURATION,
    &health_sync::CONSUL_HEALTH_SYNC_CONTAINERS,
    &app::CONSUL_HEALTH_UNSYNCED,
    &app::CONSUL_HEALTH_NATIVE_AND_SYNCED,
    &tokens::CONSUL_SERVICE_TOKEN,
    &tokens::CONSUL_TOKEN_SECRET_MANAGED,
    &tokens::CONSUL_SERVICE_SECRET,
    &credentials::CONSUL_CREDENTIAL_IN_PLAIN,
    &credentials::CONSUL_TASK_ROLE,
    &credentials::CONSUL_TASK_ROLE_TAGS,
    &credentials::CONSUL_GATEWAY_KIND_TAG,
    &client_agent::CONSUL_CLIENT_MISSING,
    &client_agent::CONSUL_CLIENT_IMAGE,
    &client_agent::CONSUL_CLIENT_SHELL,
    &client_agent::CONSUL_CLIENT_EXEC,
    &client_script::CONSUL_CLIENT_SCRIPT,
    &client_configuration::CONSUL_CLIENT_CONFIGURATION,
    &servers::CONSUL_HTTP_ADDRESS,
    &client_agent::CONSUL_CLIENT_LEAVE,
    &client_agent::CONSUL_CLIENT_RETRY_JOIN,
    &client_agent::CONSUL_CLIENT_ADVERTISE,
    &client_agent::CONSUL_CLIENT_MOUNTS,
    &client_agent::CONSUL_CLIENT_SECRETS,
    &client_agent::CONSUL_CLIENT_PORTS,
    &client_agent::CONSUL_CLIENT_HTTP_EXPOSED,
    &sidecar_proxy::CONSUL_SIDECAR_PROXY_MISSING,
    &sidecar_proxy::CONSUL_SIDECAR_PROXY_IMAGE,
    &sidecar_proxy::CONSUL_SIDECAR_PROXY_ENTRY_POINT,
    &sidecar_proxy::CONSUL_SIDECAR_PROXY_COMMAND,
    &sidecar_proxy::CONSUL_SIDECAR_PROXY_HEALTH_CHECK,
    &dataplane::CONSUL_DATAPLANE_MISSING,
    &dataplane::CONSUL_DATAPLANE_IMAGE,
    &mesh_init::CONSUL_CONTROL_PLANE_COMMAND,
    &mesh_init::CONSUL_CONTROL_PLANE_HEALTH_CHECK,
    &mesh_init::CONSUL_DATAPLANE_WAITS_FOR_CONTROL_PLANE,
    &dataplane::CONSUL_DATAPLANE_ENTRY_POINT,
    &dataplane::CONSUL_DATAPLANE_COMMAND,
    &dataplane::CONSUL_DATAPLANE_HEALTH_CHECK,
    &transparent_proxy::CONSUL_DATAPLANE_USERS,
    &transparent_proxy::CONSUL_APP_USER,
    &mesh_ports::CONSUL_READINESS_PORT,
    &credentials::CONSUL_LOGIN_OFF,
    &credentials::CONSUL_CA_CERTIFICATES,
    &servers::CONSUL_SERVER_HOSTS,
    &servers::CONSUL_SERVER_PORTS,
    &servers::CONSUL_SERVER_PLAIN,
    &servers::CONSUL_SERVER_NAME,
    &discover::CONSUL_SERVER_DISCOVER,
    &server_lookup::CONSUL_SERVER_LOOKUP,
    &server_lookup::CONSUL_SERVER_TAGS,
    &servers::CONSUL_HCP_SERVERS,
    &servers::CONSUL_LOGIN_META,
    &login::CONSUL_LOGIN_METHOD,
    &login::CONSUL_LOGIN_ENDPOINT,
    &transparent_proxy::CONSUL_TRANSPARENT_PROXY_EXCLUSIONS,
    &transparent_proxy::CONSUL_TRANSPARENT_PROXY_LAUNCH_TYPE,
    &transparent_proxy::CONSUL_TRANSPARENT_PROXY_PRIVILEGES,
    &transparent_proxy::CONSUL_DNS_WITHOUT_TRANSPARENT_PROXY,
    &gateway::CONSUL_GATEWAY_PROXY_ESSENTIAL,
    &gateway::CONSUL_GATEWAY_APP,
    &gateway::CONSUL_GATEWAY_LAN_PORT,
    &gateway::CONSUL_GATEWAY_WAN_ADDRESS,
    &gateway::CONSUL_GATEWAY_FEDERATION_TLS,
    &gateway::CONSUL_GATEWAY_NAMESPACE,
    &configuration::CONSUL_CONFIG_MISSING,
    &configuration::CONSUL_CONFIG_JSON,
    &configuration::CONSUL_CONFIG_SCHEMA,
    &configuration::CONSUL_CONFIG_IGNORED,
    &configuration::CONSUL_CONFIG_NULL,
    &configuration::CONSUL_CONFIG_VERSION,
    &configuration::CONSUL_SERVICE_OR_GATEWAY,
    &service::CONSUL_SERVICE_NAME,
    &service::CONSUL_SERVICE_PORT,
    &service::CONSUL_TENANCY_PAIR,
    &mesh_ports::CONSUL_APP_PORT,
    &mesh_ports::CONSUL_DNS_PORT,
    &upstreams::CONSUL_UPSTREAM_PORT,
    &upstreams::CONSUL_UPSTREAM_NAME,
    &upstreams::CONSUL_UPSTREAM_MISSPELT,
    &images::CONSUL_MIXED_GENERATIONS,
    &images::CONSUL_IMAGE_GENERATION,
    &images::CONSUL_IMAGE_VERSIONS,
    &releases::CONSUL_RELEASE_DEFECT,
    &releases::CONSUL_RELEASE_PAIR,
    &releases::CONSUL_END_OF_SUPPORT,
    &releases::CONSUL_FIPS_TAG,
    &releases::CONSUL_IMAGE_TAG,
    &releases::CONSUL_RELEASE_UNKNOWN,
    &defects::CONSUL_PROXY_SECTION,
    &defects::CONSUL_RESILIENCE_OFF,
    &defects::CONSUL_RESILIENCE_REFUSED,
    &defects::CONSUL_RESTART_POLICY,
    &units::CONSUL_OUTLIER_INTERVAL,
    &tags::CONSUL_MESH_TAG_MISSING,
    &tags::CONSUL_MESH_TAG_ALONE,
    &tags::CONSUL_MESH_TAG_VALUE,
    &identity::CONSUL_TENANCY_TAGS,
    &identity::CONSUL_TENANCY_TAGS_MATCH,
    &identity::CONSUL_SERVICE_NAME_TAG,
    &identity::CONSUL_SERVICE_NAME_CASE,
    &tags::CONSUL_FAMILY_NAME,
    &tags::CONSUL_TAGS_NOT_PROPAGATED,
    &deployments::CONSUL_DEPLOYMENT_STRATEGY,
    &modules::CONSUL_MODULE_ARGUMENTS,
    &registration::CONSUL_REGISTRATION,
    &registration::CONSUL_PROXY_ADDRESS,
    &proxy_config::CONSUL_PROXY_CONFIG,
    &units::CONSUL_DURATION,
    &service_checks::CONSUL_SERVICE_CHECKS,
    &units::CONSUL_TIMEOUT_MILLISECONDS,
    &identity::CONSUL_TASK_ROLE_SHARED,
    &live_mesh::CONSUL_LIVE_UPSTREAM,
    &live_mesh::CONSUL_LIVE_INTENTION,
    &live_mesh::CONSUL_LIVE_PROTOCOL,
    &live_mesh::CONSUL_LIVE_LOGIN,
    &live_mesh::CONSUL_LIVE_IDENTITY,
    &live_mesh::CONSUL_LIVE_RELEASE,
    &app_mesh_proxy::APPMESH_APP_DEPENDENCY,
    &app_mesh_proxy::APPMESH_APP_PORT_MAPPING,
    &app_mesh_proxy::APPMESH_APP_PORTS,
    &app_mesh_proxy::APPMESH_EGRESS_IGNORED_IPS,
    &app_mesh_proxy::APPMESH_EGRESS_IGNORED_PORTS,
    &references::APPMESH_UNDECLARED_REFERENCE,
    &app_mesh_values::APPMESH_VALUE,
    &app_mesh_nodes::APPMESH_END_OF_SERVICE,
    &app_mesh_envoy::APPMESH_ENVOY_ESSENTIAL,
    &app_mesh_envoy::APPMESH_ENVOY_HEALTH_CHECK,
    &app_mesh_envoy::APPMESH_ENVOY_IMAGE,
    &app_mesh_envoy::APPMESH_ENVOY_RESOURCE,
    &app_mesh_envoy::APPMESH_ENVOY_VARIABLE,
    &app_mesh_settings::APPMESH_ENVOY_SETTING,
    &app_mesh_envoy::APPMESH_ENVOY_VERSION,
    &app_mesh_envoy::APPMESH_EXECUTION_ROLE,
    &app_mesh_envoy::APPMESH_GATEWAY_MIXED,
    &app_mesh_proxy::APPMESH_IGNORED_USER,
    &containers::APPMESH_NETWORK_MODE,
    &app_mesh_proxy::APPMESH_PROXY_CONFIGURATION,
    &app_mesh_proxy::APPMESH_PROXY_CONTAINER,
    &app_mesh_proxy::APPMESH_PROXY_PORTS,
    &app_mesh_proxy::APPMESH_PROXY_PROPERTY,
    &app_mesh_proxy::APPMESH_PROXY_TYPE,
    &app_mesh_envoy::APPMESH_TASK_ROLE,
    &app_mesh_envoy::APPMESH_XRAY_DAEMON,
    &app_mesh_envoy::APPMESH_XRAY_TRACING,
    &app_mesh_envoy::APPMESH_XRAY_USER,
    &app_mesh_nodes::APPMESH_ACCESS_LOG,
    &app_mesh_nodes::APPMESH_BACKEND_MISSING,
    &app_mesh_nodes::APPMESH_DEFINITION_RESOURCE,
    &app_mesh_nodes::APPMESH_HEALTH_CHECK,
    &app_mesh_nodes::APPMESH_LISTENER_APP_PORT,
    &app_mesh_nodes::APPMESH_MESH_END_OF_SERVICE,
    &app_mesh_routes::APPMESH_NODE_PROTOCOL,
    &app_mesh_nodes::APPMESH_OTHER_MESH,
    &app_mesh_nodes::APPMESH_PROVIDER_MISSING,
    &app_mesh_routes::APPMESH_ROUTE_PRIORITY_CLASH,
    &app_mesh_routes::APPMESH_ROUTE_PROTOCOL,
    &app_mesh_routes::APPMESH_ROUTE_ROUTER_MISSING,
    &app_mesh_routes::APPMESH_ROUTE_TARGET_MISSING,
    &app_mesh_routes::APPMESH_ROUTE_WEIGHTS,
    &app_mesh_routes::APPMESH_ROUTER_NAME,
    &app_mesh_routes::APPMESH_ROUTER_ROUTES,
    &app_mesh_nodes::APPMESH_SERVICE_DISCOVERY,
    &app_mesh_nodes::APPMESH_VIRTUAL_SERVICE_NAME,
    &identity::ECS_FAMILY_TWICE,
    &platform::ECS_AWSVPC_PROPERTIES,
    &containers::ECS_CONTAINER_NAME_DUPLICATE,
    &containers::ECS_CONTAINER_NAME,
    &dependencies::ECS_DEPENDENCY_CONDITION,
    &dependencies::ECS_DEPENDENCY_CYCLE,
    &dependencies::ECS_DEPENDENCY_ESSENTIAL,
    &dependencies::ECS_DEPENDENCY_HEALTH,
    &dependencies::ECS_DEPENDENCY_UNKNOWN,
    &keys::ECS_DUPLICATE_KEY,
    &fargate::ECS_FARGATE_PROPERTIES,
    &fargate::ECS_FARGATE_SIZE,
    &containers::ECS_HEALTH_CHECK_COMMAND,
    &containers::ECS_HEALTH_CHECK_RANGE,
    &containers::ECS_HOST_PORT,
    &containers::ECS_LOAD_BALANCER_TARGET,
    &logs::ECS_LOG_OPTIONS,
    &collisions::ECS_PORT_TWICE,
    &service_settings::ECS_SERVICE,
    &essential::ECS_ESSENTIAL,
    &secrets::ECS_SECRET_REFERENCE,
    &execution_role::ECS_SECRETS_EXECUTION_ROLE,
    &execution_role::ECS_LOGS_EXECUTION_ROLE,
    &execution_role::ECS_IMAGE_EXECUTION_ROLE,
    &role_trust::ECS_ROLE_TRUST,
    &role_policies::ECS_ROLE_POLICY,
    &task_role::ECS_EXEC_TASK_ROLE,
    &roles::ECS_ROLE_ARN,
    &containers::ECS_SHELL_ENTRY_POINT,
    &dependencies::ECS_START_TIMEOUT_TOO_SHORT,
    &dependencies::ECS_START_TIMEOUT_UNUSED,
    &bare_variables::ECS_SUB_MISSING,
    &dependencies::ECS_TIMEOUT_RANGE,
    &references::ECS_UNDECLARED_REFERENCE,
    &keys::ECS_UNKNOWN_KEY,
    &values::ECS_VALUE,
    &collisions::ECS_VARIABLE_TWICE,
    &collisions::ECS_VOLUME_UNKNOWN,
    &secrets::CONSUL_TOKEN_SECRET_KEY,
    &secrets::CONSUL_TOKEN_SECRET_VERSION,
];

/// All rules, in the order in which users see them.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().copied()
}

/// The rule called `id`.
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.id == id)
}
