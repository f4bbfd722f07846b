use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Configuration, ConsulEcs, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-ca-certificates",
    summary: "a private CA's certificate is given for HTTPS and for gRPC, to every container of consul-ecs",
    severity: Severity::Warning,
    applies: Applies::ConsulDataplaneAndController,
    is_fixable: false,
    effect: "the container does not trust the Consul servers, and cannot connect to them",
    explanation: "\
consul-ecs connects to the Consul servers in two ways: with gRPC to find them and to log in, and with HTTPS to \
register the service. For each, it trusts the CA in `CONSUL_GRPC_CACERT_PEM` or `CONSUL_HTTPS_CACERT_PEM`, otherwise \
the file `caCertFile` of the configuration, otherwise the public CAs. Servers with certificates of a public CA, such \
as HCP Consul's, need neither. But if one container has one of the two, the servers probably have certificates of a \
private CA, and every container of consul-ecs needs both.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs/server-json",
        "https://github.com/hashicorp/terraform-aws-consul-ecs/blob/main/CHANGELOG.md",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init].secrets[CONSUL_GRPC_CACERT_PEM]",
        fails: None,
        repaired: Some(GRPC_SECRET),
    }),
    check: Check::Task(check),
};

const GRPC_SECRET: &str = r#"{ "name": "CONSUL_GRPC_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl" }"#;
/// One of the two connections to the servers.
struct Connection {
    variable: &'static str,
    section: &'static str,
    /// The setting that switches TLS on, before `consulServers.defaults.tls`.
    switches: &'static [&'static str],
}

const CONNECTIONS: [Connection; 2] = [
    Connection { variable: "CONSUL_HTTPS_CACERT_PEM", section: "http", switches: &["https"] },
    Connection { variable: "CONSUL_GRPC_CACERT_PEM", section: "grpc", switches: &["tls"] },
];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    let (Some(configuration), Some(given)) = (consul_ecs.configuration, given(&consul_ecs)) else { return };
    for &container in &consul_ecs.containers {
        for connection in CONNECTIONS.iter().filter(|connection| connection.needs_a_certificate(configuration)) {
            if is_without(container, connection.variable) {
                let message = format!("{} has no {}, but {given} exists", container.label(), connection.variable);
                let help =
                    format!("add the secret {}, unless a public CA signed that certificate", connection.variable);
                findings.add(Draft::new(container.secrets.place.span, message, help).of(container));
            }
        }
    }
}

/// A certificate that some container has.
fn given(consul_ecs: &ConsulEcs<'_, '_>) -> Option<String> {
    let has = |container: &Container, connection: &Connection| {
        matches!(container.secret(connection.variable), Maybe::Known(_))
            || matches!(container.variable(connection.variable), Maybe::Known(_))
    };
    consul_ecs.containers.iter().find_map(|container| {
        let connection = CONNECTIONS.iter().find(|connection| has(container, connection))?;
        Some(format!("{} on {}", connection.variable, container.label()))
    })
}

fn is_without(container: &Container, variable: &str) -> bool {
    matches!(container.secret(variable), Maybe::Absent) && matches!(container.variable(variable), Maybe::Absent)
}

impl Connection {
    fn needs_a_certificate(&self, configuration: &Configuration) -> bool {
        let at = |key: &str| format!("consulServers.{}.{key}", self.section);
        let is_on = |key: &&str| configuration.flag(&at(key), true) == Some(true);
        let has_tls =
            self.switches.iter().all(is_on) && configuration.flag("consulServers.defaults.tls", true) == Some(true);
        let lacks = |path: &str| matches!(configuration.name_at(path), Maybe::Absent);
        has_tls && lacks(&at("caCertFile")) && lacks("consulServers.defaults.caCertFile")
    }
}
