use super::wan_address::{FEDERATION, federates};
use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Generation, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-gateway-federation-tls",
    summary: "a gateway that federates datacenters connects to its servers with TLS",
    severity: Severity::Error,
    applies: Applies::ConsulGateway,
    is_fixable: false,
    effect: "the servers refuse WAN federation through mesh gateways without TLS, and the datacenters do not find each other",
    explanation: "\
WAN federation through mesh gateways routes by the server name in the TLS handshake, so that all connections need TLS. \
The Terraform module refuses `enable_mesh_gateway_wan_federation` without `tls`; in the configuration, the first is \
the entry `consul-wan-federation` in the gateway's meta, and the second `consulServers.defaults.tls`. Up to consul-ecs \
0.6, the CA's certificate is a secret of the Consul client agent, `CONSUL_CACERT`.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/connect/gateways/mesh-gateway/wan-federation-via-mesh-gateways",
        "https://developer.hashicorp.com/consul/docs/reference/ecs/server-json",
    ],
    example: Some(Example {
        base: Base::MeshGateway,
        given: &[("config.gateway.meta", r#"{ "consul-wan-federation": "1" }"#)],
        at: "config.consulServers.defaults.tls",
        fails: Some("false"),
        repaired: Some("true"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| federates(&consul.configuration)) else { return };
    if is_without_tls(consul) {
        let span = match consul.generation {
            Generation::Client => consul.configuration.place_of(FEDERATION).span,
            _ => consul.configuration.place_of("consulServers.defaults.tls").span,
        };
        let message = "the gateway federates datacenters without TLS";
        findings.add(Draft::new(
            span,
            message,
            "switch TLS on, or remove consul-wan-federation from the gateway's meta",
        ));
    }
}

fn is_without_tls(consul: &ConsulTask<'_>) -> bool {
    let configuration = &consul.configuration;
    match consul.generation {
        Generation::Client => consul.client.is_some_and(|client| {
            let has_no_ca_file = client.command.texts().is_some_and(|words| !words.join(" ").contains("ca_file"));
            has_no_ca_file && matches!(client.secret("CONSUL_CACERT"), Maybe::Absent)
        }),
        Generation::ControlPlane | Generation::Dataplane => {
            let Some(default) = configuration.flag("consulServers.defaults.tls", true) else { return false };
            configuration.flag("consulServers.grpc.tls", default) == Some(false)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        Material, audit,
        document::{Route, parse_json},
        input::ecs_definition,
        source::SourceFile,
    };

    fn found(json: &str) -> usize {
        let file = Arc::new(SourceFile::new("gateway.json", json));
        let node = parse_json(&file.text, &Route::default()).unwrap();
        let definitions = vec![ecs_definition(file, &node).unwrap()];
        let findings = audit(&Material { definitions, ..Material::default() });
        findings.iter().filter(|finding| finding.rule.id == RULE.id).count()
    }

    #[test]
    fn a_client_agent_s_ca_shows_tls() {
        let federating = Base::ClientGateway
            .json()
            .replace(r#"\"lanAddress\""#, r#"\"meta\":{\"consul-wan-federation\":\"1\"},\"lanAddress\""#);
        assert_eq!(found(&federating), 0);
        assert_eq!(found(&federating.replace("ca_file", "log_file").replace("CONSUL_CACERT", "OTHER")), 1);
    }
}
