//! A tag, or a property: a key and a value.

use super::field::{Field, Text};
use crate::document::Place;

#[derive(Debug, Clone)]
pub struct Tag {
    pub key: Field<Text>,
    pub value: Field<Text>,
    /// Its place in the file.
    pub place: Place,
}
