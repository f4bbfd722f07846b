//! Consul's admin partitions and namespaces (Consul Enterprise).

use std::{str::FromStr, sync::Arc};

use crate::{
    consul_ecs::{NAMESPACE_TAG, PARTITION_TAG},
    names::{InvalidField, text},
    tags::Tags,
};

/// The name of an admin partition or a namespace: a DNS label.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TenancyName(Arc<str>);

text!(TenancyName.0);

impl FromStr for TenancyName {
    type Err = InvalidField;

    fn from_str(name: &str) -> Result<Self, InvalidField> {
        let label = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        let edged = name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.ends_with(|c: char| c.is_ascii_alphanumeric());
        if label && edged && name.len() <= 64 {
            Ok(Self(name.into()))
        } else {
            Err(InvalidField::new("partition or namespace", name, "at most 64 letters, digits, '-' and '_'"))
        }
    }
}

/// The partition and namespace of an object in Consul. Community Edition rejects requests with a partition or
/// namespace, so that both are sent only if configured.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Tenancy {
    /// No partition, no namespace: Community Edition, or Enterprise used without them.
    #[default]
    Community,
    Enterprise {
        partition: TenancyName,
        namespace: TenancyName,
    },
}

impl Tenancy {
    /// The default namespace of `partition`: the tenancy of tasks without Enterprise tags if the deployment has a
    /// partition.
    pub fn default_namespace_of(partition: TenancyName) -> Self {
        Self::Enterprise { partition, namespace: TenancyName("default".into()) }
    }

    /// The default namespace of the default partition, for objects that all partitions share.
    pub fn of_default_partition() -> Self {
        Self::default_namespace_of(TenancyName("default".into()))
    }

    /// The default namespace of its partition, for objects that all namespaces share.
    #[must_use]
    pub fn home(&self) -> Self {
        match self {
            Self::Community => Self::Community,
            Self::Enterprise { partition, .. } => Self::default_namespace_of(partition.clone()),
        }
    }

    /// A tenancy from both names, or `None` from neither.
    ///
    /// # Errors
    /// Only one is set, or one is invalid. `fields` are the names of the two for the error: partition, namespace.
    pub fn from_names(
        partition: Option<&str>,
        namespace: Option<&str>,
        fields: (&str, &str),
    ) -> Result<Option<Self>, InvalidField> {
        match (partition, namespace) {
            (None, None) => Ok(None),
            (Some(partition), Some(namespace)) => Ok(Some(Self::Enterprise {
                partition: partition.parse::<TenancyName>().map_err(|e| e.in_field(fields.0))?,
                namespace: namespace.parse::<TenancyName>().map_err(|e| e.in_field(fields.1))?,
            })),
            (Some(_), None) => Err(InvalidField::new(fields.1, "", "a namespace, because a partition is set")),
            (None, Some(_)) => Err(InvalidField::new(fields.0, "", "a partition, because a namespace is set")),
        }
    }

    /// The tenancy in tags, if they have one.
    ///
    /// # Errors
    /// One of the two tags is missing, or a value is invalid.
    pub fn from_tags(tags: &Tags) -> Result<Option<Self>, InvalidField> {
        Self::from_names(tags.get(PARTITION_TAG), tags.get(NAMESPACE_TAG), (PARTITION_TAG, NAMESPACE_TAG))
    }

    /// The end of the names of the secrets of its services.
    pub fn secret_suffix(&self) -> String {
        match self {
            Self::Community => String::new(),
            Self::Enterprise { partition, namespace } => format!("-{namespace}-{partition}"),
        }
    }

    /// Whether both mean the same namespace: Enterprise treats absent names as `default`.
    pub fn is_same_place(&self, other: &Self) -> bool {
        self.place() == other.place()
    }

    /// The partition and the namespace, where absent names mean `default`.
    pub fn place(&self) -> [&str; 2] {
        [self.partition(), self.namespace()].map(|name| name.map_or("default", TenancyName::as_str))
    }

    pub fn partition(&self) -> Option<&TenancyName> {
        match self {
            Self::Community => None,
            Self::Enterprise { partition, .. } => Some(partition),
        }
    }

    pub fn namespace(&self) -> Option<&TenancyName> {
        match self {
            Self::Community => None,
            Self::Enterprise { namespace, .. } => Some(namespace),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_enterprise_tags_or_none() {
        let both = Tags::from_iter([(PARTITION_TAG, "p1"), (NAMESPACE_TAG, "n1")]);
        let tenancy = Tenancy::from_tags(&both).unwrap().unwrap();
        assert_eq!((tenancy.partition().unwrap().as_str(), tenancy.namespace().unwrap().as_str()), ("p1", "n1"));
        assert_eq!(Tenancy::from_tags(&Tags::default()), Ok(None));
    }

    #[test]
    fn error_names_the_missing_enterprise_tag() {
        let only_partition = Tags::from_iter([(PARTITION_TAG, "p1")]);
        let only_namespace = Tags::from_iter([(NAMESPACE_TAG, "n1")]);
        assert_eq!(Tenancy::from_tags(&only_partition).unwrap_err().field(), NAMESPACE_TAG);
        assert_eq!(Tenancy::from_tags(&only_namespace).unwrap_err().field(), PARTITION_TAG);
    }

    #[test]
    fn names_that_would_change_a_query_are_refused() {
        for name in ["", "*", "a b", "p&ns=x", "-p"] {
            assert!(name.parse::<TenancyName>().is_err(), "{name}");
        }
    }
}
