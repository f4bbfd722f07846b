//! Tasks that are meant to run.

use mesh::{
    catalog::{CheckStatus, DrainReason, HealthCheck},
    consul_ecs::{instance_id, names::DATAPLANE},
    task::{ContainerHealth, TaskContainer},
};
use mesh_examples::container;

use super::{log::in_group, *};
use crate::examples::{INIT, configure, described, lose_tag, read_token, revision};

#[test]
fn task_that_is_as_it_should_be_is_healthy() {
    let report = asked(|_, _| {});
    assert_eq!(
        (report.cause, report.conclusion.as_str(), report.condition),
        (WhyCause::Healthy, "healthy", Condition::Healthy)
    );
}

#[test]
fn task_outside_the_mesh_is_told_what_is_missing() {
    assert_because(WhyCause::NotInTheMesh, "consul.hashicorp.com/mesh", |cluster, _| {
        forget(cluster);
        cluster.others.insert(id(1));
    });
}

#[test]
fn task_whose_revision_has_lost_the_tag_is_told_which_revision_had_it() {
    let lost = "It is not in the mesh: revision 4 lost the tag consul.hashicorp.com/mesh that revision 3 had";
    assert_because(WhyCause::NotInTheMesh, lost, |cluster, _| lose_tag(cluster, 1));
    assert_because(WhyCause::NotInTheMesh, "Register web again with the tags of web:3", |cluster, _| {
        lose_tag(cluster, 1);
    });
    let report = asked(|cluster, _| lose_tag(cluster, 1));
    assert_eq!(report.subject.service.as_deref(), Some("web"));
    assert!(report.timeline.iter().any(|event| event.what.contains("web:4")), "{:?}", report.timeline);
}

#[test]
fn task_whose_definition_could_not_be_read_is_not_said_to_be_outside_the_mesh() {
    let report = asked(|cluster, _| {
        forget(cluster);
        cluster.others.insert(id(1));
        cluster.unsorted.insert(id(1));
    });
    assert_eq!((report.cause, report.condition), (WhyCause::DefinitionNotRead, Condition::Unknown));
}

#[test]
fn task_with_another_tasks_id_is_found() {
    assert_because(WhyCause::AnotherTasksId, id(7).as_str(), |cluster, _| {
        let other = id(7);
        let config = format!(
            r#"{{"service":{{"name":"web","port":80,"meta":{{"task-id":"{other}"}}}},"proxy":{{}},"healthSyncContainers":["app"]}}"#
        );
        configure(&mut cluster.tasks[0], &config);
    });
}

/// A container of the first task stops.
fn stop_container(cluster: &mut InspectedCluster, name: &str, code: i32) {
    let task = described(&mut cluster.tasks[0]);
    let container = task.containers.iter_mut().find(|container| container.name == name).expect("a container");
    (container.is_stopped, container.exit_code) = (true, Some(code));
}

#[test]
fn proxy_that_has_stopped_is_named_with_who_drained_the_task() {
    let proxy = "consul-dataplane exited with 139 while the task still runs";
    assert_because(WhyCause::ProxyStopped, proxy, |cluster, _| stop_container(cluster, DATAPLANE, 139));
    for (outcome, who) in [
        ("done", "The controller drained it at 2026-11-23 11:59:00 UTC"),
        ("observed", "The controller is in Mode=observe and did not drain it"),
    ] {
        assert_because(WhyCause::ProxyStopped, who, |cluster, background| {
            stop_container(cluster, DATAPLANE, 139);
            background.log(1, of_task("drain", outcome));
        });
    }
}

#[test]
fn proxy_that_was_out_of_memory_needs_more_of_it() {
    let killed = |reason: &'static str| {
        because(move |cluster, _| {
            stop_container(cluster, DATAPLANE, 137);
            described(&mut cluster.tasks[0]).end.containers.push(exited(DATAPLANE, Some(137), Some(reason)));
        })
    };
    let (cause, sentence) = killed("OutOfMemoryError: Container killed due to memory usage");
    assert_eq!(cause, WhyCause::ProxyStopped);
    assert!(sentence.contains("with 137 (OutOfMemoryError: Container killed due to memory usage)"), "{sentence}");
    assert!(sentence.ends_with("Raise the memory of the container or the task, and deploy"), "{sentence}");
    // Killed for another reason
    let (_, sentence) = killed("DockerTimeoutError");
    assert!(sentence.contains("(DockerTimeoutError)") && !sentence.contains("Raise the memory"), "{sentence}");
}

#[test]
fn login_tokens_that_are_gone_say_who_deleted_them() {
    let without_tokens = |change: fn(&mut Background)| {
        because(|_, background| {
            background.tokens = Some(tokens(vec![login_token(2)]));
            change(background);
        })
    };
    let (cause, sentence) = without_tokens(|_| {});
    assert_eq!(cause, WhyCause::TokenDeleted);
    let unknown =
        "the controller's log since 2026-11-22 12:00:00 UTC does not say who deleted it (with LogLevel=info it would)";
    assert!(sentence.contains(unknown), "{sentence}");
    let (_, sentence) = without_tokens(|background| background.log(1, of_task("delete_login_token", "done")));
    assert!(sentence.contains("the controller deleted it at 2026-11-23 11:59:00"), "{sentence}");
    let (_, sentence) = without_tokens(|background| background.history.is_complete = false);
    assert!(sentence.contains("the controller's log could not be read, so it is unknown"), "{sentence}");
    // A token that no login has created is none
    // With the registration, they are lost together only to a snapshot that is older
    let snapshot = "as after the restore of a snapshot that is older than the task";
    assert_because(WhyCause::TokenDeleted, snapshot, |cluster, background| {
        background.tokens = Some(tokens(vec![login_token(2)]));
        deregister(cluster);
    });
    let (_, sentence) = because(|cluster, background| {
        background.tokens = Some(tokens(vec![login_token(2)]));
        background.log(1, of_task("delete_login_token", "done"));
        deregister(cluster);
    });
    assert!(sentence.contains("the controller deleted it") && !sentence.contains(snapshot), "{sentence}");
    let (cause, _) = without_tokens(|background| {
        let described = ListedToken { auth_method: None, ..login_token(1) };
        background.tokens = Some(tokens(vec![login_token(2), described.clone(), described]));
    });
    assert_eq!(cause, WhyCause::TokenDeleted);
    // They may be in another datacenter, if there is none at all; and what could not be read is not absent
    assert_eq!(because(|_, background| background.tokens = Some(tokens(Vec::new()))).0, WhyCause::Healthy);
    assert_eq!(because(|_, background| background.tokens = None).0, WhyCause::Healthy);
}

#[test]
fn token_of_a_service_that_is_gone_says_who_revoked_it() {
    let (cause, sentence) = because(|cluster, background| {
        read_token(&mut cluster.tasks[0]);
        let revoked = json!({
            "action": "revoke", "outcome": "done", "holder": "service web", "reason": "no task of the service runs",
        });
        background.log(10, revoked);
    });
    assert_eq!(cause, WhyCause::TokenDeleted);
    let who = "the controller deleted it at 2026-11-23 11:50:00 UTC, because no task of the service runs";
    assert!(sentence.contains(who) && sentence.contains("read from consul-ecs-web"), "{sentence}");
    // It is there
    let (cause, _) = because(|cluster, background| {
        read_token(&mut cluster.tasks[0]);
        let description = format!("Token for web service\nconsul.hashicorp.com/cluster: {}", super::cluster()).into();
        background.tokens = Some(tokens(vec![ListedToken { description, ..login_token(1) }]));
    });
    assert_eq!(cause, WhyCause::Healthy);
}

/// The instances of the first task are in maintenance mode.
fn drain(cluster: &mut InspectedCluster, output: &str) {
    let catalog = cluster.catalog.as_mut().unwrap();
    let its = catalog.instances.iter().filter(|instance| instance.task == id(1));
    let checks: Vec<HealthCheck> = its
        .map(|it| HealthCheck {
            output: output.to_owned(),
            notes: output.to_owned(),
            ..HealthCheck::maintenance(it, DrainReason::ProxyStopped)
        })
        .collect();
    catalog.checks.extend(checks);
}

#[test]
fn drained_task_says_by_whom_and_why() {
    let by = "not by the controller: its instance is in Consul's maintenance mode (backup until noon)";
    assert_because(WhyCause::Drained, by, |cluster, _| drain(cluster, "backup until noon"));
    let (_, sentence) = because(|cluster, _| drain(cluster, DrainReason::ProxyStopped.as_str()));
    assert!(sentence.starts_with("It is drained: the controller put it into maintenance mode ("), "{sentence}");
    let at = "the controller put it into maintenance mode at 2026-11-23 11:56:00";
    assert_because(WhyCause::Drained, at, |cluster, background| {
        drain(cluster, DrainReason::Stopping.as_str());
        background.log(4, of_task("mark_critical", "done"));
    });
}

#[test]
fn task_that_is_drained_because_of_its_host_names_the_host_and_since_when() {
    let on = |cluster: &mut InspectedCluster| {
        let placement = &mut described(&mut cluster.tasks[0]).placement;
        placement.is_disconnected = true;
        placement.connectivity_at = Some(minutes_ago(7));
        let arn = "arn:aws:ecs:us-east-1:123456789012:container-instance/prod/0123";
        placement.container_instance = Some(arn.parse().unwrap());
    };
    let contact = "ECS has had no contact with the agent on arn:aws:ecs:us-east-1:123456789012:container-instance/prod/0123 \
                   since 2026-11-23T11:53:00Z";
    assert_because(WhyCause::Drained, contact, |cluster, _| {
        on(cluster);
        drain(cluster, DrainReason::HostGone.as_str());
    });
    assert_because(WhyCause::Disconnected, contact, |cluster, _| on(cluster));
    // The guard keeps the last one
    assert_because(
        WhyCause::Disconnected,
        "unless it is the last one of its service whose checks pass",
        |cluster, _| on(cluster),
    );
    let requests = "Consul still sends requests to it";
    assert_because(WhyCause::Disconnected, requests, |cluster, _| on(cluster));
    let (_, sentence) = because(|cluster, _| {
        on(cluster);
        fail_checks(cluster);
    });
    assert!(!sentence.contains(requests) && sentence.contains("If EC2 says that the instance is gone"), "{sentence}");
    assert_because(WhyCause::Disconnected, "so the controller drains none of their tasks", |cluster, _| {
        on(cluster);
        described(&mut cluster.tasks[0]).placement.runs_on = Some("EXTERNAL".to_owned());
    });
    let observed = |cluster| Inspection { clusters: vec![cluster], problems: Vec::new() };
    let mut cluster = healthy();
    on(&mut cluster);
    let status = crate::status(&observed(cluster), None, now());
    let task = status.services[0].tasks.iter().find(|task| task.id == id(1).as_str()).unwrap();
    assert!(task.verdict.contains(contact), "{task:?}");
}

#[test]
fn check_of_another_program_at_the_sidecar_is_named() {
    const HEALTH_SYNC: &str = "consul-ecs-health-sync";
    let with_check = |id: &'static str, output: &'static str| {
        because(move |cluster, _| {
            revision(&mut cluster.tasks[0]).programs.health_sync = Some(HEALTH_SYNC.to_owned());
            let container = container(HEALTH_SYNC, ContainerHealth::Unknown);
            described(&mut cluster.tasks[0]).containers.push(TaskContainer { is_stopped: true, ..container });
            let catalog = cluster.catalog.as_mut().unwrap();
            let mut instances = catalog.instances.iter();
            let sidecar = instances.find(|it| it.task == super::id(1) && !it.kind.is_empty()).unwrap();
            let check = HealthCheck::maintenance(sidecar, DrainReason::Stopping);
            let (id, output) = (id.to_owned(), output.to_owned());
            catalog.checks.push(HealthCheck {
                id,
                notes: output.clone(),
                output,
                status: CheckStatus::Passing,
                ..check
            });
        })
    };
    let (cause, sentence) = with_check("esm-ping", "pong");
    assert_eq!(cause, WhyCause::ForeignCheck);
    assert!(
        sentence.starts_with("Its container consul-ecs-health-sync exits with an error whenever it starts"),
        "{sentence}"
    );
    assert!(sentence.contains("nor the controller has written: esm-ping."), "{sentence}");
    // Not a drain of the controller
    let own = with_check("_service_maintenance:x", DrainReason::ProxyStopped.as_str());
    assert_eq!(own.0, WhyCause::HealthSyncStopped);
}

#[test]
fn running_task_whose_mesh_init_failed_was_never_registered() {
    let (cause, sentence) = because(|cluster, _| {
        deregister(cluster);
        stop_container(cluster, INIT, 2);
    });
    assert_eq!(cause, WhyCause::MeshInitFailed);
    assert!(
        sentence
            .starts_with("It was never registered in Consul because its container consul-ecs-mesh-init exited with 2")
    );
}

#[test]
fn task_that_cannot_log_in_is_told_to_check_the_auth_method() {
    let expected = "check the auth method iam-ecs, its binding rules";
    assert_because(WhyCause::LoginRefused, expected, |cluster, background| {
        deregister(cluster);
        described(&mut cluster.tasks[0]).containers[0] = container(INIT, ContainerHealth::Unknown);
        background.tokens = Some(tokens(vec![login_token(2)]));
        described(&mut cluster.tasks[0]).containers[2].health = ContainerHealth::Unknown;
        let config = r#"{"consulLogin":{"enabled":true,"method":"iam-ecs"}}"#;
        revision(&mut cluster.tasks[0]).config = Some(config.into());
    });
}

#[test]
fn lost_task_says_who_deregistered_it_and_what_brings_it_back() {
    let (cause, sentence) = because(|cluster, _| deregister(cluster));
    assert_eq!(cause, WhyCause::LostFromTheCatalog);
    assert!(
        sentence.contains("the controller's log shows no deregistration")
            && sentence.ends_with("registers it again. To sweep now: ecs-mesh sweep --cluster prod"),
        "{sentence}"
    );
    // Without a stack, nothing sweeps
    let replace = "Replace the task: there is no stack ecs-mesh-controller whose sweep registers it again";
    assert_because(WhyCause::LostFromTheCatalog, replace, |cluster, background| {
        deregister(cluster);
        background.lacks_stack = true;
    });
    // An instance with its ID and another name is not its own
    let (cause, sentence) = because(|cluster, _| {
        let mut instances = cluster.catalog.as_mut().unwrap().instances.iter_mut();
        instances.find(|it| it.task == id(1) && it.kind.is_empty()).unwrap().name = "other".to_owned();
    });
    let lost = format!("Consul has lost its instance {}: it is no longer registered", instance_id("web", &id(1)));
    assert!(cause == WhyCause::LostFromTheCatalog && sentence.starts_with(&lost), "{sentence}");
    // Without a login token it takes another proof
    let no_token = "because Consul lists no login token of the task. Otherwise replace the task";
    assert_because(WhyCause::LostFromTheCatalog, no_token, |cluster, background| {
        deregister(cluster);
        background.tokens = Some(tokens(Vec::new()));
    });
    for (action, outcome, said) in [
        ("deregister", "done", "the controller deregistered it at 2026-11-23 11:59:00"),
        ("repair", "observed", "The controller is in Mode=observe and changes nothing"),
    ] {
        let (_, sentence) = because(|cluster, background| {
            deregister(cluster);
            background.log(1, of_task(action, outcome));
        });
        assert!(sentence.contains(said), "{sentence}");
    }
}

#[test]
fn controller_that_failed_lately_is_named_if_the_task_is_not_as_it_should_be() {
    let failed = |minutes| {
        let denied = "consul_permission_denied";
        line(minutes, json!({ "outcome": "failed", "task_id": id(1).to_string(), "error": denied, "reason": "no" }))
    };
    let failing = |minutes| {
        because(|cluster, background| {
            fail_checks(cluster);
            background.history.lines.push(failed(minutes));
        })
    };
    let (cause, sentence) = failing(1);
    let expected = "failed at 2026-11-23 11:59:00 UTC (consul_permission_denied: no). Fix this error";
    assert!(cause == WhyCause::ControllerFailed && sentence.contains(expected), "{sentence}");
    assert_eq!(failing(61).0, WhyCause::NotPassing, "an old failure explains nothing");
    assert_eq!(because(|_, background| background.history.lines.push(failed(1))).0, WhyCause::Healthy);
    // What it has lost comes first, and names the failure
    let failure = "; the controller's last action for it failed at";
    assert_because(WhyCause::LostFromTheCatalog, failure, |cluster, background| {
        deregister(cluster);
        background.history.lines.push(failed(1));
    });
}

/// The checks of the first task are critical.
pub(super) fn fail_checks(cluster: &mut InspectedCluster) {
    let checks = cluster.catalog.as_mut().unwrap().checks.iter_mut();
    checks
        .filter(|check| check.service_id.contains(id(1).as_str()))
        .for_each(|check| check.status = CheckStatus::Critical);
}

#[test]
fn container_that_is_not_healthy_is_named_with_its_log() {
    let (cause, sentence) = because(|cluster, _| {
        fail_checks(cluster);
        described(&mut cluster.tasks[0]).containers[1].health = ContainerHealth::Unhealthy;
        revision(&mut cluster.tasks[0]).containers[0].log = Some(in_group());
    });
    let expected = format!(
        "It gets no traffic because ECS reports its container app as UNHEALTHY. Read its log (log group /ecs/web, \
         stream ecs/app/{}) and check the command of its health check",
        id(1)
    );
    assert_eq!((cause, sentence), (WhyCause::NeverHealthy, expected));
}

/// The first task has been created four minutes ago, and its proxy does not become healthy.
fn hold_up(cluster: &mut InspectedCluster) {
    deregister(cluster);
    let task = described(&mut cluster.tasks[0]);
    task.last_status = "PENDING".to_owned();
    (task.end.created_at, task.end.started_at) = (Some(minutes_ago(4)), None);
    task.containers[1] = container("app", ContainerHealth::Unknown);
    task.containers[2].health = ContainerHealth::Unhealthy;
    revision(&mut cluster.tasks[0]).containers[0].waits_for = vec![DATAPLANE.to_owned()];
}

#[test]
fn unhealthy_container_that_another_one_waits_for_is_a_fault_at_once() {
    let (cause, sentence) = because(|cluster, _| hold_up(cluster));
    assert_eq!(cause, WhyCause::NeverHealthy);
    let expected = "It does not start: its container app waits for consul-dataplane, which is UNHEALTHY; ECS gives up about \
                    2026-11-23 14:56 UTC. Read the log of consul-dataplane";
    assert!(sentence.starts_with(expected), "{sentence}");
    let limited = "ECS gives up after its startTimeout of 90 s";
    assert_because(WhyCause::NeverHealthy, limited, |cluster, _| {
        hold_up(cluster);
        revision(&mut cluster.tasks[0]).containers[2].start_timeout = Some(std::time::Duration::from_secs(90));
    });
    // Without a container that waits
    assert_because(WhyCause::NeverHealthy, "its container consul-dataplane is UNHEALTHY", |cluster, _| {
        hold_up(cluster);
        revision(&mut cluster.tasks[0]).containers[0].waits_for.clear();
    });
    // Nor is Consul needed to see it, and the container that is not healthy yet still starts
    assert_eq!(
        because(|cluster, _| {
            hold_up(cluster);
            cluster.catalog = None;
        })
        .0,
        WhyCause::NeverHealthy
    );
    let starting = because(|cluster, _| {
        hold_up(cluster);
        described(&mut cluster.tasks[0]).containers[2].health = ContainerHealth::Unknown;
    });
    assert_eq!(starting.0, WhyCause::Starting, "{}", starting.1);
}

#[test]
fn instance_at_the_loopback_address_is_a_fault_of_its_own() {
    let at = |address: [u8; 4]| {
        because(move |cluster, _| {
            described(&mut cluster.tasks[0]).placement.address = None;
            let instances = cluster.catalog.as_mut().unwrap().instances.iter_mut().filter(|it| it.task == id(1));
            instances.for_each(|instance| instance.address = Some(address.into()));
        })
    };
    let (cause, sentence) = at([127, 0, 0, 1]);
    assert_eq!(cause, WhyCause::RegisteredAtLoopback);
    assert!(
        sentence.starts_with("No other task can reach it, because it is registered in Consul at 127.0.0.1"),
        "{sentence}"
    );
    assert!(sentence.contains("consul-ecs reads only an IPv4 address"), "{sentence}");
    assert_eq!(at([10, 0, 0, 9]).0, WhyCause::Healthy);
}

#[test]
fn health_sync_that_has_stopped_says_who_reports_the_health() {
    const HEALTH_SYNC: &str = "consul-ecs-health-sync";
    assert_because(WhyCause::HealthSyncStopped, "only sweeps write its health", |cluster, _| {
        revision(&mut cluster.tasks[0]).programs.health_sync = Some(HEALTH_SYNC.to_owned());
        let container = container(HEALTH_SYNC, ContainerHealth::Unknown);
        described(&mut cluster.tasks[0]).containers.push(TaskContainer { is_stopped: true, ..container });
    });
}

#[test]
fn everything_else_is_said_as_status_says_it() {
    let critical = "is HEALTHY in ECS, but its check in Consul is critical";
    assert_because(WhyCause::NotPassing, critical, |cluster, _| fail_checks(cluster));
    assert_because(WhyCause::Disconnected, "", |cluster, _| {
        described(&mut cluster.tasks[0]).placement.is_disconnected = true;
    });
    let report = asked(|cluster, _| {
        deregister(cluster);
        let task = described(&mut cluster.tasks[0]);
        (task.end.created_at, task.end.started_at) = (Some(minutes_ago(1)), None);
        task.containers = vec![container(INIT, ContainerHealth::Unknown)];
    });
    assert_eq!((report.cause, report.condition), (WhyCause::Starting, Condition::Starting), "{}", report.conclusion);
    let report = asked(|cluster, _| cluster.catalog = None);
    assert_eq!((report.cause, report.condition), (WhyCause::ConsulNotRead, Condition::Unknown));
    let report = asked(|cluster, _| {
        let task = described(&mut cluster.tasks[0]);
        (task.phase, task.last_status) = (TaskPhase::Unknown, "HIBERNATING".to_owned());
    });
    assert_eq!((report.cause, report.condition), (WhyCause::StatusUnknown, Condition::Unknown));
    assert!(report.conclusion.contains("HIBERNATING"), "{}", report.conclusion);
    assert_because(WhyCause::NotRegistered, "", |cluster, _| {
        described(&mut cluster.tasks[0]).placement.address = None;
        deregister(cluster);
    });
}

#[test]
fn status_and_why_have_one_verdict() {
    type Fault = fn(&mut InspectedCluster, &mut Background);
    let faults: [Fault; 7] = [
        |_, _| {},
        |cluster, _| stop_container(cluster, DATAPLANE, 137),
        |_, background| background.tokens = Some(tokens(vec![login_token(2)])),
        |cluster, _| stop_container(cluster, INIT, 1),
        |cluster, _| described(&mut cluster.tasks[0]).containers[1].health = ContainerHealth::Unhealthy,
        |cluster, _| deregister(cluster),
        |cluster, _| read_token(&mut cluster.tasks[0]),
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        let (mut cluster, mut background) = (healthy(), background());
        fault(&mut cluster, &mut background);
        let observed = Inspection { clusters: vec![cluster], problems: Vec::new() };
        let status = crate::status(&observed, background.tokens.as_ref(), now());
        let task = status.services[0].tasks.iter().find(|task| task.id == id(1).as_str()).expect("its task");
        let why = why_task(&id(1), &observed, &background, now());
        let is_healthy = why.condition == Condition::Healthy;
        assert_eq!((task.verdict == "healthy", is_healthy), (number == 0, number == 0), "{number}: {task:?} {why:?}");
    }
}
