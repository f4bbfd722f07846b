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

/// Checks that no secret of another kind has this name, ignoring case. `start` is the prefix with its hyphen.
///
/// # Errors
/// The name, and what to do.
pub fn check(secret: &str, start: &str) -> Result<(), InvalidField> {
    let name = secret.strip_prefix(start).unwrap_or(secret).to_ascii_lowercase();
    let has_end = |end: &&str| name.strip_suffix(*end).is_some_and(|before| before.ends_with('-'));
    if NAMES.contains(&name.as_str()) || ENDS.iter().any(has_end) {
        let expected =
            "a name that HashiCorp's modules do not use for a key, certificate or licence; rename the service";
        return Err(InvalidField::new("secret name", secret, expected));
    }
    Ok(())
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
        for name in ["web", "consul-client-token", "gossip-key-rotator", "my-gossip-key", "africa-key", "ca-keys"] {
            assert!(!is_reserved(&format!("mesh-{name}")), "{name}");
        }
    }

    #[test]
    fn refusal_names_the_secret() {
        let error = check("mesh-ca-key", "mesh-").unwrap_err().to_string();
        assert!(error.contains("\"mesh-ca-key\"") && error.contains("rename the service"), "{error}");
    }
}
