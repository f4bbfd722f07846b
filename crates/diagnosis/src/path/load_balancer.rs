//! Whether load balancers call the tasks of the destination healthy. Requests of the mesh do not pass a load balancer, but ECS
//! replaces a task whose target is unhealthy, and a gateway of the mesh may be reached by one.

use std::collections::BTreeSet;

use observe::{
    Balanced, DestinationReading, Inspection, MemberService, Origin, ServiceAt, Target, TargetsError, TargetsReading,
};

use super::{
    chain::Leg,
    evidence::{PathEvidence, ServiceTask},
    report::{PathLine, Place},
};
use crate::{doctor::word, redaction, status::TaskVerdict};

const PLACE: Place = Place::DestinationTasks;
const TARGETS_READ: &str = "elasticloadbalancing:DescribeTargetHealth";
/// The states of a target that ECS does not replace a task for: it is not judged yet, or not at all, or leaves.
const UNDECIDED: [&str; 4] = ["initial", "unavailable", "draining", "unhealthy.draining"];

/// The target groups of the ECS services that requests go to.
pub fn target_groups(observed: &Inspection, destination: &DestinationReading, origin: Origin<'_>) -> BTreeSet<String> {
    let Ok(chain) = &destination.chain else { return BTreeSet::new() };
    let services = chain.targets.values().map(|target| origin.service_of(&destination.service, Some(chain), target));
    let of_service = |service: ServiceAt| {
        let balanced = balanced(observed, &service).flat_map(|it| &it.state.balanced).collect::<Vec<_>>();
        balanced.into_iter().flat_map(|entry| entry.groups.clone())
    };
    services.flat_map(of_service).collect()
}

/// The ECS services of a service whose tasks are in target groups.
fn balanced<'a>(observed: &'a Inspection, service: &ServiceAt) -> impl Iterator<Item = &'a MemberService> {
    let is_here = service.datacenter.is_none() && service.peer.is_none();
    let services = observed.clusters.iter().filter(move |_| is_here).flat_map(|cluster| &cluster.services);
    let is_it = move |it: &&MemberService| {
        let own = &it.identity.service;
        own.name.as_str() == service.name && own.tenancy.is_same_place(&service.tenancy)
    };
    services.filter(is_it).filter(|it| !it.state.balanced.is_empty())
}

/// The tasks of a target that ECS calls healthy, and their load balancer does not: a line for each target group.
pub(super) fn of_leg(evidence: &PathEvidence<'_>, leg: &Leg<'_>) -> Vec<PathLine> {
    let service = evidence.service_of(leg.target);
    let mut services = balanced(evidence.observed, &service).peekable();
    if services.peek().is_none() {
        return Vec::new();
    }
    let tasks = evidence.tasks_of(&service);
    services
        .flat_map(|ecs| ecs.state.balanced.iter().map(move |entry| (ecs, entry)))
        .filter_map(|(ecs, entry)| of_entry(evidence.targets, ecs, entry, &tasks))
        .collect()
}

fn of_entry(
    read: &TargetsReading,
    ecs: &MemberService,
    entry: &Balanced,
    tasks: &[ServiceTask<'_>],
) -> Option<PathLine> {
    let group = entry.groups.first()?;
    let mut targets: Vec<&Target> = Vec::new();
    for answer in entry.groups.iter().filter_map(|group| read.0.get(group)) {
        match answer {
            Ok(found) => targets.extend(found),
            Err(error) => return Some(not_read(error)),
        }
    }
    let is_of_service = |task: &&ServiceTask<'_>| {
        task.verdict == TaskVerdict::Healthy && task.member.task.placement.service.as_ref() == Some(&ecs.state.name)
    };
    let healthy: Vec<&ServiceTask<'_>> = tasks.iter().filter(is_of_service).collect();
    let lacking: Vec<String> = healthy.iter().filter_map(|task| lacking(task, &targets)).collect();
    let what = format!(
        "{} of {} healthy tasks of ECS service {} have no healthy target in {}: {}. Requests of the mesh do not pass the load \
         balancer, but ECS replaces a task with an unhealthy target",
        lacking.len(),
        healthy.len(),
        ecs.state.name,
        short(group),
        lacking.first()?
    );
    let change = format!("Let the load balancer reach port {} of container {}", entry.port, entry.container);
    let command = format!("aws elbv2 describe-target-health --target-group-arn {}", word(group));
    Some(PathLine::possible(PLACE, what).changed_by(change).with_command(command))
}

fn not_read(error: &TargetsError) -> PathLine {
    let is_refused = matches!(error, TargetsError::Refused(_));
    PathLine::unread(PLACE, error.to_string()).lacking(is_refused.then(|| TARGETS_READ.to_owned()))
}

/// What a load balancer says of a task that has no healthy target, as a part of a sentence. A task without an address is not known.
fn lacking(task: &ServiceTask<'_>, targets: &[&Target]) -> Option<String> {
    let (id, address) = (task.member.task.arn.id(), task.member.task.placement.address?.to_string());
    let own: Vec<&&Target> = targets.iter().filter(|target| target.id == address).collect();
    let is_fine = |target: &&&Target| target.state == "healthy" || UNDECIDED.contains(&target.state.as_str());
    if own.iter().any(is_fine) {
        return None;
    }
    Some(match own.first() {
        Some(Target { port, state, reason, .. }) => {
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            let state = if state.is_empty() { "in an unknown state" } else { state.as_str() };
            let reason = if reason.is_empty() { String::new() } else { format!(" ({})", redaction::line(reason)) };
            format!("task {id} at {address}{port} is {state}{reason}")
        }
        None => format!("task {id} at {address} is not registered there"),
    })
}

/// The name in the ARN of a target group: `arn:…:targetgroup/NAME/ID`.
fn short(group: &str) -> &str {
    group.split('/').nth(1).unwrap_or(group)
}
