//! Names, parsed once and then trusted, and the error of all parsers.

use std::{fmt, str::FromStr, sync::Arc};

/// Gives types that hold a checked text `as_str` and `Display`.
macro_rules! text {
    ($($type:ident.$text:tt),+) => {$(
        impl $type {
            pub fn as_str(&self) -> &str {
                &self.$text
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.$text)
            }
        }
    )+};
}

/// Declares an enum with one text for each value, as in settings, JSON and the APIs of Consul and ECS.
macro_rules! words {
    (
        $(#[$meta:meta])*
        $enum:ident, $field:literal {
            $(#[$first_meta:meta])* $first:ident = $first_text:literal,
            $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $enum {
            $(#[$first_meta])*
            #[serde(rename = $first_text)]
            $first,
            $(
                $(#[$variant_meta])*
                #[serde(rename = $text)]
                $variant,
            )+
        }

        impl $enum {
            pub fn as_str(self) -> &'static str {
                match self { Self::$first => $first_text, $(Self::$variant => $text),+ }
            }
        }

        impl std::str::FromStr for $enum {
            type Err = $crate::names::InvalidField;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $first_text => Ok(Self::$first),
                    $($text => Ok(Self::$variant),)+
                    _ => Err(Self::Err::new($field, text, concat!("one of ", $first_text $(, ", ", $text)+))),
                }
            }
        }
    };
}

pub(crate) use {text, words};

text!(ServiceName.0);

/// How much of an invalid value an error contains, in characters.
const SHOWN_CHARS: usize = 120;

/// An external value that could not be parsed.
///
/// The field is spelled as the sender spells it, so that the log line identifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidField {
    field: String,
    value: String,
    expected: &'static str,
}

impl InvalidField {
    /// `field` as the sender spells it (`detail.taskArn`, a tag key, an environment variable), the value found there,
    /// and a description of the valid values.
    pub fn new(field: impl Into<String>, value: &str, expected: &'static str) -> Self {
        Self { field: field.into(), value: shortened(value), expected }
    }

    pub fn field(&self) -> &str {
        &self.field
    }

    /// The same error for the field that contains the parsed value.
    #[must_use]
    pub fn in_field(mut self, field: impl Into<String>) -> Self {
        self.field = field.into();
        self
    }
}

/// The beginning of a text from outside, for a message.
pub fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

impl fmt::Display for InvalidField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: got {:?}, expected {}", self.field, self.value, self.expected)
    }
}

impl std::error::Error for InvalidField {}

/// The name of a Consul service, valid in a service identity, in the name of a secret and in a filter expression.
///
/// Lower-case alphanumerics, `-` and `_`, at most 256 characters, starting and ending with an alphanumeric, as for a
/// service identity: <https://developer.hashicorp.com/consul/api-docs/acl/tokens#serviceidentities>.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceName(Arc<str>);

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
            Ok(Self(name.into()))
        } else {
            Err(InvalidField::new("service name", name, Self::EXPECTED))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_value_is_truncated() {
        let error = InvalidField::new("detail.taskArn", &"x".repeat(5_000), "a task ARN");
        assert!(error.to_string().len() < 250, "{error}");
        assert!(error.to_string().starts_with("detail.taskArn: got \"xxx"), "{error}");
    }

    #[test]
    fn control_characters_cannot_forge_log_lines() {
        let error = InvalidField::new("tag", "a\nb", "a name");
        assert!(!error.to_string().contains('\n'), "{error}");
    }

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
