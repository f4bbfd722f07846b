//! Exported resources of App Mesh, compared with each other.

use audit::example::Base;

use super::tables::{Mutation, Table, with, without};

pub(super) const TABLES: &[Table] = &[
    Table { bases: &[Base::AppMeshResources], rows: NODES },
    Table { bases: &[Base::AppMeshResources], rows: ROUTES },
    Table { bases: &[Base::AppMeshResources], rows: SERVICES },
];

const NODES: &[Mutation] = &[
    with(
        "[virtualNode orders].virtualNode.spec.backends[0].virtualService.virtualServiceName",
        r#""missing.shop.local""#,
        "appmesh-backend-missing",
    ),
    with("[virtualNode orders].virtualNode.spec.listeners[0].portMapping.port", "9081", "appmesh-health-check")
        .given(&[("[virtualNode orders].virtualNode.spec.listeners[0].healthCheck.port", "9080")]),
    with(
        "[virtualNode orders].virtualNode.spec.listeners[0].portMapping.protocol",
        r#""tcp""#,
        "appmesh-node-protocol",
    ),
    without("[virtualNode orders].virtualNode.spec.serviceDiscovery", "appmesh-service-discovery"),
    with("[virtualNode orders].virtualNode.spec.listeners", "[]", "").given(&[(
        "[virtualNode orders].virtualNode.spec.serviceDiscovery",
        r#"{"dns": {"hostname": "orders.shop.local"}}"#,
    )]),
    // Milliseconds and thresholds; a path only with HTTP, and always with it.
    without("[virtualNode orders].virtualNode.spec.listeners[0].healthCheck.path", "appmesh-health-check"),
    with("[virtualNode orders].virtualNode.spec.listeners[0].healthCheck.protocol", r#""tcp""#, "appmesh-health-check"),
    with("[virtualNode orders].virtualNode.spec.listeners[0].healthCheck.intervalMillis", "5", "appmesh-health-check"),
    with("[virtualNode orders].virtualNode.spec.listeners[0].healthCheck.timeoutMillis", "2", "appmesh-health-check"),
    with(
        "[virtualNode orders].virtualNode.spec.listeners[0].healthCheck.healthyThreshold",
        "1",
        "appmesh-health-check",
    ),
    with(
        "[virtualNode orders].virtualNode.spec.listeners[0].healthCheck.unhealthyThreshold",
        "11",
        "appmesh-health-check",
    ),
    without("[virtualNode orders].virtualNode.spec.listeners[0].healthCheck", ""),
    with("[virtualNode orders].virtualNode.spec.logging.accessLog.file.path", r#""stdout""#, "appmesh-access-log"),
    without("[virtualNode orders].virtualNode.spec.logging", ""),
];

const ROUTES: &[Mutation] = &[
    with(
        "[route all].route.spec.httpRoute.action.weightedTargets[0].virtualNode",
        r#""missing""#,
        "appmesh-route-target-missing",
    ),
    with("[route all].route.spec.httpRoute.action.weightedTargets[0].weight", "0", "appmesh-route-weights"),
    with("[route all].route.spec.httpRoute.action.weightedTargets[0].weight", "101", "appmesh-route-weights"),
    with(
        "[route all].route.spec.httpRoute.action.weightedTargets",
        r#"[{"virtualNode": "orders", "weight": 60}, {"virtualNode": "stock", "weight": 60}]"#,
        "appmesh-route-weights",
    ),
    with("[route all].route.spec.priority", "1001", "appmesh-route-priority"),
    with("[route all].route.spec.priority", "-1", "appmesh-route-priority"),
    with("[route all].route.spec.priority", "0", ""),
    without("[route all].route.spec.priority", ""),
    with("[route all].route.virtualRouterName", r#""missing""#, "appmesh-route-router-missing appmesh-router-routes"),
    with(
        "[route all].route.spec.httpRoute.match.headers",
        r#"[{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}, {"name": "e"}, {"name": "f"}, {"name": "g"}, {"name": "h"}, {"name": "i"}, {"name": "j"}, {"name": "k"}]"#,
        "appmesh-route-headers",
    ),
    with(
        "[virtualRouter orders].virtualRouter.spec.listeners[0].portMapping.protocol",
        r#""tcp""#,
        "appmesh-route-protocol",
    ),
    // An export may lack the routes.
    without("[route all]", ""),
];

const SERVICES: &[Mutation] = &[
    with(
        "[virtualService orders.shop.local].virtualService.spec.provider.virtualRouter.virtualRouterName",
        r#""missing""#,
        "appmesh-provider-missing",
    ),
    with(
        "[virtualService stock.shop.local].virtualService.spec.provider.virtualNode.virtualNodeName",
        r#""missing""#,
        "appmesh-provider-missing",
    ),
    // No provider is valid.
    with("[virtualService stock.shop.local].virtualService.spec", "{}", ""),
    with(
        "[virtualService orders.shop.local].virtualService.virtualServiceName",
        r#""localhost""#,
        "appmesh-virtual-service-name",
    ),
    with(
        "[virtualService orders.shop.local].virtualService.virtualServiceName",
        r#""127.0.0.1""#,
        "appmesh-virtual-service-name",
    ),
    with("[virtualRouter orders].virtualRouter.virtualRouterName", r#""or.ders""#, "appmesh-router-name").given(&[
        ("[route all].route.virtualRouterName", r#""or.ders""#),
        (
            "[virtualService orders.shop.local].virtualService.spec.provider.virtualRouter.virtualRouterName",
            r#""or.ders""#,
        ),
    ]),
];
