//! Finds and reads `ecs-mesh.toml`.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::exit::Failure;
use audit::{ignore::Config, report::Threshold, source::SourceFile};

const NAME: &str = "ecs-mesh.toml";

/// The configuration file at `path`, or the nearest one from the working directory upwards, if there is one.
pub(super) fn read(path: Option<&Path>, working_directory: &Path) -> Result<Config, Failure> {
    let found = path.map(Path::to_owned).or_else(|| nearest(working_directory));
    let Some(path) = found else { return Ok(Config::default()) };
    let text = fs::read_to_string(&path).map_err(|error| Failure::Message(format!("{}: {error}", path.display())))?;
    let whole = working_directory.join(&path);
    let directory = whole.parent().unwrap_or(working_directory);
    let name = path.strip_prefix(working_directory).unwrap_or(&path).display().to_string();
    Config::read(&SourceFile::new(name, text), directory, &Threshold::NAMES)
        .map_err(|error| Failure::Message(error.to_string()))
}

/// The directory that relative file names start from.
pub(super) fn working_directory() -> Result<PathBuf, Failure> {
    Ok(env::current_dir()?)
}

fn nearest(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().map(|directory| directory.join(NAME)).find(|path| path.is_file())
}
