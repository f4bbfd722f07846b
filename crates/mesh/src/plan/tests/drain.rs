//! Examples of draining stopping tasks.

use super::*;
use crate::examples::check;

/// The action that drains the instance of a task.
fn drained(cluster_name: &str, number: u8) -> Action {
    Action::MarkCritical(instance(cluster_name, number), DrainReason::Stopping)
}

#[test]
fn stopping_task_is_drained_and_nothing_is_deleted() {
    let observed = Observed {
        tasks: vec![task("prod", 1, TaskPhase::Stopping, "web")],
        tokens: vec![login_token("prod", 1)],
        instances: vec![instance("prod", 1), instance("prod", 2)],
        checks: vec![
            check(&instance("prod", 1), "app", CheckStatus::Passing),
            check(&instance("prod", 2), "app", CheckStatus::Passing),
        ],
        ..Observed::default()
    };
    assert_eq!(actions(&observed, TokenMode::AuthMethod), [drained("prod", 1)]);
}

#[test]
fn sidecar_proxy_and_instances_without_checks_are_drained() {
    let proxy = ServiceInstance { id: "web-proxy".to_owned(), name: "web-proxy".to_owned(), ..instance("prod", 1) };
    let on_its_agent_s_node = ServiceInstance { node: "ip-10-0-0-7".to_owned(), ..instance("prod", 1) };
    let observed = Observed {
        tasks: vec![task("prod", 1, TaskPhase::Stopping, "web")],
        instances: vec![instance("prod", 1), proxy.clone(), on_its_agent_s_node],
        ..Observed::default()
    };
    let both = [drained("prod", 1), Action::MarkCritical(proxy.clone(), DrainReason::Stopping)];
    assert_eq!(actions(&observed, TokenMode::AuthMethod), both, "services of a client agent are not drained");
}

#[test]
fn drained_instance_is_not_drained_again() {
    let drains = |checks: Vec<HealthCheck>| {
        let observed = Observed {
            tasks: vec![task("prod", 1, TaskPhase::Stopping, "web")],
            instances: vec![instance("prod", 1)],
            checks,
            ..Observed::default()
        };
        actions(&observed, TokenMode::AuthMethod)
    };
    let maintenance = HealthCheck::maintenance(&instance("prod", 1), DrainReason::Stopping);
    assert_eq!(drains(vec![check(&instance("prod", 1), "app", CheckStatus::Passing), maintenance.clone()]), []);
    // A container's critical check passes again when the container is healthy
    let unhealthy = check(&instance("prod", 1), "app", CheckStatus::Critical);
    let passing = HealthCheck { status: CheckStatus::Passing, ..maintenance.clone() };
    let of_another = HealthCheck { service_id: "web".to_owned(), ..maintenance };
    for check in [unhealthy, passing, of_another] {
        assert_eq!(drains(vec![check]), [drained("prod", 1)]);
    }
}

#[test]
fn task_without_a_proxy_is_drained_and_keeps_its_tokens() {
    let observed = Observed {
        tasks: vec![MeshTask {
            losses: Losses { proxy: true, health_sync: false },
            ..task("prod", 1, TaskPhase::Active, "web")
        }],
        tokens: vec![login_token("prod", 1)],
        instances: vec![instance("prod", 1), instance("prod", 2)],
        ..Observed::default()
    };
    let drain = Action::MarkCritical(instance("prod", 1), DrainReason::ProxyStopped);
    assert_eq!(actions(&observed, TokenMode::AuthMethod), [drain]);
}
