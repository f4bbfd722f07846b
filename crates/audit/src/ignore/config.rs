//! `ecs-mesh.toml`.

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

use globset::GlobMatcher;

use super::{
    config_error::ConfigError,
    glob::pattern,
    toml_reader::{self, TableReader},
};
use crate::{
    document::Position,
    finding::{Finding, Severity},
    source::SourceFile,
};

/// The configuration file. The default is that of a run without one.
#[derive(Debug, Default)]
pub struct Config {
    /// Findings to ignore.
    pub ignores: Vec<IgnoreEntry>,
    /// Severities that replace those of the rules.
    pub severities: BTreeMap<&'static str, Severity>,
    /// The lowest severity that fails the run, as the file spells it.
    pub fail_on: Option<String>,
    /// The file's name, for messages.
    pub name: String,
    /// The directory that its paths are relative to.
    pub directory: PathBuf,
}

/// Findings to ignore. All given conditions must be met.
#[derive(Debug)]
pub struct IgnoreEntry {
    /// The rule.
    pub rule: &'static str,
    /// The reason to ignore them.
    pub reason: String,
    path: Option<GlobMatcher>,
    family: Option<GlobMatcher>,
    position: Position,
}

impl Config {
    /// Reads the configuration file of `directory`. `fail_on_names` are the valid thresholds.
    ///
    /// # Errors
    /// It is not TOML, has unknown keys, rules or values, or an `ignore` without a reason.
    pub fn read(file: &SourceFile, directory: &Path, fail_on_names: &[&str]) -> Result<Self, ConfigError> {
        let root = toml_reader::parse(file)?;
        let root = TableReader::of(&root, file);
        root.only(&["ignore", "severity", "fail-on"])?;
        Ok(Self {
            ignores: root.tables("ignore")?.iter().map(IgnoreEntry::read).collect::<Result<_, _>>()?,
            severities: root.table("severity")?.map_or_else(|| Ok(BTreeMap::new()), |table| severities(&table))?,
            fail_on: root.one_of("fail-on", fail_on_names)?.map(str::to_owned),
            name: file.name.clone(),
            directory: lexically_normal(directory),
        })
    }

    /// The severity that replaces the rule's own, if there is one.
    #[must_use]
    pub fn severity_of(&self, rule: &str) -> Option<Severity> {
        self.severities.get(rule).copied()
    }

    /// The entries that ignored nothing, according to `used`.
    pub(super) fn unused(&self, used: &[bool]) -> impl Iterator<Item = String> {
        self.ignores.iter().zip(used).filter(|(_, used)| !**used).map(|(entry, _)| {
            let Position { line, column } = entry.position;
            format!("{}:{line}:{column}: this entry ignores no finding of {}", self.name, entry.rule)
        })
    }
}

impl IgnoreEntry {
    fn read(table: &TableReader<'_>) -> Result<Self, ConfigError> {
        table.only(&["rule", "path", "family", "reason"])?;
        let rule = table.required("rule")?;
        let reason = table.required("reason")?;
        if reason.text.trim().is_empty() {
            return Err(table.wrong(reason.at, "the reason is empty"));
        }
        let matcher = |key| {
            let text = table.text(key)?;
            text.map(|text| pattern(text.text).map_err(|error| table.wrong(text.at, error.to_string()))).transpose()
        };
        Ok(Self {
            rule: table.rule_called(rule.text, rule.at)?,
            reason: reason.text.to_owned(),
            path: matcher("path")?,
            family: matcher("family")?,
            position: table.position(),
        })
    }

    /// Whether the entry concerns `finding`. The name of its file is relative to `directory`.
    pub(super) fn covers(&self, finding: &Finding, config: &Config, directory: &Path) -> bool {
        let has_path = |glob: &GlobMatcher| {
            let name = Path::new(&finding.file.name);
            let whole = lexically_normal(&directory.join(name));
            let inside = whole.strip_prefix(&config.directory).unwrap_or(name);
            glob.is_match(inside)
        };
        self.rule == finding.rule.id
            && self.path.as_ref().is_none_or(has_path)
            && self.family.as_ref().is_none_or(|glob| glob.is_match(&finding.family))
    }
}

fn severities(table: &TableReader<'_>) -> Result<BTreeMap<&'static str, Severity>, ConfigError> {
    let mut severities = BTreeMap::new();
    for (id, at) in table.keys() {
        let rule = table.rule_called(id, at)?;
        let severity = match table.one_of(id, &["error", "warning", "info"])? {
            Some("error") => Severity::Error,
            Some("warning") => Severity::Warning,
            _ => Severity::Info,
        };
        severities.insert(rule, severity);
    }
    Ok(severities)
}

/// A path without `.` and `..`, without access to the file system.
fn lexically_normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, ConfigError> {
        Config::read(&SourceFile::new("ecs-mesh.toml", text), Path::new("/repo"), &["error", "never"])
    }

    #[test]
    fn a_configuration_is_read() {
        let config = read(
            "fail-on = 'never'\n[severity]\nconsul-network-mode = 'info'\n[[ignore]]\nrule = 'ecs-dependency-unknown'\n\
             path = 'lab/**'\nreason = 'a lab'\n",
        )
        .unwrap();
        assert_eq!(config.fail_on.as_deref(), Some("never"));
        assert_eq!(config.severity_of("consul-network-mode"), Some(Severity::Info));
        assert_eq!((config.ignores[0].rule, config.ignores[0].reason.as_str()), ("ecs-dependency-unknown", "a lab"));
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest_name() {
        for (text, error) in [
            ("fial-on = 'error'", "1:1: there is no key \"fial-on\"; did you mean fail-on?"),
            ("fail-on = 'eror'", "1:11: fail-on is one of error, never; did you mean error?"),
            ("fail-on = 1", "1:11: fail-on is a string, not an integer"),
            ("\n[severity]\necs-dependency-unknwn = 'info'", "did you mean ecs-dependency-unknown?"),
            (
                "[severity]\necs-dependency-unknown = 'loud'",
                "2:26: ecs-dependency-unknown is one of error, warning, info",
            ),
            ("[[ignore]]\nrule = 'ecs-dependency-unknown'", "1:1: reason is missing"),
            ("[[ignore]]\nrule = 'ecs-dependency-unknown'\nreason = ' '", "3:10: the reason is empty"),
            ("[[ignore]]\nrule = 'nonsense'\nreason = 'x'", "2:8: there is no rule \"nonsense\""),
            ("[[ignore]]\nrule = 'ecs-dependency-unknown'\nreason = 'x'\npath = '{'", "4:8: "),
            ("ignore = 1", "1:10: ignore is a list of tables"),
            ("[[ignore", "ecs-mesh.toml:1:"),
        ] {
            let found = read(text).unwrap_err().to_string();
            assert!(found.contains(error), "{text}: {found}");
        }
    }
}
