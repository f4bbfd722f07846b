use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{AgentScript, Configuration, ConsulTask, Subject},
};

pub(super) const SERVICE_TOKEN: &str = "CONSUL_HTTP_TOKEN";
pub(super) const AGENT_TOKEN: &str = "AGENT_TOKEN";

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-service-token",
    summary: "with ACLs, mesh-init has a token or logs in for one",
    severity: Severity::Error,
    applies: Applies::ConsulClient,
    is_fixable: false,
    effect: "Consul refuses the registration of the service, and the task never starts its app",
    explanation: "\
If the client agent has a token, Consul's ACLs are on, and mesh-init needs the token of its service. There are two \
ways. The controller of consul-ecs up to 0.4 writes the token to a secret, which mesh-init gets as \
`CONSUL_HTTP_TOKEN`. From 0.5 on, mesh-init logs in with the task's IAM role, if `consulLogin.enabled` is set in its \
configuration.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/v1.11.x/ecs/manual/secure-configuration",
        "https://developer.hashicorp.com/consul/docs/ecs/reference/configuration-reference",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init].secrets",
        fails: None,
        repaired: Some(
            r#"[{ "name": "CONSUL_HTTP_TOKEN", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf:token::" }]"#,
        ),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(mesh_init) = consul.mesh_init else { return };
    if !agent_has_token(consul) || !matches!(mesh_init.environment_has(SERVICE_TOKEN), Maybe::Absent) {
        return;
    }
    if logs_in(&consul.configuration) == Some(false) {
        findings.add(
            Draft::new(
                place(mesh_init),
                format!("the client agent uses ACLs, but {} has no token and no login", mesh_init.label()),
                format!("add the secret {SERVICE_TOKEN} with the service's token, or set consulLogin.enabled"),
            )
            .of(mesh_init),
        );
    }
}

fn place(mesh_init: &Container) -> crate::document::Span {
    if mesh_init.secrets.is_present { mesh_init.secrets.place.span } else { mesh_init.span() }
}

/// Whether the agent certainly has a token: from a variable, or from a login in its script.
fn agent_has_token(consul: &ConsulTask<'_>) -> bool {
    let Some(client) = consul.client else { return false };
    let script = AgentScript::of(client);
    matches!(client.environment_has(AGENT_TOKEN), Maybe::Known(()))
        || script.is_some_and(|script| script.mentions("consul login"))
}

/// Whether mesh-init logs in, as far as its configuration is known.
fn logs_in(configuration: &Configuration) -> Option<bool> {
    configuration.json()?;
    match configuration.at("consulLogin") {
        Maybe::Absent => Some(false),
        Maybe::Known(_) => configuration.flag("consulLogin.enabled", false),
        Maybe::Unknown => None,
    }
}
