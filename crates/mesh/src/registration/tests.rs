mod properties;
mod reading;

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::*;
use crate::{arn::TaskArn, definition::DATAPLANE, ecs_config::CONFIG_VARIABLE, examples, program::Registrar};

/// Every object in which consul-ecs has fields of its own, with each of its fields once.
fn full_service() -> Value {
    json!({
        "bootstrapDir": "/consul", "logLevel": "DEBUG", "controller": null,
        "consulLogin": {"enabled": true, "method": "iam", "meta": {"a": "b"}},
        "consulServers": {"hosts": "consul.internal", "anything": 1},
        "healthSyncContainers": ["app"],
        "service": {
            "name": "orders", "port": 9090, "tags": ["v1"], "meta": {"team": "shop"}, "enableTagOverride": true,
            "weights": {"passing": 7, "warning": 2}, "namespace": "shop", "partition": "eu", "checks": [],
            "networkResilienceConfig": {"enabled": true}
        },
        "proxy": {
            "config": {"password": "secret"}, "localServiceAddress": "127.0.0.3", "publicListenerPort": 21000,
            "healthCheckPort": 22100, "meshGateway": {"mode": "none"},
            "expose": {
                "checks": true,
                "paths": [{"listenerPort": 1, "path": "/", "localPathPort": 2, "protocol": "http"}]
            },
            "upstreams": [{
                "destinationType": "service", "destinationNamespace": "n", "destinationPartition": "p",
                "destinationPeer": "peer", "destinationName": "stock", "datacenter": "dc2",
                "localBindAddress": "127.0.0.2", "localBindPort": 9092, "config": {"a": 1},
                "meshGateway": {"mode": "local"}
            }]
        },
        "transparentProxy": {
            "enabled": true, "excludeInboundPorts": [1], "excludeOutboundPorts": [2],
            "excludeOutboundCIDRs": ["10.0.0.0/8"], "excludeUIDs": ["5"], "consulDNS": {"enabled": true}
        }
    })
}

fn full_gateway() -> Value {
    json!({"gateway": {
        "kind": "mesh-gateway", "name": "mgw", "lanAddress": {"address": "10.0.9.9", "port": 8444},
        "wanAddress": {"address": "203.0.113.7", "port": 443}, "tags": ["gw"], "meta": {"zone": "a"}, "namespace": "n",
        "partition": "p", "healthCheckPort": 22100, "proxy": {"config": {"x": "y"}}
    }})
}

fn parse(config: &Value) -> Result<MeshConfig, InvalidField> {
    MeshConfig::parse(&config.to_string(), Registrar::MeshInit)
}

fn place() -> TaskPlace {
    TaskPlace {
        arn: TaskArn::in_cluster(&examples::cluster("prod"), &examples::task_id(1)),
        cluster: examples::cluster("prod"),
        family: "Orders-Family".parse().unwrap(),
        address: Ipv4Addr::new(10, 0, 1, 10),
        zone: Some("us-east-1b".to_owned()),
        region: None,
    }
}

fn registered(config: &Value) -> Vec<Registration> {
    registrations(&parse(config).unwrap(), &place(), &Tenancy::Community).unwrap()
}

#[test]
fn only_mesh_init_has_transparent_proxy_by_default() {
    let is_transparent = |json: &str, registrar| {
        let config = MeshConfig::parse(json, registrar).unwrap();
        let [service, sidecar] = registrations(&config, &place(), &Tenancy::Community).unwrap().try_into().unwrap();
        let is_transparent = sidecar.proxy.unwrap().is_transparent;
        for addresses in [service.tagged_addresses, sidecar.tagged_addresses] {
            assert_eq!(addresses.get("virtual").map(|address| address.port), is_transparent.then_some(9090));
        }
        is_transparent
    };
    let without = r#"{"service":{"port":9090},"proxy":{}}"#;
    assert!(!is_transparent(without, Registrar::ControlPlane));
    assert!(is_transparent(without, Registrar::MeshInit));
    for (fields, expected) in [("{}", true), (r#"{"enabled":null}"#, true), (r#"{"enabled":false}"#, false)] {
        let json = format!(r#"{{"service":{{"port":9090}},"proxy":{{}},"transparentProxy":{fields}}}"#);
        assert_eq!(is_transparent(&json, Registrar::MeshInit), expected, "{fields}");
    }
}

#[test]
fn names_are_configured_or_the_family() {
    let names = |config: Value| -> Vec<String> { registered(&config).into_iter().map(|of| of.name).collect() };
    let family = ["orders-family", "orders-family-sidecar-proxy"];
    assert_eq!(names(json!({"service": {"port": 1, "name": ""}, "proxy": {}})), family);
    assert_eq!(names(json!({"proxy": {}})), family, "consul-ecs reads an absent service as an empty one");
    let both = json!({"service": {"port": 1, "name": "orders"}, "gateway": {"kind": "mesh-gateway"}, "proxy": {}});
    assert_eq!(names(both), ["orders-family"], "a gateway does not have the service's name");
    let invalid = parse(&json!({"service": {"port": 1, "name": "Orders"}, "proxy": {}})).unwrap();
    let error = registrations(&invalid, &place(), &Tenancy::Community).unwrap_err();
    assert_eq!(error.field(), "CONSUL_ECS_CONFIG_JSON: service.name");
    let place = TaskPlace { family: "orders-".parse().unwrap(), ..place() };
    let error = registrations(&parse(&json!({"proxy": {}})).unwrap(), &place, &Tenancy::Community).unwrap_err();
    assert_eq!(error.field(), "family");
}

#[test]
fn a_port_of_zero_is_the_default() {
    let zeros = json!({"proxy": {"publicListenerPort": 0}});
    assert_eq!(registered(&zeros)[1].port, 20_000);
    let zeros = json!({"gateway": {"kind": "mesh-gateway", "lanAddress": {"address": "10.0.9.9", "port": 0}}});
    let gateway = registered(&zeros).remove(0);
    assert_eq!((gateway.port, gateway.tagged_addresses["lan"].port), (8443, 8443));
}

#[test]
fn one_check_for_each_container() {
    let ids = |config: Value| -> Vec<Vec<String>> {
        let checks = registered(&config).into_iter().map(|of| of.checks);
        checks.map(|checks| checks.into_iter().map(|check| check.name + " of " + &check.id).collect()).collect()
    };
    let id = |name: &str, container: &str| format!("{name}-{}-{container}", examples::task_id(1));
    let synced =
        json!({"healthSyncContainers": ["app", DATAPLANE], "service": {"port": 1, "name": "web"}, "proxy": {}});
    assert_eq!(
        ids(synced),
        [
            vec![
                format!("Consul ECS health check synced of {}", id("web", "app")),
                format!("Consul dataplane readiness of {}", id("web", DATAPLANE)),
            ],
            vec![format!("Consul dataplane readiness of web-{}-sidecar-proxy-{DATAPLANE}", examples::task_id(1))],
        ]
    );
    let gateway = json!({"healthSyncContainers": ["app"], "gateway": {"kind": "mesh-gateway", "name": "mgw"}});
    assert_eq!(ids(gateway), [[format!("Consul dataplane readiness of {}", id("mgw", DATAPLANE))]]);
}

#[test]
fn only_services_have_a_locality_and_it_needs_a_region() {
    let of = |config: &Value, region: Option<&str>| -> Vec<Option<Locality>> {
        let place = TaskPlace { region: region.map(str::to_owned), ..place() };
        let registered = registrations(&parse(config).unwrap(), &place, &Tenancy::Community).unwrap();
        registered.into_iter().map(|registration| registration.locality).collect()
    };
    assert_eq!(of(&full_service(), None), [None, None]);
    assert_eq!(of(&full_service(), Some("")), [None, None]);
    let locality = Locality { region: "us-east-1".to_owned(), zone: Some("us-east-1b".to_owned()) };
    assert_eq!(of(&full_service(), Some("us-east-1")), [Some(locality.clone()), Some(locality)]);
    assert_eq!(of(&full_gateway(), Some("us-east-1")), [None]);
}

#[test]
fn only_mesh_gateways_have_the_configured_addresses() {
    for kind in ["mesh-gateway", "api-gateway", "terminating-gateway"] {
        let mut config = full_gateway();
        config["gateway"]["kind"] = json!(kind);
        let gateway = registered(&config).remove(0);
        let seen = (gateway.service_address.as_str(), gateway.port, gateway.tagged_addresses.len());
        let expected = if kind == "mesh-gateway" { ("10.0.9.9", 8444, 2) } else { ("10.0.1.10", 8443, 0) };
        assert_eq!(seen, expected, "{kind}");
    }
}
