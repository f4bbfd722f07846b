//! Typed access to TOML tables, with the position of every error.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    config_error::ConfigError,
    nearest::{nearest, unknown_key},
    selection::unknown_rule,
};
use crate::rules::rule;
use audit_read::{document::Position, source::SourceFile};

/// Reads a TOML text.
pub(super) fn parse(file: &SourceFile) -> Result<Spanned<DeTable<'_>>, ConfigError> {
    DeTable::parse(&file.text).map_err(|error| ConfigError {
        file: file.name.clone(),
        position: file.position(error.span().map_or(0, |span| span.start)),
        reason: format!("not TOML: {}", error.message()),
    })
}

/// A table of the file.
pub(super) struct TableReader<'t> {
    table: &'t DeTable<'t>,
    at: usize,
    file: &'t SourceFile,
}

/// A string and its first byte.
#[derive(Clone, Copy)]
pub(super) struct TomlString<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl<'t> TableReader<'t> {
    pub(super) fn of(table: &'t Spanned<DeTable<'t>>, file: &'t SourceFile) -> Self {
        Self { table: table.get_ref(), at: table.span().start, file }
    }

    pub(super) fn position(&self) -> Position {
        self.file.position(self.at)
    }

    /// The position of a byte of the file.
    pub(super) fn position_of(&self, at: usize) -> Position {
        self.file.position(at)
    }

    /// An error at a byte of the file.
    pub(super) fn wrong(&self, at: usize, reason: impl Into<String>) -> ConfigError {
        ConfigError { file: self.file.name.clone(), position: self.file.position(at), reason: reason.into() }
    }

    /// Its keys and their first bytes.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&'t str, usize)> + use<'t> {
        self.table.keys().map(|key| (key.get_ref().as_ref(), key.span().start))
    }

    /// Refuses all other keys.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), ConfigError> {
        match self.keys().find(|(key, _)| !known.contains(key)) {
            Some((key, at)) => Err(self.wrong(at, unknown_key(key, known))),
            None => Ok(()),
        }
    }

    /// The rule called `id`. `at` is the first byte of the name.
    pub(super) fn rule_called(&self, id: &str, at: usize) -> Result<&'static str, ConfigError> {
        rule(id).map(|rule| rule.id).ok_or_else(|| self.wrong(at, unknown_rule(id)))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<TomlString<'t>>, ConfigError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        let at = value.span().start;
        match value.get_ref() {
            DeValue::String(text) => Ok(Some(TomlString { text, at })),
            other => {
                let found = other.type_str();
                let article = if found.starts_with(['a', 'i']) { "an" } else { "a" };
                Err(self.wrong(at, format!("{key} must be a string, and is {article} {found}")))
            }
        }
    }

    pub(super) fn required(&self, key: &str) -> Result<TomlString<'t>, ConfigError> {
        self.text(key)?.ok_or_else(|| self.wrong(self.at, format!("{key} is missing")))
    }

    pub(super) fn one_of(&self, key: &str, names: &[&str]) -> Result<Option<&'t str>, ConfigError> {
        let Some(TomlString { text, at }) = self.text(key)? else { return Ok(None) };
        if names.contains(&text) {
            return Ok(Some(text));
        }
        let likely = nearest(text, names.iter().copied()).map(|name| format!("; did you mean {name}?"));
        Err(self.wrong(at, format!("{key} is one of {}{}", names.join(", "), likely.unwrap_or_default())))
    }

    pub(super) fn table(&self, key: &str) -> Result<Option<Self>, ConfigError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        match self.as_table(value) {
            Some(table) => Ok(Some(table)),
            None => Err(self.wrong(value.span().start, format!("{key} is a table"))),
        }
    }

    pub(super) fn tables(&self, key: &str) -> Result<Vec<Self>, ConfigError> {
        let Some(value) = self.table.get(key) else { return Ok(Vec::new()) };
        let tables =
            value.get_ref().as_array().and_then(|items| items.iter().map(|item| self.as_table(item)).collect());
        tables.ok_or_else(|| self.wrong(value.span().start, format!("{key} is a list of tables: [[{key}]]")))
    }

    fn as_table(&self, value: &'t Spanned<DeValue<'t>>) -> Option<Self> {
        let table = value.get_ref().as_table()?;
        Some(Self { table, at: value.span().start, file: self.file })
    }
}
