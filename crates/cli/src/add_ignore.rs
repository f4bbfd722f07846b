//! `ecs-mesh check --add-ignore`: accepts the findings of a run, by comments and entries of the configuration file.

use std::{collections::BTreeSet, fs, io::ErrorKind, path::Path};

use crate::{
    by_hand::counted,
    checked::Checked,
    configuration::{self, NAME, RuleArguments},
    exit::{Exit, Failure},
    streams::{Streams, write},
};
use audit::{
    finding::Finding,
    ignore::{Baseline, Origin},
};
use audit_read::source::SourceFile;

/// The reason that is written without another one.
pub(super) const REASON: &str = "accepted when ecs-mesh was introduced";

/// Parses a reason: one line of text.
pub(super) fn reason(text: &str) -> Result<String, String> {
    if text.trim().is_empty() || text.contains(char::is_control) {
        return Err("a reason is one line of text".to_owned());
    }
    Ok(text.trim().to_owned())
}

/// Writes an exception for every finding. Nothing is written if the configuration file would be invalid; a file that
/// cannot be written does not prevent the others.
pub(super) fn run(
    checked: &Checked,
    arguments: &RuleArguments,
    reason: &str,
    streams: &mut Streams<'_>,
) -> Result<Exit, Failure> {
    let directory = &checked.directory;
    let path = configuration::file(arguments.config.as_deref(), directory).unwrap_or_else(|| directory.join(NAME));
    let whole = directory.join(&path);
    let root = whole.parent().unwrap_or(directory);
    let origin = |file: &SourceFile| match Path::new(&file.name).is_file() {
        true if checked.gathered.material.is_synthesised(&file.name) => Origin::Generated,
        true => Origin::Edited,
        false => Origin::Elsewhere,
    };
    // A name that is not UTF-8 cannot be written: an entry would concern all files.
    let has_name = |finding: &&Finding| !finding.file.name.contains(char::REPLACEMENT_CHARACTER);
    let (findings, others): (Vec<&Finding>, Vec<&Finding>) = checked.sorted.findings.iter().partition(has_name);
    let baseline = Baseline::new(&findings, reason, directory, root, &origin);
    let configuration = with_entries(&path, &baseline.entries_as_toml(reason))?;
    configuration::parse(&path, configuration.clone(), root, directory)?;

    let others: BTreeSet<&str> = others.iter().map(|finding| finding.file.name.as_str()).collect();
    let mut problems: Vec<String> = checked.problems().map(ToString::to_string).collect();
    problems.extend(others.iter().map(|name| format!("{name}: its name is not UTF-8, so that it gets no exceptions")));
    let mut save = |file: &Path, text: &str, number: usize, how: &str| match write(file, text) {
        Ok(()) => {
            let name = file.strip_prefix(directory).unwrap_or(file).display();
            streams.diagnostic(&format!("{name}: ignored {} by {how}", counted(number, "finding", "findings")));
            Ok(())
        }
        Err(Failure::Message(problem)) => {
            problems.push(problem);
            Ok(())
        }
        Err(closed) => Err(closed),
    };
    if baseline.findings_of_entries > 0 {
        save(&path, &configuration, baseline.findings_of_entries, "entries")?;
    }
    for file in &baseline.files {
        save(Path::new(&file.before.name), &file.after, file.findings, "comments")?;
    }
    streams.problems(&problems);
    Ok(if problems.is_empty() { Exit::Clean } else { Exit::Unusable })
}

/// The text of the configuration file, with more entries at its end.
fn with_entries(path: &Path, entries: &str) -> Result<String, Failure> {
    let before = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| Failure::of(path, error))?,
    };
    let end = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    // The line ends of the file are kept.
    let entries = if before.contains("\r\n") { entries.replace('\n', "\r\n") } else { entries.to_owned() };
    let text = format!("{before}{end}{entries}");
    Ok(if before.is_empty() { text.trim_start().to_owned() } else { text })
}
