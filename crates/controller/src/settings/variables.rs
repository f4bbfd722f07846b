//! Reads and validates environment variables by name.

use std::str::FromStr;

use mesh::field::InvalidField;

/// The variables, by name.
pub(super) struct Variables<F>(pub(super) F);

impl<F: Fn(&str) -> Option<String>> Variables<F> {
    /// The text of a variable.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        (self.0)(name)
    }

    /// The text of a variable, if it is set and `is_valid`.
    pub(super) fn checked(
        &self,
        name: &'static str,
        is_valid: impl Fn(&str) -> bool,
        expected: &'static str,
    ) -> Result<Option<String>, InvalidField> {
        match self.text(name) {
            Some(text) if !is_valid(&text) => Err(InvalidField::new(name, &text, expected)),
            text => Ok(text),
        }
    }

    /// The name or ARN of a secret.
    pub(super) fn secret_id(&self, name: &'static str) -> Result<Option<String>, InvalidField> {
        let is_valid = |text: &str| {
            let name = match text.strip_prefix("arn:") {
                Some(rest) if rest.split(':').nth(1) == Some("secretsmanager") => rest.split(':').nth(5),
                Some(_) => None,
                None => Some(text),
            };
            let legal = |b: u8| b.is_ascii_alphanumeric() || b"/_+=.@-".contains(&b);
            name.is_some_and(|name| !name.is_empty() && name.len() <= 519 && name.bytes().all(legal))
        };
        self.checked(name, is_valid, "the name or the ARN of a secret in Secrets Manager")
    }

    /// The text of a required variable.
    pub(super) fn required_text(&self, name: &'static str, expected: &'static str) -> Result<String, InvalidField> {
        self.text(name).ok_or_else(|| InvalidField::new(name, "", expected))
    }

    /// The parsed value of a variable, if it is set.
    pub(super) fn optional<T: FromStr<Err = InvalidField>>(
        &self,
        name: &'static str,
    ) -> Result<Option<T>, InvalidField> {
        self.text(name).map(|text| text.parse::<T>().map_err(|e| e.in_field(name))).transpose()
    }

    /// The parsed value of a required variable.
    pub(super) fn required<T: FromStr<Err = InvalidField>>(
        &self,
        name: &'static str,
        expected: &'static str,
    ) -> Result<T, InvalidField> {
        self.required_text(name, expected)?.parse::<T>().map_err(|e| e.in_field(name))
    }
}
