//! Reads JSON, and names the path of a field that is not known or invalid.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use crate::{ecs_config::CONFIG_VARIABLE, field::InvalidField};

/// How much of a field's path an error contains, in characters.
const SHOWN_CHARS: usize = 120;

/// A field's path as errors name it.
pub(super) fn in_config(path: &str) -> String {
    format!("{CONFIG_VARIABLE}: {path}")
}

/// A field that must not be null: the schema of consul-ecs allows null for all others, and it means absent.
pub(super) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

pub(super) fn invalid(path: &str, expected: &'static str) -> InvalidField {
    InvalidField::new(in_config(path), "(not shown)", expected)
}

pub(super) fn read<T: DeserializeOwned>(json: &str) -> Result<T, InvalidField> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let config = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        // A key can contain anything.
        let path: String = error.path().to_string().chars().take(SHOWN_CHARS).collect();
        invalid(&path.escape_debug().to_string(), "a known field with a valid value, as in the reference of consul-ecs")
    })?;
    deserializer.end().map_err(|_| InvalidField::new(CONFIG_VARIABLE, "(not shown)", "one JSON object"))?;
    Ok(config)
}
