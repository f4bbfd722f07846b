//! Which findings fail a run.

use std::str::FromStr;

use serde::{
    Deserialize,
    de::{IntoDeserializer, value},
};

use crate::finding::Severity;

/// The lowest severity that fails a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Threshold {
    #[default]
    Error,
    Warning,
    Info,
    /// No finding fails the run.
    Never,
}

impl Threshold {
    pub const NAMES: [&'static str; 4] = ["error", "warning", "info", "never"];

    /// Its name in the configuration file.
    pub fn as_str(self) -> &'static str {
        self.severity().map_or("never", Severity::as_str)
    }

    /// Whether findings of `severity` fail the run.
    pub fn includes(self, severity: Severity) -> bool {
        self.severity().is_some_and(|lowest| severity >= lowest)
    }

    fn severity(self) -> Option<Severity> {
        match self {
            Self::Error => Some(Severity::Error),
            Self::Warning => Some(Severity::Warning),
            Self::Info => Some(Severity::Info),
            Self::Never => None,
        }
    }
}

impl FromStr for Threshold {
    type Err = value::Error;

    fn from_str(name: &str) -> Result<Self, value::Error> {
        Self::deserialize(name.into_deserializer())
    }
}
