//! A tag, or a property: a key and a value.

use super::field::{Field, Text};
use crate::document::Place;

/// A tag.
#[derive(Debug, Clone)]
pub struct Tag {
    /// Its key.
    pub key: Field<Text>,
    /// Its value.
    pub value: Field<Text>,
    /// Its place in the file.
    pub place: Place,
}
