//! The error of all parsers: the field, its value, and what was expected.

use std::fmt;

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
        let mut shown: String = value.chars().take(SHOWN_CHARS).collect();
        if shown.len() < value.len() {
            shown.push('…');
        }
        Self { field: field.into(), value: shown, expected }
    }

    /// The field's name.
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

impl fmt::Display for InvalidField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: got {:?}, expected {}", self.field, self.value, self.expected)
    }
}

impl std::error::Error for InvalidField {}

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
}
