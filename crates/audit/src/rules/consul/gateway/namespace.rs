use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

const NAMESPACE_PATH: &str = "gateway.namespace";

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-gateway-namespace",
    summary: "a gateway is in the namespace default",
    severity: Severity::Error,
    applies: Applies::ConsulGateway,
    is_fixable: true,
    effect: "Consul refuses the registration of the gateway, or its token does not fit",
    explanation: "\
A gateway serves a complete admin partition, and Consul on ECS registers it in the namespace `default`. The roles that \
the controller creates for the tokens of gateways are there as well. The Terraform module sets `default` if there is a \
partition, and nothing otherwise.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/enterprise",
        "https://developer.hashicorp.com/consul/docs/connect/gateways/mesh-gateway",
    ],
    example: Some(gateway(Base::TerminatingGateway)),
    check: Check::Task(check),
};

const fn gateway(base: Base) -> Example {
    Example {
        base,
        given: &[
            ("config.gateway.partition", r#""blue""#),
            ("config.gateway.namespace", r#""default""#),
            ("tags[consul.hashicorp.com/partition]", r#"{ "key": "consul.hashicorp.com/partition", "value": "blue" }"#),
            (
                "tags[consul.hashicorp.com/namespace]",
                r#"{ "key": "consul.hashicorp.com/namespace", "value": "default" }"#,
            ),
        ],
        at: "config.gateway.namespace",
        fails: Some(r#""team-a""#),
        repaired: Some(r#""default""#),
    }
}

/// Whether a gateway must not have this namespace.
pub(in crate::rules::consul) fn is_wrong(namespace: &str) -> bool {
    namespace != "default"
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let configuration = &consul.configuration;
    let Maybe::Known(namespace) = configuration.name_at(NAMESPACE_PATH) else { return };
    if is_wrong(namespace) {
        let place = configuration.place_of(NAMESPACE_PATH);
        let message = format!("the gateway's namespace is {namespace}");
        let fix = consul.configure(subject.definition, NAMESPACE_PATH, "default");
        findings.add(Draft::new(place.span, message, "set it to default").fix(fix));
    }
}
