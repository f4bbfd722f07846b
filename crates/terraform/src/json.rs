//! `jsonencode` and `jsondecode`.

use document::{HOLE, Node, Place, Route, Span, TextBuilder, Value, parse_json};

use crate::values::{OPEN_KEY, is_open, unknown};

/// The value of a JSON text. All of it has the place of the call.
pub(crate) fn json_decoded(text: &Node, span: Span) -> Option<Node> {
    let text = text.as_text()?;
    if text.contains(HOLE) {
        return Some(unknown(span));
    }
    Some(parse_json(&text, &Route::default()).ok()?.placed(span))
}

/// The JSON of a value, in which every part has the place of its value. An unknown value becomes an unknown part of the
/// string.
pub(crate) fn json_encoded(value: &Node, span: Span) -> Node {
    if value.is_unknown() {
        return unknown(span);
    }
    let mut out = TextBuilder::default();
    write_json(value, &mut out);
    let (text, parts) = out.finish();
    Node { value: Value::Text(text), place: Place { span, route: None, parts: parts.map(Into::into) } }
}

fn write_json(value: &Node, out: &mut TextBuilder) {
    let place = value.place.span;
    let start = out.text.len();
    match &value.value {
        Value::Null => out.push("null", place),
        Value::Bool(value) => out.push(if *value { "true" } else { "false" }, place),
        Value::Number(number) => out.push(number, place),
        Value::Text(text) => out.push(&quoted(text), place),
        Value::Unknown => out.push(&quoted(&HOLE.to_string()), place),
        Value::Map(_) if is_open(value) => out.push(&quoted(OPEN_KEY), place),
        Value::List(items) => {
            out.push_unplaced("[");
            for (index, item) in items.iter().enumerate() {
                out.push_unplaced(if index == 0 { "" } else { "," });
                write_json(item, out);
            }
            out.push_unplaced("]");
            out.enclose(start, place);
        }
        Value::Map(entries) => {
            out.push_unplaced("{");
            for (index, entry) in entries.iter().enumerate() {
                out.push_unplaced(if index == 0 { "" } else { "," });
                out.push(&quoted(&entry.key), entry.key_span);
                out.push_unplaced(":");
                write_json(&entry.node, out);
            }
            out.push_unplaced("}");
            out.enclose(start, place);
        }
    }
}

/// A string as JSON spells it.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
