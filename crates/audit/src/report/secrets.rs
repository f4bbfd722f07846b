//! Values that reports do not show: in excerpts, the values of all environment variables and those at unknown keys;
//! everywhere, likely secrets.

use std::ops::Range;

use aho_corasick::AhoCorasick;

use crate::subject::{passwords_in_urls, secret_spans, secrets_in, sounds_secret};
use audit_read::{
    app_mesh::Resource,
    definition::{Container, ServiceUse, TaskDefinition, Text, api::Unread},
};
use document::{Node, RepeatedKey, SourceFile, Span, Value, parse};
use mesh::consul_ecs::CONFIG_VARIABLE;

/// Shorter values are not searched for, because they may occur in other words.
const MIN_SEARCHED_LENGTH: usize = 6;

/// The ends of a module's arguments that have the name of a secret, not the secret: `gossip_key_secret_arn`.
const NO_SECRET_ARGUMENTS: [&str; 3] = ["_arn", "_name", "_prefix"];

/// The secrets of one file.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    /// The bytes that are never shown.
    secret: Vec<Span>,
    /// The bytes that are shown only if a finding points at them.
    private: Vec<Span>,
    values: Vec<String>,
    search: Option<AhoCorasick>,
}

/// The value of a key that is repeated and does not count.
fn value_of(RepeatedKey { key, ignored, .. }: &RepeatedKey, text: &str) -> Span {
    let entry = text.get(ignored.start..ignored.end).unwrap_or_default();
    let quoted = |quote: char| Some(entry.strip_prefix(quote)?.find(quote)? + 2);
    let key = quoted('"').or_else(|| quoted('\'')).unwrap_or(key.len());
    let rest = entry.get(key..).unwrap_or_default();
    let value = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ':' || c == '=');
    Span::new(ignored.end.saturating_sub(value.len()).max(ignored.start), ignored.end)
}

impl Secrets {
    /// The secrets of a file outside of definitions: passwords in URLs, and values that Terraform marks as sensitive.
    pub(super) fn of(file: &SourceFile) -> Self {
        let mut secrets = Self::default();
        for span in passwords_in_urls(&file.text) {
            secrets.secret.push(Span::new(span.start, span.end));
            secrets.values.extend(file.text.get(span).map(str::to_owned));
        }
        for node in sensitive(file) {
            secrets.secret.push(node.place.span);
            secrets.values.extend(node.text().map(str::to_owned));
        }
        secrets
    }

    /// Adds the secrets of a definition.
    pub(super) fn learn(&mut self, definition: &TaskDefinition) {
        // No container has the values that do not count.
        let repeated = definition.repeated_keys.iter();
        self.secret.extend(repeated.map(|repeated| value_of(repeated, &definition.file.text)));
        let containers = &definition.containers.items;
        // A value that is also a name is not secret.
        let is_name = |value: &str| {
            definition.family.text() == Some(value) || containers.iter().any(|container| container.is_called(value))
        };
        for container in containers {
            self.learn_environment(container, &is_name);
            self.learn_configuration(container, &definition.file);
            self.learn_words(container, &definition.file, &is_name);
        }
        for unread in &definition.unread {
            self.learn_unread(unread, &is_name);
        }
        for argument in definition.module.iter().flat_map(|module| &module.arguments) {
            let is_name_of_secret = NO_SECRET_ARGUMENTS.iter().any(|end| argument.name.ends_with(end));
            if let Some((span, text)) = argument.text.as_ref().filter(|_| !is_name_of_secret) {
                let (hint, texts) = (Some(argument.name.clone()), vec![text.clone()]);
                self.learn_unread(&Unread { hint, span: *span, texts }, &is_name);
            }
        }
    }

    /// Adds the secrets of a service, which may be in another file than its definition.
    pub(super) fn learn_service(&mut self, service: &ServiceUse) {
        let is_name = |value: &str| service.name == value || service.service_name.text() == Some(value);
        for unread in service.settings.iter().flat_map(|settings| &settings.unread) {
            self.learn_unread(unread, &is_name);
        }
    }

    /// Adds the secrets of a resource of App Mesh.
    pub(super) fn learn_resource(&mut self, resource: &Resource) {
        let names = || [&resource.mesh, &resource.name].into_iter().chain(&resource.owner);
        let is_name = |value: &str| names().any(|name| name.whole() == Some(value));
        for unread in &resource.unread {
            self.learn_unread(unread, &is_name);
        }
    }

    /// Of options, labels and refused values, only the likely secrets.
    fn learn_unread(&mut self, Unread { hint, span, texts }: &Unread, is_name: &dyn Fn(&str) -> bool) {
        let is_secret = |hint: &str| sounds_secret(hint) || texts.iter().any(|text| !secrets_in(text).is_empty());
        if hint.as_deref().is_none_or(is_secret) {
            self.secret.push(*span);
            // A single word, such as awsvpc, would be covered in many messages.
            let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
            self.values.extend(texts.iter().filter(|text| !is_word(text) && !is_name(text)).cloned());
            let parts = texts.iter().flat_map(|text| secrets_in(text)).filter(|part| !is_name(part));
            self.values.extend(parts.map(str::to_owned));
        }
    }

    fn learn_environment(&mut self, container: &Container, is_name: &dyn Fn(&str) -> bool) {
        for variable in container.environment.items.iter().filter(|variable| !variable.value.is_absent()) {
            // An unknown name might be a secret's.
            if variable.name.text().is_none_or(sounds_secret) {
                self.secret.push(variable.value.span());
                let whole = variable.value.known().and_then(Text::whole);
                self.values.extend(whole.filter(|value| !is_name(value)).map(str::to_owned));
            } else if variable.name.text() != Some(CONFIG_VARIABLE) {
                self.private.push(variable.value.span());
            }
        }
    }

    /// The values after names of secrets in the configuration of consul-ecs, as they are written: its excerpts are shown.
    fn learn_configuration(&mut self, container: &Container, file: &SourceFile) {
        let variables = container.environment.items.iter();
        for variable in variables.filter(|variable| variable.name.text() == Some(CONFIG_VARIABLE)) {
            let span = variable.value.span();
            let written = file.text.get(span.start..span.end).unwrap_or_default();
            let spans = secret_spans(written).into_iter();
            self.secret.extend(spans.map(|found| Span::new(span.start + found.start, span.start + found.end)));
        }
    }

    /// The secrets in commands: in the agent's script, and in flags of programs.
    fn learn_words(&mut self, container: &Container, file: &SourceFile, is_name: &dyn Fn(&str) -> bool) {
        let words = container.entry_point.items.iter().chain(&container.command.items);
        let words: Vec<_> = words.filter_map(|word| Some((word, word.known()?.shown()))).collect();
        let command = words.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
        for value in secrets_in(&command).into_iter().filter(|value| is_long_enough(value) && !is_name(value)) {
            for (word, _) in words.iter().filter(|(_, text)| text.contains(value)) {
                // If the file spells the word differently, all of it is covered.
                let span = word.span();
                let is_spelt_so = file.text.get(span.start..span.end).is_some_and(|text| text.contains(value));
                self.secret.extend((!is_spelt_so).then_some(span));
            }
            self.values.push(value.to_owned());
        }
    }

    /// Adds the bytes of a secret.
    pub(super) fn hide(&mut self, span: Span) {
        self.secret.push(span);
    }

    /// Sorts the secrets and prepares the search. Must be called before any text is covered.
    pub(super) fn settle(&mut self) {
        self.secret = merged(std::mem::take(&mut self.secret));
        self.private = merged(std::mem::take(&mut self.private));
        self.values.retain(|value| is_long_enough(value));
        self.values.sort_unstable();
        self.values.dedup();
        self.search =
            Some(&self.values).filter(|values| !values.is_empty()).and_then(|values| AhoCorasick::new(values).ok());
    }

    /// A message without secrets.
    pub(super) fn out_of(&self, message: &str) -> String {
        let found = merged(self.found_in(message));
        let mut text = message.to_owned();
        for span in found.iter().rev() {
            text.replace_range(span.start..span.end, "***");
        }
        text
    }

    /// A piece of the file with asterisks over all secrets and over private values, except those that contain a place
    /// that the finding points at. The length of the piece does not change.
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

fn is_long_enough(value: &str) -> bool {
    value.chars().count() >= MIN_SEARCHED_LENGTH
}

/// The same bytes as sorted spans without overlaps.
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

/// The spans that overlap with `here`. `spans` are merged.
fn overlapping(spans: &[Span], here: Span) -> impl Iterator<Item = &Span> {
    let first = spans.partition_point(|span| span.end <= here.start);
    spans.iter().skip(first).take_while(move |span| span.start < here.end)
}

/// Covers everything but blanks and the quotes of the value.
fn redact(bytes: &mut [u8], range: Range<usize>) {
    for byte in bytes.get_mut(range).into_iter().flatten() {
        if !matches!(byte, b'"' | b'\'' | b'\\') && !byte.is_ascii_whitespace() {
            *byte = b'*';
        }
    }
}

/// The values that Terraform marks as sensitive in a plan or a state.
fn sensitive(file: &SourceFile) -> Vec<Node> {
    let mut out = Vec::new();
    // Only files with one of the marks are parsed again.
    let is_marked = ["sensitive\"", "sensitive_values\""].iter().any(|mark| file.text.contains(mark));
    if is_marked && let Ok((_, node)) = parse(file) {
        collect_values(&node, &mut out);
        collect_variables(&node, &mut out);
    }
    out
}

fn collect_values(node: &Node, out: &mut Vec<Node>) {
    let pairs = [
        ("values", "sensitive_values"),
        ("before", "before_sensitive"),
        ("after", "after_sensitive"),
        ("value", "sensitive"),
    ];
    for (value, marks) in pairs {
        if let (Some(value), Some(marks)) = (node.get(value), node.get(marks)) {
            collect(value, marks, out);
        }
    }
    node.items().iter().for_each(|item| collect_values(item, out));
    node.entries().iter().for_each(|entry| collect_values(&entry.node, out));
}

/// A plan declares a variable in one place and has its value in another.
fn collect_variables(root: &Node, out: &mut Vec<Node>) {
    let declared = root.get("configuration").and_then(|node| node.get("root_module")?.get("variables"));
    for entry in declared.map(Node::entries).unwrap_or_default() {
        let value = root.get("variables").and_then(|node| node.get(&entry.key)?.get("value"));
        if let (Some(marks), Some(value)) = (entry.node.get("sensitive"), value) {
            collect(value, marks, out);
        }
    }
}

fn collect(value: &Node, marks: &Node, out: &mut Vec<Node>) {
    match (&marks.value, &value.value) {
        (Value::Bool(true), Value::List(items)) => items.iter().for_each(|item| collect(item, marks, out)),
        (Value::Bool(true), Value::Map(entries)) => entries.iter().for_each(|entry| collect(&entry.node, marks, out)),
        (Value::Bool(true), _) => out.push(value.clone()),
        (Value::List(marks), Value::List(items)) => {
            items.iter().zip(marks).for_each(|(item, marks)| collect(item, marks, out));
        }
        (Value::Map(marks), Value::Map(_)) => {
            for entry in marks {
                if let Some(value) = value.get(&entry.key) {
                    collect(value, &entry.node, out);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_covered_in_every_piece() {
        let text = r#"{"a": "s3cr\"et-value"} s3cret-again"#;
        let mut secrets = Secrets { secret: vec![Span::new(6, 22)], ..Secrets::default() };
        secrets.values.push("s3cret-again".to_owned());
        secrets.settle();
        assert_eq!(secrets.cover(text, 0, &[]), r#"{"a": "****\"********"} ************"#);
        assert_eq!(secrets.cover(text.get(10..15).unwrap(), 10, &[]), r#"*\"**"#);
        assert_eq!(secrets.out_of("no s3cret-again here"), "no *** here");
    }

    #[test]
    fn private_values_are_shown_only_in_their_findings() {
        let mut secrets = Secrets { private: vec![Span::new(2, 4), Span::new(5, 7)], ..Secrets::default() };
        secrets.settle();
        assert_eq!(secrets.cover("a bc de", 0, &[Span::new(5, 7)]), "a ** de");
        assert_eq!(secrets.cover("a bc de", 0, &[Span::new(0, 7)]), "a ** **");
    }

    #[test]
    fn overlapping_secrets_are_covered_completely() {
        let mut secrets = Secrets { values: vec!["abcdef".to_owned(), "defghi".to_owned()], ..Secrets::default() };
        secrets.settle();
        assert_eq!(secrets.out_of("<abcdefghi>"), "<***>");
    }

    #[test]
    fn terraform_s_marks_are_found_everywhere() {
        let text = r#"{
            "planned_values": {
                "outputs": { "o": { "sensitive": true, "value": "one" }, "p": { "sensitive": false, "value": "x" } },
                "root_module": { "resources": [
                    { "values": { "a": ["two", "x"], "b": "x" }, "sensitive_values": { "a": [true] } }
                ] }
            },
            "resource_changes": [{ "change": { "after": { "c": { "d": "three" } }, "after_sensitive": { "c": true } } }],
            "variables": { "v": { "value": "four" }, "w": { "value": "x" } },
            "configuration": { "root_module": { "variables": { "v": { "sensitive": true }, "w": {} } } }
        }"#;
        let found = sensitive(&SourceFile::new("plan.json", text));
        assert_eq!(found.iter().filter_map(Node::text).collect::<Vec<_>>(), ["one", "two", "three", "four"]);
    }
}
