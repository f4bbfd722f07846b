//! Secrets in the lines of a log: containers print what they like.

use audit::subject::secrets_in;

/// What stands in the place of a secret.
const HIDDEN: &str = "…";
/// The shortest run of letters and digits that may be a key or a token. The IDs of tasks and digests are hexadecimal, and are shown.
const LONG: usize = 40;

/// A line without what may be secret: values after a name such as `token`, UUIDs (the secret of a token in Consul is one), web tokens
/// and long keys. The accessor of a token is an ID, and is shown.
pub(in crate::why) fn without_secrets(line: &str) -> String {
    let mut shown = line.to_owned();
    for secret in secrets_in(line) {
        shown = shown.replace(secret, HIDDEN);
    }
    let mut result = String::with_capacity(shown.len());
    let mut rest = shown.as_str();
    while let Some(start) = rest.find(is_of_a_word) {
        let (before, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|c| !is_of_a_word(c)).unwrap_or(from.len()));
        result.push_str(before);
        let is_accessor = result.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).to_ascii_lowercase();
        let is_accessor = is_accessor.ends_with("accessorid") || is_accessor.ends_with("accessor");
        result.push_str(if is_secret(word) && !is_accessor { HIDDEN } else { word });
        rest = after;
    }
    result + rest
}

fn is_of_a_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+')
}

fn is_secret(word: &str) -> bool {
    is_uuid(word) || word.starts_with("eyJ") || is_key(word)
}

fn is_uuid(word: &str) -> bool {
    let is_part = |(part, length): (&str, usize)| part.len() == length && part.bytes().all(|it| it.is_ascii_hexdigit());
    word.split('-').count() == 5 && word.split('-').zip([8, 4, 4, 4, 12]).all(is_part)
}

fn is_key(word: &str) -> bool {
    let has = |is_it: fn(&u8) -> bool| word.as_bytes().iter().any(is_it);
    word.len() >= LONG && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit)
}
