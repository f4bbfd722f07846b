//! The strings of a template: `Fn::Sub`'s variables, and dynamic references.

use std::sync::Arc;

use document::{HOLE, Node, Span, TextBuilder, TextParts, Value};

/// A scalar as a string, if it is known.
pub(super) fn whole_text(node: &Node) -> Option<String> {
    node.as_text().filter(|text| !text.contains(HOLE))
}

/// The limit of a string, in bytes: a task definition may have 64 KiB.
pub(super) const MAX_TEXT: usize = 1024 * 1024;

/// A string of a template, and the known places of its parts in the file.
pub(super) struct Placed {
    pub(super) text: String,
    pub(super) parts: Option<TextParts>,
}

impl From<TextBuilder> for Placed {
    fn from(builder: TextBuilder) -> Self {
        let (text, parts) = builder.finish();
        Self { text, parts }
    }
}

/// The result of `Fn::Sub` for `template`. `None` if it is longer than the limit.
pub(super) fn substituted(template: &Placed, value: impl Fn(&str) -> String) -> Option<Placed> {
    let (text, parts) = (template.text.as_str(), template.parts.as_ref());
    let mut out = TextBuilder::default();
    let mut at = 0;
    while let Some((before, after)) = text.get(at..).and_then(|rest| rest.split_once("${")) {
        let begin = at + before.len();
        fits(&out, before.len() + 2)?;
        out.push_part(text, Span::new(at, begin), parts);
        let Some((name, _)) = after.split_once('}') else {
            out.push_part(text, Span::new(begin, begin + 2), parts);
            at = begin + 2;
            continue;
        };
        at = begin + name.len() + 3;
        let shown = name.strip_prefix('!').map_or_else(|| value(name), |literal| format!("${{{literal}}}"));
        fits(&out, shown.len())?;
        out.push_instead(&shown, Span::new(begin, at), parts);
    }
    fits(&out, text.len() - at)?;
    out.push_part(text, Span::new(at, text.len()), parts);
    Some(out.into())
}

/// Whether so many bytes more are within the limit.
pub(super) fn fits(out: &TextBuilder, more: usize) -> Option<()> {
    (out.text.len() + more <= MAX_TEXT).then_some(())
}

pub(super) const DYNAMIC_REFERENCE: &str = "{{resolve:";

/// A string with unknown parts for its dynamic references, which CloudFormation resolves at deployment. Unknown if it
/// is nothing but a reference. Source:
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references.html>
pub(super) fn without_dynamic_references(text: &str) -> Value {
    opened(Placed { text: text.to_owned(), parts: None }).0
}

/// The same, with the places of its parts.
pub(super) fn opened(string: Placed) -> (Value, Option<Arc<TextParts>>) {
    let Placed { text, parts } = if string.text.contains(DYNAMIC_REFERENCE) { with_holes(&string) } else { string };
    let is_unknown = !text.is_empty() && text.chars().all(|c| c == HOLE);
    (if is_unknown { Value::Unknown } else { Value::Text(text) }, parts.map(Arc::new))
}

fn with_holes(string: &Placed) -> Placed {
    let (text, parts) = (string.text.as_str(), string.parts.as_ref());
    let (mut out, mut at) = (TextBuilder::default(), 0);
    while let Some((before, reference)) = text.get(at..).and_then(|rest| rest.split_once(DYNAMIC_REFERENCE)) {
        let begin = at + before.len();
        out.push_part(text, Span::new(at, begin), parts);
        at = reference.split_once("}}").map_or(text.len(), |(_, after)| text.len() - after.len());
        out.push_instead(&HOLE.to_string(), Span::new(begin, at), parts);
    }
    out.push_part(text, Span::new(at, text.len()), parts);
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A string at 100 in a file.
    fn written(text: &str) -> Placed {
        let mut builder = TextBuilder::default();
        builder.push_verbatim(text, 100);
        builder.into()
    }

    #[test]
    fn results_have_the_places_of_what_makes_them() {
        let template = written("{\"${a}\": {{resolve:ssm:/b}}, ${!c}: 1}");
        let (value, parts) = opened(substituted(&template, |_| "long name".to_owned()).unwrap());
        let Value::Text(text) = value else { panic!("{value:?}") };
        let place = |part: &str| {
            let at = text.find(part).unwrap();
            let file = parts.as_ref().unwrap().span(Span::new(at, at + part.len())).unwrap();
            template.text.get(file.start - 100..file.end - 100).unwrap().to_owned()
        };
        for (part, expected) in [
            ("long name", "${a}"),
            ("\"long name\"", "\"${a}\""),
            ("\u{FDD0}", "{{resolve:ssm:/b}}"),
            ("${c}", "${!c}"),
            ("1}", "1}"),
        ] {
            assert_eq!(place(part), expected, "{text}");
        }
    }

    #[test]
    fn variables_literals_and_unclosed_braces() {
        let value = |name: &str| format!("<{name}>");
        for (template, expected) in [
            ("${a}-${AWS::Region}", "<a>-<AWS::Region>"),
            ("${!a} ${a.B}", "${a} <a.B>"),
            ("$a ${a", "$a ${a"),
            ("", ""),
        ] {
            assert_eq!(substituted(&written(template), value).map(|placed| placed.text).as_deref(), Some(expected));
        }
        assert!(substituted(&written("${a}${a}"), |_| "x".repeat(MAX_TEXT)).is_none());
    }

    #[test]
    fn a_dynamic_reference_is_unknown() {
        let text = |value: Value| match value {
            Value::Text(text) => Some(text),
            _ => None,
        };
        assert_eq!(text(without_dynamic_references("{{resolve:ssm:/a}}")), None);
        assert_eq!(text(without_dynamic_references("a:{{resolve:ssm:/a}}:b")), Some(format!("a:{HOLE}:b")));
        assert_eq!(text(without_dynamic_references("{{resolve:ssm")), None);
        assert_eq!(text(without_dynamic_references("{{plain}}")), Some("{{plain}}".to_owned()));
    }
}
