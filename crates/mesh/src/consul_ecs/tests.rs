use std::net::Ipv4Addr;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{arn::TaskArn, consul_ecs::names::DATAPLANE, examples, names::InvalidField, tenancy::Tenancy};

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
fn outlier_detection_is_written_only_if_it_is_enabled() {
    let written = |resilience: Value| {
        let service = json!({"port": 9090, "networkResilienceConfig": resilience});
        parse(&json!({"service": service, "proxy": {}})).unwrap().outlier_detection().cloned()
    };
    let settings = json!({"interval": 10_000_000_000_i64, "maxFailures": 5});
    let expected = [("interval".to_owned(), 10_000_000_000), ("maxFailures".to_owned(), 5)];
    assert_eq!(written(json!({"enabled": true, "outlierDetection": settings})), Some(expected.into()));
    for off in [json!({"outlierDetection": settings}), json!({"enabled": false, "outlierDetection": settings})] {
        assert_eq!(written(off.clone()), None, "{off}");
    }
    assert_eq!(written(json!({"enabled": true})), None);
}

#[test]
fn connection_that_the_configuration_excludes_is_not_redirected() {
    let redirects = |transparent_proxy: Value| {
        let config = json!({"service": {"port": 9090}, "proxy": {}, "transparentProxy": transparent_proxy});
        parse(&config).unwrap().redirects([169, 254, 170, 2].into(), 80)
    };
    for redirected in [
        json!(null),
        json!({"enabled": true}),
        json!({"excludeOutboundCIDRs": ["169.254.169.254/32", "169.254.170.0/31", "169.254.170.2/40", "x"]}),
        json!({"excludeOutboundPorts": [443]}),
    ] {
        assert!(redirects(redirected.clone()), "{redirected}");
    }
    for excluded in [
        json!({"enabled": false}),
        json!({"excludeOutboundCIDRs": ["10.0.0.0/8", "169.254.170.2/32"]}),
        json!({"excludeOutboundCIDRs": ["169.254.0.0/16"]}),
        json!({"excludeOutboundCIDRs": ["169.254.170.2"]}),
        json!({"excludeOutboundCIDRs": ["0.0.0.0/0"]}),
        json!({"excludeOutboundPorts": [80]}),
    ] {
        assert!(!redirects(excluded.clone()), "{excluded}");
    }
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

#[test]
fn value_of_the_right_type_is_left_to_consul_ecs() {
    let accepted = json!({
        "healthSyncContainers": ["app", "app"], "service": {"port": 1, "tags": ["a", "a"]},
        "proxy": {
            "expose": {"paths": [{"protocol": ""}]},
            "upstreams": [{"destinationName": "", "localBindPort": 0}]
        }
    });
    assert!(parse(&accepted).is_ok());
}

fn named(json: &str) -> Result<EcsConfig, InvalidField> {
    Configuration::from(json).named().cloned().map_err(Clone::clone)
}

#[test]
fn services_and_gateways_are_distinguished() {
    let service = named(r#"{"service":{"name":"web","port":80},"proxy":{}}"#).unwrap();
    assert_eq!((service.name(), service.gateway_kind()), (Some("web"), None));
    let gateway = named(r#"{"gateway":{"kind":"mesh-gateway","name":"mgw"}}"#).unwrap();
    assert_eq!((gateway.name(), gateway.gateway_kind()), (Some("mgw"), Some(GatewayKind::MeshGateway)));
}

#[test]
fn null_is_treated_as_absent() {
    let nulls = r#"{"service":{"name":null},"gateway":null,"healthSyncContainers":null}"#;
    let service = named(nulls).unwrap();
    assert_eq!((service.name(), service.gateway_kind()), (None, None));
    let gateway = r#"{"service":null,"gateway":{"kind":"api-gateway","name":null},"healthSyncContainers":null}"#;
    assert_eq!(named(gateway).unwrap().gateway_kind(), Some(GatewayKind::ApiGateway));
}

#[test]
fn a_login_that_cannot_be_read_takes_no_name_from_the_task() {
    for login in [r#"{"enabled":null}"#, r#"{"enabled":"true"}"#, r#"{"method":7}"#, r#"{},"consulLogin":{}"#] {
        let config = Configuration::from(format!(r#"{{"service":{{"name":"web"}},"consulLogin":{login}}}"#).as_str());
        assert_eq!(config.named().unwrap().name(), Some("web"), "{login}");
        assert!(!matches!(config.login(), Ok(Some(_))), "{login}");
    }
    let gateway = Configuration::from(r#"{"gateway":{"kind":"new"},"consulLogin":{"enabled":true,"method":"iam"}}"#);
    assert!(gateway.named().is_err());
    assert_eq!(gateway.login().unwrap().unwrap().method(), Some("iam"));
}

#[test]
fn a_broken_configuration_names_the_variable() {
    assert_eq!(named("{").unwrap_err().field(), CONFIG_VARIABLE);
    assert!(named(r#"{"gateway":{"kind":"garden-gate"}}"#).is_err());
}

/// The objects of [`full_service`] and [`full_gateway`] with fields of consul-ecs, as JSON pointers.
const IN_SERVICE: [&str; 10] = [
    "",
    "/service",
    "/service/weights",
    "/proxy",
    "/proxy/meshGateway",
    "/proxy/expose",
    "/proxy/expose/paths/0",
    "/proxy/upstreams/0",
    "/proxy/upstreams/0/meshGateway",
    "/transparentProxy",
];
const IN_GATEWAY: [&str; 5] = ["", "/gateway", "/gateway/lanAddress", "/gateway/wanAddress", "/gateway/proxy"];

/// The error about `config` with the field `key` in the object at `pointer`.
fn with_unknown_field(mut config: Value, pointer: &str, key: &str) -> InvalidField {
    let object = config.pointer_mut(pointer).and_then(Value::as_object_mut).expect("an object");
    object.insert(key.to_owned(), json!("hunter2"));
    parse(&config).unwrap_err()
}

/// `/proxy/upstreams/0` and `x` as `proxy.upstreams[0].x`.
fn path(pointer: &str, key: &str) -> String {
    let path = format!("{pointer}/{key}").replace("/0", "[0]").replace('/', ".");
    format!("{CONFIG_VARIABLE}: {}", path.trim_start_matches('.'))
}

proptest! {
    #[test]
    fn an_unknown_field_is_named_and_its_value_is_not_shown(
        service in proptest::sample::select(&IN_SERVICE[..]),
        gateway in proptest::sample::select(&IN_GATEWAY[..]),
        key in "x[a-z]{0,10}",
    ) {
        for (config, pointer) in [(full_service(), service), (full_gateway(), gateway)] {
            let error = with_unknown_field(config, pointer, &key);
            prop_assert_eq!(error.field(), path(pointer, &key));
            prop_assert!(!error.to_string().contains("hunter2"), "{}", error);
        }
    }

    #[test]
    fn an_unknown_field_cannot_forge_log_lines(key in "x\\PC{0,300}\n") {
        let error = with_unknown_field(full_service(), "/service", &key).to_string();
        prop_assert!(!error.contains('\n'), "{error}");
        prop_assert!(error.chars().count() < 2_000, "{error}");
    }

    #[test]
    fn parsing_never_panics(json in "[{}\\[\\]\",:a-z0-9 ]{0,60}", text in "\\PC{0,60}") {
        for json in [json, text] {
            for registrar in [Registrar::ControlPlane, Registrar::MeshInit] {
                let _ = MeshConfig::parse(&json, registrar);
            }
        }
    }

    /// Every value replaced by another: what is read in full can be registered, or has an invalid name.
    #[test]
    fn any_value_in_any_field_is_read_or_refused(
        pointer in proptest::sample::select(pointers(&full_service())),
        value in proptest::sample::select(vec![
            json!(null), json!(-1), json!("a b"), json!([]), json!({}), json!(1e300),
        ]),
    ) {
        let mut config = full_service();
        if let Some(field) = config.pointer_mut(&pointer) {
            *field = value;
        }
        if let Ok(config) = parse(&config) {
            let _ = config.tenancy(true);
            let _ = registrations(&config, &place(), &Tenancy::Community);
        }
    }
}

/// The pointers to all values in `value`.
fn pointers(value: &Value) -> Vec<String> {
    let below = |step: String, value: &Value| -> Vec<String> {
        pointers(value).into_iter().map(|rest| format!("/{step}{rest}")).collect()
    };
    let mut all = vec![String::new()];
    match value {
        Value::Object(fields) => all.extend(fields.iter().flat_map(|(key, value)| below(key.clone(), value))),
        Value::Array(items) => all.extend(items.iter().enumerate().flat_map(|(i, item)| below(i.to_string(), item))),
        _ => {}
    }
    all
}

#[test]
fn repeated_key_is_refused() {
    for json in [r#"{"service":{"name":"a"},"service":{}}"#, r#"{"service":{"tags":["a"],"tags":["b"]}}"#] {
        let refused = MeshConfig::parse(json, Registrar::MeshInit).expect_err(json);
        assert!(refused.to_string().contains("each key once"), "{refused}");
    }
}

#[test]
fn a_configuration_that_takes_the_memory_of_others_is_refused() {
    let with = |content: Value| json!({ "service": { "port": 80 }, "proxy": { "config": { "list": content } } });
    let nested = |_| (0..100).fold(json!([]), |inner, _| json!([inner]));
    let small_maps = (0..4_000).map(|_| json!({ "a": 1 }));
    for hostile in [vec![json!(0); 10_000], small_maps.collect(), (0..100).map(nested).collect()] {
        let refused = parse(&with(json!(hostile))).unwrap_err();
        assert!(refused.to_string().contains("256 KiB"), "{refused}");
    }
    let upstream =
        |port| json!({ "destinationName": format!("service-{port}"), "localBindPort": port, "datacenter": "dc1" });
    let upstreams: Vec<Value> = (1..=300).map(upstream).collect();
    parse(&json!({ "service": { "port": 80 }, "proxy": { "upstreams": upstreams } })).unwrap();
}
