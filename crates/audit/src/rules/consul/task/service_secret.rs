use super::service_token::{AGENT_TOKEN, SERVICE_TOKEN};
use crate::{
    definition::{Container, Field, Maybe, Text},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};
use mesh::service_name::ServiceName;

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-service-secret",
    summary: "the secret of mesh-init's token is that of its own service",
    severity: Severity::Warning,
    applies: Applies::ConsulClient,
    effect: "mesh-init registers with another service's token: Consul denies it, or one service can pose as another",
    explanation: "\
The controller writes each service's token to a secret of its own: `<prefix>-<service>`, in Consul Enterprise \
`<prefix>-<service>-<namespace>-<partition>`. The client agents' token is in `<prefix>-consul-client-token`. Where both secrets \
have the same prefix, what follows it in the secret of `CONSUL_HTTP_TOKEN` has to be the name of this task's service. A token of \
another service allows nothing here, and what it does allow is none of this service's business. Secrets named in another way are \
left alone.",
    sources: &["https://developer.hashicorp.com/consul/docs/v1.11.x/ecs/manual/secure-configuration"],
    examples: &[
        Example {
            base: Base::Client,
            given: &[],
            at: "containerDefinitions[consul-ecs-mesh-init].secrets[CONSUL_HTTP_TOKEN].valueFrom",
            fails: Some(r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-orders-AbCdEf:token::""#),
            repaired: Some(r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf:token::""#),
        },
        Example {
            base: Base::Client,
            given: &[],
            at: "containerDefinitions[consul-ecs-mesh-init].secrets[CONSUL_HTTP_TOKEN].valueFrom",
            fails: Some(
                r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-consul-client-token-MnOpQr:token::""#,
            ),
            repaired: Some(
                r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-default-default-AbCdEf:token::""#,
            ),
        },
    ],
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let (Some(mesh_init), Some(client)) = (consul.mesh_init, consul.client) else { return };
    let Some(service) = consul.service_name(subject.definition) else { return };
    // An illegal name is another rule's, and gateways have no secret of this kind.
    if consul.is_gateway || service.parse::<ServiceName>().is_err() {
        return;
    }
    let (Some(secret), Some(prefix)) = (secret(mesh_init, SERVICE_TOKEN), prefix(client)) else { return };
    let Some(holder) = secret_name(secret).and_then(|name| name.strip_prefix(prefix)) else { return };
    // What follows the service's name may be a namespace, a partition and the six characters of the ARN.
    let is_own = holder.strip_prefix(service.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    if !is_own {
        let shown = secret.text().map_or("", |text| text.trim_end_matches(':'));
        let message = format!("{SERVICE_TOKEN} of the service {service} comes from the secret {shown}");
        let help = format!("name the secret {prefix}{service}, or its ARN");
        findings.add(Draft::new(secret.span(), message, help).of(mesh_init));
    }
}

fn secret<'d>(container: &'d Container, variable: &str) -> Option<&'d Field<Text>> {
    match container.secret(variable) {
        Maybe::Known(secret) => Some(&secret.value_from),
        Maybe::Absent | Maybe::Unknown => None,
    }
}

/// The prefix of the controller's secrets, with its hyphen, by the name of the client agents' one.
fn prefix(client: &Container) -> Option<&str> {
    let name = secret_name(secret(client, AGENT_TOKEN)?)?;
    let end = name.find("consul-client-token")?;
    name.get(..end).filter(|prefix| prefix.ends_with('-'))
}

/// The secret's name, with the six characters that an ARN adds.
fn secret_name(value_from: &Field<Text>) -> Option<&str> {
    let text = value_from.text()?;
    match text.split_once(":secret:") {
        Some((_, rest)) => rest.split(':').next(),
        None => (!text.contains(':')).then_some(text),
    }
}
