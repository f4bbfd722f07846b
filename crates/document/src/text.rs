//! Files as texts.

use std::io::{self, ErrorKind, Read};

use crate::{problem::InputProblem, source::SourceFile, span::Position};

const MEBIBYTE: u64 = 1024 * 1024;

/// The size limit of a text, in MiB: far more than a template or plan with task definitions needs, and small enough for
/// the memory of a function.
const LIMIT: u64 = 32;

/// Reads a text called `name`.
pub fn read_text(name: &str, reader: &mut dyn Read) -> Result<SourceFile, InputProblem> {
    let mut bytes = Vec::new();
    // One byte more than the limit shows that the text is larger, without reading all of it.
    reader
        .take(LIMIT * MEBIBYTE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| InputProblem::of(name, because(&error)))?;
    if bytes.len() as u64 > LIMIT * MEBIBYTE {
        return Err(InputProblem::of(name, format!("larger than the limit of {LIMIT} MiB")));
    }
    if let Some(reason) = other_kind(&bytes) {
        return Err(InputProblem::of(name, reason));
    }
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            text.shrink_to_fit();
            Ok(SourceFile::new(name, text))
        }
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(error.as_bytes().get(..valid).unwrap_or_default());
            let position = Some(Position::of(&before, valid));
            Err(InputProblem { file: name.to_owned(), position, reason: "not UTF-8: save it as UTF-8".to_owned() })
        }
    }
}

/// Why a file cannot be read, in the operating system's usual words.
pub fn because(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file or directory".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

/// The kind of content that the first bytes show, if it is not UTF-8.
fn other_kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, _, ..] | [_, 0, ..] => Some("UTF-16, not UTF-8: save it as UTF-8"),
        [b'P', b'K', 3, 4, ..] => {
            Some("a binary file, not a text: for a saved Terraform plan, use the output of `terraform show -json`")
        }
        _ => None,
    }
}
