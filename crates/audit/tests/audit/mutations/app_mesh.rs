//! App Mesh on ECS: the proxy configuration, Envoy, X-Ray, virtual gateways.

pub(super) const TABLE: &str = r#"
[AppMesh AppMeshGateway]
// Envoy's credentials, and the private registry.
appmesh-task-role: taskRoleArn = absent
appmesh-execution-role: executionRoleArn = absent
ok: executionRoleArn = absent
  given envoy / image = "public.ecr.aws/appmesh/aws-appmesh-envoy:v1.29.12.1-prod"
ok: requiresCompatibilities = ["EC2"]
appmesh-envoy-version: envoy / image = "840364872350.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.16.1.1-prod"
appmesh-envoy-image: envoy / image = "envoyproxy/envoy:v1.29.0"
// A mirror.
ok: envoy / image = "123456789012.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod"
  or "840364872350.dkr.ecr.eu-west-3.amazonaws.com/aws-appmesh-envoy:v1.29.12.1-prod"
  or "public.ecr.aws/appmesh/aws-appmesh-envoy:v1.29.12.1-prod"
ecs-health-check-range: envoy / healthCheck.interval = 4 301
ecs-health-check-range: envoy / healthCheck.timeout = 1 61
ecs-health-check-range: envoy / healthCheck.retries = 0 11
ecs-health-check-range: envoy / healthCheck.startPeriod = 301
ok: envoy / healthCheck.startPeriod = absent
appmesh-envoy-resource: envoy / environment[APPMESH_RESOURCE_ARN] = absent
appmesh-envoy-resource: envoy / environment[APPMESH_RESOURCE_ARN].value = "orders" "mesh/shop"
  or "mesh/shop/virtualRouter/orders"

[AppMesh]
appmesh-network-mode: networkMode = absent "bridge"
appmesh-proxy-configuration: proxyConfiguration = absent
appmesh-proxy-type: proxyConfiguration.type = "ENVOY"
ok: proxyConfiguration.type, envoy / essential, orders / portMappings, orders / portMappings[0].protocol = absent
ok: xray-daemon / portMappings = absent
appmesh-proxy-container: proxyConfiguration.containerName = "proxy" "orders"
appmesh-envoy-essential: envoy / essential = false
ok: envoy / environment[APPMESH_RESOURCE_ARN].value = "arn:aws:appmesh:us-east-1:123456789012:mesh/shop/virtualNode/orders"
// Before v1.15, only the old variable is read.
ok: envoy / environment[APPMESH_RESOURCE_ARN].name = "APPMESH_VIRTUAL_NODE_NAME"
appmesh-envoy-resource: envoy / environment[APPMESH_RESOURCE_ARN].name = "APPMESH_RESOURCE" "APPMESH_RESOURCE_NAME"
appmesh-envoy-variable: envoy / image = "840364872350.dkr.ecr.us-east-1.amazonaws.com/aws-appmesh-envoy:v1.12.2.1-prod"
// The definition of App Mesh's guide, which is only outdated.
appmesh-envoy-version: envoy / image = "840364872350.dkr.ecr.us-west-2.amazonaws.com/aws-appmesh-envoy:v1.11.2.0-prod"
  given envoy / environment[APPMESH_RESOURCE_ARN].name = "APPMESH_VIRTUAL_NODE_NAME"
ok: envoy / environmentFiles = [{"type": "s3", "value": "arn:aws:s3:::b/f.env"}]
  given envoy / environment = [{"name": "ENABLE_ENVOY_XRAY_TRACING", "value": "1"}]
// An app may wait for Envoy indirectly.
ok: worker / = {"name": "worker", "image": "example/worker:1", "dependsOn": [{"containerName": "orders", "condition": "START"}]}
appmesh-ignored-user: proxyConfiguration.properties[IgnoredUID] = absent
ok: proxyConfiguration.properties[IgnoredUID] = absent
  given proxyConfiguration.properties[IgnoredGID] = {"name": "IgnoredGID", "value": "1337"}
  given envoy / user = "1337:1337"
  given xray-daemon / user = "1337:1337"
appmesh-ignored-user: proxyConfiguration.properties[IgnoredUID].value = "1338" "envoy"
appmesh-ignored-user: envoy / user = absent "0" "1338"
appmesh-proxy-ports: proxyConfiguration.properties[ProxyIngressPort] = absent
appmesh-proxy-ports: proxyConfiguration.properties[ProxyEgressPort] = absent
appmesh-proxy-ports: proxyConfiguration.properties[ProxyIngressPort].value = "15001" ""
appmesh-proxy-ports: proxyConfiguration.properties[ProxyEgressPort].value = "15000"
appmesh-app-ports: proxyConfiguration.properties[AppPorts] = absent
appmesh-app-ports: proxyConfiguration.properties[AppPorts].value = "" "http" "70000"
appmesh-app-port-mapping: proxyConfiguration.properties[AppPorts].value = "9081" "9080,9081"
// Envoy listens there itself.
appmesh-app-ports: proxyConfiguration.properties[AppPorts].value = "9901"
  given orders / portMappings = [{"containerPort": 9901}]
appmesh-envoy-setting: envoy / environment[ENVOY_LOG_LEVEL] = {"name": "ENVOY_LOG_LEVEL", "value": "verbose"}
  or {"name": "ENVOY_LOG_LEVEL", "value": "INFO"}
ok: envoy / environment[ENVOY_LOG_LEVEL] = {"name": "ENVOY_LOG_LEVEL", "value": "debug"}
appmesh-envoy-health-check appmesh-envoy-setting: envoy / environment[ENVOY_ADMIN_ACCESS_PORT] = {"name": "ENVOY_ADMIN_ACCESS_PORT", "value": "admin"}
appmesh-egress-ignored-ips: proxyConfiguration.properties[EgressIgnoredIPs] = absent
appmesh-egress-ignored-ips: proxyConfiguration.properties[EgressIgnoredIPs].value = "169.254.170.2" "169.254.169.254"
ok: proxyConfiguration.properties[EgressIgnoredIPs].value = "169.254.169.254, 169.254.170.2"
ok: proxyConfiguration.properties[EgressIgnoredPorts] = {"name": "EgressIgnoredPorts", "value": "22,3306"}
appmesh-egress-ignored-ports: proxyConfiguration.properties[EgressIgnoredPorts] = {"name": "EgressIgnoredPorts", "value": "ssh"}
appmesh-proxy-property: proxyConfiguration.properties[IgnoredPorts] = {"name": "IgnoredPorts", "value": "22"}
// No container waits for a gateway's Envoy.
appmesh-envoy-health-check: envoy / healthCheck = absent
appmesh-envoy-resource appmesh-xray-tracing: envoy / environment = absent
appmesh-app-dependency: orders / dependsOn = absent
appmesh-app-dependency: orders / dependsOn[envoy].condition = "START" "COMPLETE"
// In awsvpc mode, a port is reachable without a mapping.
appmesh-app-port-mapping: orders / portMappings[0].containerPort = 9081
  given orders / portMappings[0].hostPort = 9081
appmesh-app-port-mapping: orders / portMappings = [{"containerPortRange": "9081-9090"}]
ok: orders / portMappings = [{"containerPortRange": "9075-9085"}]
appmesh-xray-daemon: xray-daemon / = absent
appmesh-xray-tracing: envoy / environment[ENABLE_ENVOY_XRAY_TRACING] = absent
appmesh-xray-tracing: envoy / environment[ENABLE_ENVOY_XRAY_TRACING].value = "0"
appmesh-xray-user: xray-daemon / user = absent "0"

[AppMeshGateway]
// There are only Envoy and no proxy configuration.
appmesh-gateway-mixed: containerDefinitions[app] = {"name": "app", "image": "example/app:1", "portMappings": [{"containerPort": 80}]}
  or {"name": "app", "image": "example/app:1", "portMappings": [{"containerPortRange": "9000-9010"}]}
ok: containerDefinitions[app] = {"name": "app", "image": "example/app:1", "portMappings": [{"containerPortRange": "8000-8010", "protocol": "udp"}]}
appmesh-gateway-mixed: proxyConfiguration = {"type": "APPMESH", "containerName": "envoy", "properties": [{"name": "IgnoredUID", "value": "1337"}, {"name": "ProxyIngressPort", "value": "15000"}, {"name": "ProxyEgressPort", "value": "15001"}, {"name": "AppPorts", "value": "8080"}, {"name": "EgressIgnoredIPs", "value": "169.254.170.2,169.254.169.254"}]}
appmesh-proxy-configuration: envoy / environment[APPMESH_RESOURCE_ARN].value = "mesh/shop/virtualNode/ingress"
"#;
