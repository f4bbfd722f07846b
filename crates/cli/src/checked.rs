//! The input of a check, and its findings.

use std::path::PathBuf;

use crate::{
    configuration::{self, ConfigurationArguments},
    exit::Failure,
    live::LiveArguments,
    progress::Progress,
    streams::Streams,
};
use audit::{
    audit,
    ignore::{self, Config, Sorted},
    input::{Gathered, gather},
    report::Report,
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
        live: &LiveArguments,
        configuration: &ConfigurationArguments,
        streams: &mut Streams<'_>,
    ) -> Result<Self, Failure> {
        let directory = configuration::working_directory()?;
        let config = configuration.read(&directory)?;
        let here = [".".to_owned()];
        let is_live = live.is_requested();
        let paths = if paths.is_empty() && !is_live { here.as_slice() } else { paths };
        let progress = Progress::new()?;
        progress.say("reading files");
        let mut gathered = progress.during_blocking(|| gather(paths, streams.input));
        if is_live {
            gathered.add(live.gather()?);
        }
        progress.say("applying the rules");
        let sorted = progress
            .during_blocking(|| ignore::sort(audit(&gathered.material), &gathered.material, &config, &directory));
        Ok(Self { directory, config, gathered, sorted })
    }

    /// The report of the findings.
    pub(super) fn report(&self, configuration: &ConfigurationArguments) -> Report {
        let Gathered { material, problems, files_read, .. } = &self.gathered;
        Report::new(material, &self.sorted, problems, *files_read, configuration.threshold(&self.config))
    }

    /// Whether there was nothing to check, and nothing that could not be read.
    pub(super) fn is_empty(&self) -> bool {
        let Gathered { material, problems, .. } = &self.gathered;
        material.definitions.is_empty() && material.resources.all.is_empty() && problems.is_empty()
    }
}
