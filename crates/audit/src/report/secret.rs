//! Values that no report may show: in excerpts, every environment variable's; anywhere, those that sound secret.

use std::ops::Range;

use aho_corasick::AhoCorasick;

use super::secret_span::{passwords_in_urls, sensitive};
use crate::{
    definition::{Container, TaskDefinition, Text},
    document::Span,
    source::SourceFile,
    subject::{secrets_in, sounds_secret},
};
use mesh::ecs_config::CONFIG_VARIABLE;

/// Shorter values are too common in other places to be taken out there.
const SHORTEST: usize = 6;

/// The secrets of one file.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    /// What is never shown.
    secret: Vec<Span>,
    /// What is shown only where a finding is about it.
    private: Vec<Span>,
    values: Vec<String>,
    search: Option<AhoCorasick>,
}

impl Secrets {
    /// Those of a file that are not in a definition: passwords in URLs, and what Terraform marks as sensitive.
    pub(super) fn of(file: &SourceFile) -> Self {
        let mut secrets = Self::default();
        for span in passwords_in_urls(&file.text) {
            secrets
                .values
                .extend(file.text.get(span.start..span.end).filter(|value| is_telling(value)).map(str::to_owned));
            secrets.secret.push(span);
        }
        for node in sensitive(file) {
            secrets.secret.push(node.place.span);
            secrets.values.extend(node.text().filter(|value| is_telling(value)).map(str::to_owned));
        }
        secrets
    }

    /// Adds those of a definition.
    pub(super) fn learn(&mut self, definition: &TaskDefinition) {
        let containers = &definition.containers.items;
        // What is a name as well is no secret.
        let is_name = |value: &str| {
            definition.family.text() == Some(value) || containers.iter().any(|container| container.is_called(value))
        };
        for container in containers {
            self.learn_environment(container, &is_name);
            self.learn_words(container, &definition.file, &is_name);
        }
    }

    fn learn_environment(&mut self, container: &Container, is_name: &dyn Fn(&str) -> bool) {
        for variable in container.environment.items.iter().filter(|variable| !variable.value.is_absent()) {
            // A name that is not known might sound secret.
            if variable.name.text().is_none_or(sounds_secret) {
                self.secret.push(variable.value.span());
                let whole = variable.value.known().and_then(Text::whole);
                self.values.extend(whole.filter(|value| is_telling(value) && !is_name(value)).map(str::to_owned));
            } else if variable.name.text() != Some(CONFIG_VARIABLE) {
                self.private.push(variable.value.span());
            }
        }
    }

    /// Those in the commands: of the agent's script, of programs that take a token as a flag.
    fn learn_words(&mut self, container: &Container, file: &SourceFile, is_name: &dyn Fn(&str) -> bool) {
        let words = container.entry_point.items.iter().chain(&container.command.items);
        let words: Vec<_> = words.filter_map(|word| Some((word, word.known()?.shown()))).collect();
        let command = words.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
        for value in secrets_in(&command).into_iter().filter(|value| is_telling(value) && !is_name(value)) {
            for (word, _) in words.iter().filter(|(_, text)| text.contains(value)) {
                // Where the file spells it in another way, all of the word is covered.
                let span = word.span();
                let is_spelt_so = file.text.get(span.start..span.end).is_some_and(|text| text.contains(value));
                self.secret.extend((!is_spelt_so).then_some(span));
            }
            self.values.push(value.to_owned());
        }
    }

    /// Puts in order what was learned. Nothing is covered before.
    pub(super) fn settle(&mut self) {
        self.secret = merged(std::mem::take(&mut self.secret));
        self.private = merged(std::mem::take(&mut self.private));
        self.values.sort_unstable();
        self.values.dedup();
        self.search =
            Some(&self.values).filter(|values| !values.is_empty()).and_then(|values| AhoCorasick::new(values).ok());
    }

    /// A message without them.
    pub(super) fn out_of(&self, message: &str) -> String {
        let found = merged(self.found_in(message));
        let mut text = message.to_owned();
        for span in found.iter().rev() {
            text.replace_range(span.start..span.end, "***");
        }
        text
    }

    /// The bytes of a piece of the file, with all of them covered by asterisks, but for what stands around the places
    /// that a finding points at. The piece stays as long as it is.
    pub(super) fn cover(&self, piece: &str, starts_at: usize, pointed: &[Span]) -> String {
        let mut bytes = piece.as_bytes().to_vec();
        let here = Span::new(starts_at, starts_at + piece.len());
        let is_pointed_at =
            |span: &&Span| pointed.iter().any(|point| span.start <= point.start && point.end <= span.end);
        let private = overlapping(&self.private, here).filter(|span| !is_pointed_at(span));
        for span in overlapping(&self.secret, here).chain(private) {
            let from = span.start.saturating_sub(starts_at);
            let to = (span.end - starts_at).min(piece.len());
            redact(&mut bytes, from..to);
        }
        for span in self.found_in(piece) {
            redact(&mut bytes, span.start..span.end);
        }
        String::from_utf8(bytes).unwrap_or_else(|_| "*".repeat(piece.len()))
    }

    fn found_in(&self, text: &str) -> Vec<Span> {
        let search = self.search.iter();
        search
            .flat_map(|search| search.find_overlapping_iter(text))
            .map(|found| Span::new(found.start(), found.end()))
            .collect()
    }
}

fn is_telling(value: &str) -> bool {
    value.chars().count() >= SHORTEST
}

/// In order, and each byte in one of them only.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut out: Vec<Span> = Vec::new();
    for span in spans {
        match out.last_mut().filter(|last| span.start < last.end) {
            Some(last) => last.end = last.end.max(span.end),
            None => out.push(span),
        }
    }
    out
}

/// Those of `spans`, which are merged, that have bytes in common with `here`.
fn overlapping(spans: &[Span], here: Span) -> impl Iterator<Item = &Span> {
    let first = spans.partition_point(|span| span.end <= here.start);
    spans.iter().skip(first).take_while(move |span| span.start < here.end)
}

/// Covers everything but blanks and the quotes around it.
fn redact(bytes: &mut [u8], range: Range<usize>) {
    for byte in bytes.get_mut(range).into_iter().flatten() {
        if !matches!(byte, b'"' | b'\'' | b'\\') && !byte.is_ascii_whitespace() {
            *byte = b'*';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_covered_wherever_the_piece_begins_and_ends() {
        let text = r#"{"a": "s3cr\"et-value"} s3cret-again"#;
        let mut secrets = Secrets { secret: vec![Span::new(6, 22)], ..Secrets::default() };
        secrets.values.push("s3cret-again".to_owned());
        secrets.settle();
        assert_eq!(secrets.cover(text, 0, &[]), r#"{"a": "****\"********"} ************"#);
        assert_eq!(secrets.cover(text.get(10..15).unwrap(), 10, &[]), r#"*\"**"#);
        assert_eq!(secrets.out_of("no s3cret-again here"), "no *** here");
    }

    #[test]
    fn what_is_private_is_shown_only_where_a_finding_points_at_it() {
        let mut secrets = Secrets { private: vec![Span::new(2, 4), Span::new(5, 7)], ..Secrets::default() };
        secrets.settle();
        assert_eq!(secrets.cover("a bc de", 0, &[Span::new(5, 7)]), "a ** de");
        assert_eq!(secrets.cover("a bc de", 0, &[Span::new(0, 7)]), "a ** **");
    }

    #[test]
    fn of_secrets_that_overlap_nothing_is_left() {
        let mut secrets = Secrets { values: vec!["abcdef".to_owned(), "defghi".to_owned()], ..Secrets::default() };
        secrets.settle();
        assert_eq!(secrets.out_of("<abcdefghi>"), "<***>");
    }
}
