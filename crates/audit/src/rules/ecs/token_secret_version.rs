use mesh::secret_reference::SecretReference;

use crate::{
    definition::{Container, Maybe},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-token-secret-version",
    summary: "token variables read the current version of the token secret",
    severity: Severity::Warning,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "the task gets no token from the controller, or one that was revoked: then Consul answers every request with 403",
    explanation: "\
`valueFrom` may name a version of a secret, by a stage such as `AWSPREVIOUS` or by an ID. The controller writes the \
current version, `AWSCURRENT`, and empties it when it revokes the token: older versions still contain tokens that \
Consul no longer has. With `TokenMode=auto`, the controller creates no token for a task that reads a named version.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/secrets-envvar-secrets-manager.html",
        "https://docs.aws.amazon.com/secretsmanager/latest/userguide/whats-in-a-secret.html#term_version",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init].secrets[CONSUL_HTTP_TOKEN].valueFrom",
        fails: Some(r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf:token:AWSPREVIOUS:""#),
        repaired: Some(r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf:token::""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let ConsulTask { mesh_init, health_sync, control_plane, client, .. } = consul;
    for container in [mesh_init, health_sync, control_plane, client].into_iter().flatten() {
        for variable in ["CONSUL_HTTP_TOKEN", "AGENT_TOKEN"] {
            check_variable(container, variable, findings);
        }
    }
}

fn check_variable(container: &Container, variable: &str, findings: &mut Findings) {
    let Maybe::Known(secret) = container.secret(variable) else { return };
    let Some(reference) = secret.value_from.text().and_then(SecretReference::parse) else { return };
    if !reference.is_current() {
        let message = format!("{variable} of {} comes from a named version of its secret", container.label());
        let help = "remove the version's stage and ID, as in :token::";
        findings.add(Draft::new(secret.value_from.span(), message, help).of(container));
    }
}
