//! The pages of documentation that several rules are based on.

pub(super) const APP_MESH_ENVOY_IMAGE: &str = "https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy.html";
pub(super) const APP_MESH_ENVOY_VARIABLES: &str =
    "https://docs.aws.amazon.com/app-mesh/latest/userguide/envoy-config.html";
pub(super) const APP_MESH_GATEWAY_ROUTES: &str =
    "https://docs.aws.amazon.com/app-mesh/latest/userguide/gateway-routes.html";
pub(super) const APP_MESH_MIGRATION: &str =
    "https://aws.amazon.com/blogs/containers/migrating-from-aws-app-mesh-to-amazon-ecs-service-connect/";
pub(super) const APP_MESH_ON_ECS: &str =
    "https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html";
pub(super) const APP_MESH_ROUTES: &str = "https://docs.aws.amazon.com/app-mesh/latest/userguide/routes.html";
pub(super) const APP_MESH_VIRTUAL_NODES: &str =
    "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_nodes.html";
pub(super) const APP_MESH_VIRTUAL_ROUTERS: &str =
    "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_routers.html";
pub(super) const APP_MESH_VIRTUAL_SERVICES: &str =
    "https://docs.aws.amazon.com/app-mesh/latest/userguide/virtual_services.html";
pub(super) const CONSUL_AGENT_CONFIGURATION: &str =
    "https://developer.hashicorp.com/consul/docs/agent/config/config-files";
pub(super) const CONSUL_ARCHITECTURE: &str = "https://developer.hashicorp.com/consul/docs/ecs/architecture";
pub(super) const CONSUL_AWS_IAM_AUTH_METHOD: &str =
    "https://developer.hashicorp.com/consul/docs/security/acl/auth-methods/aws-iam";
pub(super) const CONSUL_CLIENT_ARCHITECTURE: &str =
    "https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/architecture";
pub(super) const CONSUL_CLIENT_INSTALL: &str = "https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/manual/install";
pub(super) const CONSUL_CLIENT_SECURITY: &str =
    "https://developer.hashicorp.com/consul/docs/v1.11.x/ecs/manual/secure-configuration";
pub(super) const CONSUL_CONFIGURATION: &str = "https://developer.hashicorp.com/consul/docs/reference/ecs";
pub(super) const CONSUL_CONFIGURATION_REFERENCE: &str =
    "https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference";
pub(super) const CONSUL_ECS_CHANGELOG: &str = "https://github.com/hashicorp/consul-ecs/blob/main/CHANGELOG.md";
pub(super) const CONSUL_ECS_ENTERPRISE: &str = "https://developer.hashicorp.com/consul/docs/ecs/enterprise";
pub(super) const CONSUL_ON_ECS: &str = "https://developer.hashicorp.com/consul/docs/ecs";
pub(super) const CONSUL_SERVER_JSON: &str = "https://developer.hashicorp.com/consul/docs/reference/ecs/server-json";
pub(super) const CONSUL_TECH_SPECS: &str = "https://developer.hashicorp.com/consul/docs/ecs/tech-specs";
pub(super) const CONSUL_UPGRADE_TO_DATAPLANE: &str =
    "https://developer.hashicorp.com/consul/docs/ecs/upgrade-to-dataplanes";
pub(super) const CONSUL_WAN_FEDERATION: &str =
    "https://developer.hashicorp.com/consul/docs/connect/gateways/mesh-gateway/wan-federation-via-mesh-gateways";
pub(super) const ECS_AWSVPC: &str =
    "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-networking-awsvpc.html";
pub(super) const ECS_CAPABILITIES: &str =
    "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_KernelCapabilities.html";
pub(super) const ECS_CONTAINER: &str =
    "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html";
pub(super) const ECS_DEPENDENCY: &str =
    "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html";
pub(super) const ECS_EXECUTION_ROLE: &str =
    "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_execution_IAM_role.html";
pub(super) const ECS_HEALTH_CHECK: &str =
    "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html";
pub(super) const ECS_NETWORKING: &str =
    "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-networking.html";
pub(super) const ECS_PROXY_CONFIGURATION: &str =
    "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html";
pub(super) const ECS_SECRETS_MANAGER: &str =
    "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/secrets-envvar-secrets-manager.html";
pub(super) const ECS_SENSITIVE_DATA: &str =
    "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/specifying-sensitive-data.html";
pub(super) const ECS_TAGS: &str = "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-using-tags.html";
pub(super) const ECS_TASK_ROLE: &str =
    "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html";
pub(super) const ECS_ULIMIT: &str = "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Ulimit.html";
pub(super) const TERRAFORM_CHANGELOG: &str =
    "https://github.com/hashicorp/terraform-aws-consul-ecs/blob/main/CHANGELOG.md";
pub(super) const XRAY_ON_ECS: &str = "https://docs.aws.amazon.com/xray/latest/devguide/xray-daemon-ecs.html";
