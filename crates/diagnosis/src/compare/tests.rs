//! Examples: what was observed, and what is so now.

use jiff::SignedDuration;
use mesh::{
    consul_ecs::instance_id,
    settings::Mode,
    tenancy::Tenancy,
    token::{AccessorId, Grants, ListedToken},
};
use observe::InspectedCluster;
use report::{ClusterReport, LogLine, SweepOutcome, SweepReport};
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::examples::{cluster, healthy, id, minutes_ago, now, tokens};

/// A line of mode `observe`, some minutes ago.
fn line(minutes: i64, action: &str, mut fields: Value) -> LogLine {
    fields["timestamp"] = json!(minutes_ago(minutes).to_string());
    fields["action"] = json!(action);
    fields["outcome"] = json!("observed");
    LogLine::parse(&fields.to_string(), now()).expect("a line of the functions")
}

fn sweep(minutes: i64, clusters: &[&str]) -> LogLine {
    let of_cluster = |arn: &&str| ClusterReport { cluster_arn: (*arn).to_owned(), ..ClusterReport::default() };
    let clusters = clusters.iter().map(of_cluster).collect();
    let report = SweepReport {
        mode: Mode::Observe,
        outcome: SweepOutcome::Observed,
        clusters,
        problems: Vec::new(),
        faults: Vec::new(),
        left_out: 0,
    };
    line(minutes, "sweep", json!({ "summary": serde_json::to_string(&report).unwrap() }))
}

fn deregistration(minutes: i64, instance: &str) -> LogLine {
    line(minutes, "deregister", json!({ "cluster_arn": cluster().to_string(), "service_id": instance }))
}

fn compared(lines: Vec<LogLine>, tokens: Option<&Tokens>) -> CompareReport {
    compared_in(vec![healthy()], lines, tokens)
}

fn compared_in(clusters: Vec<InspectedCluster>, mut lines: Vec<LogLine>, tokens: Option<&Tokens>) -> CompareReport {
    lines.sort_by_key(|line| line.at);
    let history = History { lines, is_complete: true, problems: Vec::new() };
    let observed = Inspection { clusters, problems: Vec::new() };
    compare(&history, now() - SignedDuration::from_hours(24), &observed, tokens, now())
}

/// Planned, done by others, still to do, unknown.
fn numbers(report: &CompareReport) -> Vec<(WorkKind, [usize; 4])> {
    let of = |it: &KindReport| (it.kind, [it.planned, it.done_by_others, it.still_to_do, it.unknown]);
    report.kinds.iter().map(of).collect()
}

#[test]
fn what_others_did_took_between_the_last_sighting_and_the_next_sweep() {
    let arn = cluster().to_string();
    let report = compared(
        vec![
            deregistration(20, "web-gone"),
            deregistration(15, "web-gone"),
            sweep(15, &[&arn]),
            sweep(10, &[&arn]),
            sweep(5, &[&arn]),
        ],
        None,
    );
    assert_eq!(numbers(&report), [(WorkKind::InstancesDeregistered, [1, 1, 0, 0])]);
    let slowest = Slowest { at_least_seconds: 300, at_most_seconds: 600 };
    assert_eq!((report.kinds[0].slowest, report.sweeps), (Some(slowest), 3));
    assert_eq!(report.conclusion, "This controller would have made 1 change since 2026-11-22 12:00; 0 remain");
}

#[test]
fn sweep_of_another_cluster_bounds_nothing() {
    let report = compared(vec![deregistration(20, "web-gone"), sweep(10, &["other"])], None);
    let slowest = Slowest { at_least_seconds: 0, at_most_seconds: 1_200 };
    assert_eq!(report.kinds[0].slowest, Some(slowest));
}

#[test]
fn what_is_still_there_is_listed() {
    let instance = instance_id("web", &id(1));
    let report = compared(vec![deregistration(20, &instance), deregistration(3, &instance)], None);
    assert_eq!(numbers(&report), [(WorkKind::InstancesDeregistered, [1, 0, 1, 0])]);
    let left = StillToDo {
        kind: WorkKind::InstancesDeregistered,
        subject: instance,
        cluster: Some(cluster().to_string()),
        first_seen: minutes_ago(20),
        last_seen: minutes_ago(3),
    };
    assert_eq!(report.still_to_do, [left]);
    assert!(report.conclusion.ends_with("1 remains, which Mode=act would make"), "{}", report.conclusion);
}

#[test]
fn tokens_are_compared_by_accessor_and_by_holder() {
    let accessor = |number| Uuid::from_u128(number).to_string();
    let token = |number, description: &str| ListedToken {
        accessor: AccessorId::new(Uuid::from_u128(number)),
        description: description.into(),
        auth_method: None,
        is_local: true,
        grants: Grants::default(),
        created_at: None,
        expires_at: None,
        tenancy: Tenancy::Community,
    };
    let tokens = tokens(vec![token(1, ""), token(3, "Token for web service\nconsul.hashicorp.com/cluster: prod")]);
    let lines = || {
        vec![
            line(9, "delete_login_token", json!({ "accessor_id": accessor(1) })),
            line(9, "delete_login_token", json!({ "accessor_id": accessor(2) })),
            line(9, "hide_token", json!({ "accessor_id": accessor(4), "holder": "service old" })),
            line(9, "create_token", json!({ "accessor_id": accessor(5), "holder": "service web of family x" })),
            line(9, "create_token", json!({ "accessor_id": accessor(6), "holder": "service new" })),
            line(9, "create_token", json!({ "accessor_id": accessor(7), "holder": "service new" })),
        ]
    };
    assert_eq!(
        numbers(&compared(lines(), Some(&tokens))),
        [
            (WorkKind::LoginTokensDeleted, [2, 1, 1, 0]),
            (WorkKind::TokensCreated, [2, 1, 1, 0]),
            (WorkKind::TokensDeleted, [1, 1, 0, 0])
        ]
    );
    // What could not be read is not compared
    let report = compared(lines(), None);
    assert_eq!(numbers(&report)[0], (WorkKind::LoginTokensDeleted, [2, 0, 0, 2]));
    assert!(report.conclusion.ends_with("0 remain (5 could not be compared)"), "{}", report.conclusion);
}

#[test]
fn tasks_and_instances_are_compared_with_what_runs() {
    let of_task =
        |action: &str| line(9, action, json!({ "cluster_arn": cluster().to_string(), "task_id": id(1).to_string() }));
    let drain = |instance: &str| {
        let check = format!("_service_maintenance:{instance}");
        line(9, "mark_critical", json!({ "cluster_arn": cluster().to_string(), "check_id": check }))
    };
    let lines = vec![
        of_task("repair"),
        of_task("correct_health"),
        drain(&instance_id("web", &id(1))),
        drain("web-gone"),
        line(9, "observe", json!({ "call": "PUT /v1/txn" })),
    ];
    let expected = |repaired, corrected| {
        vec![
            (WorkKind::TasksRepaired, [1, 1 - repaired, repaired, 0]),
            (WorkKind::TasksCorrected, [1, 1 - corrected, corrected, 0]),
            (WorkKind::InstancesDrained, [2, 1, 1, 0]),
        ]
    };
    assert_eq!(numbers(&compared(lines.clone(), None)), expected(0, 0));
    // With a critical check
    let mut critical = healthy();
    critical.catalog.as_mut().unwrap().checks[0].status = mesh::catalog::CheckStatus::Critical;
    assert_eq!(numbers(&compared_in(vec![critical], lines, None)), expected(0, 1));
    // Forgotten by Consul
    let mut forgotten = healthy();
    forgotten.catalog.as_mut().unwrap().instances.retain(|instance| instance.task != id(1));
    let report = compared_in(vec![forgotten], vec![of_task("repair")], None);
    assert_eq!(numbers(&report), [(WorkKind::TasksRepaired, [1, 0, 1, 0])]);
    // In a cluster that could not be read
    let report = compared_in(Vec::new(), vec![of_task("repair")], None);
    assert_eq!(numbers(&report), [(WorkKind::TasksRepaired, [1, 0, 0, 1])]);
}

#[test]
fn stack_that_has_observed_nothing_is_told_apart_from_one_without_a_log() {
    let report = compared(vec![sweep(5, &["x"])], None);
    assert!(!report.is_empty() && report.conclusion.starts_with("This controller would have made no changes since"));
    let report = compared(Vec::new(), None);
    assert!(report.is_empty() && report.conclusion.contains("Check that the stack has Mode=observe"));
}
