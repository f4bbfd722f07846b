//! Fixes the findings of files: in each round, all findings whose edits are independent of each other.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::Hash,
    sync::Arc,
};

use super::{apply, apply_many};
use crate::{
    audit,
    finding::{Finding, Identity},
};
use audit_read::{
    definition::{Dialect, TaskDefinition},
    input::{Gathered, read_edited},
};
use document::{
    PathStep, SourceFile,
    edit::{Change, Edit, EditError},
};
use terraform::Tree;

/// More than any file needs. It ends the loop of two rules that undo each other's fixes.
const MAX_ROUNDS: usize = 50;

/// The result of fixing a file.
#[derive(Debug)]
pub struct Repair {
    /// The text before.
    pub before: Arc<SourceFile>,
    /// The text after.
    pub after: Arc<SourceFile>,
    /// The findings that were fixed, in the order of their fixes.
    pub fixed: Vec<Finding>,
    /// The findings whose fixes could not be made.
    pub left: Vec<Left>,
}

/// A finding whose fix could not be made.
#[derive(Debug)]
pub struct Left {
    pub finding: Finding,
    /// Why the edit is not possible. `None` if it is possible, but the finding remained or another one would have
    /// appeared.
    pub error: Option<EditError>,
}

/// Fixes all findings of a file that have a fix and are wanted by `is_wanted`, until none is left. A fix is not made if its
/// finding would remain, or if another finding of the same or a higher severity would appear. Terraform sources are read
/// with the modules in `tree` that they call.
pub fn repair(file: Arc<SourceFile>, tree: &Tree, is_wanted: impl Fn(&Finding) -> bool) -> Repair {
    let none = Repair { before: Arc::clone(&file), after: Arc::clone(&file), fixed: Vec::new(), left: Vec::new() };
    repair_all(vec![file], tree, is_wanted).pop().unwrap_or(none)
}

/// The same for Terraform sources of one directory: they are read together, once for all independent fixes.
pub fn repair_all(files: Vec<Arc<SourceFile>>, tree: &Tree, is_wanted: impl Fn(&Finding) -> bool) -> Vec<Repair> {
    let before = files.clone();
    let mut state = State::of(files, tree);
    let mut made = Made::default();
    let mut tried_after = 0;
    for _ in 0..MAX_ROUNDS {
        let open = open(&state.findings, &made.left, &is_wanted);
        let round = independent(&open);
        if round.is_empty() {
            if made.left.is_empty() || made.fixed.len() == tried_after {
                break;
            }
            // A fix that was not possible may be possible after other fixes.
            tried_after = made.fixed.len();
            made.left.clear();
            continue;
        }
        fix_group(&mut state, &round, &mut made);
    }
    let open = open(&state.findings, &made.left, &is_wanted);
    made.left.extend(open.into_iter().map(|finding| Left { finding, error: None }));
    let of_each = before.into_iter().zip(state.files);
    of_each.map(|(before, after)| made.of(before, after)).collect()
}

/// What was done so far.
#[derive(Debug, Default)]
struct Made {
    fixed: Vec<Finding>,
    left: Vec<Left>,
}

impl Made {
    /// Takes what concerns one file.
    fn of(&mut self, before: Arc<SourceFile>, after: Arc<SourceFile>) -> Repair {
        let is_own = |finding: &Finding| finding.file.name == before.name;
        let fixed = self.fixed.extract_if(.., |finding| is_own(finding)).collect();
        let left = self.left.extract_if(.., |left| is_own(&left.finding)).collect();
        Repair { before, after, fixed, left }
    }
}

/// Texts, and the result of their audit.
struct State<'r> {
    files: Vec<Arc<SourceFile>>,
    tree: &'r Tree,
    /// The spelling of each file, by its name.
    dialects: HashMap<String, Result<Dialect, EditError>>,
    findings: Vec<Finding>,
    /// The number of problems with reading them.
    problems: usize,
}

impl<'r> State<'r> {
    fn of(files: Vec<Arc<SourceFile>>, tree: &'r Tree) -> Self {
        let Gathered { material, problems, .. } = read_edited(&files, tree);
        let mut definitions: HashMap<&str, Vec<&TaskDefinition>> = HashMap::new();
        for definition in &material.definitions {
            definitions.entry(&definition.file.name).or_default().push(definition);
        }
        let dialects = definitions.into_iter().map(|(name, of_file)| (name.to_owned(), dialect(&of_file))).collect();
        Self { dialects, findings: audit(&material), problems: problems.len(), files, tree }
    }

    /// The files with the fixes of `group`.
    fn edited(&self, group: &[Finding]) -> Result<Vec<Arc<SourceFile>>, EditError> {
        let mut edits_of: BTreeMap<&str, Vec<Edit>> = BTreeMap::new();
        for finding in group {
            edits_of.entry(&finding.file.name).or_default().extend(edits(finding).iter().cloned());
        }
        let edit = |file: &Arc<SourceFile>| {
            let Some(edits) = edits_of.get(file.name.as_str()) else { return Ok(Arc::clone(file)) };
            let dialect = self.dialects.get(&file.name).cloned().unwrap_or(Ok(Dialect::Ecs))?;
            let text = match group {
                [_] => apply(&file.text, dialect, edits)?,
                _ => apply_many(&file.text, dialect, edits)?,
            };
            Ok(Arc::new(SourceFile::new(file.name.clone(), text)))
        };
        self.files.iter().map(edit).collect()
    }

    /// Whether this state is the expected result of fixing `fixed`.
    fn is_better_than(&self, before: &Self, fixed: &[Finding]) -> bool {
        self.problems <= before.problems && self.lacks(fixed, before) && !self.has_new(fixed, before)
    }

    /// Whether each of `fixed` is gone. Of several equal findings, as many as were fixed.
    fn lacks(&self, fixed: &[Finding], before: &Self) -> bool {
        let (before, after) = (counts(&before.findings, Finding::identity), counts(&self.findings, Finding::identity));
        let count = |all: &HashMap<Identity<'_>, usize>, one: &Identity<'_>| all.get(one).copied().unwrap_or_default();
        let fixed = counts(fixed, Finding::identity);
        fixed.iter().all(|(one, fixed)| count(&after, one) + fixed <= count(&before, one))
    }

    /// Whether there is a new finding that is not less severe than `fixed`. Messages are not compared: an edit may change the
    /// values in them.
    fn has_new(&self, fixed: &[Finding], before: &Self) -> bool {
        let alike = |one: &'_ Finding| (one.file.name.clone(), one.rule.id, one.subject.clone(), one.container.clone());
        let (before, after) = (counts(&before.findings, alike), counts(&self.findings, alike));
        let least = fixed.iter().map(|finding| finding.severity).min();
        let grave = self.findings.iter().filter(|finding| Some(finding.severity) >= least);
        grave.map(alike).any(|alike| after.get(&alike) > before.get(&alike))
    }
}

/// The spelling of a file's definitions. Only several documents may differ.
fn dialect(definitions: &[&TaskDefinition]) -> Result<Dialect, EditError> {
    let first = definitions.first().map_or(Dialect::Ecs, |definition| definition.dialect);
    if definitions.iter().all(|definition| definition.dialect == first) {
        return Ok(first);
    }
    Err(EditError::Notation("its documents have different formats: split the file".to_owned()))
}

/// The findings that are still to be fixed. Of several equal findings, those that could not be fixed come first.
fn open(findings: &[Finding], left: &[Left], is_wanted: &impl Fn(&Finding) -> bool) -> Vec<Finding> {
    let mut left = counts(left.iter().map(|left| &left.finding), Finding::identity);
    let with_fix = findings.iter().filter(|finding| finding.fix.is_some() && is_wanted(finding));
    let not_left = with_fix.filter(|finding| match left.get_mut(&finding.identity()) {
        Some(count @ 1..) => {
            *count -= 1;
            false
        }
        _ => true,
    });
    not_left.cloned().collect()
}

/// How many findings have each `key`.
fn counts<'f, K: Eq + Hash>(
    findings: impl IntoIterator<Item = &'f Finding>,
    key: impl Fn(&'f Finding) -> K,
) -> HashMap<K, usize> {
    let mut counts = HashMap::new();
    for finding in findings {
        *counts.entry(key(finding)).or_default() += 1;
    }
    counts
}

/// The findings whose edits do not touch the places of earlier edits.
fn independent(open: &[Finding]) -> Vec<Finding> {
    let mut touched: HashSet<Vec<PathStep>> = HashSet::new();
    // The places that contain one of them, and they themselves.
    let mut containing: HashSet<Vec<PathStep>> = HashSet::new();
    let mut chosen = Vec::new();
    for finding in open {
        let places: Vec<Vec<PathStep>> = edits(finding).iter().map(|edit| touches(&finding.file, edit)).collect();
        let is_free =
            |place: &Vec<PathStep>| !containing.contains(place) && !up_to(place).any(|above| touched.contains(above));
        if places.iter().all(is_free) {
            chosen.push(finding.clone());
        }
        // The places of postponed findings count too, so that no later finding changes them.
        containing.extend(places.iter().flat_map(|place| up_to(place)).map(<[PathStep]>::to_vec));
        touched.extend(places);
    }
    chosen
}

/// The places that contain a place, and the place itself.
fn up_to(place: &[PathStep]) -> impl Iterator<Item = &[PathStep]> {
    (0..=place.len()).filter_map(|count| place.get(..count))
}

/// The place that an edit changes: a file, and in it a complete string, or the list from which an item is removed.
fn touches(file: &SourceFile, edit: &Edit) -> Vec<PathStep> {
    let mut steps = vec![PathStep::Key(file.name.clone())];
    steps.extend(edit.route.steps());
    if let Some(at) = steps.iter().position(|step| *step == PathStep::Embedded) {
        steps.truncate(at);
    } else if edit.change == Change::Remove && matches!(steps.last(), Some(PathStep::Index(_))) {
        steps.pop();
    }
    steps
}

fn edits(finding: &Finding) -> &[Edit] {
    finding.fix.as_ref().map(|fix| fix.edits.as_slice()).unwrap_or_default()
}

/// Fixes all of `group` at once. If that fails, each half on its own.
fn fix_group(state: &mut State<'_>, group: &[Finding], made: &mut Made) {
    let error = match state.edited(group) {
        Ok(files) => {
            let fixed = State::of(files, state.tree);
            if fixed.is_better_than(state, group) {
                *state = fixed;
                made.fixed.extend(group.iter().cloned());
                return;
            }
            None
        }
        Err(error) => Some(error),
    };
    if let [finding] = group {
        made.left.push(Left { finding: finding.clone(), error });
    } else {
        let (first, second) = group.split_at(group.len() / 2);
        fix_group(state, first, made);
        fix_group(state, second, made);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{example::Base, severity::Severity};

    fn state<'t>(tree: &'t Tree, text: &str) -> State<'t> {
        State::of(vec![Arc::new(SourceFile::new("task.json", text))], tree)
    }

    #[test]
    fn a_fix_that_causes_an_equal_finding_is_not_made() {
        // Given a definition with one defect, and one with another.
        let (tree, base) = (Tree::default(), Base::Dataplane.json());
        let before = state(&tree, &base.replace("awsvpc", "bridge"));
        let other = state(&tree, &base.replace("1048576", "2097152"));
        let fixed = before.findings.clone();
        // Then the second is not a fix of the first, unless the new finding is less severe.
        assert!(state(&tree, base).is_better_than(&before, &fixed));
        assert!(!other.is_better_than(&before, &fixed));
        let mut harmless = state(&tree, &base.replace("1048576", "2097152"));
        harmless.findings.iter_mut().for_each(|finding| finding.severity = Severity::Info);
        assert!(harmless.is_better_than(&before, &fixed));
        // And a finding that remains is not fixed.
        assert!(!before.is_better_than(&before, &fixed));
    }

    #[test]
    fn a_fix_that_makes_the_file_unreadable_is_not_made() {
        let tree = Tree::default();
        let before = state(&tree, &Base::Dataplane.json().replace("awsvpc", "bridge"));
        let unreadable = state(&tree, "{\"containerDefinitions\": 1, \"family\": 2}");
        assert!(!unreadable.is_better_than(&before, &before.findings));
    }
}
