//! Configurations of the releases, and defects in configurations.

use serde_json::{Value, json};

use mesh::consul_ecs::{ConfigFault, ConfigProblem};

use crate::{
    rules::configuration::{instead, problems},
    subject::{ConfigValue, Subject},
};

/// The defects of `config`, for an image of consul-ecs and the container beside mesh-init: path and fault.
fn faults(tag: &str, beside: &str, config: &Value) -> Vec<String> {
    let definition = json!({ "family": "web", "containerDefinitions": [
        {
            "name": "consul-ecs-mesh-init", "image": format!("public.ecr.aws/hashicorp/consul-ecs:{tag}"),
            "environment": [{ "name": "CONSUL_ECS_CONFIG_JSON", "value": config.to_string() }],
        },
        { "name": beside, "image": "x" },
    ]});
    let definition = super::definition(&definition.to_string());
    let subject = Subject::new(&definition);
    let shown = |problem: &ConfigProblem<'_, ConfigValue<'_>>| match &problem.fault {
        ConfigFault::Unknown { is_refused: true, known } => format!("refused, {}", instead(problem, known)),
        ConfigFault::Unknown { is_refused: false, .. } => "ignored".to_owned(),
        ConfigFault::Missing => "missing".to_owned(),
        ConfigFault::WrongType(wanted, _) => format!("not {wanted}"),
        ConfigFault::WrongValue(how) => how.clone(),
        ConfigFault::OtherRelease { releases, value: None, .. } => format!("of {releases}"),
        ConfigFault::OtherRelease { releases, value: Some(value), .. } => format!("{value} of {releases}"),
    };
    let consul_ecs = subject.consul_ecs().unwrap();
    let problems = problems(&consul_ecs, consul_ecs.configuration.unwrap().json().unwrap());
    problems.iter().map(|problem| format!("{}: {}", problem.path, shown(problem))).collect()
}

fn dataplane(tag: &str, config: &Value) -> Vec<String> {
    faults(tag, "consul-dataplane", config)
}

fn client(tag: &str, config: &Value) -> Vec<String> {
    faults(tag, "consul-client", config)
}

#[test]
fn valid_configurations_have_no_defects() {
    let early = json!({
        "bootstrapDir": "/consul", "healthSyncContainers": null, "proxy": {
            "config": { "data": "x" }, "meshGateway": { "mode": "local" }, "upstreams": [{
                "destinationType": "service", "destinationNamespace": "ns", "destinationPartition": "p",
                "destinationName": "backend", "datacenter": "dc2", "localBindAddress": "localhost", "localBindPort": 1234,
                "config": {}, "meshGateway": { "mode": "none" },
            }],
            "expose": { "checks": true, "paths": [
                { "listenerPort": 20001, "path": "/x", "localPathPort": 8080, "protocol": "http2" },
            ]},
        },
        "service": {
            "name": "", "port": 8080, "tags": null, "meta": { "a": "b" }, "weights": { "passing": 6, "warning": 5 },
            "enableTagOverride": true, "namespace": "", "partition": null, "checks": [{
                "checkId": "x", "http": "http://localhost", "header": { "A": ["b"] }, "interval": "30s", "status": null,
                "args": ["a", "a"], "successBeforePassing": 3, "h2pingUseTls": true,
            }],
        },
    });
    assert_eq!(client("0.3.0", &early), Vec::<String>::new());
    assert_eq!(client("0.6.1", &early), Vec::<String>::new());
    let late = json!({
        "bootstrapDir": "/consul", "logLevel": "DEBUG", "consulLogin": {
            "enabled": true, "method": "m", "includeEntity": false, "meta": {}, "region": null, "datacenter": "dc1",
        },
        "consulServers": {
            "hosts": "exec=discover", "skipServerWatch": true, "defaults": { "caCertFile": "", "tls": true },
            "http": { "https": true, "port": 8501 }, "grpc": { "port": 8503, "tlsServerName": "server.dc1.consul" },
        },
        "proxy": { "publicListenerPort": 20000, "healthCheckPort": null, "localServiceAddress": "127.0.0.1" },
        "service": { "port": 0, "networkResilienceConfig": {
            "enabled": true, "outlierDetection": { "interval": 1_000_000_000, "maxEjectionPercent": 100,
            "consecutive5xx": 5, "consecutiveGatewayFailure": 5, "enforcingConsecutiveGatewayFailure": 100 },
        }},
        "transparentProxy": {
            "enabled": true, "excludeInboundPorts": [80], "excludeUIDs": ["1"], "consulDNS": { "enabled": null },
        },
    });
    assert_eq!(dataplane("0.10.0", &late), Vec::<String>::new());
    assert_eq!(dataplane("latest", &late), Vec::<String>::new());
}

#[test]
fn fields_of_other_releases_are_reported_by_version() {
    let config = json!({
        "bootstrapDir": "/consul", "consulHTTPAddr": "https://x", "consulServers": { "hosts": "x" },
        "service": { "port": 1, "networkResilienceConfig": { "enabled": true } },
    });
    let old = "consulHTTPAddr: of 0.5 to 0.6";
    let new = "service.networkResilienceConfig: of 0.9.4 or newer";
    assert_eq!(dataplane("0.9.3", &config), [old, new]);
    for later in ["0.9.4", "0.9", "0.10.1"] {
        assert_eq!(dataplane(later, &config), [old], "{later}");
    }
    assert_eq!(dataplane("latest", &config), Vec::<String>::new());
    let gateway = json!({ "bootstrapDir": "/consul", "gateway": { "kind": "api-gateway" } });
    assert_eq!(client("0.6.0", &gateway), ["gateway.kind: api-gateway of 0.8 or newer"]);
}

#[test]
fn invalid_fields_are_reported() {
    let config = json!({
        "bootstrapDir": "", "extra": 1, "consulServers": { "hosts": null, "defaults": { "cacert": "x" } },
        "healthSyncContainers": ["web", "web"],
        "service": { "port": "80", "tags": "a", "weights": { "passing": 1.5 }, "checks": [{ "tls_skip_verify": true }] },
        "proxy": { "upstreams": [{ "destination_name": "x", "localBindPort": 0 }], "meshGateway": { "mode": "far" } },
        "transparentProxy": { "excludeOutboundPorts": [70000], "consulDNS": null },
    });
    let mut found = dataplane("latest", &config);
    found.sort();
    assert_eq!(
        found,
        [
            "bootstrapDir: is empty",
            "consulServers.defaults.cacert: ignored",
            "consulServers.hosts: missing",
            "extra: refused, remove it",
            "healthSyncContainers[1]: is web, which is in the list already",
            "proxy.meshGateway.mode: is \"far\", which is not one of none, local, remote",
            "proxy.upstreams[0].destinationName: missing",
            "proxy.upstreams[0].destination_name: refused, did you mean destinationName?",
            "proxy.upstreams[0].localBindPort: is 0, and may be 1 to 65535",
            "service.checks[0].tls_skip_verify: refused, did you mean tlsSkipVerify?",
            "service.port: not a whole number",
            "service.tags: not a list",
            "service.weights.passing: is 1.5, and has to be a whole number",
            "service.weights.warning: missing",
            "transparentProxy.consulDNS: not a map",
            "transparentProxy.excludeOutboundPorts[0]: is 70000, and may be 0 to 65535",
        ]
    );
    assert_eq!(dataplane("0.9.0", &json!([])), ["the configuration: not a map"]);
}
