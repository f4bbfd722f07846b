//! Values in Terraform's native syntax: how they are spelled, and where they end.

use serde_json::Value as Json;

use audit_read::document::Span;

/// The end of a value whose literal is an argument of a call or in parentheses: behind their closing brackets.
pub(super) fn end_of_value(text: &str, end: usize, limit: usize) -> Option<usize> {
    let rest = text.get(end..limit)?;
    let closing = rest.find(|c: char| c != ')' && !c.is_whitespace()).unwrap_or(0);
    let brackets = rest.get(..closing)?.rfind(')').map_or(0, |at| at + 1);
    Some(end + brackets)
}

/// A value as Terraform spells it.
pub(super) fn spelled(value: &Json) -> String {
    match value {
        Json::String(text) => Json::from(text.as_str()).to_string().replace("${", "$${").replace("%{", "%%{"),
        Json::Array(items) => format!("[{}]", items.iter().map(spelled).collect::<Vec<_>>().join(", ")),
        Json::Object(entries) if entries.is_empty() => "{}".to_owned(),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{} = {}", spelled_key(key), spelled(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// A key as Terraform spells it.
pub(super) fn spelled_key(key: &str) -> String {
    let is_name = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if is_name { key.to_owned() } else { spelled(&Json::from(key)) }
}

/// The text with other bytes at `span`.
pub(super) fn put(text: &str, span: Span, with: &str) -> Option<String> {
    Some([text.get(..span.start)?, with, text.get(span.end..)?].concat())
}
