//! The timeline of a task.

use super::*;
use crate::examples::INIT;

#[test]
fn timeline_tells_who_did_what_in_order() {
    let report = asked(|cluster, background| {
        let containers = vec![exited(INIT, Some(0), None), exited("app", Some(3), None)];
        stop(cluster, "EssentialContainerExited", "Essential container in task exited", containers);
        background.tokens = Some(tokens(vec![login_token(1)]));
        background.audit = vec![AuditError { rule: "consul-x".to_owned(), message: "wrong".to_owned() }];
        let mut end = end_line("EssentialContainerExited", "app exited with 3");
        end.at = minutes_ago(1);
        let failed =
            json!({ "outcome": "failed", "error": "ecs", "reason": "throttled", "task_id": id(1).to_string() });
        background.history.lines = vec![line(3, failed.clone()), line(2, failed), end];
        for number in [1, 2] {
            let (of_it, task) = (format!("web-{number}"), id(number).to_string());
            let deleted = json!({ "action": "deregister", "outcome": "done", "service_id": of_it, "task_id": task });
            background.log(1, deleted);
        }
    });
    let said: Vec<(Who, &str, usize)> =
        report.timeline.iter().map(|event| (event.who, event.what.as_str(), event.times)).collect();
    assert_eq!(
        said,
        [
            (Who::Audit, "error consul-x in web: wrong", 1),
            (Who::Ecs, "created it for the service web: web:3, consul-ecs 0.9.0, consul-dataplane 1.6.2", 1),
            (Who::Ecs, "started all of its containers", 1),
            (Who::Consul, "the task logged in: token 00000000-0000-0000-0000-000000000001", 1),
            (Who::Controller, "failed: an unnamed action (ecs): throttled", 2),
            (
                Who::Ecs,
                "stopped it (EssentialContainerExited: Essential container in task exited; app exited with 3)",
                1
            ),
            (Who::Controller, "received its stop event", 1),
            (Who::Controller, "deregistered web-1", 1),
            (Who::Consul, "now has no instance of the task", 1),
        ]
    );
}

#[test]
fn what_was_only_observed_says_so() {
    let report = asked(|_, background| {
        let (mut repair, mut call) = (of_task("repair", "observed"), of_task("observe", "observed"));
        (repair["reason"], call["call"]) = (json!("Consul has lost it"), json!("PUT /v1/txn"));
        background.history.lines = vec![line(3, repair.clone()), line(2, call), line(2, repair)];
    });
    let by_controller: Vec<&PastEvent> = report.timeline.iter().filter(|event| event.who == Who::Controller).collect();
    let [event] = by_controller.as_slice() else { panic!("{by_controller:?}") };
    let what = "not done (Mode=observe): registered it again, because Consul has lost it";
    assert_eq!((event.what.as_str(), event.times, event.last_at), (what, 2, minutes_ago(2)));
}

#[test]
fn what_consul_refused_says_so_and_hides_no_failure() {
    let report = asked(|_, background| {
        let mut refused = of_task("force_leave", "refused");
        refused["reason"] = json!("add operator = \"write\" to its policy");
        let failed =
            json!({ "outcome": "failed", "error": "ecs", "reason": "throttled", "task_id": id(1).to_string() });
        background.history.lines = vec![line(3, failed), line(2, refused)];
    });
    let said: Vec<&str> =
        report.timeline.iter().filter(|it| it.who == Who::Controller).map(|it| it.what.as_str()).collect();
    let refused = "not permitted: force_leave: add operator = \"write\" to its policy";
    assert_eq!(said, ["failed: an unnamed action (ecs): throttled", refused]);
}

#[test]
fn timestamps_of_the_report_are_those_of_the_question() {
    let report = asked(|_, _| {});
    assert_eq!(report.read_at, now());
    assert_eq!(report.since, now() - SignedDuration::from_hours(24));
    let subject = WhySubject {
        task: Some(id(1).to_string()),
        service: Some("web".to_owned()),
        cluster: Some(cluster().to_string()),
    };
    assert_eq!(report.subject, subject);
}
