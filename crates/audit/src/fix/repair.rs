//! Mending the findings of a file: in each round all those whose edits have nothing to do with each other.

use std::sync::Arc;

use super::{
    apply::{Manner, apply, try_apply},
    error::EditError,
};
use crate::{
    Material, audit,
    definition::Dialect,
    document::Step,
    finding::{Change, Edit, Finding},
    input::read_all,
    source::SourceFile,
};

/// More than any file needs; it keeps two rules that undo each other from going on for ever.
const MAX_ROUNDS: usize = 50;

/// What came of mending a file.
#[derive(Debug)]
pub struct Repair {
    /// The text before.
    pub before: Arc<SourceFile>,
    /// The text after.
    pub after: Arc<SourceFile>,
    /// The findings that are mended, in the order in which they were.
    pub mended: Vec<Finding>,
    /// Those with a fix that could not be made.
    pub left: Vec<Left>,
}

/// A finding whose fix could not be made.
#[derive(Debug)]
pub struct Left {
    /// The finding.
    pub finding: Finding,
    /// Why: an edit that is not possible, or (`None`) a finding that stayed, or that another one would have followed.
    pub error: Option<EditError>,
}

/// Mends what has a fix and `is_wanted`, until nothing is left to mend. A fix that does not make its finding disappear, or
/// that brings up another one as bad or worse, is not made.
#[must_use]
pub fn repair(file: Arc<SourceFile>, is_wanted: impl Fn(&Finding) -> bool) -> Repair {
    let mut state = State::of(file.clone());
    let mut repair = Repair { before: file.clone(), after: file, mended: Vec::new(), left: Vec::new() };
    let mut tried_after = 0;
    for _ in 0..MAX_ROUNDS {
        let open = open(&state.findings, &repair.left, &is_wanted);
        let round = independent(&open);
        if round.is_empty() {
            if repair.left.is_empty() || repair.mended.len() == tried_after {
                break;
            }
            // What could not be mended then may well be now that others are.
            tried_after = repair.mended.len();
            repair.left.clear();
            continue;
        }
        mend(&mut state, &round, &mut repair);
    }
    repair.after = state.file;
    repair
}

/// A text, and what an audit says of it.
struct State {
    file: Arc<SourceFile>,
    dialect: Dialect,
    findings: Vec<Finding>,
    /// How much of it cannot be read.
    problems: usize,
}

impl State {
    fn of(file: Arc<SourceFile>) -> Self {
        let (mut material, mut problems) = (Material::default(), Vec::new());
        read_all(&file, true, &mut material, &mut problems);
        // All definitions of a file are of one format.
        let dialect = material.definitions.first().map_or(Dialect::Ecs, |definition| definition.dialect);
        Self { file, dialect, findings: audit(&material), problems: problems.len() }
    }

    /// Whether this is what mending `mended` should come to.
    fn is_better_than(&self, before: &Self, mended: &[Finding]) -> bool {
        let same = |all: &[Finding], finding: &Finding| all.iter().filter(|other| other.is_same_as(finding)).count();
        let is_gone = |finding: &Finding| {
            same(&self.findings, finding) + same(mended, finding) <= same(&before.findings, finding)
        };
        // What an edit says of a value is in the message, so that messages are not compared here.
        let alike = |all: &[Finding], finding: &Finding| {
            let key = |one: &Finding| (one.rule.id, one.subject.clone(), one.container.clone());
            all.iter().filter(|other| key(other) == key(finding)).count()
        };
        let least = mended.iter().map(|finding| finding.severity).min();
        let is_new = |finding: &Finding| {
            Some(finding.severity) >= least && alike(&self.findings, finding) > alike(&before.findings, finding)
        };
        self.problems <= before.problems && mended.iter().all(is_gone) && !self.findings.iter().any(is_new)
    }
}

/// What is still to be mended. Of several findings that say the same, those that were left come first.
fn open(findings: &[Finding], left: &[Left], is_wanted: &impl Fn(&Finding) -> bool) -> Vec<Finding> {
    let mut skipped = vec![false; left.len()];
    let mut was_left = |finding: &Finding| {
        let twin =
            left.iter().zip(&mut skipped).find(|(left, is_skipped)| !**is_skipped && left.finding.is_same_as(finding));
        twin.map(|(_, is_skipped)| *is_skipped = true).is_some()
    };
    let with_fix = findings.iter().filter(|finding| finding.fix.is_some() && is_wanted(finding));
    with_fix.filter(|finding| !was_left(finding)).cloned().collect()
}

/// Those of which no edit touches what an edit of an earlier one touches.
fn independent(open: &[Finding]) -> Vec<Finding> {
    let mut touched: Vec<Vec<Step>> = Vec::new();
    let mut chosen = Vec::new();
    for finding in open {
        let places: Vec<Vec<Step>> = edits(finding).iter().map(touches).collect();
        let is_free =
            |place: &Vec<Step>| !touched.iter().any(|other| other.starts_with(place) || place.starts_with(other));
        if places.iter().all(is_free) {
            chosen.push(finding.clone());
        }
        // One that has to wait keeps later ones from changing what it was made for.
        touched.extend(places);
    }
    chosen
}

/// What an edit changes: a string as a whole, and the whole list that an item goes from.
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

/// Mends all of `group` at once, or else each half of it on its own.
fn mend(state: &mut State, group: &[Finding], repair: &mut Repair) {
    let all: Vec<Edit> = group.iter().flat_map(edits).cloned().collect();
    let text = match group {
        [_] => apply(&state.file.text, state.dialect, &all),
        _ => try_apply(&state.file.text, state.dialect, &all, Manner::PART_BY_PART),
    };
    let error = match text {
        Ok(text) => {
            let mended = State::of(Arc::new(SourceFile::new(state.file.name.clone(), text)));
            if mended.is_better_than(state, group) {
                *state = mended;
                repair.mended.extend(group.iter().cloned());
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
        mend(state, first, repair);
        mend(state, second, repair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{example::Base, finding::Severity};

    fn state(text: &str) -> State {
        State::of(Arc::new(SourceFile::new("task.json", text)))
    }

    #[test]
    fn a_fix_that_brings_up_another_finding_as_bad_is_not_made() {
        // Given a definition with one mistake, and one with another.
        let base = Base::Dataplane.json();
        let before = state(&base.replace("awsvpc", "bridge"));
        let other = state(&base.replace("1048576", "2097152"));
        let mended = before.findings.clone();
        // Then the one in place of the other is no mend, unless the other one matters less.
        assert!(state(base).is_better_than(&before, &mended));
        assert!(!other.is_better_than(&before, &mended));
        let mut harmless = state(&base.replace("1048576", "2097152"));
        harmless.findings.iter_mut().for_each(|finding| finding.severity = Severity::Info);
        assert!(harmless.is_better_than(&before, &mended));
        // And what stays is not mended.
        assert!(!before.is_better_than(&before, &mended));
    }

    #[test]
    fn a_fix_that_makes_something_unreadable_is_not_made() {
        let before = state(&Base::Dataplane.json().replace("awsvpc", "bridge"));
        let unreadable = state("{\"containerDefinitions\": 1, \"family\": 2}");
        assert!(!unreadable.is_better_than(&before, &before.findings));
    }
}
