//! What the controller would have done, by the lines of mode `observe`.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::report::Kind;
use crate::log_line::Line;

/// Something that the controller would have done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) kind: Kind,
    /// An instance, a token or a task, or the holder of a token.
    pub(super) subject: String,
    pub(super) cluster: Option<String>,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
}

/// All of it, each thing once.
pub(super) fn planned(lines: &[Line]) -> Vec<Planned> {
    let mut found: BTreeMap<(Kind, String), Planned> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.is_observed()) {
        let Some((kind, subject)) = Kind::of(&line.action).and_then(|kind| Some((kind, subject(kind, line)?))) else {
            continue;
        };
        let new = || Planned {
            kind,
            subject: subject.clone(),
            cluster: line.cluster_arn.clone(),
            first: line.at,
            last: line.at,
        };
        let planned = found.entry((kind, subject.clone())).or_insert_with(new);
        planned.last = planned.last.max(line.at);
    }
    found.into_values().collect()
}

/// What a line is about.
fn subject(kind: Kind, line: &Line) -> Option<String> {
    match kind {
        Kind::InstancesDeregistered => line.service_id.clone(),
        Kind::LoginTokensDeleted | Kind::TokensDeleted => line.accessor_id.clone(),
        Kind::TokensCreated => line.holder.clone(),
        Kind::InstancesDrained => line.check_id.clone(),
        Kind::TasksRepaired | Kind::TasksCorrected => line.task_id.clone(),
    }
}
