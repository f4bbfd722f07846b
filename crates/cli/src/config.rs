//! `ecs-mesh config`

use std::{
    env,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use audit::{
    ignore::{Config, IgnoreEntry, PathPattern, Selection, Selector, config_schema, quoted},
    rules::rules,
    severity::Threshold,
};
use clap::{
    Args, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use document::SourceFile;

use crate::streams::{Exit, Failure, Streams};

/// Show the configuration of checks, or its schema
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ecs-mesh config show\n  ecs-mesh config show --select consul --fail-on warning\n  \
                        ecs-mesh config schema > ecs-mesh.schema.json"
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the configuration that applies here, and where each value comes from
    #[command(after_help = "The output is a configuration file. Comments show what the command line selects.\n\n\
                            Examples:\n  ecs-mesh config show\n  ecs-mesh config show --select consul --fail-on warning")]
    Show(ConfigurationArguments),
    /// Print the JSON schema of ecs-mesh.toml for editors
    #[command(after_help = "Examples:\n  ecs-mesh config schema > ecs-mesh.schema.json\n\n\
                            Taplo, and editors that use it, apply the schema if the first line of ecs-mesh.toml is\n  \
                            #:schema ./ecs-mesh.schema.json")]
    Schema,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let text = match &arguments.command {
        Command::Show(configuration) => {
            let config = configuration.rules.read(&working_directory()?)?;
            text(&config, configuration)
        }
        Command::Schema => format!("{:#}\n", config_schema()),
    };
    streams.print(&text)?;
    Ok(Exit::Clean)
}

pub(super) const NAME: &str = "ecs-mesh.toml";
const HEADING: &str = "Rules";

/// The rules, and the severity that fails a check
#[derive(Debug, Args)]
pub(super) struct ConfigurationArguments {
    #[command(flatten)]
    pub(super) rules: RuleArguments,
    /// Fail the run at this severity or above [default: error]
    #[arg(long, value_name = "SEVERITY", value_parser = thresholds(), help_heading = HEADING)]
    pub(super) fail_on: Option<Threshold>,
}

/// Which rules are applied
#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(super) struct RuleArguments {
    /// Apply only these rules: IDs or ID prefixes (consul, consul-client), separated by commas
    #[arg(long, visible_alias = "only", value_name = "RULES", value_delimiter = ',')]
    pub(super) select: Vec<Selector>,
    /// Skip these rules
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub(super) ignore: Vec<Selector>,
    /// Use this configuration file [default: the nearest ecs-mesh.toml in this directory or above]
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

impl RuleArguments {
    /// The configuration file, with the rules that the arguments select.
    pub(super) fn read(&self, working_directory: &Path) -> Result<Config, Failure> {
        let config = read(self.config.as_deref(), working_directory)?;
        let selection = Selection { select: self.select.clone(), ignore: self.ignore.clone() };
        Ok(Config { selection, ..config })
    }
}

fn thresholds() -> impl TypedValueParser<Value = Threshold> {
    PossibleValuesParser::new(Threshold::NAMES).try_map(|name| name.parse::<Threshold>())
}

impl ConfigurationArguments {
    /// The lowest severity that fails the run.
    pub(super) fn threshold(&self, config: &Config) -> Threshold {
        self.fail_on.or(config.fail_on.as_ref().map(|fail_on| *fail_on.get_ref())).unwrap_or_default()
    }
}

/// The configuration file at `path`, or the nearest one from the working directory upwards, if there is one.
pub(super) fn read(path: Option<&Path>, working_directory: &Path) -> Result<Config, Failure> {
    let Some(path) = file(path, working_directory) else { return Ok(Config::default()) };
    let text = fs::read_to_string(&path).map_err(|error| Failure::of(&path, error))?;
    let whole = working_directory.join(&path);
    let directory = whole.parent().unwrap_or(working_directory);
    parse(&path, text, directory, working_directory)
}

/// Reads the text of a configuration file in `directory`.
pub(super) fn parse(path: &Path, text: String, directory: &Path, working_directory: &Path) -> Result<Config, Failure> {
    let name = path.strip_prefix(working_directory).unwrap_or(path).display().to_string();
    Config::read(SourceFile::new(name, text), directory).map_err(Failure::new)
}

/// The configuration file: that at `path`, or the nearest one from the working directory upwards.
pub(super) fn file(path: Option<&Path>, working_directory: &Path) -> Option<PathBuf> {
    path.map(Path::to_owned).or_else(|| nearest(working_directory))
}

/// The directory that relative file names start from.
pub(super) fn working_directory() -> Result<PathBuf, Failure> {
    Ok(env::current_dir()?)
}

fn nearest(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().map(|directory| directory.join(NAME)).find(|path| path.is_file())
}

fn text(config: &Config, arguments: &ConfigurationArguments) -> String {
    let mut out = match config.file.name.as_str() {
        "" => "# no configuration file\n".to_owned(),
        name => format!("# configuration file: {name}\n"),
    };
    for (option, selectors) in [("--select", &config.selection.select), ("--ignore", &config.selection.ignore)] {
        if !selectors.is_empty() {
            let names: Vec<&str> = selectors.iter().map(Selector::as_str).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(out, "# {option} {}", names.join(","));
        }
    }
    let applied = rules().filter(|rule| config.severity_of(rule).is_some()).count();
    let _ = writeln!(out, "# {applied} of {} rules are applied", rules().count());
    let source = match (arguments.fail_on, &config.fail_on) {
        (Some(_), _) => "--fail-on".to_owned(),
        (None, Some(fail_on)) => config.place(fail_on),
        (None, None) => "default".to_owned(),
    };
    let fail_on = arguments.threshold(config).as_str();
    let _ = writeln!(out, "\nfail-on = {}  # {source}", quoted(fail_on));
    if let Some(exclude) = &config.exclude {
        let patterns: Vec<String> = exclude.get_ref().iter().map(|pattern| quoted(pattern.as_str())).collect();
        let _ = writeln!(out, "exclude = [{}]  # {}", patterns.join(", "), config.place(exclude));
    }
    if !config.severities.is_empty() {
        out.push_str("\n[severity]\n");
    }
    for (rules, level) in &config.severities {
        let (name, level) = (rules.get_ref().as_str(), quoted(level.as_str()));
        let _ = writeln!(out, "{name} = {level}  # {}", config.place(rules));
    }
    config.ignores.iter().for_each(|entry| ignore(&mut out, entry.get_ref(), &config.place(entry)));
    out
}

fn ignore(out: &mut String, entry: &IgnoreEntry, place: &str) {
    let _ = writeln!(out, "\n[[ignore]]  # {place}\nrule = {}", quoted(entry.rule.id));
    let path = entry.path.as_ref().map(PathPattern::as_str);
    let family = entry.family.as_ref().map(|family| family.glob().glob());
    for (key, pattern) in [("path", path), ("family", family)] {
        if let Some(pattern) = pattern {
            let _ = writeln!(out, "{key} = {}", quoted(pattern));
        }
    }
    let _ = writeln!(out, "reason = {}", quoted(&entry.reason));
}
