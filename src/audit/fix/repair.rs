//! Mending the findings of a file, one after another.

use std::sync::Arc;

use super::{EditError, apply};
use crate::audit::{Material, audit, definition::Dialect, finding::Finding, input::read_source, source::SourceFile};

/// More fixes than any file needs; it keeps two rules that undo each other from going on for ever.
const MAX_FIXES: usize = 1_000;

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
    /// Why: an edit that is not possible, or (`None`) a finding that stayed.
    pub error: Option<EditError>,
}

/// Mends what has a fix and `is_wanted`, until nothing is left to mend. A fix that does not make its finding disappear, or
/// that brings up a worse one, is not made.
#[must_use]
pub fn repair(file: Arc<SourceFile>, is_wanted: impl Fn(&Finding) -> bool) -> Repair {
    let mut repair = Repair { before: file.clone(), after: file, mended: Vec::new(), left: Vec::new() };
    let Some(mut findings) = findings_of(&repair.after) else { return repair };
    for _ in 0..MAX_FIXES {
        let is_open = |finding: &&Finding| {
            finding.fix.is_some()
                && is_wanted(finding)
                && !repair.left.iter().any(|left| left.finding.is_same_as(finding))
        };
        let Some(finding) = findings.iter().find(is_open).cloned() else { break };
        match mend(&repair.after, &finding) {
            Ok((text, remaining)) => {
                repair.after = text;
                findings = remaining;
                repair.mended.push(finding);
            }
            Err(error) => repair.left.push(Left { finding, error }),
        }
    }
    repair
}

type Mended = (Arc<SourceFile>, Vec<Finding>);

fn mend(file: &Arc<SourceFile>, finding: &Finding) -> Result<Mended, Option<EditError>> {
    let edits = finding.fix.as_ref().map(|fix| fix.edits.as_slice()).unwrap_or_default();
    let text = apply(&file.text, dialect_of(file), edits).map_err(Some)?;
    let mended = Arc::new(SourceFile::new(file.name.clone(), text));
    let remaining = findings_of(&mended).ok_or(None)?;
    let is_gone = !remaining.iter().any(|other| other.is_same_as(finding));
    if is_gone { Ok((mended, remaining)) } else { Err(None) }
}

fn findings_of(file: &Arc<SourceFile>) -> Option<Vec<Finding>> {
    let mut material = Material::default();
    read_source(file.clone(), true, &mut material).ok()?;
    Some(audit(&material))
}

fn dialect_of(file: &Arc<SourceFile>) -> Dialect {
    let mut material = Material::default();
    // A file that cannot be read has no findings, so that nobody asks.
    let read = read_source(file.clone(), true, &mut material);
    let first = material.definitions.first().filter(|_| read.is_ok());
    first.map_or(Dialect::Ecs, |definition| definition.dialect)
}
