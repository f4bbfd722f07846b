//! Where a command reads and writes.

use std::{
    env, fs,
    io::{self, Read, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use tempfile::NamedTempFile;

use crate::exit::Failure;

/// What a new file may be read and written by, as most shells have it.
const NEW_FILE: u32 = 0o644;

/// The streams of a process, and what is known of them.
pub struct Streams<'s> {
    /// Standard input.
    pub input: &'s mut dyn Read,
    /// Standard output: the answer, and nothing else.
    pub output: &'s mut dyn Write,
    /// Standard error: everything else.
    pub errors: &'s mut dyn Write,
    /// Whether the answer may have colours.
    pub in_colour: bool,
}

impl Streams<'_> {
    /// Whether a terminal that reads standard output wants colours, by its environment: <https://no-color.org>
    #[must_use]
    pub fn wants_colour(is_terminal: bool) -> bool {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        is_terminal && !is_set("NO_COLOR") && !is_dumb
    }

    /// Does what the user says about colours, if they say anything.
    pub(super) fn set_colour(&mut self, wanted: Option<bool>) {
        self.in_colour = wanted.unwrap_or(self.in_colour);
    }

    /// Writes the answer, or a part of it.
    pub(super) fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.output.write_all(text.as_bytes())?;
        Ok(self.output.flush()?)
    }

    /// Writes the answer to a file, if one is wanted.
    pub(super) fn print_to(&mut self, file: Option<&Path>, text: &str) -> Result<(), Failure> {
        match file {
            Some(file) => write(file, text),
            None => self.print(text),
        }
    }

    /// Says something that is not the answer.
    pub(super) fn diagnostic(&mut self, text: &str) {
        // There is nobody to tell that nobody listens.
        let _: io::Result<()> = writeln!(self.errors, "{text}");
    }
}

/// Writes a file, whole or not at all: what is there stays until all of the text is on the disk. A link stays a link.
pub(super) fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let message = |error: io::Error| Failure::Message(format!("{}: {error}", file.display()));
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut beside = NamedTempFile::new_in(directory).map_err(message)?;
    beside.write_all(text.as_bytes()).map_err(message)?;
    let permissions = match fs::metadata(&target) {
        Ok(metadata) => metadata.permissions(),
        Err(_) => fs::Permissions::from_mode(NEW_FILE),
    };
    beside.as_file().set_permissions(permissions).map_err(message)?;
    beside.persist(&target).map_err(|error| message(error.error))?;
    Ok(())
}
