//! Every combination that the documentation calls invalid.

use audit::example::Base;
use serde_json::Value;

use crate::{
    mutations::with,
    reading::{findings, ids},
};

/// The findings of a correct definition with these changes.
fn found(base: Base, changes: &[(&'static str, &'static str)]) -> Vec<&'static str> {
    let [first @ .., last] = changes else { return Vec::new() };
    let broken: Value = with(last.0, last.1, "").given(first.to_vec().leak()).broken(base);
    ids(&findings(&broken))
}

const ON_EC2: [(&str, &str); 4] = [
    ("requiresCompatibilities", r#"["EC2"]"#),
    ("consul-ecs-mesh-init / user", r#""0""#),
    ("consul-ecs-mesh-init / linuxParameters.capabilities", r#"{"add": ["NET_ADMIN"]}"#),
    ("config.transparentProxy.enabled", "true"),
];

#[test]
fn the_public_listener_s_port_is_the_readiness_port() {
    for base in [Base::Dataplane, Base::ControlPlane] {
        assert_eq!(found(base, &[("config.proxy.publicListenerPort", "22000")]), ["consul-readiness-port"]);
    }
    let gateway = [
        ("consul-dataplane / portMappings[0].containerPort", "22000"),
        ("consul-dataplane / portMappings[0].hostPort", "22000"),
        ("config.gateway.lanAddress.port", "22000"),
    ];
    assert_eq!(found(Base::MeshGateway, &gateway), ["consul-readiness-port"]);
}

#[test]
fn a_partition_or_a_namespace_alone() {
    for key in ["config.service.partition", "config.service.namespace"] {
        assert_eq!(found(Base::Dataplane, &[(key, r#""default""#)]), ["consul-tenancy-pair"]);
    }
    assert_eq!(found(Base::MeshGateway, &[("config.gateway.partition", r#""default""#)]), ["consul-tenancy-pair"]);
    for (key, tag) in [
        ("tags[consul.hashicorp.com/partition]", r#"{"key": "consul.hashicorp.com/partition", "value": "default"}"#),
        ("tags[consul.hashicorp.com/namespace]", r#"{"key": "consul.hashicorp.com/namespace", "value": "default"}"#),
    ] {
        assert_eq!(found(Base::Dataplane, &[(key, tag)]), ["consul-tenancy-tags"]);
    }
}

#[test]
fn transparent_proxy_on_anything_but_ec2() {
    assert_eq!(found(Base::Dataplane, &ON_EC2), [""; 0]);
    for launch_types in [r#"["FARGATE"]"#, r#"["EXTERNAL"]"#, r#"["EC2", "FARGATE"]"#] {
        let elsewhere = [&ON_EC2[..], &[("requiresCompatibilities", launch_types)]].concat();
        assert_eq!(found(Base::Dataplane, &elsewhere), ["consul-transparent-proxy-launch-type"], "{launch_types}");
    }
}

#[test]
fn transparent_proxy_without_root_or_net_admin() {
    for (key, value) in [
        ("consul-ecs-mesh-init / user", r#""1000""#),
        ("consul-ecs-mesh-init / linuxParameters.capabilities", r#"{"add": ["SYS_PTRACE"]}"#),
    ] {
        let without = [&ON_EC2[..], &[(key, value)]].concat();
        assert_eq!(found(Base::Dataplane, &without), ["consul-transparent-proxy-privileges"], "{key}");
    }
}

#[test]
fn consul_dns_without_transparent_proxy() {
    let dns = ("config.transparentProxy.consulDNS", r#"{"enabled": true}"#);
    assert_eq!(found(Base::Dataplane, &[dns]), ["consul-dns-without-transparent-proxy"]);
    assert_eq!(found(Base::Dataplane, &[&ON_EC2[..], &[dns]].concat()), [""; 0]);
}

#[test]
fn port_zero_of_a_service_that_listens() {
    assert_eq!(found(Base::Dataplane, &[("config.service.port", "0")]), ["consul-service-port"]);
    let outbound_only = [("web / portMappings", "[]"), ("config.service.port", "0")];
    assert_eq!(found(Base::Dataplane, &outbound_only), [""; 0]);
}

#[test]
fn federation_through_a_mesh_gateway_without_tls() {
    let federates = ("config.gateway.meta", r#"{"consul-wan-federation": "1"}"#);
    assert_eq!(found(Base::MeshGateway, &[federates]), [""; 0]);
    let without_tls =
        [federates, ("config.consulServers.http.https", "false"), ("config.consulServers.defaults.tls", "false")];
    assert_eq!(found(Base::MeshGateway, &without_tls), ["consul-gateway-federation-tls"]);
}

#[test]
fn native_checks_and_synced_containers() {
    let checks = r#"[{"checkId": "web", "name": "web", "http": "http://localhost:9090/health", "interval": "10s"}]"#;
    assert_eq!(found(Base::Client, &[("config.service.checks", checks)]), ["consul-health-native-and-synced"]);
}

#[test]
fn a_service_and_a_gateway_at_once() {
    let gateway = ("config.gateway", r#"{"kind": "api-gateway", "name": "web"}"#);
    assert_eq!(found(Base::Dataplane, &[gateway]), ["consul-service-or-gateway"]);
}

#[test]
fn more_open_files_than_the_kernel_grants() {
    let limits = [
        ("consul-dataplane / ulimits[nofile].softLimit", "1048577"),
        ("consul-dataplane / ulimits[nofile].hardLimit", "1048577"),
    ];
    assert_eq!(found(Base::Dataplane, &limits), ["consul-proxy-open-files"]);
}

#[test]
fn waiting_for_the_end_of_an_essential_container() {
    for condition in [r#""SUCCESS""#, r#""COMPLETE""#] {
        let waits = [("migrate / essential", "true"), ("report / dependsOn[migrate].condition", condition)];
        let changes = if condition.contains("SUCCESS") { &waits[..1] } else { &waits[..] };
        assert_eq!(found(Base::Plain, changes), ["ecs-dependency-essential"]);
    }
}

#[test]
fn waiting_for_the_health_of_an_unchecked_container() {
    assert_eq!(
        found(Base::Plain, &[("report / dependsOn[migrate].condition", r#""HEALTHY""#)]),
        ["ecs-dependency-health"]
    );
}
