//! The name of a Consul service.

use std::{fmt, str::FromStr};

use super::field::InvalidField;

/// The name of a Consul service, valid in a service identity, in the name of a secret and in a filter expression.
///
/// Lower-case alphanumerics, `-` and `_`, at most 256 characters, starting and ending with an alphanumeric, as for a
/// service identity: <https://developer.hashicorp.com/consul/api-docs/acl/tokens#serviceidentities>.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceName(String);

impl ServiceName {
    /// The longest name that Consul accepts, in characters.
    pub const MAX_LENGTH: usize = 256;

    const EXPECTED: &'static str = "a Consul service name: lower-case letters, digits, '-' and '_', \
        at most 256 characters, starting and ending with a letter or digit";

    /// The name of a service that has the name of its task family, in lower case as in consul-ecs.
    ///
    /// # Errors
    /// The family is not a valid service name even in lower case.
    pub fn from_family(family: &str) -> Result<Self, InvalidField> {
        family.to_ascii_lowercase().parse::<Self>().map_err(|_| InvalidField::new("family", family, Self::EXPECTED))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServiceName {
    type Err = InvalidField;

    fn from_str(name: &str) -> Result<Self, InvalidField> {
        let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let bytes = name.as_bytes();
        let ends_well =
            bytes.first().is_some_and(|b| alphanumeric(*b)) && bytes.last().is_some_and(|b| alphanumeric(*b));
        let legal = bytes.iter().all(|b| alphanumeric(*b) || *b == b'-' || *b == b'_');
        if ends_well && legal && name.len() <= Self::MAX_LENGTH {
            Ok(Self(name.to_owned()))
        } else {
            Err(InvalidField::new("service name", name, Self::EXPECTED))
        }
    }
}

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_names_are_parsed() {
        for name in ["a", "web", "web-1", "web_1", "0web", &"a".repeat(256)] {
            assert_eq!(name.parse::<ServiceName>().unwrap().as_str(), name);
        }
    }

    #[test]
    fn invalid_names_are_rejected() {
        for name in ["", "-web", "web-", "Web", "we b", "web\"", "web.api", "wéb", &"a".repeat(257)] {
            assert!(name.parse::<ServiceName>().is_err(), "{name}");
        }
    }

    #[test]
    fn family_is_lower_cased() {
        assert_eq!(ServiceName::from_family("Web_App").unwrap().as_str(), "web_app");
        assert!(ServiceName::from_family("web-").unwrap_err().to_string().starts_with("family: got \"web-\""));
    }
}
