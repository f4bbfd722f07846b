//! The words by which texts with something to check are found.

use std::{fs::File, io, path::Path};

use aho_corasick::AhoCorasick;

/// Every text with something to check contains one of these words. A file in a directory that contains none of them is
/// not parsed.
const WORDS: [&str; 6] = [
    "ontainerDefinitions",
    "AWS::ECS::TaskDefinition",
    "AWS::AppMesh::",
    "aws_ecs_task_definition",
    "aws_appmesh_",
    "meshName",
];

/// Whether a text may have something to check.
pub(super) fn has_word(text: &str) -> bool {
    WORDS.iter().any(|word| text.contains(word))
}

/// Whether a file that is not a readable text may have something to check: it contains a word in UTF-8 or UTF-16, or
/// its bytes cannot be read.
pub(super) fn may_have_word(path: &Path) -> bool {
    has_word_in_bytes(path).unwrap_or(true)
}

fn has_word_in_bytes(path: &Path) -> io::Result<bool> {
    // In both byte orders of UTF-16, there is a zero between two letters.
    let in_utf16 = WORDS.map(|word| word.split("").filter(|letter| !letter.is_empty()).collect::<Vec<_>>().join("\0"));
    let words = WORDS.iter().map(|word| (*word).to_owned()).chain(in_utf16);
    let search = AhoCorasick::new(words).map_err(io::Error::other)?;
    search.stream_find_iter(File::open(path)?).next().transpose().map(|found| found.is_some())
}
