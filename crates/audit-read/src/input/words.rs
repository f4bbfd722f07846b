//! The words by which texts with something to check are found.

use std::{fs::File, io, path::Path};

use aho_corasick::AhoCorasick;
use document::{InputProblem, SourceFile, Span};

use crate::spelling::misspelt;

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

/// Whether what is before and behind a word shows that it is meant for ECS.
type IsMeant = fn(&str, &str) -> bool;

/// The words without which a definition is not found.
const NEEDED: [(&str, IsMeant); 3] = [
    ("containerDefinitions", is_key_of_list),
    ("AWS::ECS::TaskDefinition", is_type),
    ("aws_ecs_task_definition", |before, _| before.ends_with("resource \"")),
];

const QUOTES: [char; 2] = ['"', '\''];

fn is_key_of_list(_: &str, after: &str) -> bool {
    let value = after.trim_start_matches(QUOTES).trim_start().strip_prefix(':').map(str::trim_start);
    value.is_some_and(|value| value.starts_with(['[', '-']))
}

fn is_type(before: &str, _: &str) -> bool {
    let key = before.trim_end_matches(QUOTES).trim_end().strip_suffix(':').map(|key| key.trim_end_matches(QUOTES));
    key.is_some_and(|key| key.ends_with("Type"))
}

/// A family as a key, and the image of consul-ecs: together, they show that a text is meant for ECS.
const FAMILY: [&str; 4] = ["\"family\"", "\"Family\"", "family:", "Family:"];
const IMAGE: &str = "/consul-ecs:";

/// A note about a text in which nothing was found, although it is nearly a task definition. Texts of other programs have no note.
pub(super) fn near_miss(file: &SourceFile) -> Option<InputProblem> {
    let text = file.text.as_str();
    let mut at = 0;
    for piece in text.split_inclusive(|c: char| !is_part_of_word(c)) {
        let word = piece.trim_end_matches(|c| !is_part_of_word(c)).trim_end_matches(':');
        let span = Span::new(at, at + word.len());
        at += piece.len();
        // Comparing every word would take long.
        if !word.contains("ontain") && !word.contains("efin") {
            continue;
        }
        let (before, after) = (text.get(..span.start)?, text.get(span.end..)?);
        let is_near = |(needed, is_meant): &&(&str, IsMeant)| {
            word != *needed && misspelt(word, [*needed]).is_some() && is_meant(before, after)
        };
        if let Some((needed, _)) = NEEDED.iter().find(is_near) {
            return Some(InputProblem::at(file, span, format!("not checked: {word} is not {needed}")));
        }
    }
    let is_meant = || !has_word(text) && FAMILY.iter().any(|family| text.contains(family));
    let image = text.find(IMAGE).filter(|_| is_meant())?;
    let reason = "not checked: there is a family and an image of consul-ecs, but no containerDefinitions";
    Some(InputProblem::at(file, Span::new(image, image + IMAGE.len()), reason))
}

fn is_part_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == ':' || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> Option<String> {
        near_miss(&SourceFile::new("web", text)).map(|note| note.to_string())
    }

    #[test]
    fn a_text_that_is_nearly_a_definition_has_a_note() {
        for (text, expected) in [
            ("{\n\"containerDefintions\": [{}]}", "2:2: not checked: containerDefintions is not containerDefinitions"),
            (
                "ContainrDefinitions:\n  - Name: web",
                "1:1: not checked: ContainrDefinitions is not containerDefinitions",
            ),
            (
                "Type: AWS::ECS::TaskDefintion\n",
                "1:7: not checked: AWS::ECS::TaskDefintion is not AWS::ECS::TaskDefinition",
            ),
            ("{\"Type\":\"AWS::ECS:TaskDefinition\"}", "not AWS::ECS::TaskDefinition"),
            ("resource \"aws_ecs_task_defintion\" \"web\" {}", "1:11: not checked: aws_ecs_task_defintion is not"),
            ("family: web\nimage: hashicorp/consul-ecs:0.10.1\n", "2:17: not checked: there is a family and an image"),
        ] {
            let note = note(text).unwrap_or_default();
            assert!(note.contains(expected), "{text}: {note}");
        }
    }

    #[test]
    fn texts_of_other_programs_have_none() {
        for text in [
            "{\"ContainerDefinition\": {\"type\": \"structure\"}}",
            "# containerDefintions of ECS\nfonts: [{family: Roboto}]\n",
            "see: AWS::ECS::TaskDefintion\nType: AWS::ECS::TaskSet\n",
            "resource \"aws_ecs_service\" \"web\" {}\ndata \"aws_ecs_task_definition\" \"web\" {}",
            "family: web\nimage: hashicorp/consul-ecs:0.10.1\nwrapped: {containerDefinitions: []}\n",
            "jobs:\n  build:\n    container: hashicorp/consul-ecs:0.10.1\n",
            "",
        ] {
            assert_eq!(note(text), None, "{text}");
        }
    }
}
