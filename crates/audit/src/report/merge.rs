//! One mistake in one place that appears in several task definitions, through calls, `count` or `for_each`, is one finding.

use super::model::{Reported, ReportedCall};
use crate::{finding::Severity, ignore::Exception};
use audit_read::document::Position;

/// One finding for each mistake, in the order of the first ones, with the index of the first one.
pub(super) fn merged(found: Vec<Reported>) -> Vec<(usize, Reported)> {
    let first = first_of_each(&found);
    let mut merged: Vec<(usize, Reported)> = Vec::with_capacity(found.len());
    let mut places = Vec::with_capacity(found.len());
    for (index, (finding, first)) in found.into_iter().zip(first).enumerate() {
        // The first one is before the others, or is this one.
        let place = places.get(first).copied().unwrap_or(merged.len());
        places.push(place);
        match merged.get_mut(place) {
            Some((_, known)) => known.absorb(finding),
            None => merged.push((index, finding)),
        }
    }
    merged
}

/// For each finding, the index of the first one of the same mistake.
fn first_of_each(found: &[Reported]) -> Vec<usize> {
    let mut first: Vec<usize> = (0..found.len()).collect();
    let mut sorted: Vec<(Mistake<'_>, usize)> = found.iter().map(Mistake::of).zip(0..).collect();
    sorted.sort_unstable();
    for same in sorted.chunk_by(|(one, _), (other, _)| one == other) {
        // Of each mistake: its first finding, and its last one so far.
        let mut known: Vec<(usize, usize)> = Vec::new();
        for (mistake, index) in same {
            let calls = |index: usize| found.get(index).map(|finding| &finding.calls);
            // In a plan, one definition may have the mistake in several places.
            let is_same = |last: usize| mistake.place.is_ok() || calls(last) != calls(*index);
            match known.iter_mut().find(|(_, last)| is_same(*last)) {
                Some((start, last)) => {
                    *last = *index;
                    first.get_mut(*index).into_iter().for_each(|first| *first = *start);
                }
                None => known.push((*index, *index)),
            }
        }
    }
    first
}

/// What findings of one mistake have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Mistake<'r> {
    rule: &'static str,
    file: &'r str,
    /// The characters; in a plan, the block.
    place: Result<(Position, Position), &'r str>,
    home: &'r str,
    container: Option<&'r str>,
    message: &'r str,
    severity: Severity,
    /// What ignores it, and the reason.
    exception: Option<(&'static str, &'r str)>,
}

impl<'r> Mistake<'r> {
    fn of(finding: &'r Reported) -> Self {
        let block = finding.calls.first().and_then(|call| call.block.as_deref());
        Self {
            rule: finding.rule.id,
            file: &finding.file,
            place: block.map_or(Ok((finding.start, finding.end)), Err),
            home: &finding.home,
            container: finding.container.as_deref(),
            message: &finding.message,
            severity: finding.severity,
            exception: finding.ignored.as_ref().map(|Exception { by, reason }| (by.as_str(), reason.as_str())),
        }
    }
}

impl Reported {
    /// Adds the places of the same mistake.
    fn absorb(&mut self, other: Self) {
        if other.subject != self.subject {
            self.also_in.insert(other.subject);
        }
        // The definitions of one call follow each other. In a plan, each has a place of its own.
        let module = |calls: &[ReportedCall]| calls.last().map(|call| (call.module.clone(), call.file.clone()));
        if module(&self.calls) != module(&other.calls) {
            self.calls.extend(other.calls);
        }
    }
}
