//! Exported resources of App Mesh, compared with each other.

pub(super) const TABLE: &str = r#"
[AppMeshResources]
appmesh-backend-missing: [virtualNode orders].virtualNode.spec.backends[0].virtualService.virtualServiceName = "missing.shop.local"
appmesh-health-check: [virtualNode orders].virtualNode.spec.listeners[0].portMapping.port = 9081
  given [virtualNode orders].virtualNode.spec.listeners[0].healthCheck.port = 9080
appmesh-node-protocol: [virtualNode orders].virtualNode.spec.listeners[0].portMapping.protocol = "tcp"
// Values that App Mesh refuses, and similar ones that it accepts.
appmesh-value: [virtualNode orders].virtualNode.spec.listeners[0].timeout = {"http": {"perRequest": {"unit": "sec", "value": 5}}}
  or {"http2": {"perRequest": {"unit": "s", "value": 5}}}
ok: [virtualNode orders].virtualNode.spec.listeners[0].timeout = {"http": {"perRequest": {"unit": "s", "value": 5}}}
  or {"http": {"idle": {"unit": "ms", "value": 500}}}
appmesh-value: [virtualNode orders].virtualNode.spec.listeners[0].tls = {"mode": "ENABLED", "certificate": {"acm": {"certificateArn": "arn"}}}
  or {"mode": "STRICT"}
  or {"mode": "STRICT", "certificate": {"acm": {"certificateArn": "arn"}, "file": {"certificateChain": "/a", "privateKey": "/b"}}}
ok: [virtualNode orders].virtualNode.spec.listeners[0].tls = {"mode": "STRICT", "certificate": {"acm": {"certificateArn": "arn"}}}
// The TLS of another listener does not matter.
appmesh-value: [virtualNode orders].virtualNode.spec.listeners = [{"portMapping": {"port": 9080, "protocol": "http"}, "tls": {"mode": "DISABLED"}}, {"portMapping": {"port": 9443, "protocol": "http"}, "tls": {"mode": "STRICT"}}]
ok: [virtualNode orders].virtualNode.spec.listeners = [{"portMapping": {"port": 9080, "protocol": "http"}, "tls": {"mode": "STRICT", "certificate": {"acm": {"certificateArn": "arn"}}}}, {"portMapping": {"port": 9443, "protocol": "http"}, "tls": {"mode": "DISABLED"}}]
ok: [virtualNode orders].virtualNode.spec.backendDefaults = {"clientPolicy": {"tls": {"enforce": true, "validation": {"trust": {"file": {"certificateChain": "/a"}}}}}}
appmesh-value: [virtualNode orders].virtualNode.spec.listeners[0].outlierDetection = {"maxEjectionPercent": 101, "maxServerErrors": 5, "interval": {"unit": "s", "value": 10}, "baseEjectionDuration": {"unit": "s", "value": 10}}
  or {"maxEjectionPercent": 100, "maxServerErrors": 5, "interval": {"unit": "s", "value": 10}}
ok: [virtualNode orders].virtualNode.spec.listeners[0].outlierDetection = {"maxEjectionPercent": 100, "maxServerErrors": 5, "interval": {"unit": "s", "value": 10}, "baseEjectionDuration": {"unit": "s", "value": 10}}
appmesh-value: [route all].route.spec.httpRoute.retryPolicy = {"maxRetries": 2}
  or {"maxRetries": 2, "perRetryTimeout": {"unit": "s", "value": 2}, "httpRetryEvents": ["server-errors"]}
ok: [route all].route.spec.httpRoute.retryPolicy = {"maxRetries": 2, "perRetryTimeout": {"unit": "s", "value": 2}, "httpRetryEvents": ["server-error"]}
appmesh-value: [route all].route.spec.httpRoute.match.prefix = "orders"
ok: [route all].route.spec.httpRoute.match.prefix = "/orders"
appmesh-value: [virtualService stock.shop.local].virtualService.spec.provider.virtualRouter = {"virtualRouterName": "orders"}
// Keys, required keys, ranges and unions.
appmesh-value: [virtualNode orders].virtualNode.spec.listeners[0].timeout = {"http": {"idle": {"unit": "s"}}}
  or {"http": {"idle": {"unit": "s", "value": -1}}} {"http": {"idel": {"unit": "s", "value": 60}}} {"http": 60}
appmesh-value: [virtualNode orders].virtualNode.spec.listeners[0].connectionPool = {"http": {"maxConnections": 0}} {"http": {"maxPendingRequests": 10}}
ok: [virtualNode orders].virtualNode.spec.listeners[0].connectionPool = {"http": {"maxConnections": 1}}
appmesh-value: [virtualNode orders].virtualNode.spec.listenrs = [{"portMapping": {"port": 80, "protocol": "http"}}]
appmesh-value: [virtualNode orders].virtualNode.spec.serviceDiscovery = {"awsCloudMap": {"namespaceName": "shop.local"}}
  or {"awsCloudMap": {"namespaceName": "shop.local", "serviceName": "orders"}, "dns": {"hostname": "orders.shop.local"}}
ok: [virtualNode orders].virtualNode.spec.serviceDiscovery = {"awsCloudMap": {"namespaceName": "shop.local", "serviceName": "orders"}}
appmesh-value: [route all].route.spec.httpRoute.action.weightedTargets[0].weight = "all"
appmesh-value: [route all].route.spec.httpRoute.match.method = "get" "LIST"
ok: [route all].route.spec.httpRoute.match.method = "GET"
appmesh-value: [route all].route.spec.httpRoute.action.weightedTargets = []
appmesh-service-discovery: [virtualNode orders].virtualNode.spec.serviceDiscovery = absent
ok: [virtualNode orders].virtualNode.spec.listeners = []
  given [virtualNode orders].virtualNode.spec.serviceDiscovery = {"dns": {"hostname": "orders.shop.local"}}
// Milliseconds and thresholds; a path only with HTTP, and always with it.
appmesh-health-check: [virtualNode orders].virtualNode.spec.listeners[0].healthCheck.path = absent
appmesh-health-check: [virtualNode orders].virtualNode.spec.listeners[0].healthCheck.protocol = "tcp"
appmesh-value: [virtualNode orders].virtualNode.spec.listeners[0].healthCheck.intervalMillis = 5
appmesh-value: [virtualNode orders].virtualNode.spec.listeners[0].healthCheck.timeoutMillis = 2
appmesh-value: [virtualNode orders].virtualNode.spec.listeners[0].healthCheck.healthyThreshold = 1
appmesh-value: [virtualNode orders].virtualNode.spec.listeners[0].healthCheck.unhealthyThreshold = 11
ok: [virtualNode orders].virtualNode.spec.listeners[0].healthCheck = absent
ok: [virtualNode orders].virtualNode.spec.logging, [route all] = absent
// The inputs of `aws appmesh create-…` may have a token.
ok: [route all].route.clientToken = "abc"
appmesh-access-log: [virtualNode orders].virtualNode.spec.logging.accessLog.file.path = "stdout"
appmesh-route-target-missing: [route all].route.spec.httpRoute.action.weightedTargets[0].virtualNode = "missing"
appmesh-route-weights: [route all].route.spec.httpRoute.action.weightedTargets[0].weight = 0 101
appmesh-route-weights: [route all].route.spec.httpRoute.action.weightedTargets = [{"virtualNode": "orders", "weight": 60}, {"virtualNode": "stock", "weight": 60}]
appmesh-value: [route all].route.spec.priority = 1001 -1
ok: [route all].route.spec.priority = absent 0
appmesh-route-router-missing appmesh-router-routes: [route all].route.virtualRouterName = "missing"
appmesh-value: [route all].route.spec.httpRoute.match.headers = [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}, {"name": "e"}, {"name": "f"}, {"name": "g"}, {"name": "h"}, {"name": "i"}, {"name": "j"}, {"name": "k"}]
appmesh-route-protocol: [virtualRouter orders].virtualRouter.spec.listeners[0].portMapping.protocol = "tcp"
// An export may lack the routes.
appmesh-provider-missing: [virtualService orders.shop.local].virtualService.spec.provider.virtualRouter.virtualRouterName = "missing"
appmesh-provider-missing: [virtualService stock.shop.local].virtualService.spec.provider.virtualNode.virtualNodeName = "missing"
// No provider is valid.
ok: [virtualService stock.shop.local].virtualService.spec = {}
appmesh-virtual-service-name: [virtualService orders.shop.local].virtualService.virtualServiceName = "localhost"
  or "127.0.0.1"
appmesh-router-name: [virtualRouter orders].virtualRouter.virtualRouterName = "or.ders"
  given [route all].route.virtualRouterName = "or.ders"
  given [virtualService orders.shop.local].virtualService.spec.provider.virtualRouter.virtualRouterName = "or.ders"
"#;
