//! Places in a file: bytes, lines and columns, and the route to a value.

use std::sync::Arc;

use serde::Serialize;

use super::TextParts;

/// A line and a column, both counted from 1. A column is a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    pub fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        // A byte order mark is not visible.
        let column = before.get(line_start..).unwrap_or_default().chars().filter(|c| *c != '\u{FEFF}').count() + 1;
        Self { line, column }
    }
}

/// One step of the route from the top of a file to a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// To the value of a key, as the file spells it.
    Key(String),
    /// To an item of a list.
    Index(usize),
    /// Into the JSON in a string.
    Embedded,
    /// To a document of a YAML file that has several, counted from 0: the first step.
    Document(usize),
}

/// The route from the top of a file to a value. Cheap to extend and to clone: routes share their first steps.
#[derive(Debug, Clone, Default)]
pub struct Route(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    before: Route,
    step: Step,
}

impl Route {
    /// This route and one more step.
    #[must_use]
    pub fn then(&self, step: Step) -> Self {
        Self(Some(Arc::new(Link { before: self.clone(), step })))
    }

    /// The steps from the top.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut here = self;
        while let Some(link) = &here.0 {
            steps.push(link.step.clone());
            here = &link.before;
        }
        steps.reverse();
        steps
    }
}

impl FromIterator<Step> for Route {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        steps.into_iter().fold(Self::default(), |route, step| route.then(step))
    }
}

/// The place of a value, or where the value would be.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The bytes that findings point at: the value, or the name of its owner if there is no value.
    pub span: Span,
    /// The route for edits; `None` if an edit would not have the intended effect: the value comes from an intrinsic
    /// function, or the file is generated.
    pub route: Option<Route>,
    /// For a string that is put together from other values: the places of its parts.
    pub parts: Option<Arc<TextParts>>,
}

impl Place {
    /// A place without a route: edits cannot reach it.
    pub fn fixed(span: Span) -> Self {
        Self { span, route: None, parts: None }
    }

    /// The place one step further, with the bytes `span`.
    #[must_use]
    pub fn then(&self, step: Step, span: Span) -> Self {
        Self { span, route: self.route.as_ref().map(|route| route.then(step)), parts: None }
    }
}

/// A range of bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

impl Span {
    /// The bytes from `start` to before `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let text = "ab\nçd\n";
        assert_eq!(Position::of(text, 0), Position { line: 1, column: 1 });
        assert_eq!(Position::of(text, 5), Position { line: 2, column: 2 });
        assert_eq!(Position::of(text, 99), Position { line: 3, column: 1 });
        assert_eq!(Position::of("\u{FEFF}a", 3), Position { line: 1, column: 1 });
    }

    #[test]
    fn a_route_keeps_its_steps() {
        let route = Route::default().then(Step::Key("a".to_owned())).then(Step::Index(2));
        assert_eq!(route.steps(), [Step::Key("a".to_owned()), Step::Index(2)]);
    }
}
