use crate::{
    definition::{Container, Maybe, Secret},
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-token-secret-key",
    summary: "token variables use the key token of the token secret",
    severity: Severity::Error,
    applies: Applies::ConsulClient,
    is_fixable: true,
    effect: "the complete JSON of the secret is used as the token, and Consul answers every request with 403 ACL not found",
    explanation: "\
The controller stores a token as JSON with the keys `accessor_id` and `token`. `CONSUL_HTTP_TOKEN` of mesh-init and \
`AGENT_TOKEN` of the client agent have to be the value of `token` alone: `valueFrom` is the secret's ARN followed by \
`:token::`. Without a key, the variable contains the complete JSON, and with `accessor_id` the ID of the token instead \
of the token. A secret whose name differs from the controller's, `<prefix>-<service>` or \
`<prefix>-consul-client-token`, may contain the token as plain text, and is not reported.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/secrets-envvar-secrets-manager.html",
        "https://developer.hashicorp.com/consul/docs/ecs",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init].secrets[CONSUL_HTTP_TOKEN].valueFrom",
        fails: Some(r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf""#),
        repaired: Some(r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf:token::""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let ConsulTask { mesh_init, health_sync, client, .. } = consul;
    for (container, variable) in
        [(mesh_init, "CONSUL_HTTP_TOKEN"), (health_sync, "CONSUL_HTTP_TOKEN"), (client, "AGENT_TOKEN")]
    {
        let Some(container) = container else { continue };
        if let Maybe::Known(secret) = container.secret(variable) {
            let names = if variable == "AGENT_TOKEN" {
                vec!["consul-client-token".to_owned()]
            } else {
                consul.service_name(subject.definition).into_iter().collect()
            };
            check_key(container, variable, secret, &names, findings);
        }
    }
}

/// `names` are the possible ends of the name that the controller gives the secret.
fn check_key(container: &Container, variable: &str, secret: &Secret, names: &[String], findings: &mut Findings) {
    let Some(reference) = secret.value_from.text() else { return };
    let parts: Vec<&str> = reference.split(':').collect();
    let ["arn", _, "secretsmanager", _, _, "secret", found, rest @ ..] = parts.as_slice() else { return };
    let label = container.label();
    let message = match rest {
        [] | ["", _, _] if names.iter().any(|name| is_the_controller_s(found, name)) => {
            format!("{variable} of {label} is the complete JSON of the token secret")
        }
        ["accessor_id", _, _] => format!("{variable} of {label} is the token's accessor ID, not the token"),
        _ => return,
    };
    let fix = rest.is_empty().then(|| Fix::set(&secret.value_from.place, format!("{reference}:token::"))).flatten();
    let help = "add :token:: to the secret's ARN";
    findings.add(Draft::new(secret.value_from.span(), message, help).of(container).fix(fix));
}

/// Whether a secret is called `<prefix>-<name>`, as the controller's secrets are. Secrets Manager adds a dash and six
/// characters to the name.
fn is_the_controller_s(secret: &str, name: &str) -> bool {
    let whole = secret.rsplit_once('-').filter(|(_, suffix)| suffix.len() == 6).map_or(secret, |(whole, _)| whole);
    whole.strip_suffix(name).and_then(|prefix| prefix.strip_suffix('-')).is_some_and(|prefix| !prefix.is_empty())
}
