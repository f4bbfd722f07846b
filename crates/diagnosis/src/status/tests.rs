//! Examples: what is read of a service with two tasks, and the verdict.

use mesh::{
    arn::TaskArn,
    catalog::{CheckStatus, DrainReason, HealthCheck, OtherService, ServiceInstance},
    consul_ecs::SERVICE_METHOD,
    definition::ContainerDefinition,
    repair::REPAIR_TAG,
    task::{ContainerEnd, ContainerHealth, TaskContainer, TaskPhase},
    token::{ListedToken, ServiceGrant},
};
use mesh_examples::container;
use observe::{CatalogReading, ConsulError, OutOfTime, TokenOwner};
use serde_json::json;

use super::*;
use crate::examples::{
    INIT, configure, described, healthy, id, login_description, login_token, lose_tag, minutes_ago, now, register,
    revision, task, tokens,
};

/// The only row.
fn row(cluster: InspectedCluster) -> ServiceStatus {
    let observed = Inspection { clusters: vec![cluster], problems: Vec::new() };
    let mut report = status(&observed, None, now());
    assert_eq!(report.services.len(), 1, "{report:?}");
    report.services.remove(0)
}

/// The verdict on a healthy cluster after a change.
fn verdict_after(change: impl FnOnce(&mut InspectedCluster)) -> String {
    let mut cluster = healthy();
    change(&mut cluster);
    row(cluster).verdict
}

fn catalog(cluster: &mut InspectedCluster) -> &mut CatalogReading {
    cluster.catalog.as_mut().unwrap()
}

/// Consul loses the instances of a task.
fn forget(cluster: &mut InspectedCluster, number: u8) {
    catalog(cluster).instances.retain(|instance| instance.task != id(number));
}

#[test]
fn service_with_all_tasks_registered_and_passing_is_healthy() {
    let row = row(healthy());
    assert_eq!((row.state, row.verdict.as_str()), (State::Healthy, "healthy"));
    assert_eq!(
        (row.desired_tasks, row.running_tasks, row.instances, row.passing_instances),
        (Some(2), 2, Some(2), Some(2))
    );
    assert_eq!(row.versions.consul_ecs, ["0.9.0".to_owned()].into());
    assert_eq!(row.versions.consul_dataplane, ["1.6.2".to_owned()].into());
    let started = LastChange { at: minutes_ago(59), what: ChangeKind::TaskStarted };
    assert_eq!(row.last_change, Some(started));
}

#[test]
fn running_task_that_consul_has_lost_is_not_registered() {
    assert_eq!(verdict_after(|cluster| forget(cluster, 1)), "1 of 2 tasks is not registered: Consul has lost it");
}

/// The second task has logged in as another service.
fn of_team_a() -> ListedToken {
    let mut other = login_token(2);
    other.grants.services[0].service = "team-a".to_owned();
    other
}

#[test]
fn a_registered_task_without_a_login_token_of_its_service_is_listed() {
    let observed = Inspection { clusters: vec![healthy()], problems: Vec::new() };
    let unproven = |tokens: &Tokens| -> Vec<Option<String>> {
        let mut report = status(&observed, Some(tokens), now());
        assert_eq!(report.services[0].state, State::Healthy);
        report.services.remove(0).tasks.into_iter().map(|task| task.unproven).collect()
    };
    // Given tasks of which the second has logged in as another service
    let mut tokens = tokens(vec![login_token(1), of_team_a()]);
    assert_eq!(unproven(&tokens), [None, Some("its login token belongs to team-a".to_owned())]);
    // With the default policy allow nothing has to be proven
    tokens.facts = Ok(None);
    assert_eq!(unproven(&tokens), [None, None]);
    // What could not be read proves nothing and accuses no task
    tokens.facts = Err(OutOfTime.into());
    assert_eq!(unproven(&tokens), [None, None]);
    assert_eq!(status(&observed, Some(&tokens), now()).admission_unknown, Some(OutOfTime.to_string()));
}

#[test]
fn a_registered_task_cannot_take_itself_off_that_list() {
    // Given a registered task that has logged in as another service
    let tokens = tokens(vec![login_token(1), login_token(1), of_team_a(), of_team_a()]);
    let unproven_after = |change: fn(&mut InspectedCluster)| {
        let mut cluster = healthy();
        change(&mut cluster);
        let observed = Inspection { clusters: vec![cluster], problems: Vec::new() };
        status(&observed, Some(&tokens), now()).services.remove(0).tasks.remove(1).unproven
    };
    let listed = Some("its login token belongs to team-a".to_owned());
    // When nothing of it is to be repaired, because its own tag says so, or ECS does not see it
    let off = |cluster: &mut InspectedCluster| {
        described(&mut cluster.tasks[1]).tags = [(REPAIR_TAG, "off")].into_iter().collect();
    };
    assert_eq!(unproven_after(off), listed);
    assert_eq!(unproven_after(|cluster| described(&mut cluster.tasks[1]).placement.is_disconnected = true), listed);
    // Or the metadata of its instances does not name it
    let unmarked = |cluster: &mut InspectedCluster| {
        let catalog = catalog(cluster);
        let (its, others) = catalog.instances.drain(..).partition(|instance| instance.task == id(2));
        catalog.instances = others;
        let its: Vec<ServiceInstance> = its;
        let unmarked =
            its.into_iter().map(|it| OtherService { id: it.id, name: it.name, kind: it.kind, tenancy: it.tenancy });
        catalog.nodes[0].others.extend(unmarked);
    };
    assert_eq!(unproven_after(unmarked), listed);
    // Then it is listed; but not if its client agent registers it, because no sweep has
    let with_agent = |cluster: &mut InspectedCluster| {
        let agent = ContainerDefinition { name: "consul-client".to_owned(), ..ContainerDefinition::default() };
        revision(&mut cluster.tasks[1]).containers.push(agent);
    };
    assert_eq!(unproven_after(with_agent), None);
}

#[test]
fn an_instance_of_another_name_is_not_the_task_s() {
    // Given a service and its sidecar proxy with the ID of a task, and other names
    let rename = |cluster: &mut InspectedCluster, is_of: fn(&ServiceInstance) -> bool| {
        let its = catalog(cluster).instances.iter_mut().filter(|it| it.task == id(1) && is_of(it));
        its.for_each(|instance| instance.name = "other".to_owned());
    };
    let row_after = |is_of| {
        let mut cluster = healthy();
        rename(&mut cluster, is_of);
        row(cluster)
    };
    let row_of_both = row_after(|_| true);
    assert_eq!((row_of_both.instances, row_of_both.passing_instances), (Some(1), Some(1)));
    let lost = "not registered: Consul has lost it";
    // And one of them is not enough
    let row_of_one = row_after(|instance| instance.kind.is_empty());
    for (row, verdict) in [(row_of_both, lost), (row_of_one, "not registered: Consul has no instance of web")] {
        assert_eq!((row.tasks[0].is_registered, row.tasks[0].verdict.as_str()), (Some(false), verdict));
    }
}

#[test]
fn critical_check_of_the_node_concerns_all_its_instances() {
    let verdict = verdict_after(|cluster| {
        let mut check = catalog(cluster).checks[0].clone();
        (check.id, check.name) = ("_node_maintenance".to_owned(), "Node Maintenance Mode".to_owned());
        (check.service_id, check.status) = (String::new(), CheckStatus::Critical);
        catalog(cluster).checks.push(check);
    });
    assert_eq!(verdict, "both tasks are not passing: its check \"Node Maintenance Mode\" is critical");
}

#[test]
fn task_whose_registration_failed_is_named_with_its_container() {
    let verdict = verdict_after(|cluster| {
        for number in [1, 2] {
            forget(cluster, number);
            described(&mut cluster.tasks[usize::from(number) - 1]).containers[0].exit_code = Some(1);
        }
    });
    assert_eq!(
        verdict,
        "both tasks are not registered: its container consul-ecs-mesh-init failed, so it was never registered"
    );
}

#[test]
fn task_that_has_just_started_is_starting() {
    let mut cluster = healthy();
    forget(&mut cluster, 1);
    let task = described(&mut cluster.tasks[0]);
    (task.end.created_at, task.end.started_at) = (Some(minutes_ago(1)), None);
    task.containers[0] = container(INIT, ContainerHealth::Unknown);
    let row = row(cluster);
    assert_eq!((row.state, row.verdict.as_str()), (State::Starting, "starting: 1 of 2 tasks is ready"));
    assert_eq!(row.tasks[0].verdict, "starting: consul-ecs-mesh-init has not registered it yet");
}

#[test]
fn check_that_does_not_pass_is_explained_by_the_container_in_ecs() {
    let unhealthy = |health, is_stopped| {
        verdict_after(|cluster| {
            described(&mut cluster.tasks[0]).containers[1] = TaskContainer { is_stopped, ..container("app", health) };
            let of_it = catalog(cluster).checks.iter_mut().filter(|check| check.service_id.contains(id(1).as_str()));
            of_it.for_each(|check| check.status = CheckStatus::Critical);
        })
    };
    for (health, is_stopped, what) in [
        (ContainerHealth::Unhealthy, false, "is UNHEALTHY"),
        (ContainerHealth::Unknown, false, "is UNKNOWN"),
        (ContainerHealth::Healthy, true, "has stopped"),
        (ContainerHealth::Healthy, false, "is HEALTHY in ECS, but its check in Consul is critical"),
    ] {
        let verdict = format!("1 of 2 tasks is not passing: its container app {what}");
        assert_eq!(unhealthy(health, is_stopped), verdict);
    }
}

#[test]
fn drained_service_says_why() {
    let drained = |reasons: &[DrainReason]| {
        verdict_after(|cluster| {
            let catalog = catalog(cluster);
            let drains = |it| reasons.iter().map(move |reason| HealthCheck::maintenance(it, *reason));
            let drains: Vec<HealthCheck> = catalog.instances.iter().flat_map(drains).collect();
            catalog.checks.extend(drains);
        })
    };
    let proxy = "both tasks are drained: the container consul-dataplane has stopped in the running task";
    assert_eq!(drained(&[DrainReason::ProxyStopped]), proxy);
    assert_eq!(drained(&[DrainReason::HostGone, DrainReason::ProxyStopped]), proxy, "the reason that lasts");
}

#[test]
fn task_that_why_says_to_replace_is_not_healthy() {
    let mut cluster = healthy();
    let task = described(&mut cluster.tasks[0]);
    let proxy = task.containers.iter_mut().find(|it| it.name == "consul-dataplane").unwrap();
    (proxy.is_stopped, proxy.exit_code) = (true, Some(137));
    let row = row(cluster);
    assert_eq!(row.state, State::Faulty);
    assert_eq!(row.verdict, "1 of 2 tasks is broken: its container consul-dataplane has stopped");
}

#[test]
fn task_whose_revision_has_lost_the_tag_has_a_verdict_of_its_own() {
    let mut cluster = healthy();
    lose_tag(&mut cluster, 2);
    let row = row(cluster);
    let verdict =
        "1 of 2 tasks is not in the mesh: revision 4 lost the tag consul.hashicorp.com/mesh that revision 3 had";
    assert_eq!((row.state, row.verdict.as_str(), row.running_tasks), (State::Faulty, verdict, 2));
    let tasks: Vec<_> = row.tasks.iter().map(|it| (it.revision.as_deref(), it.state)).collect();
    assert_eq!(tasks, [(Some("web:3"), State::Healthy), (Some("web:4"), State::Faulty)]);
    assert_eq!(
        row.tasks[1].verdict,
        "not in the mesh: revision 4 lost the tag consul.hashicorp.com/mesh that revision 3 had"
    );
}

#[test]
fn instance_of_a_task_outside_the_mesh_that_has_stopped_is_a_leftover() {
    let after = |minutes| {
        verdict_after(|cluster| {
            lose_tag(cluster, 2);
            cluster.services[0].state.desired = 1;
            for task in [&mut cluster.outside.tasks[0], &mut cluster.untagged[0].member.task] {
                let task = std::sync::Arc::make_mut(task);
                (task.phase, task.end.stopped_at) = (TaskPhase::Stopped, Some(minutes_ago(minutes)));
            }
        })
    };
    assert_eq!(after(2), "1 instance in Consul has no running task");
    assert_eq!(after(0), "healthy");
}

#[test]
fn instance_that_no_other_task_can_reach_is_a_fault() {
    let verdict = verdict_after(|cluster| {
        let instances = catalog(cluster).instances.iter_mut();
        instances.for_each(|instance| instance.address = Some([127, 0, 0, 1].into()));
    });
    assert_eq!(verdict, "both tasks are unreachable: it is registered at 127.0.0.1, where no other task finds it");
}

#[test]
fn container_that_never_becomes_healthy_is_a_fault_before_its_time_is_over() {
    let mut cluster = healthy();
    forget(&mut cluster, 1);
    let task = described(&mut cluster.tasks[0]);
    (task.last_status, task.end.created_at, task.end.started_at) = ("PENDING".to_owned(), Some(minutes_ago(4)), None);
    task.containers[2].health = ContainerHealth::Unhealthy;
    revision(&mut cluster.tasks[0]).containers[0].waits_for = vec!["consul-dataplane".to_owned()];
    let row = row(cluster);
    let verdict = "1 of 2 tasks is not passing: its container app waits for consul-dataplane, which is UNHEALTHY; ECS gives up \
                   about 2026-11-23 14:56 UTC";
    assert_eq!((row.state, row.faults[0].as_str()), (State::Faulty, verdict));
}

#[test]
fn stopping_task_is_no_fault() {
    let mut cluster = healthy();
    cluster.services[0].state.desired = 1;
    described(&mut cluster.tasks[1]).phase = TaskPhase::Stopping;
    let instance = catalog(&mut cluster).instances[2].clone();
    catalog(&mut cluster).checks.push(HealthCheck::maintenance(&instance, DrainReason::Stopping));
    let row = row(cluster);
    assert_eq!((row.state, row.tasks[1].verdict.as_str()), (State::Healthy, "stopping"));
}

#[test]
fn instance_whose_task_ecs_does_not_run_is_a_leftover() {
    let verdict = verdict_after(|cluster| register(catalog(cluster), 9, CheckStatus::Passing));
    assert_eq!(verdict, "1 instance in Consul has no running task");
    // Nor does one of a task outside the mesh count, nor one of a task that has only just stopped
    let verdict = verdict_after(|cluster| {
        register(catalog(cluster), 9, CheckStatus::Passing);
        cluster.others.insert(id(9));
    });
    assert_eq!(verdict, "healthy");
}

#[test]
fn listed_task_that_ecs_does_not_describe_is_no_leftover() {
    let mut problems = Vec::new();
    let verdict = verdict_after(|cluster| {
        register(catalog(cluster), 9, CheckStatus::Passing);
        cluster.keep_undescribed(&[TaskArn::in_cluster(&cluster.arn, &id(9))], &mut problems);
        assert!(cluster.unsorted.contains(&id(9)), "it may be in the mesh");
    });
    assert_eq!(verdict, "healthy");
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn tasks_that_could_not_be_read_make_no_service_lack_tasks() {
    let without = |change: fn(&mut InspectedCluster)| {
        verdict_after(|cluster| {
            cluster.tasks.clear();
            catalog(cluster).instances.clear();
            change(cluster);
        })
    };
    assert!(without(|_| {}).starts_with("0 of 2 desired tasks are running"), "{}", without(|_| {}));
    let unknown = without(|cluster| cluster.unsorted = [id(1), id(2)].into());
    assert_eq!(unknown, "unknown: 2 tasks of the cluster could not be read, and may be in the mesh");
}

#[test]
fn login_tokens_that_name_no_task_of_the_clusters_are_counted_by_what_they_grant() {
    let cluster = healthy().arn;
    let login = |named: Option<&str>, service: &str, minutes: i64| {
        let mut token = login_token(1);
        token.description = named.map_or_else(|| "".into(), |cluster| login_description(cluster, 1));
        token.auth_method = Some(SERVICE_METHOD.to_owned());
        token.grants.services = vec![ServiceGrant { service: service.to_owned(), datacenters: Vec::new() }];
        token.created_at = Some(minutes_ago(minutes));
        token
    };
    let mut of_another_method = login(None, "web", 90);
    of_another_method.auth_method = Some("people".to_owned());
    let listed = vec![
        login(Some(cluster.as_str()), "web", 80),
        login(Some("elsewhere"), "web", 20),
        login(None, "web", 50),
        login(None, "api", 5),
        of_another_method,
    ];
    let tokens = Tokens { listed, ..tokens(Vec::new()) };
    let found = tokens.untraceable_logins(&[cluster]);
    let found: Vec<_> = found.iter().map(|it| (it.owner.as_str(), it.count, it.oldest)).collect();
    assert_eq!(found, [("service web", 2, Some(minutes_ago(50))), ("service api", 1, Some(minutes_ago(5)))]);
}

/// A task that failed some minutes ago.
fn failed_task(minutes: i64) -> MemberTask {
    let mut failed = task(3);
    let task = described(&mut failed);
    task.phase = TaskPhase::Stopped;
    task.end.code = Some("EssentialContainerExited".to_owned());
    task.end.reason = Some("Essential container in task exited".to_owned());
    task.end.containers = vec![ContainerEnd { name: "app".to_owned(), exit_code: Some(1), reason: None }];
    task.end.stopped_at = Some(minutes_ago(minutes));
    failed
}

#[test]
fn fewer_tasks_than_desired_are_explained_by_the_last_failure_or_by_ecs() {
    type Change = fn(&mut InspectedCluster);
    let last = ": the last stopped task: Essential container in task exited; app exited with 1";
    let changes: [(Change, &str); 4] = [
        (|_| {}, ""),
        (|cluster| cluster.tasks.push(failed_task(2)), last),
        // An older failure is not the cause
        (|cluster| cluster.tasks.push(failed_task(50)), ""),
        (|cluster| cluster.services[0].state.trouble = Some("cannot place it".to_owned()), ": ECS cannot place it"),
    ];
    for (change, why) in changes {
        let verdict = verdict_after(|cluster| {
            cluster.services[0].state.desired = 3;
            change(cluster);
        });
        assert_eq!(verdict, format!("2 of 3 desired tasks are running{why}"));
    }
}

#[test]
fn service_that_wants_no_task_is_scaled_to_zero() {
    let mut cluster = healthy();
    cluster.services[0].state.desired = 0;
    cluster.tasks.clear();
    catalog(&mut cluster).instances.clear();
    let row = row(cluster);
    assert_eq!((row.state, row.verdict.as_str()), (State::ScaledToZero, "scaled to zero"));
}

#[test]
fn consul_that_could_not_be_read_is_unknown_and_not_empty() {
    let mut cluster = healthy();
    cluster.catalog = None;
    let row = row(cluster);
    assert_eq!((row.instances, row.passing_instances), (None, None));
    assert_eq!((row.state, row.verdict.as_str()), (State::Unknown, "unknown: Consul could not be read"));
}

#[test]
fn several_faults_are_counted_and_listed_worst_first() {
    let mut cluster = healthy();
    forget(&mut cluster, 1);
    cluster.services[0].state.desired = 3;
    register(catalog(&mut cluster), 9, CheckStatus::Passing);
    let row = row(cluster);
    assert!(row.verdict.starts_with("1 of 2 tasks is not registered: ") && row.verdict.ends_with(" (and 2 more)"));
    assert_eq!(row.faults[1..], ["2 of 3 desired tasks are running", "1 instance in Consul has no running task"]);
}

/// A healthy service whose tasks bring this outlier detection, with what Consul has for it.
fn with_outlier_detection(brought: &str, read: Result<Option<serde_json::Value>, ConsulError>) -> (State, Vec<String>) {
    let mut cluster = healthy();
    let config = format!(
        r#"{{"service":{{"name":"web","port":80,"networkResilienceConfig":{{"enabled":true,"outlierDetection":{brought}}}}},"proxy":{{}},
            "healthSyncContainers":["app"],"consulLogin":{{"enabled":true}}}}"#
    );
    cluster.tasks.iter_mut().for_each(|member| configure(member, &config));
    let service = cluster.tasks[0].identity.service.clone();
    let read = read.map(|entry| entry.map(|entry| serde_json::from_value(entry).unwrap()));
    cluster.outlier_detection.insert(service, read);
    let row = row(cluster);
    (row.state, row.notes)
}

#[test]
fn outlier_detection_that_consul_overrules_is_a_note_and_no_fault() {
    let brought = r#"{"interval":10000000000,"maxFailures":5,"maxEjectionPercent":50,"enforcingConsecutive5xx":100}"#;
    let used = json!({ "Interval": 10_000_000_000_u64, "MaxFailures": 5, "MaxEjectionPercent": 10 });
    let (state, notes) = with_outlier_detection(brought, Ok(Some(used)));
    let expected = "web:3 brings outlier detection that Consul does not use: enforcingConsecutive5xx 100 (Consul has none), \
                    maxEjectionPercent 50 (Consul has 10). mesh-init writes what CONSUL_ECS_CONFIG_JSON says only while the config \
                    entry service-defaults of web has none. Change the entry with consul config write";
    assert_eq!((state, notes), (State::Healthy, vec![expected.to_owned()]));
    let (state, notes) = with_outlier_detection(brought, Ok(None));
    assert!(state == State::Healthy && notes[0].contains("service-defaults of web has none"), "{notes:?}");
}

#[test]
fn outlier_detection_that_consul_uses_is_not_mentioned() {
    let used = json!({ "Interval": 10_000_000_000_u64, "MaxFailures": 5, "BaseEjectionTime": 30_000_000_000_u64 });
    let same = r#"{"interval":10000000000,"maxFailures":5}"#;
    assert_eq!(with_outlier_detection(same, Ok(Some(used))), (State::Healthy, Vec::new()));
    let off = with_outlier_detection(r#"{"interval":0,"maxFailures":5}"#, Ok(Some(json!({ "MaxFailures": 5 }))));
    assert_eq!(off, (State::Healthy, Vec::new()), "HashiCorp's off, which Consul leaves out");
    assert_eq!(row(healthy()).notes, [""; 0]);
}

#[test]
fn outlier_detection_that_could_not_be_read_is_unknown() {
    let subject = "the config entry service-defaults of web".to_owned();
    let denied = ConsulError::PermissionDenied { subject, token: TokenOwner::Command, reason: "denied".to_owned() };
    let (_, notes) = with_outlier_detection(r#"{"maxFailures":5}"#, Err(denied));
    assert!(notes[0].starts_with("whether Consul uses the outlier detection of web:3 is unknown: "), "{notes:?}");
}
