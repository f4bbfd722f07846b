//! Whether the controller acts.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::field::InvalidField;

/// Whether the controller changes what it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It does.
    #[default]
    Act,
    /// It reads, plans and reports, and changes nothing.
    Observe,
}

impl Mode {
    /// Whether writes are sent.
    pub fn acts(self) -> bool {
        self == Self::Act
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Act => "act",
            Self::Observe => "observe",
        }
    }

    /// The `outcome` in the log of what was written, or would have been.
    pub fn done(self) -> &'static str {
        match self {
            Self::Act => "done",
            Self::Observe => "observed",
        }
    }
}

impl FromStr for Mode {
    type Err = InvalidField;

    fn from_str(text: &str) -> Result<Self, InvalidField> {
        match text {
            "act" => Ok(Self::Act),
            "observe" => Ok(Self::Observe),
            other => Err(InvalidField::new("mode", other, "act or observe")),
        }
    }
}
