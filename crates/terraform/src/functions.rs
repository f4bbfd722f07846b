//! Terraform's functions that depend on their arguments alone. Source:
//! <https://developer.hashicorp.com/terraform/language/functions>
//!
//! A function has no result (`None`) if Terraform refuses the call.

use document::{Entry, HOLE, Node, Span, Value};

use crate::{
    equality::equal,
    json::{json_decoded, quoted},
    sets::{distinct, set},
    unification::{map_of_one_type, of_one_type},
    values::{
        as_bool, as_number, as_type, entry, is_open, is_uncertain, is_unknown_somewhere, item, list, map, member,
        merged, node, number, sorted, text, unknown,
    },
};

/// Terraform refuses a longer `range`. Source:
/// <https://developer.hashicorp.com/terraform/language/functions/range>
const MAX_RANGE: usize = 1024;

/// What a function takes. If an argument is not known well enough, the result is unknown.
#[derive(Debug, Clone, Copy)]
pub enum Function {
    /// Strings without unknown parts.
    Text(fn(&str) -> Value),
    Texts(fn(&str, &str) -> Value),
    ThreeTexts(fn(&str, &str, &str) -> Option<Value>),
    Numbers(fn(&[f64]) -> Option<f64>),
    /// Values that are not unknown as a whole.
    One(fn(&Node, Span) -> Option<Node>),
    Two(fn(&Node, &Node, Span) -> Option<Node>),
    Several(fn(&[Node], Span) -> Option<Node>),
    /// Values without unknown parts.
    Known(fn(&[Node], Span) -> Option<Node>),
    /// Any values.
    Any(fn(&[Node], Span) -> Option<Node>),
}

use Function::{Any, Known, Numbers, One, Several, Text, Texts, ThreeTexts, Two};

/// The functions by their names.
pub(crate) const TABLE: &[(&str, Function)] = &[
    // Strings
    ("lower", Text(|text| Value::Text(text.to_lowercase()))),
    ("upper", Text(|text| Value::Text(text.to_uppercase()))),
    ("trimspace", Text(|text| Value::Text(text.trim().to_owned()))),
    ("chomp", Text(|text| Value::Text(text.trim_end_matches(['\n', '\r']).to_owned()))),
    ("basename", Text(|path| Value::Text(path.rsplit('/').next().unwrap_or_default().to_owned()))),
    ("dirname", Text(|path| Value::Text(path.rsplit_once('/').map_or(".", |(directory, _)| directory).to_owned()))),
    ("trim", Texts(|text, set| Value::Text(text.trim_matches(|c| set.contains(c)).to_owned()))),
    ("trimprefix", Texts(|text, prefix| Value::Text(text.strip_prefix(prefix).unwrap_or(text).to_owned()))),
    ("trimsuffix", Texts(|text, suffix| Value::Text(text.strip_suffix(suffix).unwrap_or(text).to_owned()))),
    ("startswith", Texts(|text, prefix| Value::Bool(text.starts_with(prefix)))),
    ("endswith", Texts(|text, suffix| Value::Bool(text.ends_with(suffix)))),
    ("strcontains", Texts(|text, part| Value::Bool(text.contains(part)))),
    ("replace", ThreeTexts(|text, from, to| Some(replaced(text, from, to)))),
    ("substr", ThreeTexts(substring)),
    ("indent", Known(indented)),
    ("split", Known(split)),
    ("join", Any(join)),
    ("format", Any(format)),
    // Numbers and conversions
    ("max", Numbers(|numbers| numbers.iter().copied().reduce(f64::max))),
    ("min", Numbers(|numbers| numbers.iter().copied().reduce(f64::min))),
    ("abs", Numbers(|numbers| only(numbers).map(|number| number.abs()))),
    ("ceil", Numbers(|numbers| only(numbers).map(|number| number.ceil()))),
    ("floor", Numbers(|numbers| only(numbers).map(|number| number.floor()))),
    ("parseint", Numbers(|numbers| if let [number, 10.0] = numbers { Some(number.floor()) } else { None })),
    ("tostring", One(|value, span| converted(value, span, |value| as_type(value, "string")))),
    ("tonumber", One(|value, span| converted(value, span, |value| as_type(value, "number")))),
    ("tobool", One(|value, span| converted(value, span, |value| as_type(value, "bool")))),
    // Lists and sets
    ("length", One(length)),
    ("element", Two(element)),
    ("contains", Two(contains)),
    ("one", One(one)),
    ("anytrue", One(|value, span| Some(any(items_of(value)?.iter().map(as_bool), true, span)))),
    ("alltrue", One(|value, span| Some(any(items_of(value)?.iter().map(as_bool), false, span)))),
    ("compact", One(compact)),
    ("distinct", One(|value, span| Some(list(distinct(items_of(value)?, span), span)))),
    ("toset", One(|value, span| converted(value, span, |value| Some(Value::List(set(items_of(value)?, span)))))),
    ("tolist", One(to_list)),
    ("tomap", One(to_map)),
    (
        "setunion",
        Several(|lists, span| Some(list(set(lists.iter().flat_map(Node::items).cloned().collect(), span), span))),
    ),
    ("concat", Any(concat)),
    ("flatten", One(flatten)),
    (
        "coalesce",
        Any(|values, span| {
            coalesce(&of_one_type(values.to_vec()), span, |value| value.as_text().is_some_and(|text| text.is_empty()))
        }),
    ),
    (
        "coalescelist",
        Any(|values, span| coalesce(values, span, |value| !value.is_unknown() && value.items().is_empty())),
    ),
    ("range", Known(range)),
    ("reverse", Known(|values, span| Some(list(only(values)?.items().iter().rev().cloned().collect(), span)))),
    ("sort", Known(sort)),
    ("slice", Known(slice)),
    // Maps
    ("merge", Any(merged)),
    ("lookup", Any(lookup)),
    ("keys", One(|map, span| of_map(map, span, |entry| text(&*entry.key, entry.key_span)))),
    ("values", One(|map, span| of_map(map, span, |entry| entry.node.clone()))),
    ("zipmap", Two(zipmap)),
    ("jsondecode", Any(|values, span| json_decoded(only(values)?, span))),
    // Whether a value is sensitive is not followed: it is only not shown.
    ("sensitive", Any(|_, span| Some(unknown(span)))),
    ("nonsensitive", Any(|values, _| only(values).cloned())),
];

impl Function {
    /// The result of a call; `None` if Terraform refuses it.
    pub(crate) fn of(&self, arguments: &[Node], span: Span) -> Option<Node> {
        let is_missing: fn(&Node) -> bool = match self {
            Text(_) | Texts(_) | ThreeTexts(_) | Numbers(_) => is_uncertain,
            One(_) | Two(_) | Several(_) => Node::is_unknown,
            Known(_) => is_unknown_somewhere,
            Any(_) => |_| false,
        };
        if arguments.iter().any(is_missing) {
            return Some(unknown(span));
        }
        let value = match (self, arguments) {
            (Text(of), [text]) => of(&text.as_text()?),
            (Texts(of), [one, other]) => of(&one.as_text()?, &other.as_text()?),
            (ThreeTexts(of), [one, two, three]) => of(&one.as_text()?, &two.as_text()?, &three.as_text()?)?,
            (Numbers(of), _) => number(of(&arguments.iter().map(as_number).collect::<Option<Vec<_>>>()?)?),
            (One(of), [value]) => return of(value, span),
            (Two(of), [one, other]) => return of(one, other, span),
            (Several(of) | Known(of) | Any(of), _) => return of(arguments, span),
            _ => return None,
        };
        Some(node(value, span))
    }
}

fn only<T>(arguments: &[T]) -> Option<&T> {
    if let [argument] = arguments { Some(argument) } else { None }
}

fn items_of(value: &Node) -> Option<Vec<Node>> {
    if let Value::List(items) = &value.value { Some(items.clone()) } else { None }
}

/// Between slashes, what is replaced is a regular expression.
fn replaced(text: &str, from: &str, to: &str) -> Value {
    let is_expression = from.len() > 1 && from.starts_with('/') && from.ends_with('/');
    if is_expression { Value::Unknown } else { Value::Text(text.replace(from, to)) }
}

fn substring(text: &str, offset: &str, length: &str) -> Option<Value> {
    let (offset, length): (i64, i64) = (offset.parse().ok()?, length.parse().ok()?);
    let count = i64::try_from(text.chars().count()).ok()?;
    let start = usize::try_from(if offset < 0 { count + offset } else { offset }).ok()?;
    let length = usize::try_from(if length < 0 { count } else { length }).ok()?;
    Some(Value::Text(text.chars().skip(start).take(length).collect()))
}

fn indented(arguments: &[Node], span: Span) -> Option<Node> {
    let [spaces, indented] = arguments else { return None };
    let spaces = spaces.as_text()?.parse().ok().filter(|spaces| *spaces < 100)?;
    Some(text(indented.as_text()?.replace('\n', &format!("\n{}", " ".repeat(spaces))), span))
}

fn split(arguments: &[Node], span: Span) -> Option<Node> {
    let [separator, joined] = arguments else { return None };
    let (separator, words) = (separator.as_text()?, joined.as_text()?);
    let words = words.split(&*separator).filter(|_| !words.is_empty());
    Some(list(words.map(|word| text(word, joined.place.span)).collect(), span))
}

fn join(arguments: &[Node], span: Span) -> Option<Node> {
    let (separator, lists) = arguments.split_first()?;
    let separator = separator.as_text()?;
    let mut parts = Vec::new();
    for list in lists {
        match &list.value {
            Value::List(items) => parts.extend(items.iter().map(Node::as_text).collect::<Option<Vec<_>>>()?),
            Value::Unknown => parts.push(HOLE.to_string()),
            _ => return None,
        }
    }
    Some(text(parts.join(&separator), span))
}

/// `%s`, `%d`, `%v`, `%q` and `%%`; other verbs are not computed.
fn format(arguments: &[Node], span: Span) -> Option<Node> {
    let (format, values) = arguments.split_first()?;
    if format.is_unknown() {
        return Some(unknown(span));
    }
    let format = format.as_text()?;
    let (mut out, mut values, mut rest) = (String::new(), values.iter(), format.as_str());
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let verb = after.chars().next()?;
        match verb {
            '%' => out.push('%'),
            's' | 'v' | 'd' => match values.next()? {
                Node { value: Value::List(_) | Value::Map(_), .. } => return Some(unknown(span)),
                value => out.push_str(&value.as_text()?),
            },
            'q' => out.push_str(&quoted(&values.next()?.as_text()?)),
            _ => return Some(unknown(span)),
        }
        rest = after.get(verb.len_utf8()..)?;
    }
    out.push_str(rest);
    Some(text(out, span))
}

/// A value of another type. Null has every type.
fn converted(value: &Node, span: Span, convert: impl Fn(&Node) -> Option<Value>) -> Option<Node> {
    let converted = if matches!(value.value, Value::Null) { Some(Value::Null) } else { convert(value) };
    converted.map(|converted| node(converted, span))
}

fn to_list(value: &Node, span: Span) -> Option<Node> {
    match &value.value {
        Value::List(items) => Some(Node { value: Value::List(of_one_type(items.clone())), place: value.place.clone() }),
        Value::Null => Some(node(Value::Null, span)),
        _ => None,
    }
}

fn to_map(value: &Node, span: Span) -> Option<Node> {
    match &value.value {
        Value::Map(entries) => {
            Some(Node { value: Value::Map(map_of_one_type(entries.clone())), place: value.place.clone() })
        }
        Value::Null => Some(node(Value::Null, span)),
        _ => None,
    }
}

fn length(value: &Node, span: Span) -> Option<Node> {
    let length = match &value.value {
        Value::Text(_) if is_uncertain(value) => return Some(unknown(span)),
        Value::List(items) if items.iter().any(Node::is_unknown) => return Some(unknown(span)),
        Value::Map(_) if is_open(value) => return Some(unknown(span)),
        Value::Text(text) => text.chars().count(),
        Value::List(items) => items.len(),
        Value::Map(entries) => entries.len(),
        _ => return None,
    };
    Some(node(Value::Number(length.to_string()), span))
}

/// The index wraps around.
fn element(list: &Node, index: &Node, span: Span) -> Option<Node> {
    let items = list.items();
    if items.iter().any(Node::is_unknown) {
        return Some(unknown(span));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be a small index")]
    let index = as_number(index).filter(|index| (0.0..1e9).contains(index))? as usize;
    item(list, index.checked_rem(items.len())?, span)
}

fn contains(list: &Node, wanted: &Node, span: Span) -> Option<Node> {
    Some(any(items_of(list)?.iter().map(|item| equal(item, wanted)), true, span))
}

/// Whether one of the answers is `wanted`: for `alltrue`, whether none is false.
fn any(answers: impl Iterator<Item = Option<bool>>, wanted: bool, span: Span) -> Node {
    let answers: Vec<Option<bool>> = answers.collect();
    let value = match answers.contains(&Some(wanted)) {
        true => Value::Bool(wanted),
        false if answers.contains(&None) => Value::Unknown,
        false => Value::Bool(!wanted),
    };
    node(value, span)
}

fn one(value: &Node, span: Span) -> Option<Node> {
    match items_of(value)?.as_slice() {
        items if items.iter().any(Node::is_unknown) => Some(unknown(span)),
        [] => Some(node(Value::Null, span)),
        [only] => Some(only.clone()),
        _ => None,
    }
}

/// A string that may be empty becomes an unknown item, which stands for any number of items.
fn compact(value: &Node, span: Span) -> Option<Node> {
    let mut kept = Vec::new();
    for item in items_of(value)?.into_iter().filter(|item| !matches!(item.value, Value::Null)) {
        let text = item.as_text()?;
        if !text.is_empty() {
            let is_unsure = text.chars().all(|char| char == HOLE);
            kept.push(Node { value: if is_unsure { Value::Unknown } else { Value::Text(text) }, ..item });
        }
    }
    Some(list(kept, span))
}

/// A list that is not known becomes an unknown item, which stands for any number of items.
fn concat(lists: &[Node], span: Span) -> Option<Node> {
    let mut items = Vec::new();
    for list in lists {
        match &list.value {
            Value::List(own) => items.extend(own.iter().cloned()),
            Value::Unknown => items.push(list.clone()),
            _ => return None,
        }
    }
    Some(list(items, span))
}

fn flatten(value: &Node, span: Span) -> Option<Node> {
    fn collect(value: &Node, out: &mut Vec<Node>) {
        match &value.value {
            Value::List(items) => items.iter().for_each(|item| collect(item, out)),
            _ => out.push(value.clone()),
        }
    }
    let mut items = Vec::new();
    items_of(value)?.iter().for_each(|item| collect(item, &mut items));
    Some(list(items, span))
}

fn coalesce(values: &[Node], span: Span, is_empty: impl Fn(&Node) -> bool) -> Option<Node> {
    let first = values.iter().find(|value| !matches!(value.value, Value::Null) && !is_empty(value))?;
    // What is unknown may be empty, and then the result is another value.
    let is_unsure = first.as_text().is_some_and(|text| text == HOLE.to_string());
    Some(if is_unsure { unknown(span) } else { first.clone() })
}

/// Without a step, it is 1, or -1 if the end is below the start.
fn range(arguments: &[Node], span: Span) -> Option<Node> {
    let numbers: Vec<f64> = arguments.iter().map(as_number).collect::<Option<_>>()?;
    let (start, end, step) = match numbers.as_slice() {
        [end] => (0.0, *end, if *end < 0.0 { -1.0 } else { 1.0 }),
        [start, end] => (*start, *end, if end < start { -1.0 } else { 1.0 }),
        [start, end, step] if *step > 0.0 && end >= start || *step < 0.0 && end <= start => (*start, *end, *step),
        _ => return None,
    };
    let mut items = Vec::new();
    let mut value = start;
    while if step > 0.0 { value < end } else { value > end } {
        if items.len() >= MAX_RANGE {
            return None;
        }
        items.push(node(number(value), span));
        value += step;
    }
    Some(list(items, span))
}

fn sort(arguments: &[Node], span: Span) -> Option<Node> {
    let mut items = only(arguments)?.items().to_vec();
    for item in &mut items {
        item.value = Value::Text(item.as_text()?);
    }
    items.sort_by_key(Node::as_text);
    Some(list(items, span))
}

fn slice(arguments: &[Node], span: Span) -> Option<Node> {
    let [sliced, from, to] = arguments else { return None };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a slice out of range is refused")]
    let index = |value: &Node| as_number(value).map(|index| index as usize);
    Some(list(sliced.items().get(index(from)?..index(to)?)?.to_vec(), span))
}

fn lookup(arguments: &[Node], span: Span) -> Option<Node> {
    let (map, key, default) = match arguments {
        [map, key] => (map, key, None),
        [map, key, default] => (map, key, Some(default)),
        _ => return None,
    };
    if !matches!(map.value, Value::Map(_) | Value::Unknown) {
        return None;
    }
    member(map, &key.as_text()?, span).or_else(|| default.cloned())
}

/// A part of each entry of a map; unknown if some of its entries are not known.
fn of_map(map: &Node, span: Span, part: impl Fn(&Entry) -> Node) -> Option<Node> {
    match &map.value {
        Value::Map(_) if is_open(map) => Some(unknown(span)),
        Value::Map(_) => Some(list(sorted(map).into_iter().map(part).collect(), span)),
        _ => None,
    }
}

fn zipmap(keys: &Node, values: &Node, span: Span) -> Option<Node> {
    if is_unknown_somewhere(keys) || values.items().iter().any(Node::is_unknown) {
        return Some(unknown(span));
    }
    let pairs = keys.items().iter().zip(values.items());
    let entries = pairs.map(|(key, value)| Some(entry(key.as_text()?, value.clone())));
    Some(map(entries.collect::<Option<_>>()?, span))
}
