//! The tokens in Secrets Manager that a task requires, and those that it may use.

use super::{
    identity::MeshIdentity, secret_name::SecretNames, secret_reference::SecretReference, token::TokenHolder,
    token_mode::TokenMode,
};

/// What decides which tokens a task requires.
#[derive(Debug, Clone, Copy)]
pub struct TokenRules<'a> {
    /// How tasks get their tokens.
    pub mode: TokenMode,
    /// How secrets are named.
    pub names: &'a SecretNames,
}

impl TokenRules<'_> {
    /// The holders whose tokens a starting task requires.
    #[must_use]
    pub fn required(self, identity: &MeshIdentity) -> Vec<TokenHolder> {
        match self.mode {
            TokenMode::Auto => self.read(identity),
            TokenMode::SecretsManager if identity.gateway.is_none() => {
                vec![client_of(identity), TokenHolder::Service(identity.service.clone())]
            }
            // Gateways log in.
            TokenMode::SecretsManager | TokenMode::AuthMethod => Vec::new(),
        }
    }

    /// The holders whose tokens a stopped task may have used: those that it read, and in the explicit modes its service,
    /// whether its definition says so or not.
    #[must_use]
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
    #[must_use]
    pub fn contradiction(self, identity: &MeshIdentity) -> Option<&'static str> {
        let read = self.read(identity);
        match self.mode {
            TokenMode::SecretsManager
                if identity.gateway.is_none() && !read.contains(&TokenHolder::Service(identity.service.clone())) =>
            {
                Some("its tasks do not read the token that TokenMode secrets-manager creates; use TokenMode auto")
            }
            TokenMode::AuthMethod if !read.is_empty() => {
                Some("its tasks read a token, which TokenMode auth-method does not create; use TokenMode auto")
            }
            TokenMode::Auto | TokenMode::SecretsManager | TokenMode::AuthMethod => None,
        }
    }

    /// The holders of the tokens whose secrets the containers of a task read. A token that is read is used even if the
    /// task is configured to log in: consul-ecs 0.7 to 0.10 skip the login if `CONSUL_HTTP_TOKEN` is set.
    #[must_use]
    pub fn read(self, identity: &MeshIdentity) -> Vec<TokenHolder> {
        let own = TokenHolder::Service(identity.service.clone());
        let by_family = TokenHolder::of_family(identity.service.clone(), identity.family.clone());
        let mut candidates = vec![client_of(identity), own];
        if !candidates.contains(&by_family) {
            candidates.push(by_family);
        }
        // The end of a name without random characters may look like them.
        let is_exact = |holder: &TokenHolder, secret: &SecretReference| secret.is_exactly(&self.names.of(holder));
        let is_read = |holder: &TokenHolder, secret: &SecretReference| {
            self.names.is_secret_of(holder, secret)
                && (is_exact(holder, secret) || !candidates.iter().any(|other| is_exact(other, secret)))
        };
        let current = || identity.secrets.iter().filter(|secret| secret.is_current());
        candidates.iter().filter(|holder| current().any(|secret| is_read(holder, secret))).cloned().collect()
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

    /// A task of service `web` and family `Web-Family` that reads these secrets.
    fn reading(secrets: &[&str]) -> MeshIdentity {
        MeshIdentity {
            service: service("web"),
            gateway: None,
            family: "Web-Family".parse().unwrap(),
            secrets: secrets.iter().map(|secret| SecretReference::parse(secret).unwrap()).collect(),
        }
    }

    fn required(mode: TokenMode, identity: &MeshIdentity) -> Vec<String> {
        let names = SecretNames::new("mesh".parse().unwrap(), None, Tenancy::Community, &clusters("prod"));
        let holders = TokenRules { mode, names: &names }.required(identity);
        holders.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn task_requires_each_token_whose_secret_it_reads() {
        let required = |secrets: &[&str]| required(TokenMode::Auto, &reading(secrets));
        assert_eq!(required(&[]), [""; 0], "a task that logs in");
        assert_eq!(required(&[&format!("{ARN}:mesh-web-AbCdEf:token::")]), ["service web"]);
        assert_eq!(required(&[&format!("{ARN}:mesh-consul-client-token-AbCdEf:token::")]), ["consul-client"]);
        assert_eq!(required(&["mesh-web", "mesh-consul-client-token"]), ["consul-client", "service web"]);
        assert_eq!(required(&[&format!("{ARN}:mesh-Web-Family-AbCdEf")]), ["service web of family Web-Family"]);
    }

    #[test]
    fn secret_that_the_controller_does_not_write_requires_nothing() {
        for secret in [
            "other-web",
            "mesh-orders",
            "arn:aws:secretsmanager:us-east-1:999999999999:secret:mesh-web-AbCdEf:token::",
            "arn:aws:secretsmanager:eu-west-1:123456789012:secret:mesh-web-AbCdEf:token::",
            "arn:aws:secretsmanager:us-east-1:123456789012:secret:mesh-web-AbCdEf:token:AWSPREVIOUS:",
        ] {
            assert_eq!(required(TokenMode::Auto, &reading(&[secret])), [""; 0], "{secret}");
        }
    }

    #[test]
    fn explicit_modes_ignore_what_a_task_reads() {
        assert_eq!(required(TokenMode::SecretsManager, &reading(&[])), ["consul-client", "service web"]);
        assert_eq!(required(TokenMode::AuthMethod, &reading(&["mesh-web"])), [""; 0]);
    }

    #[test]
    fn definition_contradicts_an_explicit_mode() {
        let names = SecretNames::new("mesh".parse().unwrap(), None, Tenancy::Community, &clusters("prod"));
        let contradicts =
            |mode, secrets: &[&str]| TokenRules { mode, names: &names }.contradiction(&reading(secrets)).is_some();
        let reads = ["mesh-web", "mesh-consul-client-token"];
        assert!(!contradicts(TokenMode::Auto, &[]) && !contradicts(TokenMode::Auto, &reads));
        assert!(contradicts(TokenMode::SecretsManager, &[]) && !contradicts(TokenMode::SecretsManager, &reads));
        assert!(!contradicts(TokenMode::AuthMethod, &[]) && contradicts(TokenMode::AuthMethod, &reads));
    }

    #[test]
    fn explicit_modes_count_a_task_for_its_service_and_for_what_it_reads() {
        let names = SecretNames::new("mesh".parse().unwrap(), None, Tenancy::Community, &clusters("prod"));
        let used = |mode, identity: &MeshIdentity| {
            let holders = TokenRules { mode, names: &names }.used(identity);
            holders.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let family = ["service web of family Web-Family", "service web"];
        for mode in [TokenMode::SecretsManager, TokenMode::AuthMethod] {
            assert_eq!(used(mode, &reading(&[])), ["service web"]);
            assert_eq!(used(mode, &reading(&["mesh-Web-Family"])), family);
        }
        assert_eq!(used(TokenMode::Auto, &reading(&[])), [""; 0]);
        assert_eq!(used(TokenMode::Auto, &reading(&["mesh-Web-Family"])), family[..1]);
    }
}
