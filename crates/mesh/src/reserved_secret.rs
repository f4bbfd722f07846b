//! Names below the prefix that HashiCorp's modules and examples give to secrets of other kinds: keys, certificates, licences.
//!
//! The function refuses a service with such a name, and the template denies its roles these secrets.

use super::field::InvalidField;

/// The names after the prefix and its hyphen.
pub const NAMES: [&str; 15] = [
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
pub const ENDS: [&str; 4] = ["bootstrap-token", "ca-key", "ca-cert", "consul-license"];

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
pub fn check(secret: &str, start: &str) -> Result<(), InvalidField> {
    let Some(name) = secret.strip_prefix(start).map(str::to_ascii_lowercase) else { return Ok(()) };
    let stem = name.len().checked_sub(SUFFIX).and_then(|at| name.get(..at)?.strip_suffix('-'));
    if is_of_another_kind(&name) || stem.is_some_and(is_of_another_kind) {
        let expected = "a name that HashiCorp's modules do not use for a key, certificate or licence, also not with six more \
             characters; rename the service, or for client agents set another ClientTokenSecretName";
        return Err(InvalidField::new("secret name", secret, expected));
    }
    Ok(())
}

fn is_of_another_kind(name: &str) -> bool {
    let has_end = |end: &&str| name.strip_suffix(*end).is_some_and(|before| before.ends_with('-'));
    NAMES.contains(&name) || ENDS.iter().any(has_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_reserved(secret: &str) -> bool {
        check(secret, "mesh-").is_err()
    }

    #[test]
    fn names_and_ends_are_refused_in_any_spelling() {
        for name in NAMES {
            assert!(
                is_reserved(&format!("mesh-{name}")) && is_reserved(&format!("mesh-{}", name.to_uppercase())),
                "{name}"
            );
        }
        for end in ENDS {
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
        assert!(check("x-ca-cert", "mesh-").is_ok() && check("ca-cert", "mesh-").is_ok());
    }

    #[test]
    fn refusal_names_the_secret() {
        let error = check("mesh-ca-key", "mesh-").unwrap_err().to_string();
        assert!(
            error.contains("\"mesh-ca-key\"") && error.contains("rename the service, or for client agents"),
            "{error}"
        );
    }
}
