//! The spelling of keys in each format.

/// The spelling of a task definition's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// ECS's JSON: `networkMode`.
    Ecs,
    /// Terraform's own language: containers are spelled as in ECS's JSON, the arguments around them are not.
    Terraform,
    /// CloudFormation: `NetworkMode`. Numbers and booleans may be strings.
    CloudFormation,
}

impl Dialect {
    /// `key`, as ECS spells it, in this spelling.
    #[must_use]
    pub fn spell(self, key: &str) -> String {
        match (self, key) {
            (Self::Ecs | Self::Terraform, key) => key.to_owned(),
            (Self::CloudFormation, "properties") => "ProxyConfigurationProperties".to_owned(),
            (Self::CloudFormation, key) => {
                let mut chars = key.chars();
                chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
            }
        }
    }

    /// `value` with all of its keys in this spelling.
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
