//! Tasks that stop, have stopped, or are not known.

use mesh::{arn::TaskId, task::ContainerHealth};

use super::*;
use crate::examples::{INIT, described, read_token, register};

#[test]
fn mesh_init_that_failed_is_named_with_its_exit_code_and_its_log() {
    let (cause, sentence) = because(|cluster, background| {
        stop(cluster, "TaskFailedToStart", "Dependency failed", vec![exited(INIT, Some(1), None)]);
        background.tokens = Some(tokens(Vec::new()));
    });
    assert_eq!(
        (cause, sentence.as_str()),
        (
            WhyCause::MeshInitFailed,
            "It was never registered in Consul because its container consul-ecs-mesh-init exited with 1 and never \
             logged in to Consul. Read the log of consul-ecs-mesh-init and fix the error"
        )
    );
    // The audit may say why
    let (_, sentence) = because(|cluster, background| {
        stop(cluster, "TaskFailedToStart", "Dependency failed", vec![exited(INIT, Some(1), None)]);
        let rule = "consul-mesh-init-command".to_owned();
        background.audit = vec![AuditError { rule, message: "the command is wrong".to_owned() }];
    });
    let audit = ". The audit finds an error in its definition, consul-mesh-init-command: the command is wrong";
    assert!(sentence.ends_with(audit), "{sentence}");
}

#[test]
fn reasons_are_told_without_secrets_and_with_the_arns_that_help() {
    let secret = "arn:aws:secretsmanager:us-east-1:111122223333:secret:shop/db-token-AbCdEf";
    let refused = format!(
        "ResourceInitializationError: unable to pull secrets or registry auth: execution resource retrieval failed: unable to \
         retrieve secret from asm: failed to fetch secret {secret} from secrets manager: AccessDeniedException"
    );
    let quoted = "CannotStartContainerError: exec: \"/bin/app --db-password hunter2secret\": no such file";
    let report = asked(|cluster, _| {
        stop(cluster, "TaskFailedToStart", &refused, vec![exited("app", None, Some(quoted))]);
    });
    let said = serde_json::to_string(&report).unwrap();
    assert!(said.contains(secret), "{said}");
    assert!(said.contains("/bin/app --db-password …"), "{said}");
    assert!(!said.contains("hunter2secret"), "{said}");
}

#[test]
fn failures_are_told_apart_by_what_ecs_says() {
    const FAILED: &str = "TaskFailedToStart";
    const EXITED: (&str, &str) = ("EssentialContainerExited", "Essential container in task exited");
    let pull = "CannotPullContainerError: pull access denied";
    let secrets = "ResourceInitializationError: unable to pull secrets";
    let memory = "OutOfMemoryError: Container killed due to memory usage";
    let start = "CannotStartContainerError: no such file";
    for ((code, reason), exit_code, of_app, cause, said) in [
        ((FAILED, pull), None, None, WhyCause::ImagePullFailed, format!("ECS could not pull an image ({pull})")),
        ((FAILED, secrets), None, None, WhyCause::SecretNotReadable, format!("ECS could not prepare it ({secrets})")),
        (EXITED, Some(137), Some(memory), WhyCause::OutOfMemory, "it exceeded its memory limit".to_owned()),
        (
            EXITED,
            Some(3),
            None,
            WhyCause::EssentialContainerExited,
            "its essential container app exited with 3".to_owned(),
        ),
        ((FAILED, "…"), None, Some(start), WhyCause::FailedToStart, format!("ECS could not start it ({start})")),
    ] {
        assert_because(cause, &said, |cluster, _| stop(cluster, code, reason, vec![exited("app", exit_code, of_app)]));
    }
    // The token of the service may be missing in the controller's own secret
    let of_token = "The next sweep writes the token into consul-ecs-web if it is missing";
    assert_because(WhyCause::SecretNotReadable, of_token, |cluster, _| {
        read_token(&mut cluster.tasks[0]);
        stop(cluster, FAILED, secrets, Vec::new());
    });
}

#[test]
fn only_a_task_that_never_ran_ended_because_of_an_image_a_secret_or_memory_that_another_container_lacked() {
    const EXITED: (&str, &str) = ("EssentialContainerExited", "Essential container in task exited");
    const SCALED: (&str, &str) = ("ServiceSchedulerInitiated", "Scaling activity initiated by (deployment ecs-svc/1)");
    let agent = "aws-guardduty-agent-Xy12Zq";
    let pull = "CannotPullContainerError: pull image manifest has been retried 1 time(s): 403 Forbidden";
    let secrets = "ResourceInitializationError: unable to pull secrets";
    let memory = "OutOfMemoryError: Container killed due to memory usage";
    for reason in [pull, secrets] {
        // In ECS, and in the log after ECS has forgotten the task
        let containers = || vec![exited("app", Some(1), None), exited(agent, None, Some(reason))];
        let (cause, sentence) = because(|cluster, _| stop(cluster, EXITED.0, EXITED.1, containers()));
        assert_eq!(cause, WhyCause::EssentialContainerExited, "{sentence}");
        assert!(sentence.starts_with("It stopped because its essential container app exited with 1"), "{sentence}");
        let (cause, sentence) = because(|cluster, background| {
            forget(cluster);
            let mut line = end_line(EXITED.0, &ContainerEnd::line(&containers()));
            line.started_at = Some(minutes_ago(99));
            background.history.lines.push(line);
        });
        assert_eq!(cause, WhyCause::EssentialContainerExited, "{sentence}");
        let (cause, _) = because(|cluster, _| stop(cluster, SCALED.0, SCALED.1, containers()));
        assert_eq!(cause, WhyCause::StoppedByItsService);
    }
    // A container that was killed for its memory ends no task that its service stops
    let killed = || vec![exited("app", Some(143), None), exited("sidecar", Some(137), Some(memory))];
    assert_eq!(because(|cluster, _| stop(cluster, SCALED.0, SCALED.1, killed())).0, WhyCause::StoppedByItsService);
    assert_eq!(because(|cluster, _| stop(cluster, EXITED.0, EXITED.1, killed())).0, WhyCause::OutOfMemory);
}

#[test]
fn container_that_aws_adds_is_not_named_from_the_log() {
    assert_because(WhyCause::EssentialContainerExited, "container app exited with 3", |cluster, background| {
        forget(cluster);
        let containers =
            "ecs-service-connect-kQ3x exited with 1, aws-guardduty-agent-Xy12Zq exited with 1, app exited with 3";
        background.history.lines.push(end_line("EssentialContainerExited", containers));
    });
}

#[test]
fn essential_container_without_an_exit_code_is_a_failure_too() {
    let (cause, sentence) = because(|cluster, _| stop(cluster, "EssentialContainerExited", "…", Vec::new()));
    assert_eq!(cause, WhyCause::EssentialContainerExited);
    assert!(sentence.starts_with("It stopped because an essential container exited"), "{sentence}");
}

#[test]
fn task_without_a_service_that_has_finished_has_ended_in_order() {
    let finish = |cluster: &mut InspectedCluster| {
        let containers = vec![exited("app", Some(0), None), exited("other", Some(137), None)];
        stop(cluster, "EssentialContainerExited", "…", containers);
    };
    let report = asked(|cluster, _| {
        finish(cluster);
        described(&mut cluster.tasks[0]).placement.service = None;
    });
    assert_eq!((report.cause, report.condition), (WhyCause::Stopped, Condition::Ended), "{}", report.conclusion);
    // That of a service was to go on
    assert_eq!(because(|cluster, _| finish(cluster)).0, WhyCause::EssentialContainerExited);
}

#[test]
fn task_that_was_never_healthy_and_was_replaced_names_its_container() {
    let (cause, sentence) = because(|cluster, _| {
        stop(cluster, "ServiceSchedulerInitiated", "Task failed container health checks", Vec::new());
        described(&mut cluster.tasks[0]).containers[1].health = ContainerHealth::Unhealthy;
    });
    assert_eq!(cause, WhyCause::HealthCheckFailed);
    assert!(
        sentence.starts_with("It was stopped because its container app was UNHEALTHY (Task failed container"),
        "{sentence}"
    );
}

#[test]
fn ordinary_ends_say_so() {
    let scaling = "Scaling activity initiated by (deployment ecs-svc/1)";
    for (code, reason, cause) in [
        ("SpotInterruption", "Your Spot Task was interrupted.", WhyCause::SpotInterruption),
        ("TerminationNotice", "Host EC2 terminated", WhyCause::InstanceTerminated),
        // A managed instance is replaced
        ("ServiceSchedulerInitiated", "Task stopped during instance draining", WhyCause::InstanceTerminated),
        ("ServiceSchedulerInitiated", scaling, WhyCause::StoppedByItsService),
        ("UserInitiated", "test", WhyCause::StoppedByHand),
        ("NewCode", "new reason", WhyCause::Stopped),
    ] {
        // A container that is killed by it has not failed
        let report = asked(|cluster, _| stop(cluster, code, reason, vec![exited(INIT, Some(137), None)]));
        assert_eq!((report.cause, report.condition), (cause, Condition::Ended), "{}", report.conclusion);
        assert!(code == "NewCode" || report.conclusion.starts_with("It ended normally"), "{}", report.conclusion);
    }
    let report = asked(|cluster, _| stop(cluster, "SpotInterruption", "Your Spot Task was interrupted.", Vec::new()));
    let expected =
        "It ended normally: a Spot interruption stopped it. Its service starts another task. No action needed";
    assert_eq!(report.conclusion, expected);
    let report = asked(|cluster, _| stop(cluster, "NewCode", "new reason", Vec::new()));
    assert_eq!((report.cause, report.condition), (WhyCause::Stopped, Condition::Ended));
}

#[test]
fn deployment_of_another_revision_is_named() {
    let (cause, sentence) = because(|cluster, _| {
        stop(cluster, "ServiceSchedulerInitiated", "Scaling activity initiated by (deployment ecs-svc/1)", Vec::new());
        cluster.services[0].state.deployments = vec![observe::ServiceDeployment {
            id: "ecs-svc/2".to_owned(),
            definition: "arn:aws:ecs:us-east-1:123456789012:task-definition/web:4".parse().unwrap(),
            created_at: Some(minutes_ago(5)),
            failure: None,
        }];
    });
    assert_eq!(
        (cause, sentence.as_str()),
        (WhyCause::Deployment, "It ended normally: the deployment of web:4 replaced it. No action needed")
    );
}

#[test]
fn a_task_that_its_service_moves_to_another_zone_says_so() {
    let moved = |stopped: &str| {
        because(|cluster, _| {
            let reason = "Scaling activity initiated by (deployment ecs-svc/1)";
            stop(cluster, "ServiceSchedulerInitiated", reason, Vec::new());
            let message = format!("has stopped 1 running tasks in us-east-1a due to AZ rebalancing: {stopped}");
            cluster.services[0].state.events = vec![observe::ServiceMessage { at: minutes_ago(5), message }];
        })
    };
    let (cause, sentence) = moved(&format!("{} ffffffffffffffffffffffffffffffff", id(1)));
    assert_eq!(cause, WhyCause::StoppedByItsService);
    assert!(sentence.starts_with("It ended normally: its ECS service balanced its tasks over the"), "{sentence}");
    // Another task was moved
    let (cause, sentence) = moved("ffffffffffffffffffffffffffffffff");
    assert_eq!(cause, WhyCause::StoppedByItsService);
    assert!(sentence.contains("stopped it (Scaling activity initiated by"), "{sentence}");
}

/// The first task has stopped, and its instances are still there.
fn left(cluster: &mut InspectedCluster) {
    stop(cluster, "UserInitiated", "test", Vec::new());
    register(cluster.catalog.as_mut().unwrap(), 1, mesh::catalog::CheckStatus::Critical);
}

#[test]
fn instance_of_a_stopped_task_says_who_leaves_it_there() {
    let (cause, _) = because(|cluster, _| left(cluster));
    assert_eq!(cause, WhyCause::LeftInConsul);
    let guarded = |minutes| {
        because(|cluster, background| {
            left(cluster);
            let reason = "10 of 10 services would be deleted";
            let arn = super::cluster().to_string();
            let guard = json!({ "action": "sweep", "outcome": "guard_tripped", "cluster_arn": arn, "reason": reason });
            background.log(minutes, guard);
        })
    };
    assert_eq!(guarded(3).0, WhyCause::LeftInConsul, "the guard was before the stop");
    let (cause, sentence) = guarded(1);
    assert_eq!(cause, WhyCause::HeldBackByTheGuard);
    assert!(
        sentence
            .contains("held back deletions or corrections in its cluster at 2026-11-23 11:59:00 UTC (10 of 10 services would be deleted)"),
        "{sentence}"
    );
    assert_because(WhyCause::OnlyObserved, "Mode=observe", |cluster, background| {
        left(cluster);
        background.log(1, of_task("deregister", "observed"));
    });
    let failed = |minutes| {
        because(|cluster, background| {
            left(cluster);
            let failed = json!({
                "outcome": "failed", "task_id": id(1).to_string(), "error": "consul_unavailable", "reason": "no leader",
            });
            background.log(minutes, failed);
        })
    };
    assert_eq!(failed(3).0, WhyCause::LeftInConsul, "the failure was before the stop");
    let (cause, sentence) = failed(1);
    assert!(cause == WhyCause::ControllerFailed && sentence.contains("(no leader)"), "{sentence}");
}

#[test]
fn no_sweep_is_promised_in_a_cluster_that_the_stack_does_not_manage() {
    let unmanaged = |background: &mut Background| {
        background.unmanaged.insert(super::cluster());
    };
    let left_there = because(|cluster, background| {
        left(cluster);
        unmanaged(background);
    });
    let lost = because(|cluster, background| {
        deregister(cluster);
        unmanaged(background);
    });
    let emptied = because(|cluster, background| {
        read_token(&mut cluster.tasks[0]);
        stop(cluster, "TaskFailedToStart", "ResourceInitializationError: unable to pull secrets", Vec::new());
        unmanaged(background);
    });
    let revoked = because(|cluster, background| {
        read_token(&mut cluster.tasks[0]);
        unmanaged(background);
    });
    let critical = because(|cluster, background| {
        super::running::fail_checks(cluster);
        unmanaged(background);
    });
    let disconnected = because(|cluster, background| {
        described(&mut cluster.tasks[0]).placement.is_disconnected = true;
        unmanaged(background);
    });
    for ((cause, sentence), expected) in [
        (left_there, WhyCause::LeftInConsul),
        (lost, WhyCause::LostFromTheCatalog),
        (emptied, WhyCause::SecretNotReadable),
        (revoked, WhyCause::TokenDeleted),
        (critical, WhyCause::NotPassing),
        (disconnected, WhyCause::Disconnected),
    ] {
        assert_eq!(cause, expected);
        let why =
            "because stack ecs-mesh-controller does not manage its cluster: no entry of EcsClusterArns selects prod";
        assert!(sentence.contains(why) && !sentence.contains("ecs-mesh sweep"), "{sentence}");
        assert!(!sentence.to_lowercase().contains("the next sweep"), "{sentence}");
    }
}

#[test]
fn a_sweep_is_promised_for_a_failure_of_a_secret_only() {
    for (reason, is_promised) in [
        ("ResourceInitializationError: unable to pull secrets or registry auth", true),
        ("ResourceInitializationError: retrieved Secret from Secrets Manager did not contain json key token", true),
        ("ResourceInitializationError: cannot read consul-ecs-web", true),
        ("ResourceInitializationError: failed to invoke EFS utils commands to set up EFS volumes", false),
    ] {
        let (cause, sentence) = because(|cluster, _| {
            read_token(&mut cluster.tasks[0]);
            stop(cluster, "TaskFailedToStart", reason, Vec::new());
        });
        assert_eq!(cause, WhyCause::SecretNotReadable, "{sentence}");
        assert_eq!(sentence.contains("The next sweep writes the token"), is_promised, "{sentence}");
    }
}

#[test]
fn task_that_ecs_has_forgotten_is_told_from_the_log() {
    let (cause, sentence) = because(|cluster, background| {
        forget(cluster);
        let containers = "consul-ecs-mesh-init exited with 0, app exited with 3";
        background.history.lines.push(end_line("EssentialContainerExited", containers));
    });
    assert_eq!(cause, WhyCause::EssentialContainerExited);
    assert!(sentence.starts_with("It stopped because its essential container app exited with 3. "), "{sentence}");
    // With LogLevel=warn, there is no such line
    assert_because(WhyCause::Forgotten, "set LogLevel=info", |cluster, background| {
        forget(cluster);
        background.log(90, of_task("drain", "done"));
    });
    // Consul still has its instance, and there may be no stack whose sweep deregisters it
    let (cause, sentence) = because(|cluster, _| drop(cluster.tasks.remove(0)));
    assert_eq!(cause, WhyCause::LeftInConsul);
    assert!(sentence.contains("The next sweep deregisters them"), "{sentence}");
    let (_, sentence) = because(|cluster, background| {
        cluster.tasks.remove(0);
        background.lacks_stack = true;
    });
    assert!(sentence.ends_with("There is no stack ecs-mesh-controller that deregisters them. To plan a sweep here: ecs-mesh sweep --dry-run --cluster prod --stack ecs-mesh-controller"), "{sentence}");
}

#[test]
fn unknown_task_says_what_was_searched() {
    let nobody: TaskId = id(99);
    let observed = Inspection { clusters: vec![healthy()], problems: Vec::new() };
    let report = why_task(&nobody, &observed, &background(), now());
    assert_eq!((report.cause, report.condition), (WhyCause::UnknownTask, Condition::Unknown));
    assert!(
        report
            .conclusion
            .contains("searched: cluster prod; the log of stack ecs-mesh-controller since 2026-11-22 12:00:00 UTC"),
        "{}",
        report.conclusion
    );
    let elsewhere = Background { searched: vec!["prod".to_owned(), "test".to_owned()], ..background() };
    let report = why_task(&nobody, &observed, &elsewhere, now());
    let expected = "was not found, but not everything could be read (searched: clusters prod, test; not read in full: \
                    test; ";
    assert!(report.conclusion.contains(expected), "{}", report.conclusion);
    let unread = Background { history: History::unread("no permission"), ..background() };
    let report = why_task(&nobody, &observed, &unread, now());
    assert!(report.conclusion.contains("the log could not be read"), "{}", report.conclusion);
    assert_eq!(report.problems, ["no permission"]);
}
