//! The stop. In Consul's mesh, all containers get TERM and the proxy outlives the app; elsewhere ECS stops containers in the
//! reverse order of their dependencies.

use super::{Event, Lane, Part, push, start::Starts};
use crate::audit::{
    definition::Container,
    subject::{ConsulTask, Subject},
};

/// Gives `lanes` their stop, and answers what happens in each step.
pub(super) fn stop_order(lanes: &mut [Lane], subject: &Subject<'_>, starts: &Starts) -> Vec<Vec<Event>> {
    let mut steps = match &subject.consul {
        Some(consul) => consul_order(lanes, consul, subject),
        None => reverse_order(lanes, starts),
    };
    steps.push(vec![Event { lane: None, what: "is STOPPED for ECS, if all containers have exited".to_owned() }]);
    steps.push(kills(lanes));
    steps
}

/// Whether it is still there when the task stops.
fn is_running(lane: &Lane) -> bool {
    lane.starts.step().is_some() && lane.ends.is_none()
}

/// What Consul's containers do: <https://developer.hashicorp.com/consul/docs/ecs/architecture>
fn consul_order(lanes: &mut [Lane], consul: &ConsulTask<'_>, subject: &Subject<'_>) -> Vec<Vec<Event>> {
    let containers = &subject.definition.containers.items;
    let has_apps = lanes.iter().any(|lane| lane.part == Part::App && is_running(lane));
    let has_client = consul.client.is_some();
    let mut steps = vec![Vec::new(), Vec::new()];
    if has_client {
        steps.push(Vec::new());
    }
    for (index, (lane, container)) in lanes.iter_mut().zip(containers).enumerate() {
        if !is_running(lane) {
            continue;
        }
        let is = |other: Option<&Container>| other.is_some_and(|other| std::ptr::eq(other, container));
        let (gone, stopping, left) = if is(consul.client) {
            (2, "leaves the cluster", "has left the cluster and exits")
        } else if is(consul.health_sync) {
            (1, "stops syncing", "sets its checks critical and exits")
        } else if is(consul.proxy()) && has_apps {
            (1, "ignores TERM, serves the app", "sees that the app is gone, and exits")
        } else if is(consul.proxy()) {
            (1, "ends its connections", "exits")
        } else if is(consul.control_plane) {
            (1, "stops syncing", "deregisters the service and exits")
        } else {
            (1, "finishes its requests", "has exited")
        };
        lane.stops = Some((0, gone));
        lane.stopping = stopping;
        push(&mut steps, 0, index, format!("gets TERM: {stopping}"));
        push(&mut steps, gone, index, left.to_owned());
    }
    steps
}

/// Who is waited for at the start outlives those who wait. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html>
fn reverse_order(lanes: &mut [Lane], starts: &Starts) -> Vec<Vec<Event>> {
    let mut order: Vec<usize> = (0..lanes.len()).filter(|index| lanes.get(*index).is_some_and(is_running)).collect();
    // Who waits starts later: so its own time is settled before that of what it waits for.
    order.sort_by_key(|index| std::cmp::Reverse(lanes.get(*index).and_then(|lane| lane.starts.step())));
    let mut terms = vec![0; lanes.len()];
    for index in &order {
        let own = terms.get(*index).copied().unwrap_or_default();
        for on in starts.waits.get(*index).into_iter().flatten().filter_map(|wait| wait.on) {
            if let Some(term) = terms.get_mut(on) {
                *term = (*term).max(own + 1);
            }
        }
    }
    let mut steps = Vec::new();
    order.sort_unstable();
    for index in order {
        let term = terms.get(index).copied().unwrap_or_default();
        let Some(lane) = lanes.get_mut(index) else { continue };
        lane.stops = Some((term, term + 1));
        lane.stopping = "finishes its work";
        push(&mut steps, term, index, "gets TERM".to_owned());
        push(&mut steps, term + 1, index, "has exited".to_owned());
    }
    steps
}

fn kills(lanes: &[Lane]) -> Vec<Event> {
    let left = lanes.iter().enumerate().filter(|(_, lane)| lane.stops.is_some());
    let kill = |(index, lane): (usize, &Lane)| {
        let after = lane.stop_timeout.map_or_else(|| "its stopTimeout".to_owned(), |seconds| format!("{seconds} s"));
        Event { lane: Some(index), what: format!("gets KILL if it still runs {after} after TERM") }
    };
    left.map(kill).collect()
}
