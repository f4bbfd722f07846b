//! `ecs-mesh.toml`.

use std::path::{Component, Path, PathBuf};

use globset::GlobMatcher;

use super::{
    config_error::ConfigError,
    glob::{PathPattern, pattern},
    selection::{Selection, Selector},
    toml_reader::{self, TableReader},
};
use crate::{
    finding::{Finding, Severity},
    rule::Rule,
};
use audit_read::{document::Position, source::SourceFile};

/// The configuration file. The default is that of a run without one.
#[derive(Debug, Default)]
pub struct Config {
    /// Findings to ignore.
    pub ignores: Vec<IgnoreEntry>,
    /// Severities that replace those of the rules.
    pub severities: Vec<SeverityEntry>,
    /// The lowest severity that fails the run, as the file spells it.
    pub fail_on: Option<String>,
    /// The position of `fail-on` in the file.
    pub fail_on_position: Option<Position>,
    /// The rules that the command line selects; the file does not set it.
    pub selection: Selection,
    /// The file's name, for messages.
    pub name: String,
    /// The directory that its paths are relative to.
    pub directory: PathBuf,
}

/// The severity of a rule or a group of rules.
#[derive(Debug)]
pub struct SeverityEntry {
    /// The rule or group.
    pub rules: Selector,
    /// Its severity, or `off`.
    pub level: Level,
    /// Its position in the file.
    pub position: Position,
}

/// What a severity of the file may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The rule is not applied.
    Off,
    /// The severity of its findings.
    Severity(Severity),
}

/// Findings to ignore. All given conditions must be met.
#[derive(Debug)]
pub struct IgnoreEntry {
    pub rule: &'static str,
    /// The reason to ignore them.
    pub reason: String,
    /// The pattern of paths, relative to the directory of the file.
    pub path: Option<PathPattern>,
    /// The pattern of families.
    pub family: Option<GlobMatcher>,
    /// Its position in the file.
    pub position: Position,
}

impl Level {
    pub const NAMES: [&'static str; 4] = ["error", "warning", "info", "off"];

    /// Its name in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Severity(severity) => severity.as_str(),
        }
    }
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
            severities: root.table("severity")?.map_or_else(|| Ok(Vec::new()), |table| severities(&table))?,
            fail_on: root.one_of("fail-on", fail_on_names)?.map(str::to_owned),
            fail_on_position: root.text("fail-on")?.map(|text| file.position(text.at)),
            selection: Selection::default(),
            name: file.name.clone(),
            directory: lexically_normal(directory),
        })
    }

    /// The severity of a rule's findings; `None` if the rule is not applied. What the command line selects is applied
    /// even if the file says `off`.
    pub fn severity_of(&self, rule: &Rule) -> Option<Severity> {
        if !self.selection.includes(rule.id) {
            return None;
        }
        let entries = self.severities.iter().filter(|entry| entry.rules.covers(rule.id));
        match entries.max_by_key(|entry| entry.rules.closeness()).map(|entry| entry.level) {
            Some(Level::Severity(severity)) => Some(severity),
            Some(Level::Off) if self.selection.select.is_empty() => None,
            Some(Level::Off) | None => Some(rule.severity),
        }
    }

    /// The path of the file called `name` in `directory`, relative to `root` if it is below it.
    pub(super) fn relative(name: &str, directory: &Path, root: &Path) -> PathBuf {
        let whole = lexically_normal(&directory.join(name));
        whole.strip_prefix(lexically_normal(root)).map_or_else(|_| PathBuf::from(name), Path::to_owned)
    }

    /// The entries that ignored nothing, according to `used`, although a file that they concern was read. `paths` are relative
    /// to the directory of the configuration.
    pub(super) fn unused(&self, used: &[bool], paths: &[PathBuf]) -> impl Iterator<Item = String> {
        let was_read = |entry: &IgnoreEntry| {
            entry.path.as_ref().is_none_or(|pattern| paths.iter().any(|path| pattern.is_match(path)))
        };
        self.ignores.iter().zip(used).filter(move |(entry, used)| !**used && was_read(entry)).map(|(entry, _)| {
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
        Ok(Self {
            rule: table.rule_called(rule.text, rule.at)?,
            reason: reason.text.to_owned(),
            path: compiled(table, "path", PathPattern::new)?,
            family: compiled(table, "family", pattern)?,
            position: table.position(),
        })
    }

    /// Whether the entry concerns `finding`. The name of its file is relative to `directory`.
    pub(super) fn covers(&self, finding: &Finding, config: &Config, directory: &Path) -> bool {
        let path = Config::relative(&finding.file.name, directory, &config.directory);
        self.rule == finding.rule.id
            && self.path.as_ref().is_none_or(|pattern| pattern.is_match(&path))
            && self.family.as_ref().is_none_or(|glob| glob.is_match(&finding.family))
    }
}

/// The pattern of a key.
fn compiled<P>(
    table: &TableReader<'_>,
    key: &str,
    compile: impl Fn(&str) -> Result<P, globset::Error>,
) -> Result<Option<P>, ConfigError> {
    let text = table.text(key)?;
    text.map(|text| compile(text.text).map_err(|error| table.wrong(text.at, error.to_string()))).transpose()
}

fn severities(table: &TableReader<'_>) -> Result<Vec<SeverityEntry>, ConfigError> {
    let entry = |(name, at): (&str, usize)| {
        let rules = name.parse::<Selector>().map_err(|unknown| table.wrong(at, unknown.to_string()))?;
        let level = match table.one_of(name, &Level::NAMES)? {
            Some("error") => Level::Severity(Severity::Error),
            Some("warning") => Level::Severity(Severity::Warning),
            Some("off") => Level::Off,
            _ => Level::Severity(Severity::Info),
        };
        Ok(SeverityEntry { rules, level, position: table.position_of(at) })
    };
    table.keys().map(entry).collect()
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

    fn severity(config: &Config, id: &str) -> Option<Severity> {
        config.severity_of(crate::rules::rule(id).unwrap())
    }

    #[test]
    fn the_closest_severity_counts() {
        let config =
            read("[severity]\nconsul-network-mode = 'info'\nconsul = 'off'\nconsul-client = 'warning'\n").unwrap();
        assert_eq!(severity(&config, "consul-network-mode"), Some(Severity::Info));
        assert_eq!(severity(&config, "consul-client-image"), Some(Severity::Warning));
        assert_eq!(severity(&config, "consul-volumes"), None);
        assert_eq!(severity(&config, "ecs-dependency-unknown"), Some(Severity::Error));
    }

    #[test]
    fn a_selected_rule_is_applied_though_the_file_turns_it_off() {
        let mut config = read("[severity]\nconsul = 'off'\n").unwrap();
        config.selection.select = vec!["consul-volumes".parse().unwrap()];
        assert_eq!(severity(&config, "consul-volumes"), Some(Severity::Error));
        assert_eq!(severity(&config, "consul-network-mode"), None);
    }

    #[test]
    fn a_configuration_is_read() {
        let config = read(
            "fail-on = 'never'\n[severity]\nconsul-network-mode = 'info'\n[[ignore]]\nrule = 'ecs-dependency-unknown'\n\
             path = 'lab/**'\nreason = 'a lab'\n",
        )
        .unwrap();
        assert_eq!(config.fail_on.as_deref(), Some("never"));
        assert_eq!(severity(&config, "consul-network-mode"), Some(Severity::Info));
        assert_eq!((config.ignores[0].rule, config.ignores[0].reason.as_str()), ("ecs-dependency-unknown", "a lab"));
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest_name() {
        for (text, error) in [
            ("fial-on = 'error'", "1:1: there is no key \"fial-on\"; did you mean fail-on?"),
            ("fail-on = 'eror'", "1:11: fail-on is one of error, never; did you mean error?"),
            ("fail-on = 1", "1:11: fail-on must be a string, and is an integer"),
            ("\n[severity]\necs-dependency-unknwn = 'info'", "did you mean ecs-dependency-unknown?"),
            (
                "[severity]\necs-dependency-unknown = 'loud'",
                "2:26: ecs-dependency-unknown is one of error, warning, info, off",
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
