//! The proxy of a task: what App Mesh intercepts, and what it lets pass.

use super::{
    field::{Field, List, Maybe, Text},
    tag::Tag,
};
use crate::document::Place;

/// The proxy of a task. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html>
#[derive(Debug, Clone)]
pub struct ProxyConfiguration {
    /// `APPMESH`, which is also the default.
    pub kind: Field<Text>,
    /// The proxy's container.
    pub container: Field<Text>,
    /// Its properties.
    pub properties: List<Tag>,
    /// The whole of it.
    pub place: Place,
}

impl ProxyConfiguration {
    /// A property. One that differs only by case makes it unknown: that it is misspelled is another finding.
    #[must_use]
    pub fn property(&self, name: &str) -> Maybe<&Tag> {
        let is_misspelled =
            |property: &Tag| property.key.text().is_some_and(|key| key.eq_ignore_ascii_case(name) && key != name);
        match self.properties.find_named(name, |property| &property.key) {
            Maybe::Absent if self.properties.items.iter().any(is_misspelled) => Maybe::Unknown,
            Maybe::Absent if self.properties.items.iter().any(|property| property.key.text().is_none()) => {
                Maybe::Unknown
            }
            found => found,
        }
    }

    /// The comma-separated items of a property, where all of them are known.
    #[must_use]
    pub fn items(&self, name: &str) -> Option<Vec<&str>> {
        let Maybe::Known(property) = self.property(name) else { return None };
        let text = property.value.text()?;
        Some(text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect())
    }

    /// The ports of a property; nothing where one of its items is none.
    #[must_use]
    pub fn ports(&self, name: &str) -> Option<Vec<u16>> {
        self.items(name)?.into_iter().map(|item| item.parse().ok().filter(|port| *port != 0)).collect()
    }
}
