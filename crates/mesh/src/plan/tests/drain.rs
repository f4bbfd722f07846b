//! Examples of how a task that was told to stop is drained.

use super::*;

/// The drain of a task's instance.
fn drained(cluster_name: &str, number: u8) -> Action {
    Action::MarkCritical(HealthCheck::maintenance(&instance(cluster_name, number)))
}

#[test]
fn a_task_told_to_stop_is_drained_and_loses_nothing() {
    let observed = Observed {
        tasks: vec![task("prod", 1, TaskPhase::Stopping, "web")],
        tokens: vec![login_token("prod", 1)],
        instances: vec![instance("prod", 1), instance("prod", 2)],
        checks: vec![check("prod", 1, CheckStatus::Passing), check("prod", 2, CheckStatus::Passing)],
        ..Observed::default()
    };
    assert_eq!(actions(&observed, TokenMode::AuthMethod), [drained("prod", 1)]);
}

#[test]
fn the_sidecar_proxy_is_drained_with_its_service_and_what_has_no_check_too() {
    let proxy = ServiceInstance { id: "web-proxy".to_owned(), name: "web-proxy".to_owned(), ..instance("prod", 1) };
    let on_its_agent_s_node = ServiceInstance { node: "ip-10-0-0-7".to_owned(), ..instance("prod", 1) };
    let observed = Observed {
        tasks: vec![task("prod", 1, TaskPhase::Stopping, "web")],
        instances: vec![instance("prod", 1), proxy.clone(), on_its_agent_s_node],
        ..Observed::default()
    };
    let both = [drained("prod", 1), Action::MarkCritical(HealthCheck::maintenance(&proxy))];
    assert_eq!(actions(&observed, TokenMode::AuthMethod), both, "a client agent drains its node itself");
}

#[test]
fn an_instance_that_is_drained_already_is_not_drained_again() {
    let drains = |checks: Vec<HealthCheck>| {
        let observed = Observed {
            tasks: vec![task("prod", 1, TaskPhase::Stopping, "web")],
            instances: vec![instance("prod", 1)],
            checks,
            ..Observed::default()
        };
        actions(&observed, TokenMode::AuthMethod)
    };
    let maintenance = HealthCheck::maintenance(&instance("prod", 1));
    assert_eq!(drains(vec![check("prod", 1, CheckStatus::Passing), maintenance.clone()]), []);
    // A check that is critical because its app ails would pass again once the app is well
    let ailing = check("prod", 1, CheckStatus::Critical);
    let disarmed = HealthCheck { status: CheckStatus::Passing, ..maintenance.clone() };
    let another_s = HealthCheck { service_id: "web".to_owned(), ..maintenance };
    for check in [ailing, disarmed, another_s] {
        assert_eq!(drains(vec![check]), [drained("prod", 1)]);
    }
}
