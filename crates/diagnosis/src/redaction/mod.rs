//! Texts of others as they are shown: lines of logs, and reasons for which a task stopped. Containers print what they like, in colours
//! and of any length; a caller who stops a task writes the reason, and the reason of a failed container can quote its command.

mod secrets;

use audit::report::clean;
use mesh::task::TaskEnd;

pub(crate) use self::secrets::without_secrets;

/// The most characters of a line that are shown.
const LONGEST: usize = 1_000;
/// The most characters of a line in which secrets are searched. Hidden ones make it shorter.
const SEARCHED: usize = 4 * LONGEST;
const ESCAPE: char = '\u{1b}';

/// A line without secrets, colours and control characters, or its beginning.
pub(crate) fn line(text: &str) -> String {
    let searched = match text.char_indices().nth(SEARCHED) {
        // The last word may be a half of a secret, which would not be known as one.
        Some((end, _)) => text.get(..end).and_then(|text| text.rsplit_once(char::is_whitespace)).map_or("", |it| it.0),
        None => text.trim_end(),
    };
    let shown = without_secrets(&clean(&without_escapes(searched)));
    match shown.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or_default()),
        None if searched.len() < text.trim_end().len() => shown + "…",
        None => shown,
    }
}

/// An end with redacted reasons.
pub(crate) fn end(mut end: TaskEnd) -> TaskEnd {
    let of_containers = end.containers.iter_mut().map(|container| &mut container.reason);
    for reason in of_containers.chain([&mut end.reason]).flatten() {
        *reason = line(reason);
    }
    end
}

/// A text without the sequences that control a terminal: `ESC [ … letter`, `ESC ] … BEL`, and `ESC` with one character.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split(ESCAPE);
    let first = parts.next().unwrap_or_default();
    std::iter::once(first).chain(parts.map(after_sequence)).collect()
}

/// What follows a sequence, which begins after its `ESC`.
fn after_sequence(part: &str) -> &str {
    let mut characters = part.chars();
    let is_last: fn(char) -> bool = match characters.next() {
        Some('[') => |c| matches!(c, '@'..='~'),
        Some(']') => |c| c == '\u{7}',
        _ => return characters.as_str(),
    };
    let rest = characters.as_str();
    rest.split_once(is_last).map_or("", |(_, after)| after)
}
