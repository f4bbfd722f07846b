//! The place of a value: its bytes, and the route to it for edits.

use std::sync::Arc;

use crate::{span::Span, text_parts::TextParts};

/// One step of the route from the top of a file to a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathStep {
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
    step: PathStep,
}

impl Route {
    /// This route and one more step.
    #[must_use]
    pub fn then(&self, step: PathStep) -> Self {
        Self(Some(Arc::new(Link { before: self.clone(), step })))
    }

    /// The steps from the top.
    pub fn steps(&self) -> Vec<PathStep> {
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

impl FromIterator<PathStep> for Route {
    fn from_iter<I: IntoIterator<Item = PathStep>>(steps: I) -> Self {
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
    pub fn then(&self, step: PathStep, span: Span) -> Self {
        Self { span, route: self.route.as_ref().map(|route| route.then(step)), parts: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_keeps_its_steps() {
        let route = Route::default().then(PathStep::Key("a".to_owned())).then(PathStep::Index(2));
        assert_eq!(route.steps(), [PathStep::Key("a".to_owned()), PathStep::Index(2)]);
    }
}
