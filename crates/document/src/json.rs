//! JSON, with the place of every value. Comments are allowed: they can ignore findings.

use jsonc_parser::{
    CollectOptions, ParseOptions, ast,
    common::{Range, Ranged},
    parse_to_ast,
};

use crate::{
    error::{MAX_DEPTH, ParseError},
    node::{Entry, Node, Value},
    place::{PathStep, Place, Route},
    span::Span,
};

/// Standard JSON with comments.
pub(crate) const JSON_WITH_COMMENTS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The JSON that programs read in a string of a file.
const STANDARD_JSON: ParseOptions = ParseOptions { allow_comments: false, ..JSON_WITH_COMMENTS };

/// Reads a JSON text. `route` leads to it: empty for a file.
///
/// # Errors
/// It is not JSON, or it is nested too deeply.
pub fn parse_json(text: &str, route: &Route) -> Result<Node, ParseError> {
    parse(text, route, &JSON_WITH_COMMENTS)
}

/// Reads a JSON text without comments, as [`parse_json`] does.
pub(crate) fn parse_standard_json(text: &str, route: &Route) -> Result<Node, ParseError> {
    parse(text, route, &STANDARD_JSON)
}

fn parse(text: &str, route: &Route, notation: &ParseOptions) -> Result<Node, ParseError> {
    let options = CollectOptions { comments: jsonc_parser::CommentCollectionStrategy::Off, tokens: false };
    let parsed = parse_to_ast(text, &options, notation)
        .map_err(|e| ParseError::new(span(e.range()), format!("not JSON: {}", lower_first(&e.kind().to_string()))))?;
    let value = parsed.value.ok_or_else(|| ParseError::new(Span::default(), "not JSON: the text is empty"))?;
    read(value, route.clone(), 0)
}

fn read(value: ast::Value<'_>, route: Route, depth: usize) -> Result<Node, ParseError> {
    let span = span(value.range());
    if depth > MAX_DEPTH {
        return Err(ParseError::new(span, format!("nested more than {MAX_DEPTH} levels deep")));
    }
    let value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::NumberLit(literal) => Value::Number(literal.value.to_owned()),
        ast::Value::StringLit(literal) => Value::Text(literal.value.into_owned()),
        ast::Value::Array(array) => {
            let items = array.elements.into_iter().enumerate();
            Value::List(
                items
                    .map(|(index, item)| read(item, route.then(PathStep::Index(index)), depth + 1))
                    .collect::<Result<_, _>>()?,
            )
        }
        ast::Value::Object(object) => Value::Map(read_object(object, &route, depth)?),
    };
    Ok(Node { value, place: Place { span, route: Some(route), parts: None } })
}

fn read_object(object: ast::Object<'_>, route: &Route, depth: usize) -> Result<Vec<Entry>, ParseError> {
    let entry = |property: ast::ObjectProp<'_>| {
        let key_span = span(property.name.range());
        let key = property.name.into_string();
        let node = read(property.value, route.then(PathStep::Key(key.clone())), depth + 1)?;
        Ok(Entry::new(key, key_span, node))
    };
    object.properties.into_iter().map(entry).collect::<Result<_, _>>().map(Entry::last_of_each_key)
}

fn span(range: Range) -> Span {
    Span::new(range.start, range.end)
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Node, ParseError> {
        parse_json(text, &Route::default())
    }

    #[test]
    fn every_value_has_its_place() {
        let text = r#"{ "a": [1, {"b": "x"}] } // why"#;
        let node = parse(text).unwrap();
        let b = node.get("a").unwrap().items()[1].get("b").unwrap();
        assert_eq!(text.get(b.place.span.start..b.place.span.end), Some("\"x\""));
        let steps = b.place.route.as_ref().unwrap().steps();
        assert_eq!(steps, [PathStep::Key("a".to_owned()), PathStep::Index(1), PathStep::Key("b".to_owned())]);
    }

    #[test]
    fn invalid_json_is_refused_at_its_first_error() {
        for (text, start, reason) in [
            ("", 0, "empty"),
            (r#"{"a": }"#, 6, "not JSON"),
            (r#"{"a": 1"#, 0, "unterminated object"),
            ("{'a': 1}", 1, "single-quoted"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.reason.to_lowercase().contains(&reason.to_lowercase()), "{text}: {error}");
            assert_eq!(error.span.start, start, "{text}: {error}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(parse(&deep).unwrap_err().reason.contains("levels deep"));
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
