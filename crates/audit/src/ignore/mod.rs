//! Findings that do not count: those that a comment in the file or an entry of the configuration file ignores.

mod comment;
mod config;
mod config_error;
mod glob;
mod nearest;
mod sort;
mod sorted;
mod toml_reader;

pub use self::{
    config::{Config, IgnoreEntry},
    config_error::ConfigError,
    nearest::unknown_rule,
    sort::sort,
    sorted::{Ignored, IgnoredBy, Sorted},
};
