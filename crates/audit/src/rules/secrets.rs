//! References to secrets.

use super::prelude::*;
use audit_read::definition::Secret;
use document::HOLE;
use mesh::secret_reference::SecretReference;

pub(super) static ECS_SECRET_REFERENCE: Rule =
    Rule::of_task(page!("ecs-secret-reference"), Applies::EveryTask, check_secret_reference);

fn check_secret_reference(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        for secret in &container.secrets.items {
            let Some((wrong, help)) = secret.value_from.known().and_then(|text| defect(&text.0)) else { continue };
            let name = secret
                .name
                .known()
                .map_or_else(|| "a secret".to_owned(), |name| format!("the secret {}", name.shown()));
            let message = format!("{name} of {} {wrong}", container.label());
            findings.add(Draft::new(secret.value_from.span(), message, help).of(container));
        }
    }
}

/// The defect of a reference, and how to correct it. An unknown part counts as one part between colons only if it
/// cannot be anything else.
fn defect(reference: &str) -> Option<(&'static str, &'static str)> {
    let parts: Vec<&str> = reference.split(':').collect();
    match parts.as_slice() {
        // The first six parts show the kind of reference.
        ["arn", ..] if parts.iter().take(6).any(|part| part.ends_with(HOLE) && part.len() > HOLE.len_utf8()) => None,
        ["arn", ..] if parts.get(5).is_none_or(|part| part.contains(HOLE)) && reference.contains(HOLE) => None,
        ["arn", _, "secretsmanager", _, _, "secret", rest @ ..] => {
            let is_whole = matches!(rest.len(), 1 | 4) || rest.iter().any(|part| part.contains(HOLE));
            let help = "add all of :json-key:version-stage:version-id to the ARN, as in :token::, or nothing";
            (!is_whole).then_some(("has a JSON key, but not all colons", help))
        }
        ["arn", _, "ssm", _, _, resource, ..] => {
            let is_parameter = resource.starts_with("parameter") || resource.starts_with(HOLE);
            (!is_parameter)
                .then_some(("contains no parameter", "add :parameter/ and the parameter's name after the account"))
        }
        ["arn", _, service, ..] => (!service.contains(HOLE)).then_some((
            "is neither in Secrets Manager nor in the Parameter Store",
            "use a secret in Secrets Manager or a parameter in the Parameter Store",
        )),
        // The name of a parameter may be followed by a colon and a version or label.
        [_, _, _, ..] if !reference.contains(HOLE) => Some((
            "has a JSON key, but is not an ARN",
            "use the full ARN of the secret before the key: ECS takes a plain name for a parameter",
        )),
        _ => None,
    }
}

pub(super) static CONSUL_TOKEN_SECRET_KEY: Rule =
    Rule::of_task(page!("consul-token-secret-key"), Applies::ConsulClient, check_token_secret_key);

fn check_token_secret_key(subject: &Subject<'_>, findings: &mut Findings) {
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

pub(super) static CONSUL_TOKEN_SECRET_VERSION: Rule =
    Rule::of_task(page!("consul-token-secret-version"), Applies::Consul, check_token_secret_version);

fn check_token_secret_version(subject: &Subject<'_>, findings: &mut Findings) {
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
