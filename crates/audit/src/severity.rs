//! How severe findings are.

use std::str::FromStr;

use serde::{
    Deserialize, Serialize,
    de::{IntoDeserializer, value},
};

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Useful to know.
    Info,
    /// It works, but may fail later.
    Warning,
    /// It does not work.
    #[default]
    Error,
}

impl Severity {
    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Error, Self::Warning, Self::Info].into_iter().find(|severity| severity.as_str() == name)
    }

    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        self.pick(["error", "warning", "info"])
    }

    /// What stands for it: for an error, a warning and an info.
    pub fn pick<T>(self, [error, warning, info]: [T; 3]) -> T {
        match self {
            Self::Info => info,
            Self::Warning => warning,
            Self::Error => error,
        }
    }
}

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
