//! The stop. ECS stops containers in the reverse order of their dependencies: a container gets TERM after the
//! containers that waited for it have exited.

use super::{
    model::{Event, Lane, Part, push},
    start::Starts,
};
use crate::subject::{ConsulTask, Subject};
use audit_read::definition::Container;

/// Sets the stop of each lane, and returns the events of each step.
pub(super) fn stop_order(lanes: &mut [Lane], subject: &Subject<'_>, starts: &Starts) -> Vec<Vec<Event>> {
    let terms = terms(lanes, starts);
    let mut steps = stops(lanes, &terms, subject);
    steps.push(vec![Event { lane: None, what: "is STOPPED for ECS, if all containers have exited".to_owned() }]);
    steps.push(kills(lanes));
    steps
}

/// Whether it still runs when the task stops.
fn is_running(lane: &Lane) -> bool {
    lane.starts.step().is_some() && lane.ends.is_none()
}

/// The step in which each lane gets TERM, if it still runs. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html>
fn terms(lanes: &[Lane], starts: &Starts) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..lanes.len()).filter(|index| lanes.get(*index).is_some_and(is_running)).collect();
    // A container that waits starts later: its own step is final before those of its dependencies are computed.
    order.sort_by_key(|index| std::cmp::Reverse(lanes.get(*index).and_then(|lane| lane.starts.step())));
    let mut terms: Vec<Option<usize>> = lanes.iter().map(|lane| is_running(lane).then_some(0)).collect();
    for index in order {
        let own = terms.get(index).copied().flatten().unwrap_or_default();
        for on in starts.waits.get(index).into_iter().flatten().filter_map(|wait| wait.on) {
            if let Some(Some(term)) = terms.get_mut(on) {
                *term = (*term).max(own + 1);
            }
        }
    }
    terms
}

/// The events of each lane between TERM and its exit.
fn stops(lanes: &mut [Lane], terms: &[Option<usize>], subject: &Subject<'_>) -> Vec<Vec<Event>> {
    let containers = &subject.definition.containers.items;
    // The last step in which an app still runs.
    let last_app = lanes.iter().zip(terms).filter_map(|(lane, term)| term.filter(|_| lane.part == Part::App)).max();
    let mut steps = Vec::new();
    for (index, ((lane, container), term)) in lanes.iter_mut().zip(containers).zip(terms).enumerate() {
        let Some(term) = *term else { continue };
        let outlives = last_app.filter(|last| *last >= term);
        let Some(consul) = &subject.consul else {
            lane.stops = Some((term, term + 1));
            lane.stopping = "finishes its work";
            push(&mut steps, term, index, "gets TERM".to_owned());
            push(&mut steps, term + 1, index, "has exited".to_owned());
            continue;
        };
        let (gone, stopping, left) = in_consul(consul, container, term, outlives);
        lane.stops = Some((term, gone));
        lane.stopping = stopping;
        push(&mut steps, term, index, format!("gets TERM: {stopping}"));
        push(&mut steps, gone, index, left.to_owned());
    }
    steps
}

/// The step in which a container of Consul's mesh exits, what it does until then, and how it exits. `outlives` is the
/// last step in which an app runs, if that is after TERM:
/// <https://developer.hashicorp.com/consul/docs/ecs/architecture>
fn in_consul(
    consul: &ConsulTask<'_>,
    container: &Container,
    term: usize,
    outlives: Option<usize>,
) -> (usize, &'static str, &'static str) {
    let is = |other: Option<&Container>| other.is_some_and(|other| std::ptr::eq(other, container));
    if is(consul.client) {
        (term + 1, "leaves the cluster", "has left the cluster and exits")
    } else if is(consul.health_sync) {
        (term + 1, "stops syncing", "sets its checks critical and exits")
    } else if is(consul.proxy()) {
        match outlives {
            Some(last) => (last + 1, "ignores TERM, serves the app", "sees that the app is gone, and exits"),
            None => (term + 1, "ends its connections", "exits"),
        }
    } else if is(consul.control_plane) {
        (term + 1, "stops syncing", "deregisters the service and exits")
    } else {
        (term + 1, "finishes its requests", "has exited")
    }
}

fn kills(lanes: &[Lane]) -> Vec<Event> {
    let left = lanes.iter().enumerate().filter(|(_, lane)| lane.stops.is_some());
    let kill = |(index, lane): (usize, &Lane)| {
        let after = lane.stop_timeout.map_or_else(|| "its stopTimeout".to_owned(), |seconds| format!("{seconds} s"));
        Event { lane: Some(index), what: format!("gets KILL if it still runs {after} after TERM") }
    };
    left.map(kill).collect()
}
