//! The strings of a template: `Fn::Sub`'s variables, and dynamic references.

use document::{HOLE, Node, Value};

/// A scalar as a string, if it is known.
pub(super) fn whole_text(node: &Node) -> Option<String> {
    node.as_text().filter(|text| !text.contains(HOLE))
}

/// The limit of a string, in bytes: a task definition may have 64 KiB.
pub(super) const MAX_TEXT: usize = 1024 * 1024;

const DYNAMIC_REFERENCE: &str = "{{resolve:";

/// The result of `Fn::Sub` for `template`. `None` if it is longer than the limit.
pub(super) fn substituted(template: &str, value: impl Fn(&str) -> String) -> Option<String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("${") {
        pushed(&mut out, before)?;
        let Some((name, after)) = after.split_once('}') else {
            pushed(&mut out, "${")?;
            rest = after;
            continue;
        };
        match name.strip_prefix('!') {
            Some(literal) => pushed(&mut out, &format!("${{{literal}}}"))?,
            None => pushed(&mut out, &value(name))?,
        }
        rest = after;
    }
    pushed(&mut out, rest)?;
    Some(out)
}

/// Adds to a string up to the limit.
pub(super) fn pushed(out: &mut String, part: &str) -> Option<()> {
    (out.len() + part.len() <= MAX_TEXT).then(|| out.push_str(part))
}

/// A string with unknown parts for its dynamic references, which CloudFormation resolves at deployment. Unknown if it
/// is nothing but a reference. Source:
/// <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references.html>
pub(super) fn without_dynamic_references(text: &str) -> Value {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, reference)) = rest.split_once(DYNAMIC_REFERENCE) {
        out.push_str(before);
        out.push(HOLE);
        rest = reference.split_once("}}").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    let is_unknown = !out.is_empty() && out.chars().all(|c| c == HOLE);
    if is_unknown { Value::Unknown } else { Value::Text(out) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_literals_and_unclosed_braces() {
        let value = |name: &str| format!("<{name}>");
        for (template, expected) in [
            ("${a}-${AWS::Region}", "<a>-<AWS::Region>"),
            ("${!a} ${a.B}", "${a} <a.B>"),
            ("$a ${a", "$a ${a"),
            ("", ""),
        ] {
            assert_eq!(substituted(template, value).as_deref(), Some(expected));
        }
        assert_eq!(substituted("${a}${a}", |_| "x".repeat(MAX_TEXT)), None);
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
