//! The settings of a deployment that a plan depends on, and the tokens that a task requires with them.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;

use crate::{
    cluster_selection::ClusterSelection,
    holder::TokenHolder,
    identity::MeshIdentity,
    names::words,
    secret::Trigger,
    secret_name::SecretNames,
    secret_reference::SecretReference,
    time::{Bounds, GracePeriod},
};

words! {
    /// Whether the controller changes what it finds.
    #[derive(Default)]
    Mode, "mode" {
        #[default]
        Act = "act",
        /// It reads, plans and reports, and changes nothing.
        Observe = "observe",
    }
}

impl Mode {
    /// Whether writes are sent.
    pub fn acts(self) -> bool {
        self == Self::Act
    }

    /// The `outcome` in the log of what was written, or would have been.
    pub fn done(self) -> &'static str {
        match self {
            Self::Act => "done",
            Self::Observe => "observed",
        }
    }
}

words! {
    /// How tasks get their tokens. It decides which tokens are created, and which tasks keep a token: in [`Self::Auto`] those
    /// that read its secret, in the other modes every task of the service too. All other deletions are the same.
    #[derive(Default)]
    TokenMode, "token mode" {
        /// The task definition decides: a task gets each token whose secret its own revision reads, and no other.
        #[default]
        Auto = "auto",
        /// Every service gets a token in Secrets Manager, as the controller of consul-ecs did before tasks logged in.
        SecretsManager = "secrets-manager",
        /// Tasks log in with an auth method, and the controller creates no token.
        AuthMethod = "auth-method",
    }
}

words! {
    /// Whether the controller changes what running tasks have in Consul.
    #[derive(Default)]
    RepairMode, "repair mode" {
        #[default]
        On = "on",
        /// It reports what it would do.
        Report = "report",
        /// It does not, and does not compare either.
        Off = "off",
    }
}

/// The settings of one deployment that a plan depends on, and the current time.
#[derive(Debug, Clone, Copy)]
pub struct PlanSettings<'a> {
    /// How tasks get their tokens.
    pub mode: TokenMode,
    pub clusters: &'a ClusterSelection,
    pub names: &'a SecretNames,
    /// How long an idle service keeps its token.
    pub grace: GracePeriod,
    pub bounds: &'a Bounds,
    /// How long a pre-provisioned token waits for the first task of its service.
    pub unused_for: Duration,
    /// The trigger of revocations, for logs.
    pub trigger: Trigger,
    pub now: Timestamp,
}

impl<'a> PlanSettings<'a> {
    /// What decides which tokens a task requires.
    pub fn tokens(&self) -> TokenSettings<'a> {
        TokenSettings { mode: self.mode, names: self.names }
    }
}

/// What decides which tokens a task requires.
#[derive(Debug, Clone, Copy)]
pub struct TokenSettings<'a> {
    /// How tasks get their tokens.
    pub mode: TokenMode,
    pub names: &'a SecretNames,
}

impl TokenSettings<'_> {
    /// The holders whose tokens a starting task requires.
    pub fn required(self, identity: &MeshIdentity) -> Vec<TokenHolder> {
        match self.mode {
            TokenMode::Auto => self.read(identity),
            TokenMode::SecretsManager if identity.gateway.is_none() => {
                let mut required = self.read(identity);
                if !required.iter().any(|holder| holder.service().is_some()) {
                    required.push(TokenHolder::Service(identity.service.clone()));
                }
                if !required.contains(&client_of(identity)) {
                    required.push(client_of(identity));
                }
                required
            }
            // Gateways log in.
            TokenMode::SecretsManager | TokenMode::AuthMethod => Vec::new(),
        }
    }

    /// The holders whose tokens a stopped task may have used: those that it read, and in the explicit modes its service,
    /// whether its definition says so or not.
    pub fn used(self, identity: &MeshIdentity) -> Vec<TokenHolder> {
        let mut used = self.read(identity);
        used.retain(|holder| holder.service().is_some());
        let own = TokenHolder::Service(identity.service.clone());
        if self.mode != TokenMode::Auto && !used.contains(&own) {
            used.push(own);
        }
        used
    }

    /// How the task definition contradicts an explicit mode: what its tasks read is not what the mode creates.
    pub fn contradiction(self, identity: &MeshIdentity) -> Option<&'static str> {
        let read = self.read(identity);
        match self.mode {
            TokenMode::SecretsManager
                if identity.gateway.is_none() && !read.iter().any(|holder| holder.service().is_some()) =>
            {
                Some("its tasks do not read the token that TokenMode secrets-manager creates; use TokenMode auto")
            }
            TokenMode::AuthMethod if !read.is_empty() => {
                Some("its tasks read a token, which TokenMode auth-method does not create; use TokenMode auto")
            }
            _ if self.reads_another_token(identity) => Some(
                "its tasks read a token from a secret that is not named after their service, so the controller writes \
                 no token there; read <SecretNamePrefix>-<service>, or correct the tag \
                 consul.hashicorp.com/service-name",
            ),
            TokenMode::Auto | TokenMode::SecretsManager | TokenMode::AuthMethod => None,
        }
    }

    /// The holders of the tokens whose secrets the containers of a task read: client agents, and its own service, in any
    /// spelling. A token that is read is used even if the task is configured to log in: consul-ecs 0.7 to 0.10 skip the
    /// login if `CONSUL_HTTP_TOKEN` is set.
    pub fn read(self, identity: &MeshIdentity) -> Vec<TokenHolder> {
        let current = identity.secrets.iter().filter(|secret| secret.is_current());
        current.flat_map(|secret| self.holders_of(secret, identity)).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Whether a task reads a token from a secret that is neither its service's nor the client agents'. Nothing is written
    /// into such a secret for this task: anyone who may read it could otherwise get the identity of any service.
    pub fn reads_another_token(self, identity: &MeshIdentity) -> bool {
        let is_token = |secret: &&SecretReference| secret.is_token() && self.names.is_under_prefix(secret);
        identity.secrets.iter().filter(is_token).any(|secret| self.holders_of(secret, identity).is_empty())
    }

    /// The holders whose secret this may be. The end of a name without random characters may look like them.
    fn holders_of(self, secret: &SecretReference, identity: &MeshIdentity) -> Vec<TokenHolder> {
        let client = Some(client_of(identity)).filter(|client| self.names.is_secret_of(client, secret));
        let mut holders: Vec<TokenHolder> =
            self.names.holder_in(&identity.service, secret).into_iter().chain(client).collect();
        if let Some(exact) = holders.iter().position(|holder| secret.is_exactly(&self.names.of(holder))) {
            holders = vec![holders.swap_remove(exact)];
        }
        holders
    }
}

/// The client agents of the partition of a task.
fn client_of(identity: &MeshIdentity) -> TokenHolder {
    TokenHolder::Client { tenancy: identity.service.tenancy.home() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        examples::{clusters, service},
        tenancy::Tenancy,
    };

    const ARN: &str = "arn:aws:secretsmanager:us-east-1:123456789012:secret";

    /// A task of the service `web` that reads these secrets.
    fn reading(secrets: &[&str]) -> MeshIdentity {
        let secrets = secrets.iter().map(|secret| SecretReference::parse(secret).unwrap()).collect();
        MeshIdentity { service: service("web"), gateway: None, secrets }
    }

    fn names() -> SecretNames {
        SecretNames::new("mesh".parse().unwrap(), None, Tenancy::Community, &clusters("prod"))
    }

    fn shown(holders: &[TokenHolder]) -> Vec<String> {
        holders.iter().map(ToString::to_string).collect()
    }

    fn required(mode: TokenMode, identity: &MeshIdentity) -> Vec<String> {
        shown(&TokenSettings { mode, names: &names() }.required(identity))
    }

    #[test]
    fn task_requires_each_token_whose_secret_it_reads() {
        let required = |secrets: &[&str]| required(TokenMode::Auto, &reading(secrets));
        assert_eq!(required(&[]), [""; 0], "a task that logs in");
        assert_eq!(required(&[&format!("{ARN}:mesh-web-AbCdEf:token::")]), ["service web"]);
        assert_eq!(required(&[&format!("{ARN}:mesh-consul-client-token-AbCdEf:token::")]), ["consul-client"]);
        assert_eq!(required(&["mesh-web", "mesh-consul-client-token"]), ["service web", "consul-client"]);
    }

    #[test]
    fn a_service_has_a_token_for_each_spelling_of_its_secret() {
        let arn = format!("{ARN}:mesh-WEB-AbCdEf:token::");
        let required = |secrets: &[&str]| required(TokenMode::Auto, &reading(secrets));
        assert_eq!(required(&["mesh-Web"]), ["service web in the secret Web"]);
        assert_eq!(required(&[&arn, "mesh-web"]), ["service web", "service web in the secret WEB"]);
        assert_eq!(required(&["Mesh-web"]), [""; 0], "another prefix");
    }

    #[test]
    fn secret_of_another_name_requires_nothing() {
        for secret in [
            "other-web",
            "mesh-orders",
            "mesh-web-2",
            "arn:aws:secretsmanager:us-east-1:999999999999:secret:mesh-web-AbCdEf:token::",
            "arn:aws:secretsmanager:eu-west-1:123456789012:secret:mesh-web-AbCdEf:token::",
            "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf:token:AWSPREVIOUS:",
        ] {
            assert_eq!(required(TokenMode::Auto, &reading(&[secret])), [""; 0], "{secret}");
        }
    }

    #[test]
    fn explicit_modes_ignore_what_a_task_reads() {
        assert_eq!(required(TokenMode::SecretsManager, &reading(&[])), ["service web", "consul-client"]);
        assert_eq!(required(TokenMode::SecretsManager, &reading(&["mesh-orders"])), ["service web", "consul-client"]);
        assert_eq!(required(TokenMode::AuthMethod, &reading(&["mesh-web"])), [""; 0]);
    }

    #[test]
    fn in_mode_secrets_manager_a_spelling_that_is_read_replaces_the_service_s_name() {
        let required = required(TokenMode::SecretsManager, &reading(&["mesh-Web"]));
        assert_eq!(required, ["service web in the secret Web", "consul-client"]);
    }

    #[test]
    fn definition_contradicts_its_name_or_an_explicit_mode() {
        let contradicts =
            |mode, secrets: &[&str]| TokenSettings { mode, names: &names() }.contradiction(&reading(secrets)).is_some();
        let reads = ["mesh-web", "mesh-consul-client-token:token::"];
        assert!(!contradicts(TokenMode::Auto, &[]) && !contradicts(TokenMode::Auto, &reads));
        assert!(contradicts(TokenMode::Auto, &["mesh-web:token::", "mesh-orders:token::"]), "another service's token");
        assert!(!contradicts(TokenMode::Auto, &["mesh-ca-cert", "db:token::"]), "no token, and another owner's");
        assert!(contradicts(TokenMode::SecretsManager, &[]) && !contradicts(TokenMode::SecretsManager, &reads));
        assert!(!contradicts(TokenMode::AuthMethod, &[]) && contradicts(TokenMode::AuthMethod, &reads));
    }

    #[test]
    fn explicit_modes_count_a_task_for_its_service_and_for_what_it_reads() {
        let used = |mode, identity: &MeshIdentity| shown(&TokenSettings { mode, names: &names() }.used(identity));
        for mode in [TokenMode::SecretsManager, TokenMode::AuthMethod] {
            assert_eq!(used(mode, &reading(&[])), ["service web"]);
            assert_eq!(used(mode, &reading(&["mesh-Web"])), ["service web in the secret Web", "service web"]);
        }
        assert_eq!(used(TokenMode::Auto, &reading(&["mesh-Web-Family"])), [""; 0]);
    }
}
