//! Every documented field of the configuration: a value of its type is accepted, one of another type is reported.

use audit::finding::Finding;
use serde_json::Value;

use crate::example::Base::{self, ClientGateway, Dataplane, MeshGateway};
use crate::reading::{findings, findings_in, ids, repaired, shown};

/// A field, a valid value and an invalid one.
type Row = (Base, &'static str, &'static str, &'static str);

const FIELDS: &[Row] = &[
    (Dataplane, "bootstrapDir", r#""/consul""#, "7"),
    (Dataplane, "healthSyncContainers", r#"["web"]"#, r#""web""#),
    (Dataplane, "logLevel", r#""DEBUG""#, r#""LOUD""#),
    (Dataplane, "service.name", r#""web""#, "7"),
    (Dataplane, "service.port", "9090", r#""9090""#),
    (Dataplane, "service.tags", r#"["v1"]"#, r#""v1""#),
    (Dataplane, "service.meta", r#"{"team": "shop"}"#, r#"["shop"]"#),
    (Dataplane, "service.weights", r#"{"passing": 1, "warning": 1}"#, "1"),
    (Dataplane, "service.enableTagOverride", "true", r#""yes""#),
    (Dataplane, "proxy.config", r#"{"protocol": "http"}"#, r#""http""#),
    (Dataplane, "proxy.publicListenerPort", "20000", r#""20000""#),
    (Dataplane, "proxy.healthCheckPort", "22000", r#""22000""#),
    (Dataplane, "proxy.upstreams", "[]", "{}"),
    (Dataplane, "proxy.upstreams[0].destinationName", r#""orders""#, "[]"),
    (Dataplane, "proxy.upstreams[0].destinationType", r#""prepared_query""#, r#""cluster""#),
    (Dataplane, "proxy.upstreams[0].destinationNamespace", r#""default""#, "1"),
    (Dataplane, "proxy.upstreams[0].destinationPartition", r#""default""#, "1"),
    (Dataplane, "proxy.upstreams[0].destinationPeer", r#""west""#, "1"),
    (Dataplane, "proxy.upstreams[0].datacenter", r#""dc2""#, "2"),
    (Dataplane, "proxy.upstreams[0].localBindAddress", r#""127.0.0.1""#, "1"),
    (Dataplane, "proxy.upstreams[0].localBindPort", "1234", r#""1234""#),
    (Dataplane, "proxy.upstreams[0].config", r#"{"connect_timeout_ms": 1000}"#, "1"),
    (Dataplane, "proxy.upstreams[0].meshGateway", r#"{"mode": "local"}"#, r#""local""#),
    (Dataplane, "proxy.meshGateway", r#"{"mode": "remote"}"#, r#"{"mode": "far"}"#),
    (Dataplane, "proxy.expose", r#"{"checks": true}"#, "true"),
    (Dataplane, "consulLogin.enabled", "true", r#""true""#),
    (Dataplane, "consulLogin.method", r#""iam-ecs-service-token""#, "1"),
    (Dataplane, "consulLogin.includeEntity", "true", "1"),
    (Dataplane, "consulLogin.meta", r#"{"a": "b"}"#, r#""a""#),
    (Dataplane, "consulLogin.region", r#""us-east-1""#, "1"),
    (Dataplane, "consulLogin.datacenter", r#""dc1""#, "1"),
    (Dataplane, "consulLogin.stsEndpoint", r#""https://sts.us-east-1.amazonaws.com""#, "1"),
    (Dataplane, "consulLogin.serverIdHeaderValue", r#""consul""#, "1"),
    (Dataplane, "consulServers.hosts", r#""consul.example.com""#, r#"["10.0.0.1"]"#),
    (Dataplane, "consulServers.skipServerWatch", "true", r#""true""#),
    (Dataplane, "consulServers.defaults.caCertFile", r#""/consul/ca.pem""#, "1"),
    (Dataplane, "consulServers.defaults.tls", "true", r#""true""#),
    (Dataplane, "consulServers.defaults.tlsServerName", r#""server.dc1.consul""#, "1"),
    (Dataplane, "consulServers.grpc.port", "8503", r#""8503""#),
    (Dataplane, "consulServers.http.port", "8501", r#""8501""#),
    (Dataplane, "consulServers.http.https", "true", r#""true""#),
    (Dataplane, "transparentProxy.enabled", "false", r#""false""#),
    (Dataplane, "transparentProxy.excludeInboundPorts", "[80]", r#""80""#),
    (Dataplane, "transparentProxy.excludeOutboundPorts", "[80]", r#""80""#),
    (Dataplane, "transparentProxy.excludeOutboundCIDRs", r#"["10.0.0.0/8"]"#, r#""10.0.0.0/8""#),
    (Dataplane, "transparentProxy.excludeUIDs", r#"["1000"]"#, "1000"),
    (Dataplane, "transparentProxy.consulDNS.enabled", "false", r#""false""#),
    (MeshGateway, "gateway.kind", r#""mesh-gateway""#, r#""ingress-gateway""#),
    (MeshGateway, "gateway.name", r#""mesh-gateway""#, "1"),
    (MeshGateway, "gateway.tags", r#"["v1"]"#, r#""v1""#),
    (MeshGateway, "gateway.meta", r#"{"a": "b"}"#, "1"),
    (MeshGateway, "gateway.lanAddress.address", r#""10.0.0.1""#, "1"),
    (MeshGateway, "gateway.lanAddress.port", "8443", r#""8443""#),
    (MeshGateway, "gateway.wanAddress.address", r#""gw.example.com""#, "1"),
    (MeshGateway, "gateway.wanAddress.port", "8443", r#""8443""#),
    (MeshGateway, "gateway.healthCheckPort", "22000", r#""22000""#),
    (MeshGateway, "gateway.proxy.config", r#"{"a": "b"}"#, "1"),
    (ClientGateway, "gateway.kind", r#""mesh-gateway""#, r#""ingress-gateway""#),
    (ClientGateway, "gateway.lanAddress.port", "8443", r#""8443""#),
    (ClientGateway, "consulLogin.enabled", "true", r#""true""#),
];

fn changed(base: Base, field: &str, json: &str) -> Value {
    base.with([(&*format!("config.{field}"), Some(json))]).unwrap()
}

#[test]
fn a_value_of_its_type_is_accepted() {
    for (base, field, right, _) in FIELDS {
        assert_eq!(shown(&findings(&changed(*base, field, right))), [""; 0], "{field} = {right}");
    }
}

#[test]
fn a_value_of_another_type_is_one_finding() {
    for (base, field, _, wrong) in FIELDS {
        let found = findings(&changed(*base, field, wrong));
        let is_named = found.iter().any(|finding| finding.message.contains(field.rsplit('.').next().unwrap()));
        assert!(ids(&found) == ["consul-config-schema"] && is_named, "{field} = {wrong}: {:#?}", shown(&found));
    }
}

#[test]
fn a_misspelt_field_is_one_finding() {
    for (base, field, right, _) in FIELDS.iter().filter(|(base, ..)| *base == Dataplane) {
        let found = findings(&changed(*base, &format!("{field}X"), right));
        let is_one = matches!(ids(&found)[..], ["consul-config-schema" | "consul-config-ignored"]);
        assert!(is_one, "{field}X: {:#?}", shown(&found));
    }
}

/// A service of the dataplane generation with this text instead of `localBindPort` in the configurations of mesh-init and of
/// health-sync.
fn with_key(in_mesh_init: &str, in_health_sync: &str) -> String {
    let parts: Vec<&str> = Dataplane.json().split("localBindPort").collect();
    let [first, second, third] = parts[..] else { panic!("two configurations") };
    [first, in_mesh_init, second, in_health_sync, third].concat()
}

/// The message, the help and the container of each finding of the schema, and its notes.
fn of_schema(text: &str) -> Vec<[String; 4]> {
    let found = findings_in("task.json", text).into_iter().filter(|finding| finding.rule.id == "consul-config-schema");
    let notes = |finding: &Finding| finding.notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>().join(", ");
    found.map(|one| [one.message.clone(), one.help.clone(), one.container.clone().unwrap(), notes(&one)]).collect()
}

#[test]
fn a_misspelt_required_field_is_one_finding_that_has_a_fix() {
    let message = "no release of consul-ecs knows proxy.upstreams[0].localBindport";
    let help = "rename localBindport to localBindPort";
    // Given the mistake in both copies, then it is one finding, and the fix corrects both.
    let text = with_key("localBindport", "localBindport");
    let note = "the same in consul-ecs-health-sync";
    assert_eq!(of_schema(&text), [[message, help, "consul-ecs-mesh-init", note].map(str::to_owned)]);
    let fixed = repaired("task.json", &text);
    assert_eq!(findings_in("task.json", &fixed.after.text).len(), 0, "{}", fixed.after.text);
    assert_eq!(fixed.after.text.matches(r#"\"localBindPort\":1234"#).count(), 2);
    // Given the mistake in one copy, then the finding is about this container.
    for (text, container) in [
        (with_key("localBindport", "localBindPort"), "consul-ecs-mesh-init"),
        (with_key("localBindPort", "localBindport"), "consul-ecs-health-sync"),
    ] {
        assert_eq!(of_schema(&text), [[message, help, container, ""].map(str::to_owned)]);
    }
    // Given another key, then the field is missing as well.
    let found = of_schema(&with_key("listener", "listener"));
    assert_eq!(found.len(), 2, "{found:?}");
}
