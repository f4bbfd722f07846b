//! Fixes the findings of a file: in each round, all findings whose edits are independent of each other.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::Arc,
};

use super::{EditError, Manner, apply, try_apply};
use crate::{
    audit,
    finding::{Change, Edit, Finding, Identity},
};
use audit_read::{
    definition::{Dialect, TaskDefinition},
    document::Step,
    input::{Gathered, Tree, read_edited},
    source::SourceFile,
};

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

/// Fixes all findings that have a fix and are wanted by `is_wanted`, until none is left. A fix is not made if its
/// finding would remain, or if another finding of the same or a higher severity would appear. Terraform sources are read
/// with the modules in `tree` that they call.
pub fn repair(file: Arc<SourceFile>, tree: &Tree, is_wanted: impl Fn(&Finding) -> bool) -> Repair {
    let mut state = State::of(file.clone(), tree);
    let mut repair = Repair { before: file.clone(), after: file, fixed: Vec::new(), left: Vec::new() };
    let mut tried_after = 0;
    for _ in 0..MAX_ROUNDS {
        let open = open(&state.findings, &repair.left, &is_wanted);
        let round = independent(&open);
        if round.is_empty() {
            if repair.left.is_empty() || repair.fixed.len() == tried_after {
                break;
            }
            // A fix that was not possible may be possible after other fixes.
            tried_after = repair.fixed.len();
            repair.left.clear();
            continue;
        }
        fix_group(&mut state, &round, &mut repair);
    }
    let open = open(&state.findings, &repair.left, &is_wanted);
    repair.left.extend(open.into_iter().map(|finding| Left { finding, error: None }));
    repair.after = state.file;
    repair
}

/// A text, and the result of its audit.
struct State<'r> {
    file: Arc<SourceFile>,
    tree: &'r Tree,
    dialect: Result<Dialect, EditError>,
    findings: Vec<Finding>,
    /// The number of problems with reading it.
    problems: usize,
}

impl<'r> State<'r> {
    fn of(file: Arc<SourceFile>, tree: &'r Tree) -> Self {
        let Gathered { material, problems, .. } = read_edited(&file, tree);
        Self {
            file,
            tree,
            dialect: dialect(&material.definitions),
            findings: audit(&material),
            problems: problems.len(),
        }
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
        let alike = |one: &'_ Finding| (one.rule.id, one.subject.clone(), one.container.clone());
        let (before, after) = (counts(&before.findings, alike), counts(&self.findings, alike));
        let least = fixed.iter().map(|finding| finding.severity).min();
        let grave = self.findings.iter().filter(|finding| Some(finding.severity) >= least);
        grave.map(alike).any(|alike| after.get(&alike) > before.get(&alike))
    }
}

/// The spelling of a file's definitions. Only several documents may differ.
fn dialect(definitions: &[TaskDefinition]) -> Result<Dialect, EditError> {
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
    let mut touched: HashSet<Vec<Step>> = HashSet::new();
    // The places that contain one of them, and they themselves.
    let mut containing: HashSet<Vec<Step>> = HashSet::new();
    let mut chosen = Vec::new();
    for finding in open {
        let places: Vec<Vec<Step>> = edits(finding).iter().map(touches).collect();
        let is_free =
            |place: &Vec<Step>| !containing.contains(place) && !up_to(place).any(|above| touched.contains(above));
        if places.iter().all(is_free) {
            chosen.push(finding.clone());
        }
        // The places of postponed findings count too, so that no later finding changes them.
        containing.extend(places.iter().flat_map(|place| up_to(place)).map(<[Step]>::to_vec));
        touched.extend(places);
    }
    chosen
}

/// The places that contain a place, and the place itself.
fn up_to(place: &[Step]) -> impl Iterator<Item = &[Step]> {
    (0..=place.len()).filter_map(|count| place.get(..count))
}

/// The place that an edit changes: a complete string, or the list from which an item is removed.
fn touches(edit: &Edit) -> Vec<Step> {
    let mut steps = edit.route.steps();
    if let Some(at) = steps.iter().position(|step| *step == Step::Embedded) {
        steps.truncate(at);
    } else if edit.change == Change::Remove && matches!(steps.last(), Some(Step::Index(_))) {
        steps.pop();
    }
    steps
}

fn edits(finding: &Finding) -> &[Edit] {
    finding.fix.as_ref().map(|fix| fix.edits.as_slice()).unwrap_or_default()
}

/// Fixes all of `group` at once. If that fails, each half on its own.
fn fix_group(state: &mut State<'_>, group: &[Finding], repair: &mut Repair) {
    let all: Vec<Edit> = group.iter().flat_map(edits).cloned().collect();
    let text = state.dialect.clone().and_then(|dialect| match group {
        [_] => apply(&state.file.text, dialect, &all),
        _ => try_apply(&state.file.text, dialect, &all, Manner::PartByPart),
    });
    let error = match text {
        Ok(text) => {
            let fixed = State::of(Arc::new(SourceFile::new(state.file.name.clone(), text)), state.tree);
            if fixed.is_better_than(state, group) {
                *state = fixed;
                repair.fixed.extend(group.iter().cloned());
                return;
            }
            None
        }
        Err(error) => Some(error),
    };
    if let [finding] = group {
        repair.left.push(Left { finding: finding.clone(), error });
    } else {
        let (first, second) = group.split_at(group.len() / 2);
        fix_group(state, first, repair);
        fix_group(state, second, repair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{example::Base, finding::Severity};

    fn state(text: &str) -> State<'static> {
        State::of(Arc::new(SourceFile::new("task.json", text)), Box::leak(Box::default()))
    }

    #[test]
    fn a_fix_that_causes_an_equal_finding_is_not_made() {
        // Given a definition with one defect, and one with another.
        let base = Base::Dataplane.json();
        let before = state(&base.replace("awsvpc", "bridge"));
        let other = state(&base.replace("1048576", "2097152"));
        let fixed = before.findings.clone();
        // Then the second is not a fix of the first, unless the new finding is less severe.
        assert!(state(base).is_better_than(&before, &fixed));
        assert!(!other.is_better_than(&before, &fixed));
        let mut harmless = state(&base.replace("1048576", "2097152"));
        harmless.findings.iter_mut().for_each(|finding| finding.severity = Severity::Info);
        assert!(harmless.is_better_than(&before, &fixed));
        // And a finding that remains is not fixed.
        assert!(!before.is_better_than(&before, &fixed));
    }

    #[test]
    fn a_fix_that_makes_the_file_unreadable_is_not_made() {
        let before = state(&Base::Dataplane.json().replace("awsvpc", "bridge"));
        let unreadable = state("{\"containerDefinitions\": 1, \"family\": 2}");
        assert!(!unreadable.is_better_than(&before, &before.findings));
    }
}
