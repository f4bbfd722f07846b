//! Exact requests, and the parsing of answers of all versions.

use consul::{CatalogReads as _, CatalogWrites as _, ConsulError, TokenReads as _};
use mesh::{
    catalog::{CheckStatus, DrainReason, HealthCheck},
    identity::MeshService,
    tenancy::Tenancy,
};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::client::{ACCESSOR, CLUSTER, accessor, against, check, enterprise, instance, token_json};
use test_harness::recorder::Answer;

#[tokio::test]
async fn community_edition_requests_have_no_namespace() {
    let (server, consul) = against(|_, _| Answer::ok(token_json())).await;
    let token = consul.token(&Tenancy::Community, accessor()).await.unwrap().unwrap();
    assert_eq!(token.pair.secret.expose_secret(), "s3cret");
    assert_eq!(server.lines(), [format!("GET /v1/acl/token/{ACCESSOR}")]);
    assert_eq!(server.requests()[0].header("x-consul-token"), Some("own"));
}

/// The answers of Consul 1.22.6, and of 1.8.7, which knows neither the kind nor the field.
#[tokio::test]
async fn config_entry_that_consul_does_not_have_is_none() {
    let (_, consul) = against(|seen, _| match seen.uri.as_str() {
        "/v1/config/mesh/mesh" => Answer::status(500, "invalid config entry kind: mesh".to_owned()),
        uri if uri.starts_with("/v1/config/") => {
            Answer::status(404, r#"Config entry not found for "service-defaults" / "web""#.to_owned())
        }
        _ => Answer::ok(token_json()),
    })
    .await;
    let web = MeshService { name: "web".parse().unwrap(), tenancy: Tenancy::Community };
    assert_eq!(consul.mesh_entry(&Tenancy::Community).await.unwrap(), None);
    assert_eq!(consul.outlier_detection(&web).await.unwrap(), None);
}

#[tokio::test]
async fn config_entry_that_may_not_be_read_is_an_error() {
    let (_, consul) = against(|_, _| Answer::status(403, "Permission denied".to_owned())).await;
    let web = MeshService { name: "web".parse().unwrap(), tenancy: Tenancy::Community };
    let denied = consul.outlier_detection(&web).await.unwrap_err();
    assert!(matches!(denied, ConsulError::PermissionDenied { .. }), "{denied}");
}

#[tokio::test]
async fn outlier_detection_is_that_of_all_callers() {
    let entry = json!({
        "Kind": "service-defaults", "Name": "web", "Protocol": "http", "Expose": {}, "MeshGateway": {},
        "UpstreamConfig": {
            "Defaults": { "MeshGateway": {}, "PassiveHealthCheck": { "Interval": 10_000_000_000_u64, "MaxFailures": 1 } },
            "Overrides": [{ "Name": "api", "PassiveHealthCheck": { "MaxFailures": 9 } }],
        },
    });
    let (_, consul) = against(move |_, _| Answer::ok(entry.to_string())).await;
    let web = MeshService { name: "web".parse().unwrap(), tenancy: Tenancy::Community };
    let found = consul.outlier_detection(&web).await.unwrap();
    assert_eq!(json!(found), json!({ "Interval": 10_000_000_000_u64, "MaxFailures": 1 }));
}

#[tokio::test]
async fn a_check_is_written_whole() {
    let (server, consul) = against(|_, _| Answer::ok("true")).await;
    let instance = instance(Tenancy::Community);
    let ailing = HealthCheck {
        status: CheckStatus::Critical,
        notes: "a note".to_owned(),
        output: "ECS health status of container app: UNHEALTHY".to_owned(),
        ..check(Tenancy::Community)
    };
    consul.set_checks(&[ailing.clone(), HealthCheck::maintenance(&instance, DrainReason::Stopping)]).await.unwrap();
    assert_eq!(server.lines(), ["PUT /v1/catalog/register"]);
    assert_eq!(
        server.requests()[0].json(),
        json!({ "Node": CLUSTER, "SkipNodeUpdate": true, "Checks": [{
            "Node": CLUSTER,
            "CheckID": ailing.id,
            "Name": ailing.name,
            "Type": ailing.kind,
            "Notes": "a note",
            "Status": "critical",
            "Output": "ECS health status of container app: UNHEALTHY",
            "ServiceID": instance.id,
            "ServiceName": "web",
        }, {
            "Node": CLUSTER,
            "CheckID": format!("_service_maintenance:{}", instance.id),
            "Name": "Service Maintenance Mode",
            "Type": "maintenance",
            "Notes": "ECS told the task to stop",
            "Status": "critical",
            "Output": "ECS told the task to stop",
            "ServiceID": instance.id,
            "ServiceName": "web",
        }]})
    );
}

#[tokio::test]
async fn a_check_that_another_program_runs_is_read_only_for_a_diagnosis() {
    let answer = |id: &str, definition: Value| {
        json!({
            "Node": CLUSTER, "CheckID": id, "Name": "", "Type": "http", "ServiceID": "web", "ServiceName": "web",
            "Status": "passing", "Definition": definition,
        })
    };
    let checks = json!([answer("esm", json!({ "HTTP": "http://10.0.0.1/" })), answer("app", json!({}))]).to_string();
    let (_server, consul) = against(move |_, _| Answer::ok(checks.clone())).await;
    let read = consul.node_checks(CLUSTER, &Tenancy::Community).await.unwrap();
    assert_eq!(read.iter().map(|check| check.id.as_str()).collect::<Vec<_>>(), ["app"]);
    let read = consul.every_node_check(CLUSTER, &Tenancy::Community).await.unwrap();
    assert_eq!(read.iter().map(|check| check.id.as_str()).collect::<Vec<_>>(), ["esm", "app"]);
}

#[tokio::test]
async fn lists_of_all_versions_are_read() {
    let list = json!([
        { "AccessorID": ACCESSOR, "Description": "old list" },
        { "AccessorID": "", "Description": "legacy" },
        { "AccessorID": "00000000-0000-0000-0000-000000000002", "SecretID": "canary", "Namespace": "shop", "New": {} },
    ])
    .to_string();
    let (_server, consul) = against(move |_, _| Answer::ok(list.clone())).await;
    let tokens = consul.tokens(&enterprise(), &|_| true).await.unwrap().unwrap();
    assert_eq!(tokens.len(), 2);
    assert_eq!(tokens[1].tenancy.namespace().unwrap().as_str(), "shop");
    assert!(!format!("{tokens:?}").contains("canary"));
}

#[tokio::test]
async fn a_listed_token_has_its_auth_method_and_its_grants() {
    // Given the login tokens of a service and a mesh gateway of consul-ecs 0.10, as Consul 1.22 lists them
    let recorded: Value = serde_json::from_str(include_str!("../../recordings/login-tokens.json")).unwrap();
    let of = |case: &str| {
        let mut logins = recorded["logins"].as_array().unwrap().iter();
        logins.find(|login| login["case"] == case).unwrap()["token"].clone()
    };
    // And one with the templated policy behind a service identity, in one datacenter
    let templated = json!({
        "AccessorID": ACCESSOR, "Description": "templated", "Policies": [{ "ID": "1", "Name": "read-all" }],
        "TemplatedPolicies": [
            { "TemplateName": "builtin/service", "TemplateVariables": { "Name": "stock" }, "Datacenters": ["dc2"] },
            { "TemplateName": "builtin/node", "TemplateVariables": { "Name": "a-node" } },
        ],
    });
    let list = json!([of("service"), of("mesh-gateway"), templated]).to_string();
    let (_server, consul) = against(move |_, _| Answer::ok(list.clone())).await;
    let read = consul.tokens(&Tenancy::Community, &|_| true).await;
    let [service, gateway, templated] = read.unwrap().unwrap().try_into().unwrap();
    assert_eq!(service.auth_method.as_deref(), Some("iam-ecs-service-token"));
    assert!(service.is_local && service.grants.has_service("orders", "dc1"));
    assert_eq!(gateway.grants.roles, ["consul-ecs-mesh-gateway-role"]);
    assert!(gateway.grants.has_service("mesh-gw", "dc1"));
    assert_eq!((templated.auth_method, templated.is_local), (None, false));
    assert!(templated.grants.has_service("stock", "dc2") && !templated.grants.has_service("stock", "dc1"));
    assert_eq!((templated.grants.services.len(), templated.grants.policies), (1, vec!["read-all".to_owned()]));
}
