//! The configuration of a check: `ecs-mesh.toml`, and the arguments that take precedence over it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use clap::Args;

use crate::exit::Failure;
use audit::{
    ignore::{Config, Selection, Selector},
    report::Threshold,
};
use audit_read::source::SourceFile;

/// The name of the configuration file.
pub(super) const NAME: &str = "ecs-mesh.toml";
const HEADING: &str = "Rules";

/// The rules, and the severity that fails a check
#[derive(Debug, Args)]
pub(super) struct ConfigurationArguments {
    #[command(flatten)]
    pub(super) rules: RuleArguments,
    /// The lowest severity that fails the run [default: error]
    #[arg(long, value_name = "SEVERITY", value_parser = Threshold::NAMES, help_heading = HEADING)]
    pub(super) fail_on: Option<String>,
}

/// Which rules are applied
#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(super) struct RuleArguments {
    /// Apply only these rules: IDs, or groups by how IDs begin (consul, consul-client), separated by commas
    #[arg(long, visible_alias = "only", value_name = "RULES", value_delimiter = ',')]
    pub(super) select: Vec<Selector>,
    /// Do not apply these rules
    #[arg(long, value_name = "RULES", value_delimiter = ',')]
    pub(super) ignore: Vec<Selector>,
    /// The configuration file [default: the nearest ecs-mesh.toml, upwards from here]
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

impl ConfigurationArguments {
    /// The lowest severity that fails the run.
    pub(super) fn threshold(&self, config: &Config) -> Threshold {
        Threshold::wanted(self.fail_on.as_deref().or(config.fail_on.as_deref()))
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
    Config::read(&SourceFile::new(name, text), directory, &Threshold::NAMES)
        .map_err(|error| Failure::Message(error.to_string()))
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
