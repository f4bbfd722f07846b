//! The family of a task definition.

use std::{fmt, str::FromStr};

use super::field::InvalidField;

/// The name of a task definition without its revision: 1 to 255 letters, digits, hyphens and underscores.
///
/// Source: <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html>
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Family(String);

impl Family {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Family {
    type Err = InvalidField;

    fn from_str(name: &str) -> Result<Self, InvalidField> {
        let legal = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if legal && (1..=255).contains(&name.len()) {
            Ok(Self(name.to_owned()))
        } else {
            Err(InvalidField::new("family", name, "1 to 255 letters, digits, hyphens and underscores"))
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
