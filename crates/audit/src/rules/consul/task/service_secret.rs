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
    summary: "mesh-init uses the secret of its own service",
    severity: Severity::Warning,
    applies: Applies::ConsulClient,
    is_fixable: false,
    effect: "mesh-init registers with another service's token: Consul refuses it, or one service can impersonate another",
    explanation: "\
The controller writes the token of each service to a separate secret: `<prefix>-<service>`, in Consul Enterprise \
`<prefix>-<service>-<namespace>-<partition>`, in upper or lower case. It writes no token of this service into a secret of another name, \
whatever the tags say, and no secret is named by the family. The client agents' token is in `<prefix>-consul-client-token`. If both \
secrets have the same prefix, the rest of the secret's name for `CONSUL_HTTP_TOKEN` has to begin with the name of this \
task's service. The token of another service does not allow the registration of this one, and allows access that this \
service should not have. Secrets with other names are not reported.",
    sources: &["https://developer.hashicorp.com/consul/docs/v1.11.x/ecs/manual/secure-configuration"],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init].secrets[CONSUL_HTTP_TOKEN].valueFrom",
        fails: Some(r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-orders-AbCdEf:token::""#),
        repaired: Some(r#""arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf:token::""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let (Some(mesh_init), Some(client)) = (consul.mesh_init, consul.client) else { return };
    let Some(service) = consul.service_name(subject.definition) else { return };
    // Another rule reports an invalid name, and gateways have no secret of this kind.
    if consul.is_gateway || service.parse::<ServiceName>().is_err() {
        return;
    }
    let (Some(secret), Some(prefix)) = (secret(mesh_init, SERVICE_TOKEN), prefix(client)) else { return };
    let Some(holder) = secret_name(secret).and_then(|name| name.strip_prefix(prefix)) else { return };
    // The service's name may be followed by a namespace, a partition and the six characters of the ARN.
    let rest = holder.to_ascii_lowercase();
    let is_own = rest.strip_prefix(service.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    if !is_own {
        let shown = secret.text().map_or("", |text| text.trim_end_matches(':'));
        let message = format!("{SERVICE_TOKEN} of the service {service} comes from the secret {shown}");
        let help = format!("use the secret {prefix}{service} or its ARN, or correct the service's name");
        findings.add(Draft::new(secret.span(), message, help).of(mesh_init));
    }
}

fn secret<'d>(container: &'d Container, variable: &str) -> Option<&'d Field<Text>> {
    match container.secret(variable) {
        Maybe::Known(secret) => Some(&secret.value_from),
        Maybe::Absent | Maybe::Unknown => None,
    }
}

/// The prefix of the controller's secrets, with its hyphen, from the name of the client agents' secret.
fn prefix(client: &Container) -> Option<&str> {
    let name = secret_name(secret(client, AGENT_TOKEN)?)?;
    let end = name.find("consul-client-token")?;
    name.get(..end).filter(|prefix| prefix.ends_with('-'))
}

/// The secret's name, with the six characters of the ARN.
fn secret_name(value_from: &Field<Text>) -> Option<&str> {
    let text = value_from.text()?;
    match text.split_once(":secret:") {
        Some((_, rest)) => rest.split(':').next(),
        None => (!text.contains(':')).then_some(text),
    }
}
