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
    report::{Report, Threshold},
    rules::rules as all_rules,
};
use audit_read::input::{Gathered, InputProblem, gather};

const LIVE: &str = "AWS";
const NOTHING_FOUND: &str = "no task definition found; the supported formats are ECS's JSON, CloudFormation, SAM, Terraform's \
                             sources and the output of `terraform show -json`, and exports of App Mesh";
const NOTHING_KNOWN: &str =
    "no task definition could be checked: what the Terraform sources contain is known only with a plan";

/// The input of a check, and its findings.
pub(super) struct Checked {
    /// What was read, for messages.
    input: String,
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
        if all_rules().all(|rule| config.severity_of(rule).is_none()) {
            let reason =
                "no rule is applied: --select, --ignore and [severity] leave none; `ecs-mesh config show` has them";
            return Err(Failure::Message(reason.to_owned()));
        }
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
        let input = if live.is_some() { LIVE.to_owned() } else { paths.join(", ") };
        Ok(Self { input, directory, config, gathered, sorted })
    }

    /// The report of the findings. If there was nothing to check, it is a problem: without it, a run without input
    /// would look like success.
    pub(super) fn report(&self, threshold: Threshold) -> Report {
        let mut report = Report::new(&self.gathered, &self.sorted, threshold);
        if self.is_empty() {
            let reason = if self.gathered.unchecked.is_empty() { NOTHING_FOUND } else { NOTHING_KNOWN };
            report.add_problem(&InputProblem { file: self.input.clone(), position: None, reason: reason.to_owned() });
        }
        report
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
