//! The names of the secrets in AWS Secrets Manager, as consul-ecs names them.

use std::str::FromStr;

use crate::{
    cluster_selection::ClusterSelection, holder::TokenHolder, identity::MeshService, mark::HolderMark,
    names::InvalidField, secret_reference::SecretReference, tenancy::Tenancy,
};

/// The name of the client token's secret after the prefix, unless the deployment configures another one.
const CLIENT_TOKEN: &str = "consul-client-token";

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

#[derive(Debug, Clone)]
pub struct HolderSecret<'a> {
    names: &'a SecretNames,
    name: String,
    /// The name, if it is an ARN.
    arn: Option<SecretReference>,
}

impl HolderSecret<'_> {
    /// Whether a container that has this reference reads the secret.
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

    pub fn account(&self) -> &str {
        &self.account
    }

    pub fn region(&self) -> &str {
        &self.region
    }

    /// The name of a holder's secret: `<prefix>-<service>`, in Enterprise followed by `-<namespace>-<partition>`. It may
    /// be an ARN for client agents, if the deployment configures one.
    pub fn of(&self, holder: &TokenHolder) -> String {
        let prefix = &self.prefix.0;
        match holder {
            TokenHolder::Service(service) => format!("{prefix}-{}", service.secret_name()),
            TokenHolder::Spelled { secret, .. } => format!("{prefix}-{secret}"),
            TokenHolder::Client { tenancy } => {
                let name = self.client_token.clone().unwrap_or_else(|| format!("{prefix}-{CLIENT_TOKEN}"));
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

    /// Whether the holder is a service whose secret has the name of a client token, ignoring case: the service's tasks
    /// could register any node.
    pub fn is_reserved(&self, holder: &TokenHolder) -> bool {
        let (Some(service), name) = (holder.service(), self.of(holder)) else { return false };
        let is_client_token = |tenancy: Tenancy| {
            let client = self.of(&TokenHolder::Client { tenancy });
            let arn = SecretReference::parse(&client).filter(|_| client.starts_with("arn:"));
            arn.unwrap_or_else(|| SecretReference::named(&client)).spelling_of(&name).is_some()
        };
        service.name.as_str() == CLIENT_TOKEN
            || is_client_token(Tenancy::Community)
            || is_client_token(service.tenancy.home())
    }

    /// The holder of the token of `service` that a container with this reference reads: the secret's name is the
    /// service's, ignoring case.
    pub fn holder_in(&self, service: &MeshService, reference: &SecretReference) -> Option<TokenHolder> {
        let name = self.of(&TokenHolder::Service(service.clone()));
        let spelling = reference.spelling_of(&name).filter(|_| reference.is_in(&self.account, &self.region))?;
        TokenHolder::in_secret(service.clone(), spelling.strip_prefix(&self.start())?)
    }

    /// The account, region and name of a holder's secret: the mark of tokens that were created for it.
    pub fn place_of(&self, holder: &TokenHolder) -> String {
        format!("{}/{}/{}", self.account, self.region, self.of(holder))
    }

    /// Whether a container that has this reference reads the holder's secret.
    pub fn is_secret_of(&self, holder: &TokenHolder, reference: &SecretReference) -> bool {
        self.secret_of(holder).is(reference)
    }

    /// The holder's secret, to be compared with many references.
    pub fn secret_of(&self, holder: &TokenHolder) -> HolderSecret<'_> {
        let name = self.of(holder);
        let arn = SecretReference::parse(&name).filter(|_| name.starts_with("arn:"));
        HolderSecret { names: self, name, arn }
    }

    /// The holder of a token with this mark that was found in `tenancy`; `None` if the token does not belong there. The
    /// secret has another name than the service's only if the mark names such a secret of this deployment.
    pub fn holder_of(&self, mark: &HolderMark, tenancy: &Tenancy) -> Option<TokenHolder> {
        if mark.service.is_none() {
            return Some(TokenHolder::Client { tenancy: tenancy.clone() });
        }
        let service = mark.service_in(tenancy)?;
        let spelled = mark.secret.as_deref().and_then(|secret| {
            let name = secret.strip_prefix(&format!("{}/{}/{}", self.account, self.region, self.start()))?;
            TokenHolder::in_secret(service.clone(), name)
        });
        Some(spelled.unwrap_or(TokenHolder::Service(service)))
    }

    /// The start of the names of all secrets of the deployment, except the client token's if it is configured.
    pub fn start(&self) -> String {
        format!("{}-", self.prefix.0)
    }

    /// Whether the reference is to a secret with the deployment's prefix.
    pub fn is_under_prefix(&self, reference: &SecretReference) -> bool {
        reference.is_in(&self.account, &self.region) && reference.starts_with(&self.start())
    }

    /// The name of the policy of client agents' tokens.
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

/// The names after the prefix and its hyphen.
pub const RESERVED_NAMES: [&str; 15] = [
    "bootstrap-token",
    "bootstrap-token-shared",
    "ca-key",
    "ca-key-shared",
    "ca-cert",
    "ca-cert-shared",
    "consul-ca-cert",
    "client-ca-cert",
    "gossip-key",
    "gossip-key-shared",
    "gossip-encryption-key",
    "consul-license",
    "tgw-private-key",
    "external-private-key",
    "external-app-ca-key",
];

/// The ends of such names; a hyphen comes before each.
pub const RESERVED_ENDS: [&str; 4] = ["bootstrap-token", "ca-key", "ca-cert", "consul-license"];

/// The length of the random suffix that Secrets Manager appends to a name after a hyphen. The template denies six characters.
const SUFFIX: usize = 6;

/// Checks that a service's secret has not the name of a secret of another kind, ignoring case. `start` is the prefix with its
/// hyphen: the template denies nothing outside of it.
///
/// IAM decides about a creation by the name without its suffix. So names that look like a reserved one with a suffix
/// (`ca-cert-server`) are refused too: the role could not create them.
///
/// # Errors
/// The name, and what to do.
pub fn check_reserved(secret: &str, start: &str) -> Result<(), InvalidField> {
    let Some(name) = secret.strip_prefix(start).map(str::to_ascii_lowercase) else { return Ok(()) };
    let stem = name.len().checked_sub(SUFFIX).and_then(|at| name.get(..at)?.strip_suffix('-'));
    if is_of_another_kind(&name) || stem.is_some_and(is_of_another_kind) {
        let expected = "a name that HashiCorp's modules do not use for a key, certificate or licence, even with six \
                        more characters; rename the service, or for client agents set another ClientTokenSecretName";
        return Err(InvalidField::new("secret name", secret, expected));
    }
    Ok(())
}

fn is_of_another_kind(name: &str) -> bool {
    let has_end = |end: &&str| name.strip_suffix(*end).is_some_and(|before| before.ends_with('-'));
    RESERVED_NAMES.contains(&name) || RESERVED_ENDS.iter().any(has_end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        examples::{cluster, clusters, service},
        mark::TokenDescription,
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
        holder.token_description(&cluster("prod")).for_secret(&names.place_of(holder)).holder_mark().unwrap().clone()
    }

    #[test]
    fn mark_leads_back_to_its_holder() {
        for service in [service("web"), in_tenancy("team", "shop")] {
            let spelled = TokenHolder::in_secret(service.clone(), &service.secret_name().to_ascii_uppercase()).unwrap();
            for holder in [TokenHolder::Service(service), spelled] {
                let mark = mark(&names("mesh"), &holder);
                assert_eq!(names("mesh").holder_of(&mark, holder.tenancy()), Some(holder));
            }
        }
    }

    #[test]
    fn mark_of_another_prefix_is_no_other_spelling() {
        let (own, other) = (names("mesh"), names("mesh-blue"));
        let service = TokenHolder::Service(service("web"));
        let spelled = TokenHolder::in_secret(self::service("web"), "Web").unwrap();
        for holder in [&service, &spelled] {
            let mark = mark(&other, holder);
            assert_eq!(own.holder_of(&mark, &Tenancy::Community).as_ref(), Some(&service));
            assert!(!mark.may_be_for(&own.place_of(&service)));
        }
    }

    #[test]
    fn token_of_consul_ecs_0_4_1_in_the_default_namespace_has_its_service() {
        let service = in_tenancy("team", "shop");
        let found = in_tenancy("team", "default").tenancy;
        let description = TokenHolder::Service(service.clone()).token_description(&cluster("prod"));
        let holder_of = |description: &TokenDescription, found: &Tenancy| {
            names("mesh").holder_of(description.holder_mark().unwrap(), found)
        };
        assert_eq!(holder_of(&description, &found), Some(TokenHolder::Service(service)));
        assert_eq!(holder_of(&description, &in_tenancy("team", "web").tenancy), None, "astray");
        assert_eq!(holder_of(&description, &in_tenancy("other", "default").tenancy), None, "another partition");
        let marked = description.for_secret("123456789012/us-east-1/mesh-web-shop-team");
        assert_eq!(holder_of(&marked, &found), holder_of(&description, &found), "marked before it is replaced");
    }

    #[test]
    fn client_token_s_secret_is_no_service_s() {
        let configured = |client: &str| {
            let clusters = clusters("prod");
            SecretNames::new("mesh".parse().unwrap(), Some(client.to_owned()), Tenancy::Community, &clusters)
        };
        let holder = |name: &str| TokenHolder::Service(service(name));
        assert!(names("mesh").is_reserved(&holder("consul-client-token")));
        assert!(configured("other").is_reserved(&holder("consul-client-token")));
        assert!(configured("mesh-Agents").is_reserved(&holder("agents")), "ignoring case");
        let arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-agents-AbCdEf";
        assert!(configured(arn).is_reserved(&holder("agents")));
        assert!(!configured("mesh-Agents").is_reserved(&holder("agents-2")));
        assert!(!names("mesh").is_reserved(&holder("web")));
        let consul = MeshService { name: "consul".parse().unwrap(), ..in_tenancy("team", "client-token") };
        assert!(names("mesh").is_reserved(&TokenHolder::Service(consul)), "the client token of the partition team");
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

    fn is_reserved(secret: &str) -> bool {
        check_reserved(secret, "mesh-").is_err()
    }

    #[test]
    fn names_and_ends_are_refused_in_any_spelling() {
        for name in RESERVED_NAMES {
            assert!(
                is_reserved(&format!("mesh-{name}")) && is_reserved(&format!("mesh-{}", name.to_uppercase())),
                "{name}"
            );
        }
        for end in RESERVED_ENDS {
            assert!(is_reserved(&format!("mesh-dc2-{end}")), "{end}");
        }
    }

    #[test]
    fn other_services_keep_their_secrets() {
        for name in [
            "web",
            "consul-client-token",
            "gossip-key-rotator",
            "my-gossip-key",
            "africa-key",
            "ca-keys",
            "ca-cert-app",
            "server",
        ] {
            assert!(!is_reserved(&format!("mesh-{name}")), "{name}");
        }
    }

    #[test]
    fn names_with_the_length_of_a_suffix_are_refused() {
        for name in ["ca-cert-server", "gossip-key-worker", "team-bootstrap-token-broker", "CA-KEY-a-bcde"] {
            assert!(is_reserved(&format!("mesh-{name}")), "{name}");
        }
    }

    #[test]
    fn client_token_s_secret_outside_of_the_prefix_is_never_refused() {
        assert!(check_reserved("x-ca-cert", "mesh-").is_ok() && check_reserved("ca-cert", "mesh-").is_ok());
    }

    #[test]
    fn refusal_names_the_secret() {
        let error = check_reserved("mesh-ca-key", "mesh-").unwrap_err().to_string();
        assert!(
            error.contains("\"mesh-ca-key\"") && error.contains("rename the service, or for client agents"),
            "{error}"
        );
    }
}
