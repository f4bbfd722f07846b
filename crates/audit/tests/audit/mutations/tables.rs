//! The types of the tables.

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
    repaired: Option<&'static str>,
}

impl Table {
    /// Each row for each base.
    pub(crate) fn mutations(&'static self) -> impl Iterator<Item = (Base, &'static Mutation)> {
        self.bases.iter().flat_map(|base| self.rows.iter().map(|row| (*base, row)))
    }
}

enum Change {
    /// Removes the value at a path.
    Without(&'static str),
    /// Replaces the value at a path by this JSON.
    With(&'static str, &'static str),
    /// Replaces a part of the file's text.
    Text(&'static str, &'static str),
}

/// Removes a value. Paths are those of the rules' examples; `web / user` is short for the user of the container web.
/// `finds` are the rules, separated by spaces; empty if the definition remains correct.
pub(crate) const fn without(at: &'static str, finds: &'static str) -> Mutation {
    Mutation { given: &[], change: Change::Without(at), finds, repaired: None }
}

/// Replaces a value.
pub(crate) const fn with(at: &'static str, json: &'static str, finds: &'static str) -> Mutation {
    Mutation { given: &[], change: Change::With(at, json), finds, repaired: None }
}

/// Replaces a text in the whole file.
pub(crate) const fn text(from: &'static str, to: &'static str, finds: &'static str) -> Mutation {
    Mutation { given: &[], change: Change::Text(from, to), finds, repaired: None }
}

impl Mutation {
    /// Other changes, without defects.
    pub(crate) const fn given(mut self, given: &'static [(&'static str, &'static str)]) -> Self {
        self.given = given;
        self
    }

    /// The correct JSON at the place of the defect, if it differs from the base's.
    pub(crate) const fn repaired(mut self, json: &'static str) -> Self {
        self.repaired = Some(json);
        self
    }

    /// The expected rules, in alphabetical order.
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

    /// The definition without the mutation.
    pub(crate) fn intact(&self, base: Base) -> Value {
        self.made(base, None)
    }

    /// The definition without the mutation, and with the repaired value if there is one.
    pub(crate) fn repaired_definition(&self, base: Base) -> Value {
        match (self.repaired, &self.change) {
            (Some(json), Change::With(at, _) | Change::Without(at)) => self.made(base, Some(&Change::With(at, json))),
            _ => self.intact(base),
        }
    }

    /// The definition with the mutation.
    pub(crate) fn broken(&self, base: Base) -> Value {
        self.made(base, Some(&self.change))
    }

    /// The definition with a mutation that may change nothing.
    pub(crate) fn made_or_same(&self, base: Base) -> Value {
        match self.change {
            Change::With(at, json) => Self { given: vec![(at, json)].leak(), ..with(at, json, "") }.intact(base),
            Change::Without(_) | Change::Text(..) => self.broken(base),
        }
    }

    fn made(&self, base: Base, change: Option<&Change>) -> Value {
        let mut given: Vec<(&'static str, &'static str)> =
            self.given.iter().map(|(at, json)| (path(at), *json)).collect();
        // An example needs one more change: a tag without meaning.
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

/// Expands the short form of a container's path.
fn path(short: &'static str) -> &'static str {
    match short.split_once(" / ") {
        Some((container, "")) => format!("containerDefinitions[{container}]").leak(),
        Some((container, rest)) => format!("containerDefinitions[{container}].{rest}").leak(),
        None => short,
    }
}
