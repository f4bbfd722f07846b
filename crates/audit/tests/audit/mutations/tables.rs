//! The notation of the tables.
//!
//! ```text
//! @on-ec2 requiresCompatibilities = ["EC2"]                        a change with a name
//!
//! [Dataplane MeshGateway]                                          the correct definitions that the rows below change
//!   given @on-ec2                                                  for all rows of the section
//! consul-helper-essential: web / essential = absent true           the findings, the place, and its wrong values
//!   or 1                                                           further values
//!   given web / command = ["serve"]                                for this row
//!   repaired false                                                 the correct value, if the definition's own is none
//! ok: web / user, logs / user = "0"                                no finding, at two places
//! consul-client-exec: `exec consul` becomes `consul`               a part of the file's text
//! ```
//!
//! Places are those of `Base::with`; `web / user` is the user of the container web.

use std::collections::BTreeMap;

use serde_json::{Deserializer, Value};

use crate::example::Base;

/// A place, and its value as JSON.
type Assignment = (&'static str, &'static str);

/// One change to a correct definition.
pub(crate) struct Mutation {
    given: Vec<Assignment>,
    change: Change,
    finds: &'static str,
    repaired: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum Change {
    /// The value at a place becomes this JSON, or is removed.
    Value(&'static str, Option<&'static str>),
    /// Replaces a part of the file's text.
    Text(&'static str, &'static str),
}

#[derive(Default)]
struct Section {
    bases: Vec<Base>,
    given: Vec<Assignment>,
    rows: Vec<Row>,
}

struct Row {
    finds: &'static str,
    places: Vec<&'static str>,
    changes: Vec<Change>,
    given: Vec<Assignment>,
    repaired: Option<&'static str>,
}

/// The mutations of a table, each with the definition that it changes.
pub(crate) fn read(table: &'static str) -> Vec<(Base, Mutation)> {
    let mut named: BTreeMap<&str, Vec<Assignment>> = BTreeMap::new();
    let mut sections: Vec<Section> = Vec::new();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with("//")) {
        if let Some((name, change)) = line.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
            named.entry(name).or_default().push(assignment(change));
        } else if let Some(bases) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            sections.push(Section { bases: bases.split(' ').map(base).collect(), ..Section::default() });
        } else {
            sections.last_mut().expect("a section").read(line, &named);
        }
    }
    sections.iter().flat_map(Section::mutations).collect()
}

impl Section {
    fn read(&mut self, line: &'static str, named: &BTreeMap<&str, Vec<Assignment>>) {
        let row = self.rows.last_mut();
        if let Some(given) = line.strip_prefix("  given ") {
            let changes = row.map_or(&mut self.given, |row| &mut row.given);
            match given.strip_prefix('@') {
                Some(name) => changes.extend(&named[name]),
                None => changes.push(assignment(given)),
            }
        } else if let Some(further) = line.strip_prefix("  or ") {
            row.expect("a row").add_values(further);
        } else if let Some(json) = line.strip_prefix("  repaired ") {
            row.expect("a row").repaired = Some(json);
        } else {
            self.rows.push(Row::read(line));
        }
    }

    fn mutations(&self) -> impl Iterator<Item = (Base, Mutation)> {
        let of_base = move |base: Base| self.rows.iter().flat_map(move |row| row.mutations(&self.given, base));
        self.bases.iter().flat_map(move |base| of_base(*base))
    }
}

impl Row {
    fn read(line: &'static str) -> Self {
        let (finds, change) = line.split_once(": ").unwrap_or_else(|| panic!("no findings: {line}"));
        let finds = if finds == "ok" { "" } else { finds };
        let mut row = Self { finds, places: Vec::new(), changes: Vec::new(), given: Vec::new(), repaired: None };
        if let Some(text) = change.strip_prefix('`').and_then(|text| text.strip_suffix('`')) {
            let (from, to) = text.split_once("` becomes `").expect("the new text");
            row.changes.push(Change::Text(from, to));
        } else {
            let (places, values) = assignment(change);
            row.places = places.split(", ").collect();
            row.add_values(values);
        }
        row
    }

    fn add_values(&mut self, mut values: &'static str) {
        while !values.is_empty() {
            let (value, length) = if values.starts_with("absent") {
                (None, "absent".len())
            } else {
                let mut stream = Deserializer::from_str(values).into_iter::<Value>();
                stream.next().expect("a value").unwrap_or_else(|error| panic!("{values}: {error}"));
                (values.get(..stream.byte_offset()), stream.byte_offset())
            };
            self.changes.extend(self.places.iter().map(|place| Change::Value(place, value)));
            values = values[length..].trim_start();
        }
    }

    fn mutations(&self, given: &[Assignment], base: Base) -> impl Iterator<Item = (Base, Mutation)> {
        let given = [given, &self.given].concat();
        let mutation = move |change: &Change| Mutation {
            given: given.clone(),
            change: *change,
            finds: self.finds,
            repaired: self.repaired,
        };
        self.changes.iter().map(move |change| (base, mutation(change)))
    }
}

fn assignment(text: &'static str) -> Assignment {
    text.split_once(" = ").unwrap_or_else(|| panic!("no value: {text}"))
}

fn base(name: &str) -> Base {
    Base::ALL.into_iter().find(|base| format!("{base:?}") == name).unwrap_or_else(|| panic!("no definition {name}"))
}

impl Mutation {
    /// The IDs of the expected findings, in alphabetical order.
    pub(crate) fn finds(&self) -> Vec<&'static str> {
        let mut ids: Vec<&str> = self.finds.split_whitespace().collect();
        ids.sort_unstable();
        ids
    }

    /// The mutation, for messages.
    pub(crate) fn label(&self) -> String {
        let given: Vec<String> = self.given.iter().map(|(at, json)| format!("{at} = {json}; ")).collect();
        let change = match self.change {
            Change::Value(at, json) => format!("{at} = {}", json.unwrap_or("absent")),
            Change::Text(from, to) => format!("`{from}` becomes `{to}`"),
        };
        format!("{}{change}", given.concat())
    }

    /// The definition with the change.
    pub(crate) fn broken(&self, base: Base) -> Value {
        let intact = self.intact(base);
        let broken = match self.change {
            Change::Value(at, json) => self.made(base, at, json),
            Change::Text(from, to) => {
                let text = intact.to_string();
                assert!(text.contains(from), "{base:?} has no `{from}`");
                serde_json::from_str(&text.replace(from, to)).unwrap()
            }
        };
        assert!(broken != intact, "{base:?} is unchanged: {}", self.label());
        broken
    }

    /// The definition without the defect.
    pub(crate) fn repaired(&self, base: Base) -> Value {
        match (self.repaired, self.change) {
            (Some(json), Change::Value(at, _)) => self.made(base, at, Some(json)),
            _ => self.intact(base),
        }
    }

    /// The correct definition with what is given.
    fn intact(&self, base: Base) -> Value {
        self.made(base, if base == Base::AppMeshResources { "[0].idle" } else { "idle" }, None)
    }

    fn made(&self, base: Base, at: &'static str, json: Option<&'static str>) -> Value {
        let given = self.given.iter().map(|(at, json)| (path(at), Some(*json)));
        base.with(given.chain([(path(at), json)]))
            .unwrap_or_else(|| panic!("{base:?}: no such place: {}", self.label()))
    }
}

/// `web / user` is `containerDefinitions[web].user`, and `web /` is the container.
fn path(short: &'static str) -> &'static str {
    match short.split_once(" /") {
        Some((container, "")) => format!("containerDefinitions[{container}]").leak(),
        Some((container, rest)) => format!("containerDefinitions[{container}].{}", rest.trim_start()).leak(),
        None => short,
    }
}
