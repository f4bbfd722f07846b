//! What a controller in mode `observe` would have done, compared with what is so now: what another controller did
//! meanwhile, how long that took, and what is still to do.
//!
//! ```text
//!  History ─▶ Planned, Sweeps ─┐
//!  Observed, tokens ─▶ EndState ┴▶ CompareReport
//! ```

mod end_state;
mod past;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use mesh::time::elapsed;
use serde::Serialize;

use self::{
    end_state::EndState,
    past::{Planned, Sweeps, planned},
};
use crate::{history::History, observed::Observed, tokens::Tokens};

/// A kind of thing that the controller does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Instances of stopped tasks are deregistered.
    InstancesDeregistered,
    /// Login tokens of stopped tasks are deleted.
    LoginTokensDeleted,
    /// Tokens of services are created.
    TokensCreated,
    /// Tokens of idle services are hidden, and then deleted.
    TokensDeleted,
    /// Running tasks that Consul lacks are registered again.
    TasksRepaired,
    /// Checks that contradict ECS are corrected.
    TasksCorrected,
    /// Instances are drained.
    InstancesDrained,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InstancesDeregistered => "deregister instances",
            Self::LoginTokensDeleted => "delete login tokens",
            Self::TokensCreated => "create tokens of services",
            Self::TokensDeleted => "delete tokens of services",
            Self::TasksRepaired => "register tasks again",
            Self::TasksCorrected => "correct checks",
            Self::InstancesDrained => "drain instances",
        }
    }
}

/// How long it took until another controller had done it: the slowest of a kind, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Slowest {
    /// It took at least so long: it was reported until then.
    pub at_least_seconds: u64,
    /// It took at most so long: the next sweep did not report it any more.
    pub at_most_seconds: u64,
}

/// What was planned of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct KindReport {
    pub kind: Kind,
    pub planned: usize,
    /// How many another controller has done since, or are not needed any more.
    pub done_by_others: usize,
    pub still_to_do: usize,
    /// How many could not be compared.
    pub unknown: usize,
    /// How long those took that others did; null if there are none.
    pub slowest: Option<Slowest>,
}

/// Something that is still to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Left {
    pub kind: Kind,
    /// What it is about: the ID of an instance, a token, a task, or the name of a service.
    pub subject: String,
    /// The ARN of its cluster, if the log names it.
    pub cluster: Option<String>,
    /// Since when it has been reported.
    pub first_seen: Timestamp,
    /// When it was reported for the last time.
    pub last_seen: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CompareReport {
    /// When Consul and ECS were read.
    pub read_at: Timestamp,
    /// Since when the log was read.
    pub since: Timestamp,
    /// How many sweeps have observed since then.
    pub sweeps: usize,
    pub kinds: Vec<KindReport>,
    /// What is still to do, oldest first.
    pub still_to_do: Vec<Left>,
    /// One sentence.
    pub conclusion: String,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}

impl CompareReport {
    /// Whether nothing was observed: then there is nothing to compare.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.sweeps == 0
    }
}

/// The ARNs of the clusters that a history is about.
pub fn clusters_of(history: &History) -> BTreeSet<String> {
    let named = history.lines.iter().filter_map(|line| line.cluster_arn.clone());
    named.chain(Sweeps::of(&history.lines).clusters().iter().cloned()).collect()
}

/// Compares the history since a time with what was read at `now`. `tokens` are those in Consul, if they could be read.
pub fn compare(
    history: &History,
    since: Timestamp,
    observed: &Observed,
    tokens: Option<&Tokens>,
    now: Timestamp,
) -> CompareReport {
    let sweeps = Sweeps::of(&history.lines);
    let state = EndState { observed, tokens, now };
    let mut kinds: BTreeMap<Kind, KindReport> = BTreeMap::new();
    let mut left = Vec::new();
    for planned in planned(&history.lines) {
        let is_left = state.is_left(&planned);
        let took = took(&planned, &sweeps, now);
        kinds.entry(planned.kind).or_insert_with(|| KindReport::new(planned.kind)).add(is_left, took);
        if is_left == Some(true) {
            left.push(still_to_do(planned));
        }
    }
    left.sort_by(|a, b| (a.first_seen, a.kind, &a.subject).cmp(&(b.first_seen, b.kind, &b.subject)));
    let problems = observed.problems.iter().chain(&history.problems).cloned().collect();
    let mut report = CompareReport {
        read_at: now,
        since,
        sweeps: sweeps.len(),
        kinds: kinds.into_values().collect(),
        still_to_do: left,
        conclusion: String::new(),
        problems,
    };
    report.conclusion = conclusion(&report);
    if !report.problems.is_empty() {
        report.conclusion.push_str("; not everything could be read");
    }
    report
}

/// How long it took until somebody else had done something that is not to be done any more.
fn took(planned: &Planned, sweeps: &Sweeps, now: Timestamp) -> Slowest {
    let gone = sweeps.next(planned.cluster.as_deref(), planned.last).unwrap_or(now);
    Slowest {
        at_least_seconds: elapsed(planned.first, planned.last).as_secs(),
        at_most_seconds: elapsed(planned.first, gone).as_secs(),
    }
}

fn still_to_do(planned: Planned) -> Left {
    let Planned { kind, subject, cluster, first, last } = planned;
    Left { kind, subject, cluster, first_seen: first, last_seen: last }
}

impl KindReport {
    fn new(kind: Kind) -> Self {
        Self { kind, planned: 0, done_by_others: 0, still_to_do: 0, unknown: 0, slowest: None }
    }

    fn add(&mut self, is_left: Option<bool>, took: Slowest) {
        self.planned += 1;
        match is_left {
            Some(true) => self.still_to_do += 1,
            None => self.unknown += 1,
            Some(false) => {
                self.done_by_others += 1;
                let slowest = self.slowest.get_or_insert_default();
                slowest.at_least_seconds = slowest.at_least_seconds.max(took.at_least_seconds);
                slowest.at_most_seconds = slowest.at_most_seconds.max(took.at_most_seconds);
            }
        }
    }
}

fn conclusion(report: &CompareReport) -> String {
    let since = report.since.strftime("%Y-%m-%d %H:%M");
    if report.is_empty() {
        return format!(
            "The log has nothing of Mode=observe since {since}: check that the stack has Mode=observe and LogLevel=info, and that \
             it has swept since"
        );
    }
    let sum = |number: fn(&KindReport) -> usize| report.kinds.iter().map(number).sum::<usize>();
    let (planned, left, unknown) = (sum(|kind| kind.planned), sum(|kind| kind.still_to_do), sum(|kind| kind.unknown));
    let things = if planned == 1 { "thing" } else { "things" };
    let begin = format!("Of {planned} {things} that this controller would have done since {since}");
    let not_compared = if unknown == 0 { String::new() } else { format!(", and {unknown} could not be compared") };
    match (planned, left) {
        (0, _) => format!("This controller would have done nothing since {since}, as {} sweeps say", report.sweeps),
        (_, 0) => format!("{begin}, none is still to do{not_compared}"),
        _ => format!(
            "{begin}, {left} {} still to do, which Mode=act would do{not_compared}",
            if left == 1 { "is" } else { "are" }
        ),
    }
}
