//! What was read.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use document::InputProblem;
use terraform::Tree;

use crate::{Material, definition::TaskDefinition};

/// The input of a run.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The definitions and resources to check.
    pub material: Material,
    /// What could not be read.
    pub problems: Vec<InputProblem>,
    /// What could be read, but not checked, or not all of it: Terraform sources that only a plan completes, and texts that are
    /// nearly definitions.
    pub unchecked: Vec<InputProblem>,
    /// The revisions that are left out, because Express Mode has generated them, and generates others with its next update.
    pub generated: BTreeSet<String>,
    /// The directories of the files. Terraform sources of other directories are not read.
    pub tree: Tree,
    /// The directories of the Terraform modules that other modules call, without links.
    pub called: BTreeSet<PathBuf>,
    /// The number of texts that were read, including texts of other formats.
    pub files_read: usize,
}

impl Gathered {
    /// Adds input that was collected elsewhere.
    pub fn add(&mut self, other: Self) {
        self.material.definitions.extend(other.material.definitions);
        self.material.resources.add(other.material.resources);
        self.material.undeclared.extend(other.material.undeclared);
        self.problems.extend(other.problems);
        self.unchecked.extend(other.unchecked);
        self.generated.extend(other.generated);
        self.files_read += other.files_read;
    }
}

/// Marks definitions of one file and one family: only the address distinguishes them.
pub(super) fn mark_shared_families(definitions: &mut [TaskDefinition]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for definition in definitions.iter() {
        *seen.entry(definition.name()).or_default() += 1;
    }
    for definition in definitions {
        definition.shares_family = seen.get(&definition.name()).is_some_and(|count| *count > 1);
    }
}
