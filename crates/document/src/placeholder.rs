//! Placeholders in texts: what another program fills in before ECS or consul-ecs reads the text.

use std::borrow::Cow;

use crate::node::{HOLE, Node, Value};

/// Opening and end: of Go templates, ecspresso and Jinja, of ERB, of envsubst and shells, and of pipelines.
const ENCLOSED: [(&str, &str); 6] = [("{{", "}}"), ("{%", "%}"), ("<%", "%>"), ("${", "}"), ("$(", ")"), ("#{", "}")];

/// Opening and end of placeholders that are one word: `<IMAGE1_NAME>` of `CodeDeploy`, `@NAME@`, `%NAME%`.
const WORDS: [(char, char); 3] = [('<', '>'), ('@', '@'), ('%', '%')];

/// A text with its placeholders as unknown parts.
pub fn with_holes(text: &str) -> Cow<'_, str> {
    if !text.contains(['{', '<', '@', '%', '$']) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(next) = rest.chars().next() {
        let length = placeholder(rest);
        out.push(if length.is_some() { HOLE } else { next });
        rest = rest.get(length.unwrap_or(next.len_utf8())..).unwrap_or_default();
    }
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// The length of the placeholder that a text begins with.
fn placeholder(text: &str) -> Option<usize> {
    let enclosed = ENCLOSED.iter().find_map(|(opening, end)| {
        let inner = text.strip_prefix(opening)?;
        Some(opening.len() + inner.find(end)? + end.len())
    });
    let is_of_a_word = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let word = || {
        let (_, end) = WORDS.iter().find(|(opening, _)| text.starts_with(*opening))?;
        let inner = text.get(1..)?;
        let length = inner.find(|c: char| !is_of_a_word(c)).filter(|length| *length > 0)?;
        inner.get(length..)?.starts_with(*end).then_some(length + 2)
    };
    // envsubst: `$NAME`.
    let variable = || {
        let inner = text.strip_prefix('$').filter(|inner| inner.starts_with(|c: char| c.is_ascii_alphabetic()))?;
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
        Some(1 + end)
    };
    enclosed.or_else(word).or_else(variable)
}

impl Node {
    /// Makes the placeholders in every string unknown parts.
    pub fn open_placeholders(&mut self) {
        if let Value::Text(text) = &mut self.value
            && let Cow::Owned(with_holes) = with_holes(text)
        {
            *text = with_holes;
        }
        self.children_mut().into_iter().for_each(Self::open_placeholders);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_unknown_parts() {
        for (text, expected) in [
            ("<IMAGE1_NAME>", "?"),
            ("${NAME}", "?"),
            ("$NAME-web", "?-web"),
            ("web-${ENV}-1", "web-?-1"),
            ("{{ must_env `CONTAINER` }}", "?"),
            ("{{ a }}.dkr.ecr.{{ b }}.amazonaws.com/web:1", "?.dkr.ecr.?.amazonaws.com/web:1"),
            ("<%= name %>", "?"),
            ("@NAME@", "?"),
            ("%NAME%", "?"),
            ("#{NAME}#", "?#"),
            ("$(NAME)", "?"),
        ] {
            assert_eq!(with_holes(text).replace(HOLE, "?"), expected, "{text}");
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in ["web", "__NAME__", "web@sha256:abc", "a < b > c", "100%", "{}", "cost: $5", "${open", "<>", "a@b"]
        {
            assert_eq!(with_holes(text), text);
        }
    }
}
