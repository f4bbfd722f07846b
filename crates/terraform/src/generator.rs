//! Programs that generate files of modules: a module that they may complete may declare more than its files show.

use std::{fs, path::Path};

/// The configuration files of Terragrunt. Source:
/// <https://terragrunt.gruntwork.io/docs/reference/hcl/blocks/#generate>
const OF_TERRAGRUNT: [&str; 3] = ["root.hcl", "terragrunt.hcl", "terragrunt.stack.hcl"];

/// The end of the names of Terramate's files. Source: <https://terramate.io/docs/cli/code-generation/>
const OF_TERRAMATE: &str = ".tm.hcl";

/// Whether a path is the configuration of Terragrunt or Terramate, by its name.
pub fn is_of_generator(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| OF_TERRAGRUNT.contains(&name) || name.ends_with(OF_TERRAMATE))
}

/// Whether a directory has a configuration of Terragrunt or Terramate, not counting the directories in it.
pub fn has_generator(directory: &Path) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    entries.into_iter().any(|entry| is_of_generator(&entry.path()))
}
