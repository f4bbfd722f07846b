use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Configuration, ConsulTask, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-ca-certificates",
    summary: "a private CA's certificate is given for HTTPS and for gRPC, to every container of consul-ecs",
    severity: Severity::Warning,
    applies: Applies::ConsulDataplane,
    effect: "the container does not trust the Consul servers, and cannot connect to them",
    explanation: "\
consul-ecs talks to the Consul servers in two ways: gRPC to find them and to log in, HTTPS to register the service. For each it \
trusts the CA in `CONSUL_GRPC_CACERT_PEM` or `CONSUL_HTTPS_CACERT_PEM`, or else the file `caCertFile` of the configuration, or else \
the public CAs. Servers with certificates from a public CA, as HCP Consul's are, need neither. But where one container has one of \
the two, the servers probably have certificates of a private CA, and every container of consul-ecs needs both.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs/server-json",
        "https://github.com/hashicorp/terraform-aws-consul-ecs/blob/main/CHANGELOG.md",
    ],
    examples: &[
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "containerDefinitions[consul-ecs-mesh-init].secrets[CONSUL_GRPC_CACERT_PEM]",
            fails: None,
            repaired: Some(GRPC),
        },
        Example {
            base: Base::Dataplane,
            given: &[],
            at: "containerDefinitions[consul-ecs-health-sync].secrets[CONSUL_HTTPS_CACERT_PEM]",
            fails: None,
            repaired: Some(HTTPS),
        },
        Example {
            base: Base::ControlPlane,
            given: &[],
            at: "containerDefinitions[consul-ecs-control-plane].secrets[CONSUL_HTTPS_CACERT_PEM]",
            fails: None,
            repaired: Some(HTTPS),
        },
    ],
    check: Check::Task(check),
};

const GRPC: &str = r#"{ "name": "CONSUL_GRPC_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl" }"#;
const HTTPS: &str = r#"{ "name": "CONSUL_HTTPS_CACERT_PEM", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl" }"#;

/// One of the two ways to the servers.
struct Way {
    variable: &'static str,
    section: &'static str,
    /// What switches TLS on, before `consulServers.defaults.tls` is asked.
    switches: &'static [&'static str],
}

const WAYS: [Way; 2] = [
    Way { variable: "CONSUL_HTTPS_CACERT_PEM", section: "http", switches: &["https"] },
    Way { variable: "CONSUL_GRPC_CACERT_PEM", section: "grpc", switches: &["tls"] },
];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(given) = given(consul) else { return };
    for container in consul.consul_ecs_containers() {
        for way in WAYS.iter().filter(|way| way.needs_a_certificate(&consul.configuration)) {
            if is_without(container, way.variable) {
                let message = format!("{} has no {}, but {given} is there", container.label(), way.variable);
                let help = format!("add the secret {}, unless a public CA signed that certificate", way.variable);
                findings.add(Draft::new(container.secrets.place.span, message, help).of(container));
            }
        }
    }
}

/// A certificate that some container has.
fn given(consul: &ConsulTask<'_>) -> Option<String> {
    let has = |container: &Container, way: &Way| {
        matches!(container.secret(way.variable), Maybe::Known(_))
            || matches!(container.variable(way.variable), Maybe::Known(_))
    };
    consul.consul_ecs_containers().find_map(|container| {
        let way = WAYS.iter().find(|way| has(container, way))?;
        Some(format!("{} on {}", way.variable, container.label()))
    })
}

fn is_without(container: &Container, variable: &str) -> bool {
    matches!(container.secret(variable), Maybe::Absent) && matches!(container.variable(variable), Maybe::Absent)
}

impl Way {
    fn needs_a_certificate(&self, configuration: &Configuration) -> bool {
        let at = |key: &str| format!("consulServers.{}.{key}", self.section);
        let is_on = |key: &&str| configuration.flag(&at(key), true) == Some(true);
        let has_tls =
            self.switches.iter().all(is_on) && configuration.flag("consulServers.defaults.tls", true) == Some(true);
        let lacks = |path: &str| matches!(configuration.name_at(path), Maybe::Absent);
        has_tls && lacks(&at("caCertFile")) && lacks("consulServers.defaults.caCertFile")
    }
}
