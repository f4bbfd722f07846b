//! The input, output and exit codes of commands, and writes of files.

use std::{
    env,
    fmt::Display,
    fs,
    io::{self, ErrorKind, Read, Write},
    path::Path,
};

use console::Term;

use crate::sheet::Medium;

/// Gives a file the permissions of a new one; a temporary file has narrower ones.
#[cfg(unix)]
fn permit_as_new(file: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    // Before the umask.
    file.permissions(fs::Permissions::from_mode(0o666));
}

/// Windows gives every file the permissions of its directory.
#[cfg(not(unix))]
fn permit_as_new(_file: &mut tempfile::Builder<'_, '_>) {}

/// The streams of a process.
pub struct Streams<'s> {
    /// Standard input.
    pub input: &'s mut dyn Read,
    /// Standard output, for results.
    pub output: &'s mut dyn Write,
    /// Standard error, for messages.
    pub errors: &'s mut dyn Write,
    /// Whether results are coloured.
    pub in_colour: bool,
    /// The terminal that standard output is; `None` if it is none.
    pub terminal: Option<Term>,
    /// Whether standard input is a terminal.
    pub can_ask: bool,
}

impl Streams<'_> {
    /// Whether to use colours on a terminal, by its environment: <https://no-color.org>
    pub fn uses_colour(is_terminal: bool) -> bool {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        is_terminal && !is_set("NO_COLOR") && !is_dumb
    }

    /// Sets whether to use colours, if the user did.
    pub(super) fn set_colour(&mut self, wanted: Option<bool>) {
        self.in_colour = wanted.unwrap_or(self.in_colour);
    }

    /// Writes to standard output.
    pub(super) fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.output.write_all(text.as_bytes())?;
        Ok(self.output.flush()?)
    }

    /// The width of the terminal, or that in `COLUMNS`; `None` if lines may be of any length.
    pub(super) fn width(&self) -> Option<u16> {
        let set = env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok()).filter(|width| *width > 0);
        set.or_else(|| self.terminal.as_ref()?.size_checked().map(|(_, columns)| columns))
    }

    /// Where standard output is shown.
    pub(super) fn medium(&self) -> Medium {
        Medium { width: self.width(), in_colour: self.in_colour }
    }

    /// Writes errors to standard error.
    pub(super) fn problems(&mut self, problems: impl IntoIterator<Item: Display>) {
        for problem in problems {
            self.diagnostic(&format!("error: {problem}"));
        }
    }

    /// Clears the terminal, if standard output is one.
    pub(super) fn clear(&mut self) -> Result<(), Failure> {
        Ok(self.terminal.as_ref().map_or(Ok(()), Term::clear_screen)?)
    }

    /// Asks a question, and waits for `y`. `None` if there is no terminal to answer on.
    pub(super) fn confirm(&mut self, question: &str) -> Result<Option<bool>, Failure> {
        if !self.can_ask {
            return Ok(None);
        }
        write!(self.errors, "{question} [y/N] ")?;
        self.errors.flush()?;
        let mut answer = String::new();
        let mut byte = [0];
        while self.input.read(&mut byte)? == 1 && byte != *b"\n" {
            answer.push(char::from(byte[0]));
        }
        Ok(Some(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")))
    }

    /// Writes to a file if one is given, else to standard output.
    pub(super) fn print_to(&mut self, file: Option<&Path>, text: &str) -> Result<(), Failure> {
        match file {
            Some(file) => write(file, text),
            None => self.print(text),
        }
    }

    /// Writes a line to standard error.
    pub(super) fn diagnostic(&mut self, text: &str) {
        // A closed standard error is ignored.
        let _: io::Result<()> = writeln!(self.errors, "{text}");
    }
}

/// Writes a file. A regular file is replaced in one step: the old content stays until the new one is on the disk. A
/// symbolic link is kept. What is no regular file (a device, a pipe) is written to.
///
/// # Errors
/// The file or its directory may not be written, or another reason of the operating system.
pub(super) fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::of(file, error);
    match fs::metadata(file) {
        Ok(found) if found.is_file() => {
            // The directory alone decides whether a file can be replaced.
            fs::OpenOptions::new().write(true).open(file).map_err(|error| match error.kind() {
                ErrorKind::PermissionDenied => Failure::of(file, "permission denied"),
                _ => failed(error),
            })?;
            let target = fs::canonicalize(file).map_err(failed)?;
            replace(file, &target, text, Some(found.permissions()))
        }
        Ok(_) => fs::OpenOptions::new()
            .write(true)
            .open(file)
            .and_then(|mut opened| opened.write_all(text.as_bytes()))
            .map_err(failed),
        Err(error) if error.kind() == ErrorKind::NotFound => replace(file, file, text, None),
        Err(error) => Err(failed(error)),
    }
}

/// Writes `target`, which messages call `file`, in one step. Without `permissions`, it is a new file.
fn replace(file: &Path, target: &Path, text: &str, permissions: Option<fs::Permissions>) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::of(file, error);
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The error itself would name the temporary file.
    let of_directory = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Failure::of(file, format!("no directory {}", directory.display())),
        kind => Failure::of(file, kind),
    };
    let mut builder = tempfile::Builder::new();
    match &permissions {
        Some(permissions) => {
            builder.permissions(permissions.clone());
        }
        None => permit_as_new(&mut builder),
    }
    let mut temporary = builder.tempfile_in(directory).map_err(of_directory)?;
    temporary.write_all(text.as_bytes()).map_err(failed)?;
    // Exactly: the umask has narrowed them.
    if let Some(permissions) = permissions {
        temporary.as_file().set_permissions(permissions).map_err(failed)?;
    }
    temporary.persist(target).map_err(|error| failed(error.error))?;
    Ok(())
}

/// The result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// No findings at or above the threshold; every service is healthy.
    Clean,
    /// Findings at or above the threshold; a service is not healthy, or deletions are held back.
    Findings,
    /// Input that could not be read, or an invalid command line.
    Unusable,
    /// Nothing to check was found.
    Nothing,
}

impl Exit {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Findings => 1,
            Self::Unusable => 2,
            Self::Nothing => 3,
        }
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of the output has closed it.
    Closed,
    /// A message for standard error.
    Message(String),
}

impl Failure {
    pub(crate) fn new(reason: impl Display) -> Self {
        Self::Message(reason.to_string())
    }

    /// What failed about a file or directory.
    pub(crate) fn of(path: &Path, error: impl Display) -> Self {
        Self::Message(format!("{}: {error}", path.display()))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Message(error.to_string()),
        }
    }
}

/// Whether to go on: `--yes` says so, or the answer to the question.
///
/// # Errors
/// There is no terminal to answer on.
pub(super) fn confirm_unless(assume_yes: bool, question: &str, streams: &mut Streams<'_>) -> Result<bool, Failure> {
    if assume_yes {
        return Ok(true);
    }
    let unanswered = || Failure::Message(format!("{question} No terminal to answer on. Pass --yes"));
    let answer = streams.confirm(question)?.ok_or_else(unanswered)?;
    if !answer {
        streams.diagnostic("Nothing was changed");
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(answer: &str, can_ask: bool) -> Result<bool, Failure> {
        let mut streams = Streams {
            input: &mut answer.as_bytes(),
            output: &mut Vec::new(),
            errors: &mut Vec::new(),
            in_colour: false,
            terminal: None,
            can_ask,
        };
        confirm_unless(false, "Sweep, with 1 deletion?", &mut streams)
    }

    #[test]
    fn only_a_yes_goes_on() {
        for (answer, goes_on) in [("y\n", true), ("YES\n", true), ("n\n", false), ("\n", false), ("", false)] {
            assert_eq!(asked(answer, true).unwrap(), goes_on, "{answer:?}");
        }
    }

    #[test]
    fn question_without_a_terminal_is_an_error() {
        let Err(Failure::Message(message)) = asked("y\n", false) else { panic!("it went on") };
        assert_eq!(message, "Sweep, with 1 deletion? No terminal to answer on. Pass --yes");
    }
}
