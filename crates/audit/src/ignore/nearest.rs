//! Suggestions for misspelled names.

/// Names with a lower similarity are not suggested.
const ALIKE: f64 = 0.7;

/// The most similar one of `names`, if one is similar enough.
pub(super) fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let name = name.to_lowercase();
    let alike = names.into_iter().map(|candidate| (strsim::jaro_winkler(&name, candidate), candidate));
    alike.filter(|(likeness, _)| *likeness > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

/// The message that there is no key called `key`, with a suggestion.
pub(super) fn unknown_key(key: &str, keys: &[&str]) -> String {
    match nearest(key, keys.iter().copied()) {
        Some(likely) => format!("there is no key {key:?}; did you mean {likely}?"),
        None => format!("there is no key {key:?}; the keys are {}", keys.join(", ")),
    }
}
