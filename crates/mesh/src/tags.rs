//! Tags of ECS.

use std::collections::BTreeMap;

/// The tags of a task or of a task definition, by key. A list, because a sweep holds thousands of them with few tags each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags(Box<[(String, String)]>);

impl Tags {
    /// The value of one tag.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// These tags, and `fallback`'s for other keys.
    #[must_use]
    pub fn or(&self, fallback: &Self) -> Self {
        fallback.0.iter().chain(&self.0).cloned().collect()
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Tags {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(tags: I) -> Self {
        let by_key: BTreeMap<String, String> =
            tags.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Self(by_key.into_iter().collect())
    }
}
