//! How the formats spell the same key.

/// A way of spelling a task definition's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// ECS's JSON: `networkMode`.
    Ecs,
    /// CloudFormation: `NetworkMode`. Numbers and booleans may be strings.
    CloudFormation,
}

impl Dialect {
    /// ECS's `key` in this spelling.
    #[must_use]
    pub fn spell(self, key: &str) -> String {
        match (self, key) {
            (Self::Ecs, key) => key.to_owned(),
            (Self::CloudFormation, "properties") => "ProxyConfigurationProperties".to_owned(),
            (Self::CloudFormation, key) => {
                let mut chars = key.chars();
                chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
            }
        }
    }

    /// A whole value in this spelling.
    #[must_use]
    pub fn spell_value(self, value: serde_json::Value) -> serde_json::Value {
        match value {
            serde_json::Value::Object(map) => {
                map.into_iter().map(|(key, value)| (self.spell(&key), self.spell_value(value))).collect()
            }
            serde_json::Value::Array(items) => items.into_iter().map(|item| self.spell_value(item)).collect(),
            scalar => scalar,
        }
    }

    /// Whether numbers and booleans may be written as strings.
    #[must_use]
    pub fn is_lenient(self) -> bool {
        self == Self::CloudFormation
    }
}
