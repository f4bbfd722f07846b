//! The certificates with which the proxies trust each other.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use mesh::{arn::TaskId, time::elapsed};
use observe::{CaRoot, UnreadableCertificate, Validity};

use super::{
    evidence::{PathEvidence, ServiceTask, not_read},
    proxy_output,
    report::{PathLine, Place},
};

const PLACE: Place = Place::Trust;
/// How long before its end a root is worth a line: Consul replaces a root that it made itself by hand only.
const SOON: Duration = Duration::from_hours(24 * 30);
/// The part of its time that an intermediate certificate has left when Consul should long have renewed it: a third.
const OVERDUE: u32 = 3;
/// It takes a token with `operator:write`.
const SHOW_AUTHORITY: &str = "consul connect ca get-config";
/// How long before its end a login token is worth a line: the longest time for which an auth method may give one.
const TOKEN_SOON: Duration = Duration::from_hours(24);

pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let of_consul = match &evidence.mesh.roots {
        Ok(roots) => of_roots(roots, evidence.now),
        Err(error) => vec![not_read(PLACE, error, "")],
    };
    let tokens = gone_token(evidence).into_iter().chain(login_token(evidence));
    of_consul.into_iter().chain(tokens).chain(proxy_output::held(evidence)).collect()
}

/// The first task of either end whose token Consul lacks.
fn gone_token(evidence: &PathEvidence<'_>) -> Option<PathLine> {
    evidence.tokens?;
    let is_asked = |task: &ServiceTask<'_>| evidence.from_task.is_none_or(|id| task.member.task.arn.id() == id);
    let source = evidence.tasks_of(&evidence.source.service).into_iter().filter(is_asked);
    let targets = evidence.targets();
    let called = targets.iter().flat_map(|leg| evidence.tasks_of(&evidence.service_of(leg.target)));
    source.chain(called).find_map(|task| {
        let id = task.member.task.arn.id();
        let what = format!("task {id}: {}", task.lost_token?);
        Some(PathLine::possible(PLACE, what).with_command(format!("ecs-mesh why {id}")))
    })
}

/// The login token of a task of either end that ends first.
fn login_token(evidence: &PathEvidence<'_>) -> Option<PathLine> {
    let tokens = evidence.tokens?;
    let targets = evidence.targets();
    let called =
        targets.iter().flat_map(|leg| evidence.members_of(&evidence.service_of(leg.target)).collect::<Vec<_>>());
    let tasks: BTreeSet<&TaskId> = evidence.source_members().chain(called).map(|member| member.task.arn.id()).collect();
    let ends = tokens.listed.iter().filter_map(|token| {
        let task = &token.login()?.task;
        tasks.contains(task).then_some((token.expires_at?, task))
    });
    let (end, task) = ends.min()?;
    let what = format!("the login token of task {task} expires at {end}");
    let command = format!("ecs-mesh why {task}");
    (elapsed(evidence.now, end) < TOKEN_SOON).then(|| PathLine::possible(PLACE, what).with_command(command))
}

/// The active root, and what signs certificates of proxies under it.
fn of_roots(roots: &[CaRoot], now: Timestamp) -> Vec<PathLine> {
    let Some(root) = roots.iter().find(|root| root.is_active) else {
        let what = "Consul has no active root certificate, so no proxy gets a certificate";
        let line = PathLine::fault(PLACE, what).changed_by("Set up Consul's certificate authority");
        return vec![line.with_command(SHOW_AUTHORITY)];
    };
    let of_root = Certificate {
        named: format!("the root {}", root.name),
        validity: Validity { not_before: root.not_before, not_after: root.not_after },
        soon: SOON,
        change: "Rotate Consul's root certificate",
    };
    let of_intermediate = root.intermediate.as_ref().map(|read| of_intermediate(read, &root.name, now));
    [of_root.judge(now)].into_iter().chain(of_intermediate).collect()
}

/// How long before its end an intermediate certificate should have been renewed: Consul does it as soon as half of its time has passed.
///
/// Source: `runRenewIntermediate` in the package `consul` of Consul 1.22.
pub(crate) fn renewal_margin(validity: &Validity) -> Duration {
    SOON.min(elapsed(validity.not_before, validity.not_after) / OVERDUE)
}

fn of_intermediate(read: &Result<Validity, UnreadableCertificate>, root: &str, now: Timestamp) -> PathLine {
    let named = format!("the intermediate certificate under the root {root}");
    let validity = match read {
        Ok(validity) => *validity,
        Err(error) => return PathLine::unread(PLACE, format!("{named} could not be read: {error}")),
    };
    let change = "Look in the log of Consul's leading server for why it does not renew it";
    Certificate { named, validity, soon: renewal_margin(&validity), change }.judge(now)
}

/// A certificate of Consul's authority.
struct Certificate {
    named: String,
    validity: Validity,
    /// How long before its end it is worth a line.
    soon: Duration,
    change: &'static str,
}

impl Certificate {
    fn judge(&self, now: Timestamp) -> PathLine {
        let (named, Validity { not_before, not_after: end }) = (&self.named, self.validity);
        let line = if end <= now || not_before > now {
            PathLine::fault(PLACE, format!("{named} is valid from {not_before} to {end} only"))
        } else if elapsed(now, end) < self.soon {
            PathLine::possible(PLACE, format!("{named} expires at {end}"))
        } else {
            return PathLine::ok(PLACE, format!("{named} is valid until {end}"));
        };
        line.changed_by(self.change).with_command(SHOW_AUTHORITY)
    }
}
