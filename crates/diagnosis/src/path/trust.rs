//! The certificates with which the proxies trust each other.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;
use mesh::{arn::TaskId, time::elapsed};
use observe::CaRoot;

use super::{
    evidence::{PathEvidence, not_read},
    proxy_output,
    report::{PathLine, Place},
};

const PLACE: Place = Place::Trust;
/// How long before its end a root is worth a line: Consul replaces a root that it made itself by hand only.
const SOON: Duration = Duration::from_hours(24 * 30);
/// How long before its end a login token is worth a line: the longest time for which an auth method may give one.
const TOKEN_SOON: Duration = Duration::from_hours(24);

pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let root = match &evidence.mesh.roots {
        Ok(roots) => of_roots(roots, evidence.now),
        Err(error) => not_read(PLACE, error, ""),
    };
    [root].into_iter().chain(login_token(evidence)).chain(proxy_output::held(evidence)).collect()
}

/// The login token of a task of either end that ends first. One that is gone is said at the place of its tasks.
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

fn of_roots(roots: &[CaRoot], now: Timestamp) -> PathLine {
    let rotate = "consul connect ca get-config";
    let Some(root) = roots.iter().find(|root| root.is_active) else {
        return PathLine::fault(PLACE, "Consul has no active root certificate, so no proxy gets a certificate")
            .changed_by("Set up Consul's certificate authority")
            .with_command(rotate);
    };
    let (name, end) = (&root.name, root.not_after);
    if end <= now || root.not_before > now {
        let what = format!("the root {name} is valid from {} to {end} only", root.not_before);
        return PathLine::fault(PLACE, what).changed_by("Rotate Consul's root certificate").with_command(rotate);
    }
    if elapsed(now, end) < SOON {
        return PathLine::possible(PLACE, format!("the root {name} expires at {end}")).with_command(rotate);
    }
    PathLine::ok(PLACE, format!("the root {name} is valid until {end}"))
}
