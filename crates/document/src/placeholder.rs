//! Placeholders in texts: what another program fills in before ECS or consul-ecs reads the text.

use std::borrow::Cow;

use crate::node::{HOLE, Node, Value};

/// Opening and end: of Go templates, ecspresso and Jinja, of ERB, of envsubst and shells, and of pipelines.
const ENCLOSED: [(&str, &str); 10] = [
    ("{{", "}}"),
    ("{%", "%}"),
    ("<%", "%>"),
    ("${", "}"),
    ("$(", ")"),
    ("#{", "}"),
    ("[[", "]]"),
    ("((", "))"),
    ("$[", "]"),
    ("%{", "}"),
];

/// Opening and end of placeholders that are one word: `<IMAGE1_NAME>` of `CodeDeploy`, `@NAME@`, `%NAME%`.
const WORDS: [(char, char); 3] = [('<', '>'), ('@', '@'), ('%', '%')];

/// What a placeholder can begin with: most texts have none of it, and are read no further.
const BEGINNINGS: [&str; 8] = ["{", "<", "@", "%", "$", "[[", "((", "__"];

/// A text with its placeholders as unknown parts.
pub fn with_holes(text: &str) -> Cow<'_, str> {
    if !BEGINNINGS.iter().any(|beginning| text.contains(beginning)) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest, mut ends) = (String::with_capacity(text.len()), text, Ends::default());
    while let Some(next) = rest.chars().next() {
        let length = ends.enclosed(text, rest).or_else(|| word(rest)).or_else(|| variable(rest));
        out.push(if length.is_some() { HOLE } else { next });
        rest = rest.get(length.unwrap_or(next.len_utf8())..).unwrap_or_default();
    }
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// The next end of each pair of [`ENCLOSED`], so that many openings do not read the rest of a text again and again.
#[derive(Default)]
struct Ends([Option<NextEnd>; ENCLOSED.len()]);

/// Its position in the text; none if the text has no more of them.
#[derive(Clone, Copy)]
struct NextEnd(Option<usize>);

impl Ends {
    /// The length of the enclosed placeholder that `rest`, the end of `text`, begins with.
    fn enclosed(&mut self, text: &str, rest: &str) -> Option<usize> {
        let at = text.len() - rest.len();
        ENCLOSED.iter().zip(&mut self.0).find_map(|((opening, end), known)| {
            let inner = rest.strip_prefix(opening)?;
            let start = at + opening.len();
            let next = match *known {
                Some(next) if next.0.is_none_or(|position| position >= start) => next,
                _ => *known.insert(NextEnd(inner.find(end).map(|length| start + length))),
            };
            next.0.map(|position| position + end.len() - at)
        })
    }
}

/// The length of the word that is a placeholder, if a text begins with one.
fn word(text: &str) -> Option<usize> {
    if let Some(inner) = text.strip_prefix("__") {
        // In lower case, it may be a name.
        let length = inner.find("__").filter(|length| *length > 0)?;
        let is_upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        return inner.get(..length)?.chars().all(is_upper).then_some(length + 4);
    }
    let (_, end) = WORDS.iter().find(|(opening, _)| text.starts_with(*opening))?;
    let inner = text.get(1..)?;
    let is_of_a_word = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let length = inner.find(|c: char| !is_of_a_word(c)).filter(|length| *length > 0)?;
    inner.get(length..)?.starts_with(*end).then_some(length + 2)
}

/// The length of a variable of envsubst that a text begins with: `$NAME`.
fn variable(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('$').filter(|inner| inner.starts_with(|c: char| c.is_ascii_alphabetic()))?;
    let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
    Some(1 + end)
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
            ("__REGION__", "?"),
            ("web-__IMAGE_1__-x", "web-?-x"),
            ("[[ .consul ]]", "?"),
            ("((region))", "?"),
            ("$[variables.region]", "?"),
            ("%{REGION}", "?"),
            // The first of several ends counts, also after an opening without one.
            ("<% {{ a }}-{{ b }}", "<% ?-?"),
            ("{{ a }}{{ b", "?{{ b"),
            ("{{ {{ a }} }}", "? }}"),
        ] {
            assert_eq!(with_holes(text).replace(HOLE, "?"), expected, "{text}");
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "web",
            "__name__",
            "a__b",
            "____",
            "[web]",
            "(web)",
            "web@sha256:abc",
            "a < b > c",
            "100%",
            "{}",
            "cost: $5",
            "${open",
            "[[open",
            "((open",
            "__OPEN",
            "<>",
            "a@b",
        ] {
            assert_eq!(with_holes(text), text);
        }
    }

    /// Each of these takes hours if every opening reads the text to its end.
    #[test]
    fn many_openings_are_read_once() {
        let words = WORDS.map(|(opening, _)| opening.to_string());
        let openings =
            ENCLOSED.map(|(opening, _)| opening.to_owned()).into_iter().chain(words).chain(["__".to_owned()]);
        for opening in openings {
            let text = opening.repeat(500_000);
            assert!(with_holes(&text) == text, "{opening}");
        }
        let mixed = "{{$(".repeat(250_000) + "}}";
        assert_eq!(with_holes(&mixed), HOLE.to_string());
    }
}
