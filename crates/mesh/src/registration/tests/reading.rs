//! Which configurations are read, and what errors say of the others.

use super::*;

/// The path that the error names, without the variable.
fn refused(config: &Value, registrar: Registrar) -> String {
    let error = MeshConfig::parse(&config.to_string(), registrar).unwrap_err();
    let prefix = format!("{CONFIG_VARIABLE}: ");
    error.field().strip_prefix(&prefix).unwrap_or_else(|| panic!("{error}")).to_owned()
}

#[test]
fn all_fields_are_known() {
    let config = parse(&full_service()).unwrap();
    assert_eq!(config.synced_containers(), ["app"]);
    let login = config.login().unwrap();
    assert_eq!((login.method.as_str(), login.hosts.as_deref()), ("iam", Some("consul.internal")));
    assert!(!config.is_gateway());
    let config = parse(&full_gateway()).unwrap();
    assert!(config.is_gateway());
    assert!(config.login().is_none());
    assert!(config.synced_containers().is_empty());
}

#[test]
fn secrets_are_not_printed() {
    let config = parse(&full_service()).unwrap();
    let shown = format!("{config:?} {:?}", registrations(&config, &place(), &Tenancy::Community));
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn null_is_absent_where_consul_ecs_says_so() {
    let nulls = json!({
        "consulLogin": null, "healthSyncContainers": null, "logLevel": null, "transparentProxy": null,
        "controller": null,
        "service": {"port": 9090, "name": null, "tags": null, "meta": null, "weights": null, "enableTagOverride": null,
            "namespace": null, "partition": null, "checks": null, "networkResilienceConfig": null},
        "proxy": {"config": null, "localServiceAddress": null, "publicListenerPort": null, "healthCheckPort": null,
            "meshGateway": null, "expose": null, "upstreams": null}
    });
    let absent = json!({"service": {"port": 9090}, "proxy": {}});
    assert_eq!(registered(&nulls), registered(&absent));
    assert_eq!(parse(&nulls).unwrap().tenancy(false), Ok(Tenancy::Community));
    let gateway = json!({"gateway": {"kind": "api-gateway", "name": null, "lanAddress": null, "tags": null,
        "meta": null, "wanAddress": {"address": null, "port": null}, "proxy": null, "namespace": null,
        "partition": null}});
    assert_eq!(registered(&gateway), registered(&json!({"gateway": {"kind": "api-gateway"}})));
    assert_eq!(refused(&json!({"gateway": null}), Registrar::MeshInit), "gateway");
    assert_eq!(refused(&json!({"service": null, "proxy": {}}), Registrar::MeshInit), "service");
    assert_eq!(refused(&json!({"service": {"port": null}, "proxy": {}}), Registrar::MeshInit), "service.port");
}

#[test]
fn a_service_without_proxy_is_refused() {
    assert_eq!(refused(&json!({"service": {"port": 9090}}), Registrar::MeshInit), "proxy");
    assert_eq!(refused(&json!({"service": {"port": 9090}, "proxy": null}), Registrar::MeshInit), "proxy");
    assert_eq!(refused(&json!({}), Registrar::MeshInit), "proxy");
}

#[test]
fn checks_of_client_agents_are_refused() {
    let checks = json!({"service": {"port": 9090, "checks": [{"http": "http://localhost"}]}, "proxy": {}});
    assert_eq!(refused(&checks, Registrar::MeshInit), "service.checks");
}

#[test]
fn control_plane_knows_fewer_fields() {
    let refused = |config: Value| refused(&config, Registrar::ControlPlane);
    assert_eq!(refused(json!({"proxy": {}, "transparentProxy": null})), "transparentProxy");
    let resilient = json!({"proxy": {}, "service": {"port": 1, "networkResilienceConfig": null}});
    assert_eq!(refused(resilient), "service.networkResilienceConfig");
    for kind in ["api-gateway", "terminating-gateway"] {
        assert_eq!(refused(json!({"gateway": {"kind": kind}})), "gateway.kind");
    }
    assert!(MeshConfig::parse(&full_gateway().to_string(), Registrar::ControlPlane).is_ok());
}

#[test]
fn tenancy_is_configured_or_the_default_of_enterprise() {
    let tenancy = |names: &str, is_enterprise| {
        let json = format!(r#"{{"gateway":{{"kind":"mesh-gateway"{names}}}}}"#);
        MeshConfig::parse(&json, Registrar::MeshInit).unwrap().tenancy(is_enterprise)
    };
    let enterprise = |partition: &str, namespace: &str| {
        Ok(Tenancy::Enterprise { partition: partition.parse().unwrap(), namespace: namespace.parse().unwrap() })
    };
    assert_eq!(tenancy("", false), Ok(Tenancy::Community));
    assert_eq!(tenancy(r#","partition":"","namespace":"""#, false), Ok(Tenancy::Community));
    assert_eq!(tenancy("", true), enterprise("default", "default"));
    assert_eq!(tenancy(r#","partition":"eu""#, false), enterprise("eu", "default"));
    assert_eq!(tenancy(r#","namespace":"shop""#, false), enterprise("default", "shop"));
    let error = tenancy(r#","namespace":"a b""#, true).unwrap_err();
    assert_eq!(error.field(), "CONSUL_ECS_CONFIG_JSON: gateway.namespace");
    let service = parse(&full_service()).unwrap().tenancy(false);
    assert_eq!(service, enterprise("eu", "shop"));
}

#[test]
fn a_type_that_is_wrong_is_named_by_its_path() {
    let refused = |config: Value| refused(&config, Registrar::MeshInit);
    assert_eq!(
        refused(json!({"proxy": {"upstreams": [{"destinationName": "a", "localBindPort": 70_000}]}})),
        "proxy.upstreams[0].localBindPort"
    );
    assert_eq!(refused(json!({"service": {"port": 1, "meta": {"a": null}}})), "service.meta.a");
    assert_eq!(refused(json!({"gateway": {"kind": "garden-gate"}})), "gateway.kind");
    let two = MeshConfig::parse(r#"{"proxy":{}} {}"#, Registrar::MeshInit).unwrap_err();
    assert_eq!(two.field(), CONFIG_VARIABLE);
}
