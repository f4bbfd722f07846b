//! Whether the controller repairs.

use std::str::FromStr;

use crate::field::InvalidField;

/// Whether the controller changes what running tasks have in Consul.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RepairMode {
    /// It does.
    #[default]
    On,
    /// It reports what it would do.
    Report,
    /// It does not, and does not compare either.
    Off,
}

impl FromStr for RepairMode {
    type Err = InvalidField;

    fn from_str(text: &str) -> Result<Self, InvalidField> {
        match text {
            "on" => Ok(Self::On),
            "report" => Ok(Self::Report),
            "off" => Ok(Self::Off),
            other => Err(InvalidField::new("repair mode", other, "on, report or off")),
        }
    }
}
