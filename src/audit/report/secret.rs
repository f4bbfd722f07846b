//! Values that no report may show: those of environment variables that sound secret.

use std::ops::Range;

use crate::audit::{
    definition::{TaskDefinition, Text, Variable},
    document::Span,
};

const SECRET_WORDS: [&str; 8] = ["TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "PRIVATE"];

/// Shorter values are too common in other places to be taken out there.
const SHORTEST: usize = 6;

/// The secrets of one file.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    spans: Vec<Span>,
    values: Vec<String>,
}

impl Secrets {
    /// Adds those of a definition.
    pub(super) fn learn(&mut self, definition: &TaskDefinition) {
        let containers = &definition.containers.items;
        // What is a name as well is no secret.
        let is_name = |value: &str| {
            definition.family.text() == Some(value) || containers.iter().any(|container| container.is_called(value))
        };
        let variables = containers.iter().flat_map(|container| &container.environment.items);
        for variable in variables.filter(|variable| sounds_secret(variable) && !variable.value.is_absent()) {
            self.spans.push(variable.value.span());
            let whole = variable.value.known().and_then(Text::whole);
            let telling = whole.filter(|value| value.chars().count() >= SHORTEST && !is_name(value));
            self.values.extend(telling.map(str::to_owned));
        }
    }

    /// Lets go of what was learned twice.
    pub(super) fn settle(&mut self) {
        self.spans.sort_unstable();
        self.spans.dedup();
        // The longest first, so that no part of one is left over by another.
        self.values.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.values.dedup();
    }

    /// A message without them.
    pub(super) fn out_of(&self, message: &str) -> String {
        self.values.iter().fold(message.to_owned(), |text, value| text.replace(value, "***"))
    }

    /// The bytes of a piece of the file, with all of them covered by asterisks. The piece stays as long as it is.
    pub(super) fn cover(&self, piece: &str, starts_at: usize) -> String {
        let mut bytes = piece.as_bytes().to_vec();
        let piece_span = starts_at..starts_at + piece.len();
        for span in self.spans.iter().filter(|span| span.start < piece_span.end && span.end > piece_span.start) {
            let from = span.start.saturating_sub(starts_at);
            let to = (span.end - starts_at).min(piece.len());
            blot(&mut bytes, from..to);
        }
        for value in &self.values {
            for (at, found) in piece.match_indices(value.as_str()) {
                blot(&mut bytes, at..at + found.len());
            }
        }
        String::from_utf8(bytes).unwrap_or_else(|_| "*".repeat(piece.len()))
    }
}

/// Covers everything but blanks and the quotes around it.
fn blot(bytes: &mut [u8], range: Range<usize>) {
    for byte in bytes.get_mut(range).into_iter().flatten() {
        if !matches!(byte, b'"' | b'\'' | b'\\') && !byte.is_ascii_whitespace() {
            *byte = b'*';
        }
    }
}

/// A name that is not known might sound secret.
fn sounds_secret(variable: &Variable) -> bool {
    variable.name.text().is_none_or(|name| {
        let name = name.to_ascii_uppercase();
        SECRET_WORDS.iter().any(|word| name.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_covered_wherever_the_piece_begins_and_ends() {
        let text = r#"{"a": "s3cr\"et-value"} s3cret-again"#;
        let secrets = Secrets { spans: vec![Span::new(6, 22)], values: vec!["s3cret-again".to_owned()] };
        assert_eq!(secrets.cover(text, 0), r#"{"a": "****\"********"} ************"#);
        assert_eq!(secrets.cover(text.get(10..15).unwrap(), 10), r#"*\"**"#);
        assert_eq!(secrets.out_of("no s3cret-again here"), "no *** here");
    }
}
