//! Bytes that ought to be a text.

use std::io::{ErrorKind, Read};

use super::problem::InputProblem;
use crate::{document::Position, source::SourceFile};

const MEBIBYTE: u64 = 1024 * 1024;

/// The largest text that is read, in MiB: far more than any template or plan with task definitions, little enough for a
/// function's memory.
const LIMIT: u64 = 32;

/// Reads a text called `name`.
pub(super) fn read_text(name: &str, reader: &mut dyn Read) -> Result<SourceFile, InputProblem> {
    let mut bytes = Vec::new();
    // A byte more than is allowed tells the two apart, without reading what never ends.
    reader
        .take(LIMIT * MEBIBYTE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| InputProblem::of(name, because(&error)))?;
    if bytes.len() as u64 > LIMIT * MEBIBYTE {
        return Err(InputProblem::of(name, format!("larger than {LIMIT} MiB, the most that is read")));
    }
    if let Some(reason) = other_kind(&bytes) {
        return Err(InputProblem::of(name, reason));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(SourceFile::new(name, text)),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(error.as_bytes().get(..valid).unwrap_or_default());
            let position = Some(Position::of(&before, valid));
            Err(InputProblem { file: name.to_owned(), position, reason: "not UTF-8: save it as UTF-8".to_owned() })
        }
    }
}

/// Why a file cannot be read, in the words that everybody uses.
pub(super) fn because(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file or directory".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

/// What bytes are that can be told from UTF-8 at their beginning.
fn other_kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, _, ..] | [_, 0, ..] => Some("UTF-16, not UTF-8: save it as UTF-8"),
        [b'P', b'K', 3, 4, ..] => {
            Some("a binary file, not a text: of a saved Terraform plan, give me what `terraform show -json` prints")
        }
        _ => None,
    }
}
