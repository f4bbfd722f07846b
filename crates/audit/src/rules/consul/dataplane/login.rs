use crate::{
    definition::{Container, Maybe},
    document::Span,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

const TOKEN: &str = "CONSUL_HTTP_TOKEN";

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-login-off",
    summary: "if Consul requires a token, the task logs in to get it",
    severity: Severity::Warning,
    applies: Applies::ConsulDataplane,
    is_fixable: false,
    effect: "the service is registered with the configured token, but the proxy has none, and the servers refuse it",
    explanation: "\
From consul-ecs 0.7 on, a task logs in to Consul with its IAM role (`consulLogin.enabled`), and passes the token to \
Consul Dataplane. A token in `CONSUL_HTTP_TOKEN`, as in 0.2 to 0.4, still registers the service, because the API \
client reads that variable, but the proxy does not get it. Switch the login on, and remove the token.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
        "https://developer.hashicorp.com/consul/docs/security/acl/auth-methods/aws-iam",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[(
            "containerDefinitions[consul-ecs-mesh-init].secrets[CONSUL_HTTP_TOKEN]",
            r#"{ "name": "CONSUL_HTTP_TOKEN", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-web-AbCdEf:token::" }"#,
        )],
        at: "config.consulLogin.enabled",
        fails: Some("false"),
        repaired: Some("true"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let Some(container) = consul.control_plane.or(consul.mesh_init) else { return };
    let is_off = consul.configuration.flag("consulLogin.enabled", false) == Some(false);
    if let Some(token) = token(container).filter(|_| is_off) {
        let place = consul.configuration.place_of("consulLogin.enabled");
        let message = format!("{} gets {TOKEN}, but consulLogin is off", container.label());
        let draft = Draft::new(place.span, message, "set consulLogin.enabled to true, and remove the token");
        findings.add(draft.of(container).note(token, "the token that the proxy does not get"));
    }
}

fn token(container: &Container) -> Option<Span> {
    match (container.secret(TOKEN), container.variable(TOKEN)) {
        (Maybe::Known(secret), _) => Some(secret.name.span()),
        (_, Maybe::Known(variable)) => Some(variable.name.span()),
        _ => None,
    }
}
