//! References to what the input does not declare.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use document::{SourceFile, Span};

/// How to correct an undeclared name.
pub(crate) const DECLARE: &str = "declare it, or correct the name";

/// A reference of a definition, or of its services and roles, to what the input certainly does not declare: its deployment fails.
#[derive(Debug, Clone)]
pub struct Undeclared {
    pub file: Arc<SourceFile>,
    /// The bytes of the reference.
    pub span: Span,
    /// What is missing: `the template has no parameter or resource Cluster`.
    pub reason: String,
    /// How to correct it.
    pub help: String,
    /// The missing name: `Cluster`. Empty if `names` is.
    pub name: String,
    /// The names that it may misspell.
    pub names: Arc<[String]>,
}

/// The different names that one template or directory may lack. One that lacks more is an excerpt, and its other parts are
/// elsewhere.
const MOST: usize = 1;

/// Empties the lists of excerpts: of directories, or of the one template that they are from.
pub(crate) fn forget_excerpts<'l>(lists: impl Iterator<Item = &'l mut Vec<Undeclared>>) {
    let mut lists: Vec<_> = lists.filter(|list| !list.is_empty()).collect();
    let directory = |reference: &Undeclared| {
        let name = &reference.file.name;
        name.rsplit_once('/').map_or_else(String::new, |(directory, _)| directory.to_owned())
    };
    let mut names: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for reference in lists.iter().flat_map(|list| list.iter()) {
        names.entry(directory(reference)).or_default().insert(reference.reason.clone());
    }
    let is_excerpt = |reference: &Undeclared| names.get(&directory(reference)).is_some_and(|all| all.len() > MOST);
    for list in &mut lists {
        list.retain(|reference| !is_excerpt(reference));
    }
}
