//! The names of the secrets in AWS Secrets Manager, as consul-ecs names them.

use std::str::FromStr;

use super::{
    arn::ClusterArn, family::Family, field::InvalidField, identity::MeshService, mark::HolderMark,
    secret_reference::SecretReference, tenancy::Tenancy, token::TokenHolder,
};

/// The prefix of the names of all secrets of a deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretNamePrefix(String);

impl FromStr for SecretNamePrefix {
    type Err = InvalidField;

    fn from_str(prefix: &str) -> Result<Self, InvalidField> {
        let legal = prefix.bytes().all(|b| b.is_ascii_alphanumeric() || b"/_+=.@-".contains(&b));
        if legal && (1..=200).contains(&prefix.len()) {
            Ok(Self(prefix.to_owned()))
        } else {
            Err(InvalidField::new("secret name prefix", prefix, "1 to 200 letters, digits and /_+=.@-"))
        }
    }
}

/// The names of a deployment's secrets, with their account and region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretNames {
    prefix: SecretNamePrefix,
    client_token: Option<String>,
    home: Tenancy,
    account: String,
    region: String,
}

impl SecretNames {
    /// Secrets with `prefix`, in the account and region of `cluster`. `client_token` is the name or ARN of the secret
    /// of the client token in the partition of `home`; `None`: `<prefix>-consul-client-token`.
    #[must_use]
    pub fn new(prefix: SecretNamePrefix, client_token: Option<String>, home: Tenancy, cluster: &ClusterArn) -> Self {
        Self { prefix, client_token, home, account: cluster.account().to_owned(), region: cluster.region().to_owned() }
    }

    /// The AWS account of the secrets.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.account
    }

    /// The AWS region of the secrets.
    #[must_use]
    pub fn region(&self) -> &str {
        &self.region
    }

    /// The name of a holder's secret: `<prefix>-<service>` or `<prefix>-<family>`, in Enterprise followed by
    /// `-<namespace>-<partition>`. It may be an ARN for client agents, if the deployment configures one.
    #[must_use]
    pub fn of(&self, holder: &TokenHolder) -> String {
        let prefix = &self.prefix.0;
        match holder {
            TokenHolder::Service(service) => format!("{prefix}-{}{}", service.name, tenancy_suffix(&service.tenancy)),
            TokenHolder::Family { service, family } => {
                format!("{prefix}-{family}{}", tenancy_suffix(&service.tenancy))
            }
            TokenHolder::Client { tenancy } => {
                let name = self.client_token.clone().unwrap_or_else(|| format!("{prefix}-consul-client-token"));
                match tenancy.partition() {
                    // Every partition has its own client token.
                    Some(partition) if self.home.partition() != Some(partition) && partition.as_str() != "default" => {
                        format!("{name}-{partition}")
                    }
                    _ => name,
                }
            }
        }
    }

    /// The account, region and name of a holder's secret: the mark of tokens that were created for it.
    #[must_use]
    pub fn place_of(&self, holder: &TokenHolder) -> String {
        format!("{}/{}/{}", self.account, self.region, self.of(holder))
    }

    /// Whether a container that has this reference reads the holder's secret.
    #[must_use]
    pub fn is_secret_of(&self, holder: &TokenHolder, reference: &SecretReference) -> bool {
        let name = self.of(holder);
        match SecretReference::parse(&name).filter(|_| name.starts_with("arn:")) {
            Some(arn) => arn.is_same_secret_as(reference),
            None => reference.is_in(&self.account, &self.region) && reference.is_to(&name),
        }
    }

    /// The holder of a token with this mark in `tenancy`.
    #[must_use]
    pub fn holder_of(&self, mark: &HolderMark, tenancy: &Tenancy) -> TokenHolder {
        let tenancy = tenancy.clone();
        let Some(name) = mark.service.clone() else { return TokenHolder::Client { tenancy } };
        let service = MeshService { tenancy, name };
        match mark.secret.as_deref().and_then(|place| self.family_at(place, &service)) {
            Some(family) => TokenHolder::Family { service, family },
            None => TokenHolder::Service(service),
        }
    }

    /// The family that the secret at `place` is named by; `None` if it is named by the service, or is not of this
    /// deployment.
    fn family_at(&self, place: &str, service: &MeshService) -> Option<Family> {
        let stem = place.strip_prefix(&format!("{}/{}/{}-", self.account, self.region, self.prefix.0))?;
        let family = stem.strip_suffix(&tenancy_suffix(&service.tenancy))?.parse::<Family>().ok()?;
        (family.as_str() != service.name.as_str()).then_some(family)
    }

    /// The name of the policy of client agents' tokens.
    #[must_use]
    pub fn client_policy(&self) -> String {
        // Policy names consist of at most 128 letters, digits, hyphens and underscores.
        let stem: String = self
            .prefix
            .0
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' })
            .take(100)
            .collect();
        format!("{stem}-consul-client-policy")
    }
}

fn tenancy_suffix(tenancy: &Tenancy) -> String {
    match tenancy {
        Tenancy::Community => String::new(),
        Tenancy::Enterprise { partition, namespace } => format!("-{namespace}-{partition}"),
    }
}
