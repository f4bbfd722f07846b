//! Why a configuration file cannot be used.

use audit_read::document::Position;

/// A configuration file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{}:{}: {reason}", position.line, position.column)]
pub struct ConfigError {
    pub file: String,
    /// The position in the file.
    pub position: Position,
    /// What is wrong.
    pub reason: String,
}
