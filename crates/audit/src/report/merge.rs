//! One mistake in one place is one finding, although it appears in several task definitions, through calls, `count` or
//! `for_each`, or in several containers, through a local value or an anchor.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

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
    for (_, finding) in &mut merged {
        finding.name_containers();
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
        let is_placed = mistake.place.is_ok();
        let nth = if is_placed { &mut 0 } else { before.entry((mistake.clone(), &finding.subject)).or_default() };
        *nth += 1;
        *first.entry((mistake, *nth)).or_insert(index)
    };
    found.enumerate().map(first_of).collect()
}

/// What findings of one mistake have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Mistake<'f> {
    rule: &'static str,
    file: &'f str,
    /// The bytes; in a plan, the block.
    place: Result<Span, &'f str>,
    home: &'f str,
    /// In a plan, the container: all containers of a block have one place.
    container: Option<&'f str>,
    /// The message; without the container's name, if there are bytes.
    message: Cow<'f, str>,
    severity: Severity,
    /// What ignores it, and the reason.
    exception: Option<(&'static str, &'f str)>,
}

impl<'f> Mistake<'f> {
    fn of(finding: &'f Finding, exception: Option<&'f Exception>) -> Self {
        let container = finding.container.as_deref();
        let message = match container {
            Some(name) if finding.block.is_none() => without_name(&finding.message, name).into(),
            _ => Cow::from(&finding.message),
        };
        Self {
            rule: finding.rule.id,
            file: &finding.file.name,
            place: finding.block.as_deref().map_or(Ok(finding.span), Err),
            home: &finding.home.name,
            container: container.filter(|_| finding.block.is_some()),
            message,
            severity: finding.severity,
            exception: exception.map(|Exception { by, reason }| (by.as_str(), reason.as_str())),
        }
    }
}

/// A message without the name of its container: after "of", or at its beginning. Elsewhere, it may be another word.
fn without_name(message: &str, name: &str) -> String {
    match split_at_name(message, name) {
        Some((before, rest)) => format!("{before} of \0{rest}"),
        None => match message.strip_prefix(name).filter(|rest| ends_a_name(rest)) {
            Some(rest) => format!("\0{rest}"),
            None => message.to_owned(),
        },
    }
}

/// What is before and behind ` of NAME`.
fn split_at_name<'m>(message: &'m str, name: &str) -> Option<(&'m str, &'m str)> {
    message.split_once(&format!(" of {name}")).filter(|(_, rest)| ends_a_name(rest))
}

fn ends_a_name(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "-_".contains(c))
}

impl Reported {
    /// Adds the places of the same mistake.
    fn absorb(&mut self, other: Self) {
        if other.subject != self.subject {
            self.also_in.insert(other.subject);
        }
        let is_known = |known: &String| Some(known) == other.container.as_ref();
        if !self.container.iter().any(is_known) && !self.other_containers.iter().any(is_known) {
            // An edit of what containers share would also change the others, so `fix` refuses it.
            self.is_fixable &= other.container.is_none();
            self.other_containers.extend(other.container);
        }
        // The definitions of one call follow each other. In a plan, each has a place of its own.
        let module = |calls: &[ReportedCall]| calls.last().map(|call| (call.module.clone(), call.file.clone()));
        if module(&self.calls) != module(&other.calls) {
            self.calls.extend(other.calls);
        }
    }

    /// Names the other containers in the message, after the name of the first.
    fn name_containers(&mut self) {
        let Some((name, names)) = self.container.as_ref().zip(self.containers()) else { return };
        if self.other_containers.is_empty() {
            return;
        }
        if let Some((before, rest)) = split_at_name(&self.message, name) {
            self.message = format!("{before} of {names}{rest}");
        }
    }
}
