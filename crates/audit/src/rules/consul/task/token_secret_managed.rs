use mesh::{
    identity::{MeshIdentity, MeshService},
    secret_reference::SecretReference,
    tags::{NAMESPACE_TAG, PARTITION_TAG, SERVICE_NAME_TAG},
    tenancy::Tenancy,
    token::TokenHolder,
    token_mode::TokenMode,
};

use super::service_token::{AGENT_TOKEN, SERVICE_TOKEN};
use crate::{
    definition::{Container, Maybe, Secret, TaskDefinition},
    deployment::Deployment,
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-token-secret-managed",
    summary: "the task reads the tokens that the controller creates",
    severity: Severity::Warning,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "the controller writes no token into the secret that the task reads, so that the task starts without a valid one",
    explanation: "\
The audit function of the controller knows its deployment, and reports what does not fit. With `TokenMode=auto` a task \
gets a token if its definition reads one of the controller's secrets: `<prefix>-<service>`, in upper or lower case, or that \
of the client agents, in the account and region of the deployment. A token of a service is never written into a secret of \
another name, whatever the tags say: whoever may read that secret could act as the service. A secret of another prefix, \
account or region stays as it is. With `TokenMode=secrets-manager` the tokens are made whether tasks read them or not, and with \
`auth-method` none is made even if tasks read one. A secret that another tool fills is no defect: ignore the finding. \
Checks of files do not know a deployment, and report nothing.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/developerguide/secrets-envvar-secrets-manager.html"],
    // An example is one definition, but the rule needs a deployment too.
    example: None,
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let (Some(consul), Some(deployment)) = (&subject.consul, subject.deployment) else { return };
    let Some(identity) = identity(subject.definition, consul, deployment) else { return };
    let read: Vec<_> = token_secrets(consul).collect();
    for (container, variable, secret) in &read {
        let Some(reference) = secret.value_from.text().and_then(SecretReference::parse) else { continue };
        // Another rule reports named versions.
        if !reference.is_current() {
            continue;
        }
        let identity = MeshIdentity { secrets: vec![reference], ..identity.clone() };
        let tokens = deployment.tokens();
        let own = || deployment.names.of(&TokenHolder::Service(identity.service.clone()));
        let (what, help) = if tokens.reads_another_token(&identity) {
            ("the secret of another service", format!("read {}, or correct the service's name", own()))
        } else if tokens.read(&identity).is_empty() {
            ("a secret that the controller does not write", format!("read {}, or fill this one by other means", own()))
        } else if deployment.mode == TokenMode::AuthMethod {
            ("a secret that the controller does not fill in mode auth-method", "set TokenMode to auto".to_owned())
        } else {
            continue;
        };
        let message = format!("{variable} of {} comes from {what}", container.label());
        findings.add(Draft::new(secret.value_from.span(), message, help).of(container));
    }
    let first = consul.mesh_init.or(consul.control_plane);
    if let (true, Some(container), Some(reason)) =
        (read.is_empty(), first, deployment.tokens().contradiction(&identity))
    {
        let message = format!("in the task of {}, {reason}", container.label());
        findings.add(Draft::new(container.span(), message, "set TokenMode to auto").of(container));
    }
}

/// The secrets of token variables in the containers of the mesh.
fn token_secrets<'d>(
    consul: &ConsulTask<'d>,
) -> impl Iterator<Item = (&'d Container, &'static str, &'d Secret)> + use<'d> {
    let containers = [consul.mesh_init, consul.health_sync, consul.control_plane, consul.client];
    containers.into_iter().flatten().flat_map(|container| {
        [SERVICE_TOKEN, AGENT_TOKEN].into_iter().filter_map(move |variable| match container.secret(variable) {
            Maybe::Known(secret) => Some((container, variable, secret)),
            Maybe::Absent | Maybe::Unknown => None,
        })
    })
}

/// The identity of the definition's tasks, if it is known. It reads no secret.
fn identity(definition: &TaskDefinition, consul: &ConsulTask<'_>, deployment: &Deployment) -> Option<MeshIdentity> {
    let tag = |key| match definition.tag(key) {
        Maybe::Known(tag) => tag.value.text().map(Some),
        Maybe::Absent => Some(None),
        Maybe::Unknown => None,
    };
    let tenancy = Tenancy::from_names(tag(PARTITION_TAG)?, tag(NAMESPACE_TAG)?, (PARTITION_TAG, NAMESPACE_TAG)).ok()?;
    // As for the controller, the tag has precedence.
    let name = tag(SERVICE_NAME_TAG)?.map_or_else(|| consul.service_name(definition), |name| Some(name.to_owned()))?;
    Some(MeshIdentity {
        service: MeshService {
            tenancy: tenancy.or_else(|| deployment.default_tenancy.clone())?,
            name: name.parse().ok()?,
        },
        gateway: consul.is_gateway.then_some(mesh::ecs_config::GatewayKind::MeshGateway),
        secrets: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mesh::{cluster_selection::ClusterSelection, secret_name::SecretNames};

    use super::*;
    use crate::{
        Material, audit,
        document::{Route, parse_json},
        example::Base,
        input::ecs_definition,
        source::SourceFile,
    };

    /// What the rule says of a definition in a deployment with this mode and prefix.
    fn found(base: Base, mode: TokenMode, prefix: &str) -> Vec<String> {
        found_in(base.json().to_owned(), mode, prefix)
    }

    fn found_in(json: String, mode: TokenMode, prefix: &str) -> Vec<String> {
        let clusters = ClusterSelection::parse("arn:aws:ecs:us-east-1:123456789012:cluster/prod", None).unwrap();
        let names = SecretNames::new(prefix.parse().unwrap(), None, Tenancy::Community, &clusters);
        let file = Arc::new(SourceFile::new("web.json", json));
        let node = parse_json(&file.text, &Route::default()).unwrap();
        let material = Material {
            definitions: vec![ecs_definition(file, &node).unwrap()],
            deployment: Some(Deployment { mode, names, default_tenancy: Some(Tenancy::Community) }),
            ..Material::default()
        };
        let own = audit(&material).into_iter().filter(|finding| finding.rule.id == RULE.id);
        own.map(|finding| finding.message).collect()
    }

    #[test]
    fn secret_under_another_prefix_is_found() {
        assert_eq!(found(Base::Client, TokenMode::Auto, "mesh"), [""; 0]);
        let other = found(Base::Client, TokenMode::Auto, "blue");
        assert_eq!(other.len(), 2, "{other:?}");
        assert!(other[0].contains("a secret that the controller does not write"), "{other:?}");
    }

    #[test]
    fn secret_of_another_service_is_found() {
        let tagged = |name: &str| Base::Client.json().replace(r#""value": "web""#, &format!(r#""value": "{name}""#));
        assert_ne!(tagged("payments"), Base::Client.json());
        let other = found_in(tagged("payments"), TokenMode::Auto, "mesh");
        assert_eq!(other.len(), 1, "{other:?}");
        assert!(other[0].contains("the secret of another service"), "{other:?}");
    }

    #[test]
    fn definition_that_contradicts_the_mode_is_found() {
        let of_login = found(Base::Dataplane, TokenMode::SecretsManager, "mesh");
        assert_eq!(of_login.len(), 1, "{of_login:?}");
        let of_tokens = found(Base::Client, TokenMode::AuthMethod, "mesh");
        assert_eq!(of_tokens.len(), 2, "{of_tokens:?}");
        assert_eq!(found(Base::Client, TokenMode::SecretsManager, "mesh"), [""; 0]);
        assert_eq!(found(Base::Dataplane, TokenMode::AuthMethod, "mesh"), [""; 0]);
        assert_eq!(found(Base::MeshGateway, TokenMode::SecretsManager, "mesh"), [""; 0]);
    }
}
