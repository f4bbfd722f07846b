//! What arguments refer to, followed through local values.

use std::collections::BTreeSet;

use terraform::{Attribute, Module, references};

/// What a reference leads to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// A resource of this module.
    Resource(String),
    /// What a called module declares.
    Module(String),
}

/// The resource of a kind that an argument refers to, if it is certainly one.
pub(super) fn target(module: &Module<'_>, attribute: &Attribute, kind: &str) -> Option<Target> {
    let mut found = references(&attribute.expression);
    let mut seen = BTreeSet::new();
    let mut targets = BTreeSet::new();
    while let Some(names) = found.pop() {
        if !seen.insert(names.clone()) {
            continue;
        }
        match names.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [first, name, ..] if *first == kind => drop(targets.insert(Target::Resource((*name).to_owned()))),
            ["module", name, ..] => drop(targets.insert(Target::Module((*name).to_owned()))),
            ["local", name, ..] => {
                if let Some(local) = module.directory().locals.get(*name) {
                    found.extend(references(&local.expression));
                }
            }
            _ => {}
        }
    }
    let mut targets = targets.into_iter();
    targets.next().filter(|_| targets.next().is_none())
}
