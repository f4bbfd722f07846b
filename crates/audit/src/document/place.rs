//! Where in a file something stands, and how to get there.

use std::sync::Arc;

/// A range of bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The bytes from `start` to before `end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }
}

/// A line and a column, both counted from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// The position of a byte of `text`.
    #[must_use]
    pub fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        // A byte order mark is no character that anybody sees.
        let column = before.get(line_start..).unwrap_or_default().chars().filter(|c| *c != '\u{FEFF}').count() + 1;
        Self { line, column }
    }
}

/// One step on the way from the top of a file to a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// Into a map, by key as the file spells it.
    Key(String),
    /// Into a list.
    Index(usize),
    /// Into the JSON that a string holds.
    Embedded,
}

/// The way from the top of a file to a value. Cheap to extend and to clone: values share the way to their parents.
#[derive(Debug, Clone, Default)]
pub struct Route(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    before: Route,
    step: Step,
}

impl Route {
    /// The way from here one step further.
    #[must_use]
    pub fn then(&self, step: Step) -> Self {
        Self(Some(Arc::new(Link { before: self.clone(), step })))
    }

    /// The steps from the top.
    #[must_use]
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

/// Where a value stands, or would stand if it were there.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// What to point at: the value, or the owner's name where there is no value.
    pub span: Span,
    /// How an edit gets to the value; `None` where an edit would not have the wanted effect, because the value is
    /// computed by an intrinsic function or the file is generated.
    pub route: Option<Route>,
}

impl Place {
    /// The place of a value that edits cannot reach.
    #[must_use]
    pub fn fixed(span: Span) -> Self {
        Self { span, route: None }
    }

    /// The place one step further, pointed at by `span`.
    #[must_use]
    pub fn then(&self, step: Step, span: Span) -> Self {
        Self { span, route: self.route.as_ref().map(|route| route.then(step)) }
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
    fn a_route_remembers_its_steps() {
        let route = Route::default().then(Step::Key("a".to_owned())).then(Step::Index(2));
        assert_eq!(route.steps(), [Step::Key("a".to_owned()), Step::Index(2)]);
    }
}
