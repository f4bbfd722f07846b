//! The value of a YAML scalar.

use saphyr_parser::ScalarStyle;

use super::Value;

/// The value of a scalar in YAML's core schema: <https://yaml.org/spec/1.2.2/#103-core-schema>. `true` may also be
/// written `True`.
pub(super) fn scalar(text: String, style: ScalarStyle, is_string: bool) -> Value {
    if style != ScalarStyle::Plain || is_string {
        return Value::Text(text);
    }
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        number if is_number(number) => Value::Number(text),
        _ => Value::Text(text),
    }
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) && text.parse::<f64>().is_ok()
}
