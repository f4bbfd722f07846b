//! What is found in a mesh, and what is not.

mod certificates;
mod commands;
mod definitions;
mod gaps;
mod kinds;

use std::collections::BTreeMap;

use ::report::{Blocked, ErrorLabel, PlannedAction, Problem, Skipped, SweepOutcome, Waiting};
use audit::{report::Report, severity::Severity};
use audit_read::input::Gathered;
use mesh::catalog::CheckStatus;
use observe::{Datacenter, InspectedCluster, InspectionError, Intention, OutOfTime};
use serde_json::{Value, json};

use super::*;
use crate::examples::{cluster, described, healthy, id, lose_tag, minutes_ago, now, register, task};

/// What is read of a mesh, to be changed.
struct World {
    plan: SweepReport,
    unknown: Option<SweepReport>,
    inspection: Inspection,
    tokens: Option<Tokens>,
    definitions: Report,
    datacenter: DatacenterReading,
    has_all_clusters: bool,
    options: Vec<(&'static str, &'static str)>,
}

fn plan(clusters: Vec<ClusterReport>) -> SweepReport {
    SweepReport {
        mode: mesh::settings::Mode::Observe,
        outcome: SweepOutcome::DryRun,
        clusters,
        problems: Vec::new(),
        faults: Vec::new(),
        left_out: 0,
    }
}

fn report_of(arn: &str) -> ClusterReport {
    ClusterReport {
        cluster_arn: arn.to_owned(),
        found: BTreeMap::from([("livingTasks".into(), 2)]),
        ..ClusterReport::default()
    }
}

fn intention(source: &str, destination: &str, action: &str) -> Intention {
    serde_json::from_value(json!({ "SourceName": source, "DestinationName": destination, "Action": action })).unwrap()
}

/// A healthy mesh, in which everyone may call `web`.
fn world() -> World {
    let settings =
        Datacenter { name: "dc1".into(), is_primary: true, allows_by_default: false, allows_calls_by_default: false };
    World {
        plan: plan(vec![report_of(cluster().as_str())]),
        unknown: None,
        inspection: Inspection { clusters: vec![healthy()], problems: Vec::new() },
        tokens: None,
        has_all_clusters: true,
        options: Vec::new(),
        definitions: Report::new(
            &Gathered::default(),
            &audit::ignore::Sorted::default(),
            audit::severity::Threshold::Error,
        ),
        datacenter: DatacenterReading {
            version: Ok("1.21.4".to_owned()),
            settings: Ok(settings),
            roots: Ok(Vec::new()),
            certificates: Ok(None),
            intentions: Ok(vec![intention("*", "web", "allow")]),
            clusters: Ok(vec![cluster()]),
        },
    }
}

/// What is said of a healthy mesh after a change, with or without names.
fn said(change: impl FnOnce(&mut World), is_anonymous: bool) -> SurveyReport {
    let mut world = world();
    change(&mut world);
    let evidence = SurveyEvidence {
        plan: &world.plan,
        unknown: world.unknown.as_ref(),
        inspection: &world.inspection,
        tokens: world.tokens.as_ref(),
        tokens_unread: None,
        definitions: &world.definitions,
        datacenter: &world.datacenter,
        tenancy: &Tenancy::Community,
        has_all_clusters: world.has_all_clusters,
        options: &world.options,
    };
    let report = survey(&evidence, now());
    if is_anonymous { report.anonymous() } else { report }
}

/// The findings after a change.
fn found(change: impl FnOnce(&mut World)) -> Vec<SurveyFinding> {
    said(change, false).findings
}

/// The only finding after a change.
#[track_caller]
fn only(change: impl FnOnce(&mut World)) -> SurveyFinding {
    let mut findings = found(change);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.remove(0)
}

fn deregister(number: u8) -> PlannedAction {
    PlannedAction::Deregister { service_id: format!("web-{}", id(number)), task_id: id(number).to_string() }
}

fn of_plan(world: &mut World) -> &mut ClusterReport {
    &mut world.plan.clusters[0]
}

#[test]
fn nothing_is_wrong_with_a_healthy_mesh() {
    let report = said(|_| {}, false);
    assert_eq!((report.findings, report.unread), (Vec::new(), Vec::new()));
    let read = &report.clusters[0];
    assert_eq!((read.name(), read.tasks, read.mesh_tasks, read.services), ("prod", 2, 2, 1));
}

#[test]
fn instance_of_a_task_that_has_stopped_is_listed_with_its_time_and_the_request_that_removes_it() {
    let left = only(|world| {
        let mut stopped = task(3);
        let end = described(&mut stopped);
        (end.phase, end.end.stopped_at) = (mesh::task::TaskPhase::Stopped, Some(minutes_ago(20)));
        world.inspection.clusters[0].tasks.push(stopped);
        of_plan(world).planned.push(deregister(3));
    });
    assert_eq!(
        (left.id.as_str(), left.severity, left.since),
        ("left-in-consul", Severity::Error, Some(minutes_ago(20)))
    );
    assert_eq!(left.title, "1 entry in Consul has no running task");
    assert_eq!(left.objects[0].why, format!("its task {} has stopped", id(3)));
    assert_eq!(left.objects[0].controller.as_deref(), Some("deregisters it"));
    let body: Value = serde_json::from_str(left.commands[0].split('\'').nth(1).unwrap()).unwrap();
    assert_eq!(body, json!({ "Node": cluster().as_str(), "ServiceID": format!("web-{}", id(3)) }));
}

#[test]
fn why_an_instance_is_left_depends_on_what_ecs_says_of_its_cluster() {
    let why = |change: fn(&mut World)| only(change).objects[0].why.clone();
    let long_ago = why(|world| of_plan(world).planned.push(deregister(9)));
    assert_eq!(
        long_ago,
        format!("ECS does not know its task {}: it stopped over an hour ago, or never existed", id(9))
    );
    let deleted = why(|world| {
        world.inspection.clusters.clear();
        let report = of_plan(world);
        report.status = SweptStatus::Deleted;
        report.planned.push(deregister(9));
    });
    assert_eq!(deleted, "ECS has deleted its cluster");
    let unknown = why(|world| {
        let mut gone = report_of("arn:aws:ecs:us-east-1:123456789012:cluster/gone");
        gone.planned.push(deregister(9));
        world.unknown = Some(plan(vec![gone]));
    });
    assert!(unknown.starts_with("ECS does not know its cluster"), "{unknown}");
}

#[test]
fn what_a_controller_would_hold_back_or_do_later_is_said() {
    let findings = found(|world| {
        let report = of_plan(world);
        report.guard = Some("3 of 4 tasks are unknown to ECS".to_owned());
        report.blocked.push(Blocked { action: deregister(8), reason: "the guard holds it back".to_owned() });
        let waits_for = Some("a recheck of the task in ECS".to_owned());
        report.waiting.push(Waiting { action: deregister(9), until: None, waits_for });
        report.skipped.push(Skipped { what: format!("task {}", id(1)), why: "broken".to_owned() });
    });
    let ids: Vec<&str> = findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["left-in-consul", "held-back", "left-alone"]);
    let controller: Vec<&str> = findings[0].objects.iter().filter_map(|it| it.controller.as_deref()).collect();
    assert_eq!(
        controller,
        ["would not: the guard holds it back", "deregisters it later: a recheck of the task in ECS"]
    );
    assert_eq!(findings[0].commands, [""; 0]);
}

#[test]
fn cluster_without_a_mesh_needs_no_node() {
    let findings = found(|world| {
        let other = "arn:aws:ecs:us-east-1:123456789012:cluster/batch";
        let mut report = report_of(other);
        report.planned.push(PlannedAction::CreateNode { node: other.to_owned() });
        world.plan.clusters.push(report);
    });
    assert_eq!(findings, []);
}

#[test]
fn task_whose_revision_lost_the_tag_is_found_once() {
    let lost = only(|world| lose_tag(&mut world.inspection.clusters[0], 1));
    assert_eq!(lost.id, "lost-mesh-tag");
    assert!(lost.objects[0].why.contains("lost the tag"), "{lost:?}");
    assert_eq!(lost.commands, ["ecs-mesh check --cluster prod"]);
}

#[test]
fn service_with_a_fault_of_its_own_is_found_with_the_command_that_tells_more() {
    let faulty = only(|world| {
        let catalog = world.inspection.clusters[0].catalog.as_mut().unwrap();
        catalog.instances.retain(|instance| instance.task != id(1));
    });
    assert_eq!(
        (faulty.id.as_str(), faulty.commands[0].as_str()),
        ("faulty-services", "ecs-mesh why web --cluster prod")
    );
    // A leftover in Consul is no fault of the service
    let findings =
        found(|world| register(world.inspection.clusters[0].catalog.as_mut().unwrap(), 9, CheckStatus::Passing));
    assert_eq!(findings, []);
}

#[test]
fn service_is_callable_if_the_first_intention_about_some_source_allows_it() {
    let is_closed = |intentions: &[[&str; 3]], by_default: bool| {
        let findings = found(|world| {
            world.datacenter.intentions =
                Ok(intentions.iter().map(|[from, to, action]| intention(from, to, action)).collect());
            world.datacenter.settings.as_mut().unwrap().allows_calls_by_default = by_default;
        });
        findings.iter().any(|finding| finding.id == "not-callable")
    };
    for open in [
        [["shop", "web", "allow"]].as_slice(),
        &[["*", "*", "allow"]],
        &[["shop", "web", "deny"], ["*", "web", "allow"]],
        &[["shop", "web", "deny"], ["pay", "*", "allow"]],
    ] {
        assert!(!is_closed(open, false), "{open:?}");
    }
    for closed in [
        [].as_slice(),
        &[["shop", "orders", "allow"]],
        &[["*", "*", "allow"], ["*", "web", "deny"]],
        &[["shop", "web", "deny"], ["shop", "*", "allow"]],
    ] {
        assert!(is_closed(closed, false), "{closed:?}");
    }
    // What is denied is one path only
    let findings = found(|world| {
        let denied = json!({ "SourceName": "*", "DestinationName": "web",
            "Permissions": [{ "Action": "deny", "HTTP": { "PathPrefix": "/admin" } }] });
        world.datacenter.intentions = Ok(vec![serde_json::from_value(denied).unwrap()]);
        world.datacenter.settings.as_mut().unwrap().allows_calls_by_default = true;
    });
    assert_eq!(findings, []);
    assert!(!is_closed(&[], true) && is_closed(&[["*", "web", "deny"]], true));
    // What could not be read is not judged
    let unread = said(|world| world.datacenter.intentions = Err(InspectionError::Call(OutOfTime.into())), false);
    assert_eq!((unread.findings, unread.unread.len()), (Vec::new(), 1));
}

#[test]
fn what_consul_did_not_show_is_not_missing() {
    let findings = found(|world| {
        world.inspection.clusters[0].catalog = None;
        let instances = vec!["web-1".into()];
        let repair = PlannedAction::Repair { task_id: id(1).to_string(), instances, checks: vec![] };
        of_plan(world).planned.extend([repair, PlannedAction::CreateNode { node: cluster().to_string() }]);
    });
    let ids: Vec<&str> = findings.iter().map(|finding| finding.id.as_str()).collect();
    assert!(!ids.contains(&"missing-node") && !ids.contains(&"lost-in-consul"), "{findings:#?}");
}

#[test]
fn strangers_learn_no_names() {
    let change = |world: &mut World| {
        of_plan(world).planned.push(deregister(9));
        lose_tag(&mut world.inspection.clusters[0], 1);
        let denied = "cluster arn:aws:ecs:us-east-1:123456789012:cluster/prod: User: arn:aws:iam::123456789012:user/ada is not allowed";
        world.plan.problems.push(Problem::new(None, ErrorLabel::AwsRefused, &denied));
    };
    let hidden = json!(said(change, true)).to_string();
    for name in ["123456789012", "prod", "web-", "web:", "ada"] {
        assert!(!hidden.contains(name), "{name} in {hidden}");
    }
    // The same number stands for the same name
    let report = said(change, true);
    assert_eq!((&report.account, &report.region), (&None, &None));
    let clusters: Vec<&str> = report.findings.iter().filter_map(|it| it.objects[0].cluster.as_deref()).collect();
    assert_eq!((report.clusters[0].name(), clusters), ("cluster-1", vec!["cluster-1", "cluster-1"]));
}

#[test]
fn strangers_learn_only_the_numbers_of_consul_s_version() {
    let consul = |version: &str, is_anonymous| {
        said(|world| world.datacenter.version = Ok(version.to_owned()), is_anonymous).consul
    };
    for (version, shown) in [
        ("1.21.0", Some("1.21.0")),
        ("1.21.0+example.com", Some("1.21.0")),
        ("1.21.0-rc1", Some("1.21.0")),
        ("example", None),
    ] {
        assert_eq!(consul(version, true).as_deref(), shown, "{version}");
        assert_eq!(consul(version, false).as_deref(), Some(version));
    }
}

#[test]
fn container_that_aws_adds_and_that_did_not_start_is_no_fault() {
    let added = only(|world| {
        let end = mesh::task::ContainerEnd {
            name: "aws-guardduty-agent-x".to_owned(),
            exit_code: None,
            reason: Some("CannotPullContainerError".to_owned()),
        };
        let added: &mut InspectedCluster = &mut world.inspection.clusters[0];
        added.added.push((id(1), end));
    });
    assert_eq!((added.id.as_str(), added.severity), ("added-containers", Severity::Info));
}
