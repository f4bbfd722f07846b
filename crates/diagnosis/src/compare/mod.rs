//! What a controller in mode `observe` would have done, compared with what is so now: what another controller did
//! meanwhile, how long that took, and what is still to do.
//!
//! ```text
//!  History ────────────▶ Planned, Sweeps ─┐
//!  Inspection, tokens ─▶ EndState ────────┴▶ CompareReport
//! ```

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use audit::report::counted;
use jiff::Timestamp;
use mesh::{
    catalog::instance_in_maintenance, mark::HolderMark, member::MemberTask, names::ServiceName, task::TaskPhase,
    time::elapsed,
};
use observe::{CatalogReading, History, InspectedCluster, Inspection};
use report::{LogAction, LogLine, LogOutcome, SweepReport, SweptStatus, service_of_holder};
use serde::Serialize;

use crate::{
    status::{OnNode, TaskVerdict, verdict},
    tokens::Tokens,
    unread::problems,
};

/// A kind of change that the controller makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WorkKind {
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

impl WorkKind {
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

/// How long another controller took, in seconds, for the slowest change of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Slowest {
    /// The lower bound: sweeps reported it until then.
    pub at_least_seconds: u64,
    /// The upper bound: the next sweep no longer reported it.
    pub at_most_seconds: u64,
}

/// The planned changes of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct KindReport {
    pub kind: WorkKind,
    pub planned: usize,
    /// Changes that another controller has made since, or that are no longer needed.
    pub done_by_others: usize,
    pub still_to_do: usize,
    /// How many could not be compared.
    pub unknown: usize,
    /// How long the slowest change by others took; null if others made none.
    pub slowest: Option<Slowest>,
}

/// A change that remains to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StillToDo {
    pub kind: WorkKind,
    /// What it is about: the ID of an instance, a token, a task, or the name of a service.
    pub subject: String,
    /// The ARN of its cluster, if the log names it.
    pub cluster: Option<String>,
    /// Since when it has been reported.
    pub first_seen: Timestamp,
    /// When it was last reported.
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
    /// The changes that remain to do, oldest first.
    pub still_to_do: Vec<StillToDo>,
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
    named.chain(Sweeps::of(&history.lines).clusters).collect()
}

/// Compares the history since a time with what was read at `now`. `tokens` are those in Consul, if they could be read.
pub fn compare(
    history: &History,
    since: Timestamp,
    observed: &Inspection,
    tokens: Option<&Tokens>,
    now: Timestamp,
) -> CompareReport {
    let sweeps = Sweeps::of(&history.lines);
    let state = EndState { observed, tokens, now };
    let mut kinds: BTreeMap<WorkKind, KindReport> = BTreeMap::new();
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
    let problems = problems(observed).into_iter().chain(history.problems.iter().cloned()).collect();
    let mut report = CompareReport {
        read_at: now,
        since,
        sweeps: sweeps.all.len(),
        kinds: kinds.into_values().collect(),
        still_to_do: left,
        conclusion: String::new(),
        problems,
    };
    report.conclusion = conclusion(&report);
    if !report.problems.is_empty() {
        report.conclusion.push_str(". Not everything could be read");
    }
    report
}

/// How long it took until another controller made a change that no longer remains.
fn took(planned: &Planned, sweeps: &Sweeps, now: Timestamp) -> Slowest {
    let gone = sweeps.next(planned.cluster.as_deref(), planned.last).unwrap_or(now);
    Slowest {
        at_least_seconds: elapsed(planned.first, planned.last).as_secs(),
        at_most_seconds: elapsed(planned.first, gone).as_secs(),
    }
}

fn still_to_do(planned: Planned) -> StillToDo {
    let Planned { kind, subject, cluster, first, last } = planned;
    StillToDo { kind, subject, cluster, first_seen: first, last_seen: last }
}

impl KindReport {
    fn new(kind: WorkKind) -> Self {
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
            "The log has no lines of Mode=observe since {since}. Check that the stack has Mode=observe and \
             LogLevel=info, and that a sweep has run since"
        );
    }
    let sum = |number: fn(&KindReport) -> usize| report.kinds.iter().map(number).sum::<usize>();
    let (planned, left, unknown) = (sum(|kind| kind.planned), sum(|kind| kind.still_to_do), sum(|kind| kind.unknown));
    let begin = format!("This controller would have made {} since {since}", counted(planned, "change"));
    let not_compared = if unknown == 0 { String::new() } else { format!(" ({unknown} could not be compared)") };
    match (planned, left) {
        (0, _) => format!("This controller would have made no changes since {since} (sweeps: {})", report.sweeps),
        (_, 0) => format!("{begin}; 0 remain{not_compared}"),
        (_, 1) => format!("{begin}; 1 remains, which Mode=act would make{not_compared}"),
        _ => format!("{begin}; {left} remain, which Mode=act would make{not_compared}"),
    }
}

/// Something that the controller would have done.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Planned {
    kind: WorkKind,
    /// An instance, a token or a task, or the holder of a token.
    subject: String,
    cluster: Option<String>,
    first: Timestamp,
    last: Timestamp,
}

/// All of it, each thing once.
fn planned(lines: &[LogLine]) -> Vec<Planned> {
    let mut found: BTreeMap<(WorkKind, String), Planned> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.has(&LogOutcome::Observed)) {
        let Some((kind, subject)) = kind_and_subject(line) else { continue };
        let planned = found.entry((kind, subject.clone())).or_insert_with(|| Planned {
            kind,
            subject,
            cluster: line.cluster_arn.clone(),
            first: line.at,
            last: line.at,
        });
        planned.last = planned.last.max(line.at);
    }
    found.into_values().collect()
}

fn kind_and_subject(line: &LogLine) -> Option<(WorkKind, String)> {
    let (kind, subject) = match line.action.as_ref()? {
        LogAction::Deregister => (WorkKind::InstancesDeregistered, &line.service_id),
        LogAction::DeleteLoginToken => (WorkKind::LoginTokensDeleted, &line.accessor_id),
        LogAction::CreateToken => (WorkKind::TokensCreated, &line.holder),
        LogAction::HideToken => (WorkKind::TokensDeleted, &line.accessor_id),
        LogAction::Repair => (WorkKind::TasksRepaired, &line.task_id),
        LogAction::CorrectHealth => (WorkKind::TasksCorrected, &line.task_id),
        LogAction::MarkCritical => (WorkKind::InstancesDrained, &line.check_id),
        _ => return None,
    };
    Some((kind, subject.clone()?))
}

/// A sweep: what it does not report was not to be done then.
struct Sweep {
    at: Timestamp,
    clusters: BTreeSet<String>,
}

/// Sweeps, oldest first.
struct Sweeps {
    all: Vec<Sweep>,
    /// All clusters that any of them has swept.
    clusters: BTreeSet<String>,
}

impl Sweeps {
    /// The sweeps that read everything, of lines that are sorted by time.
    fn of(lines: &[LogLine]) -> Self {
        let complete = lines.iter().filter(|line| line.is(&LogAction::Sweep) && line.has(&LogOutcome::Observed));
        let all: Vec<Sweep> = complete.filter_map(sweep).collect();
        let clusters = all.iter().flat_map(|sweep| sweep.clusters.iter().cloned()).collect();
        Self { all, clusters }
    }

    /// The first sweep of a cluster after a time. Without a cluster, one of all clusters.
    fn next(&self, cluster: Option<&str>, after: Timestamp) -> Option<Timestamp> {
        let covers = |sweep: &&Sweep| match cluster {
            Some(cluster) => sweep.clusters.contains(cluster),
            None => sweep.clusters.is_superset(&self.clusters),
        };
        self.all.iter().filter(covers).map(|sweep| sweep.at).find(|at| *at > after)
    }
}

fn sweep(line: &LogLine) -> Option<Sweep> {
    let report: SweepReport = serde_json::from_str(line.summary.as_deref()?).ok()?;
    let read = report.clusters.into_iter().filter(|cluster| cluster.status != SweptStatus::Unread);
    Some(Sweep { at: line.at, clusters: read.map(|cluster| cluster.cluster_arn).collect() })
}

/// What ECS runs and what Consul has.
struct EndState<'a> {
    observed: &'a Inspection,
    /// `None` if they could not be read.
    tokens: Option<&'a Tokens>,
    now: Timestamp,
}

impl EndState<'_> {
    /// Whether something that was planned is still to do; `None` if that is not known.
    fn is_left(&self, planned: &Planned) -> Option<bool> {
        let subject = planned.subject.as_str();
        match planned.kind {
            WorkKind::InstancesDeregistered => {
                let catalog = self.catalog(planned)?;
                Some(catalog.instances.iter().any(|instance| instance.id == subject))
            }
            WorkKind::LoginTokensDeleted | WorkKind::TokensDeleted => {
                Some(self.tokens?.listed.iter().any(|token| token.accessor.to_string() == subject))
            }
            WorkKind::TokensCreated => {
                let has_it = |mark: &HolderMark| is_holder(mark, subject);
                Some(!self.tokens?.listed.iter().any(|token| token.mark().is_some_and(has_it)))
            }
            WorkKind::InstancesDrained => {
                let (catalog, instance) = (self.catalog(planned)?, instance_in_maintenance(subject)?);
                let is_registered = catalog.instances.iter().any(|it| it.id == instance);
                Some(is_registered && catalog.checks.iter().all(|check| check.id != subject))
            }
            WorkKind::TasksRepaired => {
                let on_node = OnNode::new(self.catalog(planned)?);
                self.is_active_and(planned, |member| !on_node.is_registered(member))
            }
            WorkKind::TasksCorrected => {
                let (cluster, on_node) = (self.cluster(planned)?, OnNode::new(self.catalog(planned)?));
                let tokens = self.tokens.map(|tokens| tokens.of_cluster(cluster));
                let is_wrong = |member: &MemberTask| {
                    let verdict = verdict(member, cluster, Some(&on_node), tokens.as_ref(), self.now);
                    matches!(verdict, TaskVerdict::NotPassing(_) | TaskVerdict::Broken(_))
                };
                self.is_active_and(planned, is_wrong)
            }
        }
    }

    fn cluster(&self, planned: &Planned) -> Option<&InspectedCluster> {
        let arn = planned.cluster.as_deref()?;
        self.observed.clusters.iter().find(|cluster| cluster.arn.as_str() == arn)
    }

    fn catalog(&self, planned: &Planned) -> Option<&CatalogReading> {
        self.cluster(planned)?.catalog.as_ref()
    }

    /// Whether the task is meant to run, and something is so of it; `None` if its cluster or its definition could not be
    /// read.
    fn is_active_and(&self, planned: &Planned, is_so: impl Fn(&MemberTask) -> bool) -> Option<bool> {
        let is_it = |member: &&MemberTask| member.task.arn.id().as_str() == planned.subject;
        let cluster = self.cluster(planned)?;
        if cluster.unsorted.iter().any(|task| task.as_str() == planned.subject) {
            return None;
        }
        let task = cluster.tasks.iter().find(is_it);
        Some(task.is_some_and(|member| member.task.phase == TaskPhase::Active && is_so(member)))
    }
}

/// Whether a token is of the holder that the log names: `service web`, `service web in the secret Web` or `consul-client`.
fn is_holder(mark: &HolderMark, holder: &str) -> bool {
    mark.service.as_ref().map(ServiceName::as_str) == service_of_holder(holder)
}
