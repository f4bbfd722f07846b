//! The names of the secrets in AWS Secrets Manager, as consul-ecs names them.

use std::str::FromStr;

use super::{
    cluster_selection::ClusterSelection, field::InvalidField, identity::MeshService, mark::HolderMark,
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

/// The secret of a holder.
#[derive(Debug, Clone)]
pub struct HolderSecret<'a> {
    names: &'a SecretNames,
    name: String,
    /// The name, if it is an ARN.
    arn: Option<SecretReference>,
}

impl HolderSecret<'_> {
    /// Whether a container that has this reference reads the secret.
    #[must_use]
    pub fn is(&self, reference: &SecretReference) -> bool {
        let (account, region) = (&self.names.account, &self.names.region);
        match &self.arn {
            Some(arn) => arn.is_same_secret_as(reference, account, region),
            None => reference.is_in(account, region) && reference.is_to(&self.name),
        }
    }
}

impl SecretNames {
    /// Secrets with `prefix`, in the account and region of `clusters`. `client_token` is the name or ARN of the secret
    /// of the client token in the partition of `home`; `None`: `<prefix>-consul-client-token`.
    #[must_use]
    pub fn new(
        prefix: SecretNamePrefix,
        client_token: Option<String>,
        home: Tenancy,
        clusters: &ClusterSelection,
    ) -> Self {
        Self {
            prefix,
            client_token,
            home,
            account: clusters.account().to_owned(),
            region: clusters.region().to_owned(),
        }
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
        self.secret_of(holder).is(reference)
    }

    /// The holder's secret, to be compared with many references.
    #[must_use]
    pub fn secret_of(&self, holder: &TokenHolder) -> HolderSecret<'_> {
        let name = self.of(holder);
        let arn = SecretReference::parse(&name).filter(|_| name.starts_with("arn:"));
        HolderSecret { names: self, name, arn }
    }

    /// The holder of a token with this mark in `tenancy`. It is that of a family only if the mark names the family's
    /// secret of this deployment.
    #[must_use]
    pub fn holder_of(&self, mark: &HolderMark, tenancy: &Tenancy) -> TokenHolder {
        let tenancy = tenancy.clone();
        let Some(name) = mark.service.clone() else { return TokenHolder::Client { tenancy } };
        let service = MeshService { tenancy, name };
        let of_family = mark.family.clone().map(|family| TokenHolder::of_family(service.clone(), family));
        let is_here = |holder: &TokenHolder| mark.secret.as_deref() == Some(self.place_of(holder).as_str());
        of_family.filter(is_here).unwrap_or(TokenHolder::Service(service))
    }

    /// The start of the names of all secrets of the deployment, except the client token's if it is configured.
    #[must_use]
    pub fn start(&self) -> String {
        format!("{}-", self.prefix.0)
    }

    /// Whether the reference is to a secret with the deployment's prefix.
    #[must_use]
    pub fn is_under_prefix(&self, reference: &SecretReference) -> bool {
        reference.is_in(&self.account, &self.region) && reference.starts_with(&self.start())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        examples::{cluster, clusters, service},
        mark::marked_for_secret,
    };

    fn names(prefix: &str) -> SecretNames {
        SecretNames::new(prefix.parse().unwrap(), None, Tenancy::Community, &clusters("prod"))
    }

    fn in_tenancy(partition: &str, namespace: &str) -> MeshService {
        let tenancy =
            Tenancy::Enterprise { partition: partition.parse().unwrap(), namespace: namespace.parse().unwrap() };
        MeshService { tenancy, ..service("web") }
    }

    /// The mark of a token that the deployment with these names creates for `holder`.
    fn mark(names: &SecretNames, holder: &TokenHolder) -> HolderMark {
        let description = holder.token_description(&cluster("prod"));
        HolderMark::parse(&marked_for_secret(&description, &names.place_of(holder), holder)).unwrap()
    }

    #[test]
    fn mark_leads_back_to_its_holder() {
        for service in [service("web"), in_tenancy("team", "shop")] {
            let family = TokenHolder::of_family(service.clone(), "Web".parse().unwrap());
            for holder in [TokenHolder::Service(service), family] {
                let mark = mark(&names("mesh"), &holder);
                assert_eq!(names("mesh").holder_of(&mark, holder.tenancy()), holder);
            }
        }
    }

    #[test]
    fn mark_of_another_prefix_is_no_family_s() {
        let (own, other) = (names("mesh"), names("mesh-blue"));
        let service = TokenHolder::Service(service("web"));
        let family = TokenHolder::of_family(self::service("web"), "Web".parse().unwrap());
        for holder in [&service, &family] {
            let mark = mark(&other, holder);
            assert_eq!(own.holder_of(&mark, &Tenancy::Community), service);
            assert!(!mark.may_be_for(&own.place_of(&service)));
        }
    }

    #[test]
    fn family_with_the_service_s_name_has_the_service_s_secret() {
        let holder = TokenHolder::of_family(service("web"), "web".parse().unwrap());
        assert_eq!(holder, TokenHolder::Service(service("web")));
    }

    #[test]
    fn client_secret_by_arn_is_recognised_in_every_form() {
        const ARN: &str = "arn:aws:secretsmanager:us-east-1:123456789012:secret:agents-AbCdEf";
        let names =
            SecretNames::new("mesh".parse().unwrap(), Some(ARN.to_owned()), Tenancy::Community, &clusters("prod"));
        let client = TokenHolder::Client { tenancy: Tenancy::Community };
        let is_it = |value: &str| names.is_secret_of(&client, &SecretReference::parse(value).unwrap());
        assert!(is_it(ARN) && is_it("agents") && is_it(&format!("{ARN}:token::")));
        assert!(!is_it("mesh-consul-client-token") && !is_it(&ARN.replace("123456789012", "999999999999")));
    }
}
