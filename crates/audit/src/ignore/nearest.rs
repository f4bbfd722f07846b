//! Suggestions for misspelled names.

use crate::rules::rules;

/// Names with a lower similarity are not suggested.
const ALIKE: f64 = 0.7;

/// The most similar one of `names`, if one is similar enough.
pub(super) fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let alike = names.into_iter().map(|candidate| (strsim::jaro_winkler(name, candidate), candidate));
    alike.filter(|(likeness, _)| *likeness > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

/// The message that there is no rule called `id`, with a suggestion.
#[must_use]
pub fn unknown_rule(id: &str) -> String {
    let id = id.escape_debug();
    match nearest(&id.to_string(), rules().map(|rule| rule.id)) {
        Some(likely) => format!("there is no rule \"{id}\"; did you mean {likely}?"),
        None => format!("there is no rule \"{id}\"; ecs-mesh rules lists all rules"),
    }
}

/// The message that there is no key called `key`, with a suggestion.
pub(super) fn unknown_key(key: &str, keys: &[&str]) -> String {
    match nearest(key, keys.iter().copied()) {
        Some(likely) => format!("there is no key {key:?}; did you mean {likely}?"),
        None => format!("there is no key {key:?}; the keys are {}", keys.join(", ")),
    }
}
