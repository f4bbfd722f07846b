//! Tokens from secrets.

use std::{collections::BTreeMap, sync::Arc};

use super::{prelude::*, proxy::volume_at};
use crate::Deployment;
use audit_read::definition::{Secret, TaskDefinition};
use mesh::{
    consul_ecs::{NAMESPACE_TAG, PARTITION_TAG, SERVICE_NAME_TAG},
    holder::TokenHolder,
    identity::{MeshIdentity, MeshService},
    names::ServiceName,
    secret_reference::SecretReference,
    settings::TokenMode,
    tenancy::Tenancy,
};

const SERVICE_TOKEN: &str = "CONSUL_HTTP_TOKEN";
const AGENT_TOKEN: &str = "AGENT_TOKEN";

pub(super) static CONSUL_SERVICE_TOKEN: Rule =
    Rule::of_task(page!("consul-service-token"), Applies::ConsulClient, check_service_token);

fn check_service_token(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    if consul.logs_in() == Some(true) {
        findings.extend(unshared_token(subject.definition, consul));
    }
    if !agent_has_token(consul) || consul.logs_in() != Some(false) {
        return;
    }
    let mut report = |container: &Container, message: String| {
        if !matches!(container.environment_has(SERVICE_TOKEN), Maybe::Absent) {
            return;
        }
        let secrets = &container.secrets;
        let span = if secrets.is_present { secrets.place.span } else { container.span() };
        let help = format!("add the secret {SERVICE_TOKEN} with the service's token, or set consulLogin.enabled");
        findings.add(Draft::new(span, message, help).of(container));
    };
    if let Some(mesh_init) = consul.mesh_init {
        let message = format!("the client agent uses ACLs, but {} has no token and no login", mesh_init.label());
        report(mesh_init, message);
    }
    if let Some(health_sync) = consul.health_sync {
        let label = health_sync.label();
        report(health_sync, format!("{label} has no token and no login, so the service's checks stay critical"));
    }
}

/// health-sync reads the token that mesh-init got from its login, in a file of the bootstrap directory. Source:
/// <https://github.com/hashicorp/consul-ecs/blob/v0.6.0/subcommand/health-sync/command.go>
fn unshared_token(definition: &TaskDefinition, consul: &ConsulTask<'_>) -> Option<Draft> {
    let (health_sync, mesh_init, directory) = (consul.health_sync?, consul.mesh_init?, consul.shared_directory()?);
    let wanted = volume_at(mesh_init, directory)?;
    let label = health_sync.label();
    let (span, message) = match health_sync.mount_at(directory) {
        Maybe::Absent if health_sync.lacks_mount_above(directory) && health_sync.volumes_from.is_certainly_empty() => {
            let message = format!("{label} mounts nothing at {directory}, where mesh-init puts the token of the login");
            (health_sync.mount_points.place.span, message)
        }
        Maybe::Known(mount) => {
            let found = mount.source_volume.text().filter(|found| *found != wanted)?;
            // Two volumes with a path of the host, or of a file system, may be one directory.
            let may_be_one =
                |name: &&str| {
                    definition.volumes.items.iter().any(|volume| {
                        volume.name.may_be(name) && !(volume.host_path.is_absent() && volume.efs.is_absent())
                    })
                };
            if [found, wanted].iter().any(may_be_one) {
                return None;
            }
            let message = format!("{label} mounts {found} at {directory}, but the token of the login is on {wanted}");
            (mount.source_volume.span(), message)
        }
        Maybe::Absent | Maybe::Unknown => return None,
    };
    let help = format!("mount the volume {wanted} at {directory}, as mesh-init does");
    Some(
        Draft::new(span, message, help)
            .of(health_sync)
            .effect("health-sync fails, and the service's checks stay critical"),
    )
}

/// Whether the agent certainly has a token: from a variable, or from a login in its script.
fn agent_has_token(consul: &ConsulTask<'_>) -> bool {
    let has_variable = |client: &Container| matches!(client.environment_has(AGENT_TOKEN), Maybe::Known(()));
    consul.client.is_some_and(has_variable) || consul.agent_logs_in()
}

pub(super) static CONSUL_TOKEN_SECRET_MANAGED: Rule =
    Rule::of_task(page!("consul-token-secret-managed"), Applies::Consul, check_token_secret_managed);

fn check_token_secret_managed(subject: &Subject<'_>, findings: &mut Findings) {
    let (Some(consul), Some(deployment)) = (&subject.consul, subject.deployment) else { return };
    let Some(identity) = identity(subject.definition, consul, deployment) else { return };
    check_spellings(subject.definition, &identity, deployment, findings);
    let read: Vec<_> = token_secrets(consul).collect();
    for (container, variable, secret) in &read {
        let Some(reference) = secret.value_from.text().and_then(SecretReference::parse) else { continue };
        // Another rule reports named versions.
        if !reference.is_current() {
            continue;
        }
        let identity = MeshIdentity { secrets: [reference].into(), ..identity.clone() };
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

/// Finds further spellings of the service's secret: only the first one gets a token.
fn check_spellings(
    definition: &TaskDefinition,
    identity: &MeshIdentity,
    deployment: &Deployment,
    findings: &mut Findings,
) {
    let mut spellings: BTreeMap<TokenHolder, (&Container, &Secret)> = BTreeMap::new();
    for container in &definition.containers.items {
        for secret in &container.secrets.items {
            let Some(reference) = secret.value_from.text().and_then(SecretReference::parse) else { continue };
            let read = deployment.tokens().read(&MeshIdentity { secrets: [reference].into(), ..identity.clone() });
            for holder in read.into_iter().filter(|holder| holder.service().is_some()) {
                spellings.entry(holder).or_insert((container, secret));
            }
        }
    }
    let mut spellings = spellings.into_iter();
    let (Some((first, _)), Some((_, (container, secret)))) = (spellings.next(), spellings.next()) else { return };
    let message = format!("{} reads another spelling of the service's secret", container.label());
    let help = format!("read {} in every container", deployment.names.of(&first));
    findings.add(Draft::new(secret.value_from.span(), message, help).of(container));
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
        gateway: consul.is_gateway.then_some(mesh::consul_ecs::GatewayKind::MeshGateway),
        secrets: Arc::default(),
    })
}

pub(super) static CONSUL_SERVICE_SECRET: Rule =
    Rule::once_per_task(page!("consul-service-secret"), Applies::ConsulClient, check_service_secret);

fn check_service_secret(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let (Some(mesh_init), Some(client)) = (consul.mesh_init, consul.client) else { return None };
    let service = consul.service_name(subject.definition)?;
    // Another rule reports an invalid name, and gateways have no secret of this kind.
    if consul.is_gateway || service.parse::<ServiceName>().is_err() {
        return None;
    }
    let (Some(secret), Some(prefix)) = (secret(mesh_init, SERVICE_TOKEN), prefix(client)) else { return None };
    let holder = secret_name(secret).and_then(|name| name.strip_prefix(prefix))?;
    // The service's name may be followed by a namespace, a partition and the six characters of the ARN.
    let rest = holder.to_ascii_lowercase();
    let is_own = rest.strip_prefix(service.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    (!is_own).then(|| {
        let shown = secret.text().map_or("", |text| text.trim_end_matches(':'));
        let message = format!("{SERVICE_TOKEN} of the service {service} comes from the secret {shown}");
        let help = format!("use the secret {prefix}{service} or its ARN, or correct the service's name");
        Draft::new(secret.span(), message, help).of(mesh_init)
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{audit_in, example::Base, rules::tests::material};
    use mesh::{cluster_selection::ClusterSelection, secret_name::SecretNames};

    /// What the rule says of a definition in a deployment with this mode and prefix.
    fn found(base: Base, mode: TokenMode, prefix: &str) -> Vec<String> {
        found_in(base.json(), mode, prefix)
    }

    fn found_in(json: &str, mode: TokenMode, prefix: &str) -> Vec<String> {
        let clusters = ClusterSelection::parse("arn:aws:ecs:us-east-1:123456789012:cluster/prod", None).unwrap();
        let names = SecretNames::new(prefix.parse().unwrap(), None, Tenancy::Community, &clusters);
        let deployment = Deployment { mode, names, default_tenancy: Some(Tenancy::Community) };
        let own = audit_in(&material(json), Some(&deployment))
            .into_iter()
            .filter(|finding| finding.rule.id == CONSUL_TOKEN_SECRET_MANAGED.id);
        own.map(|finding| finding.message).collect()
    }

    #[test]
    fn secret_under_another_prefix_is_found() {
        assert_eq!(found(Base::Client, TokenMode::Auto, "mesh"), [""; 0]);
        let other = found(Base::Client, TokenMode::Auto, "blue");
        assert_eq!(other.len(), 3, "{other:?}");
        assert!(other[0].contains("a secret that the controller does not write"), "{other:?}");
    }

    #[test]
    fn secret_of_another_service_is_found() {
        let tagged = |name: &str| Base::Client.json().replace(r#""value": "web""#, &format!(r#""value": "{name}""#));
        assert_ne!(tagged("payments"), Base::Client.json());
        let other = found_in(&tagged("payments"), TokenMode::Auto, "mesh");
        assert_eq!(other.len(), 2, "{other:?}");
        assert!(other[0].contains("the secret of another service"), "{other:?}");
    }

    #[test]
    fn further_spelling_of_the_own_secret_is_found() {
        let spelled = Base::Client.json().replacen("secret:mesh-web-", "secret:mesh-WEB-", 1);
        assert_ne!(spelled, Base::Client.json());
        let found = found_in(&spelled, TokenMode::Auto, "mesh");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("another spelling of the service's secret"), "{found:?}");
        let all = Base::Client.json().replace("secret:mesh-web-", "secret:mesh-WEB-");
        assert_eq!(found_in(&all, TokenMode::Auto, "mesh"), [""; 0], "one spelling");
    }

    #[test]
    fn definition_that_contradicts_the_mode_is_found() {
        let of_login = found(Base::Dataplane, TokenMode::SecretsManager, "mesh");
        assert_eq!(of_login.len(), 1, "{of_login:?}");
        let of_tokens = found(Base::Client, TokenMode::AuthMethod, "mesh");
        assert_eq!(of_tokens.len(), 3, "{of_tokens:?}");
        assert_eq!(found(Base::Client, TokenMode::SecretsManager, "mesh"), [""; 0]);
        assert_eq!(found(Base::Dataplane, TokenMode::AuthMethod, "mesh"), [""; 0]);
        assert_eq!(found(Base::MeshGateway, TokenMode::SecretsManager, "mesh"), [""; 0]);
    }
}
