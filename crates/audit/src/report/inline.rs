//! The inline markup of the rules' explanations, which are Markdown: code, strong emphasis and emphasis.

/// The marks, and their elements in HTML.
const MARKS: [(&str, &str); 3] = [("`", "code"), ("**", "strong"), ("*", "em")];

/// A piece of an explanation, without its marks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece<'t> {
    /// The element in HTML; none of ordinary text.
    pub(super) element: Option<&'static str>,
    pub(super) text: &'t str,
}

/// The pieces of an explanation.
pub(super) fn pieces(mut markdown: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    while let Some((before, marked, after)) = first_marked(markdown) {
        pieces.extend([Piece { element: None, text: before }, marked]);
        markdown = after;
    }
    pieces.push(Piece { element: None, text: markdown });
    pieces
}

/// An explanation without marks.
pub(super) fn plain(markdown: &str) -> String {
    pieces(markdown).iter().map(|piece| piece.text).collect()
}

fn first_marked(markdown: &str) -> Option<(&str, Piece<'_>, &str)> {
    let (before, marked) = markdown.split_at(markdown.find(['`', '*'])?);
    MARKS.iter().find_map(|&(mark, element)| {
        let (text, after) = marked.strip_prefix(mark)?.split_once(mark)?;
        Some((before, Piece { element: Some(element), text }, after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rules;

    #[test]
    fn marks_become_elements() {
        let found = pieces("the *task* role of `a * b`, **not** it");
        let found: Vec<(Option<&str>, &str)> = found.iter().map(|piece| (piece.element, piece.text)).collect();
        let expected = [
            (None, "the "),
            (Some("em"), "task"),
            (None, " role of "),
            (Some("code"), "a * b"),
            (None, ", "),
            (Some("strong"), "not"),
            (None, " it"),
        ];
        assert_eq!(found, expected);
        assert_eq!(plain("the *task* role of `a * b`, **not** it"), "the task role of a * b, not it");
    }

    #[test]
    fn no_explanation_has_other_markup() {
        for rule in rules() {
            for piece in pieces(rule.explanation).iter().filter(|piece| piece.element.is_none()) {
                let markup = ["`", "*", "](", "__", "<", "\n#", "\n|", "\n>"];
                assert!(!markup.iter().any(|mark| piece.text.contains(mark)), "{}: {}", rule.id, piece.text);
            }
        }
    }
}
