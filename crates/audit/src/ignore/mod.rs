//! Findings that do not count: those that a comment in the file or an entry of the configuration file ignores.

mod annotate;
mod baseline;
mod comment;
mod config;
mod config_error;
mod content;
mod glob;
mod lines;
mod nearest;
mod schema;
#[cfg(test)]
mod schema_tests;
mod selection;
mod sort;
mod sorted;
mod toml_reader;

pub use self::{
    baseline::{Annotated, Baseline, NewEntry, Origin, quoted},
    config::{Config, IgnoreEntry, Level, SeverityEntry},
    config_error::ConfigError,
    glob::PathPattern,
    schema::config_schema,
    selection::{Selection, Selector, UnknownSelector, rules_and_groups, unknown_rule},
    sort::sort,
    sorted::{Ignored, IgnoredBy, Sorted},
};
