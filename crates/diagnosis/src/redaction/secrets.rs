//! Where the secrets are in a line.

use std::ops::Range;

use audit::subject::{passwords_in_urls, secret_spans};
use uuid::Uuid;

/// What stands in the place of a secret.
const HIDDEN: char = '…';
/// The shortest run of letters and digits that may be a key or a token.
const LONG: usize = 40;
/// Shorter values are hidden only after their name: they may occur in other words.
const SEARCHED: usize = 6;
/// The schemes of the header `Authorization`: the credential follows.
const SCHEMES: [&str; 4] = ["basic", "bearer", "digest", "token"];
/// How web tokens begin: `{"` in base64.
const WEB_TOKEN: &str = "eyJ";
/// What follows the path of a file that could not be opened: `open /consul/service-token: permission denied`.
const FILE_ERRORS: [&str; 3] = ["permission denied", "no such file or directory", "read-only file system"];
/// What ECS's reasons have before an error, and no secret: `unable to pull secrets or registry auth: …`.
const REGISTRY_AUTH: &str = "registry auth: ";
/// The length of a UUID with its hyphens.
const UUID: usize = 36;

/// A line without what may be secret: values after a name such as `token`, passwords in URLs, UUIDs (the secret of a token in Consul is
/// one), web tokens and long keys. ARNs, and the accessor of a token, are IDs, and are shown; so are the IDs of tasks and digests,
/// which are hexadecimal.
pub(crate) fn without_secrets(line: &str) -> String {
    let mut is_hidden = vec![false; line.len()];
    for span in spans(line) {
        is_hidden.get_mut(span).into_iter().flatten().for_each(|it| *it = true);
    }
    let mut shown = String::with_capacity(line.len());
    for (at, c) in line.char_indices() {
        if is_hidden.get(at) == Some(&false) {
            shown.push(c);
        } else if !shown.ends_with(HIDDEN) {
            shown.push(HIDDEN);
        }
    }
    shown
}

/// Where the secrets of a line are.
fn spans(line: &str) -> Vec<Range<usize>> {
    let is_error = |span: &Range<usize>| {
        line.get(span.start..).is_some_and(|value| FILE_ERRORS.iter().any(|error| value.starts_with(error)))
            || line.get(..span.start).is_some_and(|before| before.ends_with(REGISTRY_AUTH))
    };
    let named = secret_spans(line).into_iter().filter(|span| !is_error(span) && !is_in_arn(line, span.start));
    let mut spans: Vec<Range<usize>> = named.map(|span| with_credential(line, span)).collect();
    let repeated = spans.iter().filter_map(|span| line.get(span.clone())).filter(|value| value.len() >= SEARCHED);
    let repeated = repeated.flat_map(|value| line.match_indices(value).map(|(at, value)| at..at + value.len()));
    let repeated: Vec<Range<usize>> = repeated.collect();
    spans.extend(repeated);
    spans.extend(passwords_in_urls(line));
    for (start, word) in words(line, |c| c.is_whitespace() || "\"'`,;=()[]{}<>".contains(c)) {
        if !word.starts_with("arn:") {
            spans.extend(in_word(line, start, word));
        }
    }
    spans
}

/// Whether a place is in an ARN. The ARN of a secret has `secret:` before the name.
fn is_in_arn(line: &str, at: usize) -> bool {
    let before = line.get(..at).unwrap_or_default();
    before
        .rsplit(|c: char| !c.is_ascii_alphanumeric() && !":-_/+.@=".contains(c))
        .next()
        .is_some_and(|word| word.starts_with("arn:"))
}

/// The value of a name; if it is a scheme, with the credential that follows.
fn with_credential(line: &str, span: Range<usize>) -> Range<usize> {
    let is_scheme = line.get(span.clone()).is_some_and(|it| SCHEMES.contains(&it.to_ascii_lowercase().as_str()));
    let after = line.get(span.end..).filter(|_| is_scheme).unwrap_or_default();
    let credential = words(after, |c| c.is_whitespace() || "\"',".contains(c)).next();
    credential.map_or(span.clone(), |(at, word)| span.start..span.end + at + word.len())
}

/// The UUIDs, web tokens and keys in a word.
fn in_word(line: &str, start: usize, word: &str) -> Vec<Range<usize>> {
    let uuids = (0..word.len().saturating_sub(UUID - 1)).map(|at| start + at..start + at + UUID);
    let is_secret =
        |span: &Range<usize>| line.get(span.clone()).is_some_and(is_uuid) && !follows_accessor(line, span.start);
    let mut found: Vec<Range<usize>> = uuids.filter(is_secret).collect();
    found.extend(word.find(WEB_TOKEN).map(|at| start + at..start + word.len()));
    let keys = words(word, |c| !c.is_ascii_alphanumeric() && !"-_+/".contains(c)).filter(|(_, run)| is_key(run));
    found.extend(keys.map(|(at, run)| start + at..start + at + run.len()));
    found
}

/// The longest parts without characters that end a word, and where they begin.
fn words(text: &str, is_end: fn(char) -> bool) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    text.split_inclusive(is_end).filter_map(move |part| {
        let start = next;
        next += part.len();
        let word = part.trim_end_matches(is_end);
        (!word.is_empty()).then_some((start, word))
    })
}

/// Whether the name of an accessor is before this place: `accessorID=`, `"AccessorID": "`.
fn follows_accessor(line: &str, at: usize) -> bool {
    let before = line.get(..at).unwrap_or_default().chars().filter(char::is_ascii_alphanumeric);
    let before: String = before.map(|c| c.to_ascii_lowercase()).collect();
    before.ends_with("accessorid") || before.ends_with("accessor")
}

fn is_uuid(text: &str) -> bool {
    text.len() == UUID && Uuid::try_parse(text).is_ok()
}

/// Whether a text is long and mixes letters and digits as random ones do: a third of it is no small letter, which paths and names
/// do not have.
fn is_key(text: &str) -> bool {
    let count = |is_it: fn(&u8) -> bool| text.bytes().filter(is_it).count();
    let (upper, digits) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_digit));
    text.len() >= LONG && upper > 0 && digits > 0 && upper + digits < text.len() && 3 * (upper + digits) >= text.len()
}
