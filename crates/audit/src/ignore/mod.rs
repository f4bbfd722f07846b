//! Findings that do not count: a comment in the file or an entry of the configuration file ignores them.

mod baseline;
mod comment;
mod config;
mod selection;
mod sort;

pub use self::{
    baseline::{Annotated, Baseline, NewEntry, Origin, quoted},
    config::{Config, ConfigError, IgnoreEntry, Level, PathPattern, config_schema},
    selection::{Selection, Selector, UnknownSelector, rules_and_groups, unknown_rule},
    sort::{Ignored, IgnoredBy, Sorted, sort},
};
