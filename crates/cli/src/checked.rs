//! The input of a check, and its findings.

use std::{io::Read, path::PathBuf};

use crate::{
    configuration::{self, RuleArguments},
    exit::Failure,
    live::LiveArguments,
    progress::Progress,
};
use audit::{
    audit,
    ignore::{self, Config, Sorted},
    input::{Gathered, InputProblem, gather},
    report::{Report, Threshold},
};

/// The input of a check, and its findings.
pub(super) struct Checked {
    /// The directory that relative file names start from.
    pub(super) directory: PathBuf,
    pub(super) config: Config,
    pub(super) gathered: Gathered,
    pub(super) sorted: Sorted,
}

impl Checked {
    /// Reads what the arguments name, and applies the rules. Without arguments, it reads the working directory.
    pub(super) fn new(
        paths: &[String],
        live: Option<&LiveArguments>,
        rules: &RuleArguments,
        input: &mut dyn Read,
    ) -> Result<Self, Failure> {
        let directory = configuration::working_directory()?;
        let config = rules.read(&directory)?;
        let here = [".".to_owned()];
        let live = live.filter(|live| live.is_requested());
        let paths = if paths.is_empty() && live.is_none() { here.as_slice() } else { paths };
        let progress = Progress::new()?;
        progress.say("reading files");
        let mut gathered = progress.during_blocking(|| gather(paths, input));
        if let Some(live) = live {
            gathered.add(live.gather()?);
        }
        progress.say("applying the rules");
        let sorted = progress
            .during_blocking(|| ignore::sort(audit(&gathered.material), &gathered.material, &config, &directory));
        Ok(Self { directory, config, gathered, sorted })
    }

    /// The report of the findings.
    pub(super) fn report(&self, threshold: Threshold) -> Report {
        Report::new(&self.gathered, &self.sorted, threshold)
    }

    /// What could not be read: input, and comments and entries that are no valid exceptions.
    pub(super) fn problems(&self) -> impl Iterator<Item = &InputProblem> {
        self.gathered.problems.iter().chain(&self.sorted.problems)
    }

    /// Whether there was nothing to check, and nothing that could not be read.
    pub(super) fn is_empty(&self) -> bool {
        let Gathered { material, problems, .. } = &self.gathered;
        material.definitions.is_empty() && material.resources.all.is_empty() && problems.is_empty()
    }
}
