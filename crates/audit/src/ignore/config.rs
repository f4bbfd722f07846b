//! `ecs-mesh.toml`.

use std::{
    cell::OnceCell,
    collections::BTreeMap,
    fmt::Display,
    fs,
    path::{Component, Path, PathBuf},
    sync::OnceLock,
};

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Value, json};
use toml::Spanned;

use super::selection::{Selection, Selector, rules_and_groups, unknown_rule};
use crate::{
    finding::Finding,
    rule::Rule,
    rules::{rule, rules},
    severity::{Severity, Threshold},
};
use document::{Position, SourceFile};

/// The configuration file. The default is for a run without one.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Findings to ignore.
    #[serde(rename = "ignore")]
    pub ignores: Vec<Spanned<IgnoreEntry>>,
    /// Severities that replace the rules' own.
    #[serde(rename = "severity")]
    pub severities: BTreeMap<Spanned<Selector>, Level>,
    /// The lowest severity that fails the run.
    pub fail_on: Option<Spanned<Threshold>>,
    /// Files in directories that are not read.
    pub exclude: Option<Spanned<Vec<PathPattern>>>,
    /// The rules that the command line selects; the file does not set it.
    #[serde(skip)]
    pub selection: Selection,
    /// The file; none if its name is empty.
    #[serde(skip)]
    pub file: SourceFile,
    /// The directory that its paths are relative to.
    #[serde(skip)]
    pub directory: PathBuf,
}

/// What a severity of the file may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Error,
    Warning,
    Info,
    /// The rule is not applied.
    Off,
}

/// Findings to ignore. All given conditions must be met.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IgnoreEntry {
    #[serde(deserialize_with = "known_rule")]
    pub rule: &'static Rule,
    /// The reason to ignore them.
    #[serde(deserialize_with = "some_reason")]
    pub reason: String,
    /// The pattern of paths, relative to the directory of the file.
    #[serde(default)]
    pub path: Option<PathPattern>,
    /// The pattern of families.
    #[serde(default, deserialize_with = "family_pattern")]
    pub family: Option<GlobMatcher>,
}

/// A pattern of paths. One without wildcards also means what is below it.
#[derive(Debug)]
pub struct PathPattern {
    glob: GlobMatcher,
    directory: Option<PathBuf>,
    /// Without symbolic links: the directory of the configuration, and its own.
    real: OnceLock<(Option<PathBuf>, Option<PathBuf>)>,
}

/// A file that patterns are compared with.
pub(super) struct NamedFile {
    /// Its path from the directory of the configuration.
    relative: PathBuf,
    whole: PathBuf,
    /// Its path without symbolic links.
    real: OnceCell<Option<PathBuf>>,
}

/// A configuration file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{}:{}: {reason}", position.line, position.column)]
pub struct ConfigFileError {
    pub file: String,
    pub position: Position,
    /// What is wrong.
    pub reason: String,
}

impl Level {
    const NAMES: [&'static str; 4] = ["error", "warning", "info", "off"];

    /// Its name in the file.
    pub fn as_str(self) -> &'static str {
        self.severity().map_or("off", Severity::as_str)
    }

    fn severity(self) -> Option<Severity> {
        match self {
            Self::Error => Some(Severity::Error),
            Self::Warning => Some(Severity::Warning),
            Self::Info => Some(Severity::Info),
            Self::Off => None,
        }
    }
}

impl Config {
    /// Reads the configuration file of `directory`.
    ///
    /// # Errors
    /// It is not TOML, has unknown keys, rules or values, or an `ignore` without a reason.
    pub fn read(file: SourceFile, directory: &Path) -> Result<Self, ConfigFileError> {
        let config: Self = toml::from_str(&file.text).map_err(|error| ConfigFileError {
            file: file.name.clone(),
            position: file.position(error.span().map_or(0, |span| span.start)),
            reason: error.message().to_owned(),
        })?;
        Ok(Self { file, directory: lexically_normal(directory), ..config })
    }

    /// The severity of a rule's findings; `None` if the rule is not applied. What the command line selects is applied
    /// even if the file says `off`.
    pub fn severity_of(&self, rule: &Rule) -> Option<Severity> {
        if !self.selection.includes(rule.id) {
            return None;
        }
        let entries = self.severities.iter().filter(|(rules, _)| rules.get_ref().covers(rule.id));
        match entries.max_by_key(|(rules, _)| rules.get_ref().closeness()).map(|(_, level)| *level) {
            Some(Level::Off) if self.selection.select.is_empty() => None,
            Some(level) => level.severity().or(Some(rule.texts().severity)),
            None => Some(rule.texts().severity),
        }
    }

    /// Whether the file called `name` in `directory` is not read.
    pub fn excludes(&self, name: &str, directory: &Path) -> bool {
        let file = self.named(name, directory);
        self.exclude.iter().flat_map(Spanned::get_ref).any(|pattern| self.matches(pattern, &file))
    }

    /// The file called `name` in `directory`.
    pub(super) fn named(&self, name: &str, directory: &Path) -> NamedFile {
        let relative = Self::relative(name, directory, &self.directory);
        NamedFile { relative, whole: directory.join(name), real: OnceCell::new() }
    }

    /// Whether a pattern matches a file, maybe through symbolic links.
    fn matches(&self, pattern: &PathPattern, file: &NamedFile) -> bool {
        let real = || file.real.get_or_init(|| fs::canonicalize(&file.whole).ok()).as_deref();
        pattern.is_match(&file.relative) || real().is_some_and(|real| pattern.is_match_below(real, &self.directory))
    }

    /// Where a value stands in the file: `ecs-mesh.toml:3:1`.
    pub fn place<T>(&self, value: &Spanned<T>) -> String {
        let Position { line, column } = self.file.position(value.span().start);
        format!("{}:{line}:{column}", self.file.name)
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
        let unused = self.ignores.iter().zip(used).filter(move |(entry, used)| !**used && was_read(entry.get_ref()));
        unused.map(|(entry, _)| {
            format!("{}: this entry ignores no finding of {}", self.place(entry), entry.get_ref().rule.id)
        })
    }
}

impl IgnoreEntry {
    /// Whether the entry concerns `finding`, which is in `file`.
    pub(super) fn covers(&self, finding: &Finding, config: &Config, file: &NamedFile) -> bool {
        self.rule.id == finding.rule.id
            && self.family.as_ref().is_none_or(|glob| glob.is_match(&finding.family))
            && self.path.as_ref().is_none_or(|pattern| config.matches(pattern, file))
    }
}

impl PathPattern {
    fn new(text: &str) -> Result<Self, globset::Error> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let has_wildcards = text.contains(['*', '?', '[', '{', '\\']);
        let directory = (!has_wildcards).then(|| PathBuf::from(text));
        Ok(Self { glob: pattern(text)?, directory, real: OnceLock::new() })
    }

    /// The pattern, as it was written.
    pub fn as_str(&self) -> &str {
        self.glob.glob().glob()
    }

    /// Whether it means the file called `path`.
    fn is_match(&self, path: &Path) -> bool {
        self.glob.is_match(path) || self.directory.as_ref().is_some_and(|directory| path.starts_with(directory))
    }

    /// Whether it means a file below `root`. The path of the file has no links, but `root` and the pattern may.
    fn is_match_below(&self, file: &Path, root: &Path) -> bool {
        let (root, own) = self.real.get_or_init(|| {
            let own = self.directory.as_ref().and_then(|own| fs::canonicalize(root.join(own)).ok());
            (fs::canonicalize(root).ok(), own)
        });
        let path = root.as_ref().and_then(|root| file.strip_prefix(root).ok());
        own.as_ref().is_some_and(|own| file.starts_with(own)) || path.is_some_and(|path| self.is_match(path))
    }
}

impl<'de> Deserialize<'de> for PathPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, Self::new)
    }
}

/// Compiles a pattern: `*` matches anything but `/`, `**` any directories, `{a,b}` either.
fn pattern(text: &str) -> Result<GlobMatcher, globset::Error> {
    Ok(GlobBuilder::new(text).literal_separator(true).build()?.compile_matcher())
}

fn known_rule<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static Rule, D::Error> {
    from_text(deserializer, |id| rule(id).ok_or_else(|| unknown_rule(id)))
}

fn some_reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let some = |text: &str| if text.trim().is_empty() { Err("the reason is empty") } else { Ok(text.to_owned()) };
    from_text(deserializer, some)
}

fn family_pattern<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<GlobMatcher>, D::Error> {
    from_text(deserializer, pattern).map(Some)
}

fn from_text<'de, D: Deserializer<'de>, T, E: Display>(
    deserializer: D,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    read(&String::deserialize(deserializer)?).map_err(D::Error::custom)
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

/// The schema of the configuration file, with the names of all rules: of draft 7, which editors of TOML read.
pub fn config_schema() -> Value {
    let ids: Vec<&str> = rules().map(|rule| rule.id).collect();
    let pattern = "*: anything but /, **: any directories, {a,b}: either";
    let of_files = format!(
        "A pattern of files, relative to the directory of this file. {pattern}. Without wildcards, it also means what is below a directory."
    );
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "urn:ecs-mesh:config:1",
        "title": "Configuration of ecs-mesh",
        "description": "The file ecs-mesh.toml, and the parameter AuditConfiguration of the function `audit`.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "fail-on": {
                "enum": Threshold::NAMES,
                "default": "error",
                "description": "The lowest severity that fails the run.",
            },
            "exclude": {
                "type": "array",
                "description": "Files that are not read unless they are named.",
                "items": { "type": "string", "description": of_files },
            },
            "severity": {
                "type": "object",
                "description": "The severity of a rule, or of a group of rules by how their IDs begin. The closest name counts.",
                "propertyNames": { "enum": rules_and_groups() },
                "additionalProperties": {
                    "enum": Level::NAMES,
                    "description": "The severity of findings; off: the rule is not applied.",
                },
            },
            "ignore": {
                "type": "array",
                "description": "Findings to ignore.",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["rule", "reason"],
                    "properties": {
                        "rule": { "enum": ids, "description": "The rule." },
                        "path": {
                            "type": "string",
                            "description": of_files,
                        },
                        "family": {
                            "type": "string",
                            "description": format!("A pattern of families or names of resources. {pattern}."),
                        },
                        "reason": { "type": "string", "pattern": "\\S", "description": "Why they are accepted." },
                    },
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, ConfigFileError> {
        Config::read(SourceFile::new("ecs-mesh.toml", text), Path::new("/repo"))
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
        assert_eq!(severity(&config, "consul-network-mode"), Some(Severity::Info));
        assert_eq!(config.fail_on.map(Spanned::into_inner), Some(Threshold::Never));
        let entry = config.ignores[0].get_ref();
        assert_eq!((entry.rule.id, entry.reason.as_str()), ("ecs-dependency-unknown", "a lab"));
    }

    #[test]
    fn mistakes_are_refused_at_their_place() {
        for (text, error) in [
            (
                "fial-on = 'error'",
                "1:1: unknown field `fial-on`, expected one of `ignore`, `severity`, `fail-on`, `exclude`",
            ),
            ("fail-on = 'eror'", "1:11: unknown variant `eror`, expected one of `error`, `warning`, `info`, `never`"),
            ("fail-on = 1", "1:11: wanted string or table"),
            (
                "\n[severity]\necs-dependency-unknwn = 'info'",
                "3:1: there is no rule or group of rules \"ecs-dependency-unknwn\"; did you mean ecs-dependency-unknown?",
            ),
            (
                "[severity]\necs-dependency-unknown = 'loud'",
                "2:26: unknown variant `loud`, expected one of `error`, `warning`, `info`, `off`",
            ),
            ("[[ignore]]\nrule = 'ecs-dependency-unknown'", "1:1: missing field `reason`"),
            ("[[ignore]]\nrule = 'ecs-dependency-unknown'\nreason = ' '", "3:10: the reason is empty"),
            ("[[ignore]]\nrule = 'nonsense'\nreason = 'x'", "2:8: there is no rule \"nonsense\""),
            ("[[ignore]]\nrule = 'ecs-dependency-unknown'\nreason = 'x'\npath = '{'", "4:8: "),
            ("ignore = 1", "1:10: invalid type: integer `1`, expected a sequence"),
            ("[[ignore", "ecs-mesh.toml:1:"),
        ] {
            let found = read(text).unwrap_err().to_string();
            assert!(found.contains(error), "{text}: {found}");
        }
    }

    #[test]
    fn a_path_without_wildcards_is_a_file_or_a_directory() {
        for (pattern, path, is_match) in [
            ("services", "services/web.json", true),
            ("services/", "services/web.json", true),
            ("./services/web.json", "services/web.json", true),
            ("services", "services-old/web.json", false),
            ("services/*", "services/web/task.json", false),
            ("services/**", "services/web/task.json", true),
        ] {
            assert_eq!(PathPattern::new(pattern).unwrap().is_match(Path::new(path)), is_match, "{pattern} {path}");
        }
    }

    /// Whether the reader, and the schema, accept a text.
    fn accepted(text: &str) -> (bool, bool) {
        let document: Value = toml::from_str(text).unwrap();
        (read(text).is_ok(), jsonschema::is_valid(&config_schema(), &document))
    }

    #[test]
    fn what_is_read_is_valid() {
        for text in [
            "",
            "fail-on = 'never'",
            "exclude = ['lab', '**/*.draft.json']",
            "[severity]\nconsul = 'off'\nconsul-client = 'info'\nconsul-network-mode = 'error'",
            "[[ignore]]\nrule = 'consul-network-mode'\nreason = 'a lab'",
            "[[ignore]]\nrule = 'consul-network-mode'\nreason = 'a lab'\npath = 'lab/**'\nfamily = 'lab-*'",
        ] {
            assert_eq!(accepted(text), (true, true), "{text}");
        }
    }

    #[test]
    fn what_is_refused_is_not_valid() {
        for text in [
            "fail_on = 'never'",
            "fail-on = 'sometimes'",
            "fail-on = 1",
            "severity = 'off'",
            "exclude = 'lab'",
            "[severity]\nconsul-netwrk-mode = 'info'",
            "[severity]\nconsul = 'loud'",
            "ignore = 'consul'",
            "[[ignore]]\nrule = 'consul-network-mode'",
            "[[ignore]]\nrule = 'consul'\nreason = 'a group is no rule'",
            "[[ignore]]\nrule = 'consul-network-mode'\nreason = ' '",
            "[[ignore]]\nrule = 'consul-network-mode'\nreason = 'a lab'\nfile = 'x'",
            "[[ignore]]\nrule = 'consul-network-mode'\nreason = 'a lab'\npath = 1",
        ] {
            assert_eq!(accepted(text), (false, false), "{text}");
        }
    }
}
