//! The proxy configuration of a task: which traffic App Mesh redirects to Envoy, and which it does not.

use super::{
    field::{Field, List, Maybe, Text},
    tag::Tag,
};
use crate::document::Place;

/// The proxy configuration of a task. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html>
#[derive(Debug, Clone)]
pub struct ProxyConfiguration {
    /// `APPMESH`, the default and the only value.
    pub kind: Field<Text>,
    /// The name of the proxy's container.
    pub container: Field<Text>,
    pub properties: List<Tag>,
    /// Its place in the file.
    pub place: Place,
}

impl ProxyConfiguration {
    /// A property. It counts as unknown if the key of a property differs from `name` only by case: another rule reports
    /// that.
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

    /// The comma-separated items of a property, if all of them are known.
    pub fn items(&self, name: &str) -> Option<Vec<&str>> {
        let Maybe::Known(property) = self.property(name) else { return None };
        let text = property.value.text()?;
        Some(text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect())
    }

    /// The ports of a property; `None` if one of its items is not a port.
    pub fn ports(&self, name: &str) -> Option<Vec<u16>> {
        self.items(name)?.into_iter().map(|item| item.parse().ok().filter(|port| *port != 0)).collect()
    }
}
