//! What a file says, without its comments.

use hcl_edit::structure::Body;

use audit_read::{
    document::{Node, Value},
    input::{Notation, is_native_terraform, parse_all},
    source::SourceFile,
};

/// What a file says, without its comments.
pub(super) enum Content {
    /// JSON with comments.
    Json(Vec<Node>),
    Yaml(Vec<Node>),
    /// Terraform's native syntax.
    Terraform(Body),
}

impl Content {
    /// `None` if the file cannot be read, or is JSON without comments, which its readers may require.
    pub(super) fn of(file: &SourceFile) -> Option<Self> {
        if is_native_terraform(file) {
            return hcl_edit::parser::parse_body(file.text.trim_start_matches('\u{feff}')).ok().map(Self::Terraform);
        }
        match parse_all(file).ok()? {
            (Notation::Yaml, documents) => Some(Self::Yaml(documents)),
            (Notation::Json, _) if is_strict_json(&file.text) => None,
            (Notation::Json, documents) => Some(Self::Json(documents)),
        }
    }

    /// What begins a comment.
    pub(super) fn opener(&self) -> &'static str {
        match self {
            Self::Json(_) => "//",
            Self::Yaml(_) | Self::Terraform(_) => "#",
        }
    }

    /// Whether both say the same, wherever it stands.
    pub(super) fn is_equal(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Json(one), Self::Json(other)) | (Self::Yaml(one), Self::Yaml(other)) => are_equal(one, other),
            // The comparison leaves out comments and places.
            (Self::Terraform(one), Self::Terraform(other)) => one == other,
            _ => false,
        }
    }
}

/// JSON without comments and trailing commas.
fn is_strict_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text.trim_start_matches('\u{feff}')).is_ok()
}

/// Whether two lists have the same values.
fn are_equal(one: &[Node], other: &[Node]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
}

/// Whether two nodes have the same values, wherever they stand.
fn is_equal(one: &Node, other: &Node) -> bool {
    match (&one.value, &other.value) {
        (Value::Null, Value::Null) | (Value::Unknown, Value::Unknown) => true,
        (Value::Bool(one), Value::Bool(other)) => one == other,
        (Value::Number(one), Value::Number(other)) | (Value::Text(one), Value::Text(other)) => one == other,
        (Value::List(one), Value::List(other)) => are_equal(one, other),
        (Value::Map(one), Value::Map(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| one.key == other.key && is_equal(&one.node, &other.node))
        }
        _ => false,
    }
}
