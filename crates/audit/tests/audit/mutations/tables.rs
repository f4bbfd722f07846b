//! What the tables are made of.

use audit::example::{Base, Example};
use serde_json::Value;

/// Mutations of several correct definitions.
pub(crate) struct Table {
    pub(crate) bases: &'static [Base],
    pub(crate) rows: &'static [Mutation],
}

/// One change to a correct definition.
pub(crate) struct Mutation {
    given: &'static [(&'static str, &'static str)],
    change: Change,
    finds: &'static str,
}

enum Change {
    /// What is at a path goes.
    Without(&'static str),
    /// What is at a path becomes this JSON.
    With(&'static str, &'static str),
    /// A piece of the file's text becomes another.
    Text(&'static str, &'static str),
}

/// Leaves something out. Paths are those of the rules' examples; `web / user` is short for the user of the container web.
/// `finds` are the rules, with a space between two; nothing where the definition stays right.
pub(crate) const fn without(at: &'static str, finds: &'static str) -> Mutation {
    Mutation { given: &[], change: Change::Without(at), finds }
}

/// Makes something another.
pub(crate) const fn with(at: &'static str, json: &'static str, finds: &'static str) -> Mutation {
    Mutation { given: &[], change: Change::With(at, json), finds }
}

/// Replaces text of the file, everywhere.
pub(crate) const fn text(from: &'static str, to: &'static str, finds: &'static str) -> Mutation {
    Mutation { given: &[], change: Change::Text(from, to), finds }
}

impl Mutation {
    /// What else is different, and right.
    pub(crate) const fn given(mut self, given: &'static [(&'static str, &'static str)]) -> Self {
        self.given = given;
        self
    }

    /// The rules, in alphabetical order.
    pub(crate) fn finds(&self) -> Vec<&'static str> {
        let mut ids: Vec<&str> = self.finds.split_whitespace().collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) fn label(&self) -> String {
        let given: Vec<String> = self.given.iter().map(|(at, json)| format!("{at} = {json}; ")).collect();
        let change = match self.change {
            Change::Without(at) => format!("without {at}"),
            Change::With(at, json) => format!("{at} = {json}"),
            Change::Text(from, to) => format!("`{from}` → `{to}`"),
        };
        format!("{}{change}", given.concat())
    }

    /// The definition with everything but the change.
    pub(crate) fn intact(&self, base: Base) -> Value {
        self.made(base, None)
    }

    /// The definition with the change.
    pub(crate) fn broken(&self, base: Base) -> Value {
        self.made(base, Some(&self.change))
    }

    /// The definition with a change that may be none.
    pub(crate) fn made_or_same(&self, base: Base) -> Value {
        match self.change {
            Change::With(at, json) => Self { given: vec![(at, json)].leak(), ..with(at, json, "") }.intact(base),
            Change::Without(_) | Change::Text(..) => self.broken(base),
        }
    }

    fn made(&self, base: Base, change: Option<&Change>) -> Value {
        let mut given: Vec<(&'static str, &'static str)> =
            self.given.iter().map(|(at, json)| (path(at), *json)).collect();
        // The examples' own way to change things takes one more place: a tag that says nothing.
        let idle = if base == Base::AppMeshResources { "[0].idle" } else { "idle" };
        let (at, fails) = match change {
            Some(Change::Without(at)) => (path(at), None),
            Some(Change::With(at, json)) => {
                given.push((path(at), json));
                (idle, None)
            }
            Some(Change::Text(..)) | None => (idle, None),
        };
        let example = Example { base, given: given.leak(), at, fails, repaired: None };
        let made = example.broken().unwrap_or_else(|| panic!("{base:?}: no such place: {}", self.label()));
        match change {
            Some(Change::Text(from, to)) => {
                let json = made.to_string();
                assert!(json.contains(from), "{base:?} has no `{from}`");
                serde_json::from_str(&json.replace(from, to)).unwrap()
            }
            Some(_) => {
                assert!(made != self.intact(base), "{base:?} is unchanged: {}", self.label());
                made
            }
            None => made,
        }
    }
}

/// Spells out the short form of a container's path.
fn path(short: &'static str) -> &'static str {
    match short.split_once(" / ") {
        Some((container, "")) => format!("containerDefinitions[{container}]").leak(),
        Some((container, rest)) => format!("containerDefinitions[{container}].{rest}").leak(),
        None => short,
    }
}
