//! Functions of strings, numbers and conversions.

use super::{
    outcome::Outcome,
    values::{as_bool, as_number, as_text, is_uncertain, number},
};
use crate::document::{HOLE, Node, Value};

/// The result of a function of strings, if `name` is one.
pub(super) fn call(name: &str, arguments: &[Node]) -> Outcome {
    match name {
        "tostring" | "tonumber" | "tobool" => converted(name, arguments).into(),
        "max" | "min" | "abs" | "ceil" | "floor" | "parseint" => numbers(name, arguments).into(),
        "lower" | "upper" | "trimspace" | "chomp" | "trim" | "trimprefix" | "trimsuffix" | "replace" | "substr"
        | "startswith" | "endswith" | "strcontains" | "join" | "split" | "format" | "basename" | "dirname"
        | "indent" | "title" => texts(name, arguments).into(),
        _ => Outcome::NoSuchFunction,
    }
}

fn converted(name: &str, arguments: &[Node]) -> Option<Outcome> {
    let [argument] = arguments else { return None };
    if argument.is_unknown() {
        return Some(Outcome::Unknown);
    }
    if matches!(argument.value, Value::Null) {
        return Some(Outcome::Value(Value::Null));
    }
    let value = match name {
        "tostring" => as_text(argument).map(Value::Text),
        _ if is_uncertain(argument) => return Some(Outcome::Unknown),
        "tonumber" => as_number(argument).map(number),
        _ => as_bool(argument).map(Value::Bool),
    };
    value.map(Outcome::Value)
}

fn numbers(name: &str, arguments: &[Node]) -> Option<Outcome> {
    if arguments.iter().any(is_uncertain) {
        return Some(Outcome::Unknown);
    }
    let values: Vec<f64> = arguments.iter().map(as_number).collect::<Option<_>>()?;
    let value = match (name, values.as_slice()) {
        ("max", [_, ..]) => values.iter().copied().fold(f64::MIN, f64::max),
        ("min", [_, ..]) => values.iter().copied().fold(f64::MAX, f64::min),
        ("abs", [value]) => value.abs(),
        ("ceil", [value]) => value.ceil(),
        ("floor", [value]) | ("parseint", [value, 10.0]) => value.floor(),
        _ => return None,
    };
    Some(Outcome::Value(number(value)))
}

fn texts(name: &str, arguments: &[Node]) -> Option<Outcome> {
    if name == "join" {
        return join(arguments);
    }
    if name == "format" {
        return format(arguments);
    }
    if arguments.iter().any(is_uncertain) {
        return Some(Outcome::Unknown);
    }
    let given: Vec<String> = arguments.iter().map(as_text).collect::<Option<_>>()?;
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    let value = match (name, given.as_slice()) {
        ("lower", [text]) => text.to_lowercase(),
        ("upper", [text]) => text.to_uppercase(),
        ("trimspace", [text]) => text.trim().to_owned(),
        ("chomp", [text]) => text.trim_end_matches(['\n', '\r']).to_owned(),
        ("trim", [text, set]) => text.trim_matches(|c| set.contains(c)).to_owned(),
        ("trimprefix", [text, prefix]) => text.strip_prefix(prefix).unwrap_or(text).to_owned(),
        ("trimsuffix", [text, suffix]) => text.strip_suffix(suffix).unwrap_or(text).to_owned(),
        // Between slashes it is a regular expression.
        ("replace", [_, from, _]) if from.len() > 1 && from.starts_with('/') && from.ends_with('/') => {
            return Some(Outcome::Unknown);
        }
        ("replace", [text, from, to]) => text.replace(from, to),
        ("substr", [text, offset, length]) => substring(text, offset.parse().ok()?, length.parse().ok()?)?,
        ("startswith", [text, prefix]) => return Some(Outcome::Value(Value::Bool(text.starts_with(prefix)))),
        ("endswith", [text, suffix]) => return Some(Outcome::Value(Value::Bool(text.ends_with(suffix)))),
        ("strcontains", [text, part]) => return Some(Outcome::Value(Value::Bool(text.contains(part)))),
        ("split", [separator, text]) => {
            let span = arguments.last()?.place.span;
            let items = text.split(separator).map(|item| super::values::text(item, span));
            return Some(Outcome::Value(Value::List(if text.is_empty() { Vec::new() } else { items.collect() })));
        }
        ("basename", [path]) => path.rsplit('/').next()?.to_owned(),
        ("dirname", [path]) => path.rsplit_once('/').map_or(".", |(directory, _)| directory).to_owned(),
        ("indent", [spaces, text]) => {
            text.replace('\n', &format!("\n{}", " ".repeat(spaces.parse().ok().filter(|n| *n < 100)?)))
        }
        _ => return Some(Outcome::Unknown),
    };
    Some(Outcome::Value(Value::Text(value)))
}

fn substring(text: &str, offset: i64, length: i64) -> Option<String> {
    let count = i64::try_from(text.chars().count()).ok()?;
    let start = if offset < 0 { count + offset } else { offset };
    let length = if length < 0 { count } else { length };
    let (start, length) = (usize::try_from(start).ok()?, usize::try_from(length).ok()?);
    Some(text.chars().skip(start).take(length).collect())
}

fn join(arguments: &[Node]) -> Option<Outcome> {
    let (separator, lists) = arguments.split_first()?;
    let separator = as_text(separator)?;
    let mut parts = Vec::new();
    for list in lists {
        match &list.value {
            Value::List(items) => parts.extend(items.iter().map(as_text).collect::<Option<Vec<_>>>()?),
            Value::Unknown => parts.push(HOLE.to_string()),
            _ => return None,
        }
    }
    Some(Outcome::Value(Value::Text(parts.join(&separator))))
}

/// `%s`, `%d`, `%v`, `%q` and `%%`; other verbs are not computed.
fn format(arguments: &[Node]) -> Option<Outcome> {
    let (format, values) = arguments.split_first()?;
    if format.is_unknown() {
        return Some(Outcome::Unknown);
    }
    let format = as_text(format)?;
    let (mut out, mut values, mut rest) = (String::new(), values.iter(), format.as_str());
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let verb = after.chars().next()?;
        match verb {
            '%' => out.push('%'),
            's' | 'v' | 'd' => match values.next()? {
                Node { value: Value::List(_) | Value::Map(_), .. } => return Some(Outcome::Unknown),
                value => out.push_str(&as_text(value)?),
            },
            'q' => out.push_str(&serde_json::Value::from(as_text(values.next()?)?).to_string()),
            _ => return Some(Outcome::Unknown),
        }
        rest = after.get(verb.len_utf8()..)?;
    }
    out.push_str(rest);
    Some(Outcome::Value(Value::Text(out)))
}
