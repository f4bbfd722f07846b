//! One mistake in one place that appears in several task definitions, through calls, `count` or `for_each`, is one finding.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Reported, ReportedCall};
use crate::{finding::Finding, ignore::Exception, severity::Severity};
use document::Span;

/// One finding for each mistake, in the order of the first ones, with the index of the first one. `first` are the indices
/// of the first ones.
pub(super) fn merged(found: Vec<Reported>, first: Vec<usize>) -> Vec<(usize, Reported)> {
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

/// The number of mistakes in findings.
pub(crate) fn mistakes(found: &[&Finding]) -> usize {
    first_of_each(found.iter().map(|finding| (*finding, None))).into_iter().collect::<BTreeSet<usize>>().len()
}

/// For each finding, with what ignores it, the index of the first one of the same mistake.
pub(super) fn first_of_each<'f>(found: impl Iterator<Item = (&'f Finding, Option<&'f Exception>)>) -> Vec<usize> {
    let mut before: BTreeMap<(Mistake<'f>, &str), usize> = BTreeMap::new();
    let mut first: BTreeMap<(Mistake<'f>, usize), usize> = BTreeMap::new();
    let first_of = |(index, (finding, exception)): (usize, (&'f Finding, Option<&'f Exception>))| {
        let mistake = Mistake::of(finding, exception);
        // In a plan, one definition may have the mistake in several places.
        let nth = if mistake.place.is_ok() { &mut 0 } else { before.entry((mistake, &finding.subject)).or_default() };
        *nth += 1;
        *first.entry((mistake, *nth)).or_insert(index)
    };
    found.enumerate().map(first_of).collect()
}

/// What findings of one mistake have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mistake<'f> {
    rule: &'static str,
    file: &'f str,
    /// The bytes; in a plan, the block.
    place: Result<Span, &'f str>,
    home: &'f str,
    container: Option<&'f str>,
    message: &'f str,
    severity: Severity,
    /// What ignores it, and the reason.
    exception: Option<(&'static str, &'f str)>,
}

impl<'f> Mistake<'f> {
    fn of(finding: &'f Finding, exception: Option<&'f Exception>) -> Self {
        Self {
            rule: finding.rule.id,
            file: &finding.file.name,
            place: finding.block.as_deref().map_or(Ok(finding.span), Err),
            home: &finding.home.name,
            container: finding.container.as_deref(),
            message: &finding.message,
            severity: finding.severity,
            exception: exception.map(|Exception { by, reason }| (by.as_str(), reason.as_str())),
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
