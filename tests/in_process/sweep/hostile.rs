//! What one author can write: secrets that cannot be used, names that are reserved, spellings without number. It harms only the
//! author's own service.

use local_stack::world::{Definition, World, cluster_arn, idle_check, mesh_tags, task_id};
use observe::{Deadline, SweepOrder};
use report::{Problem, SweepOutcome, SweepReport};
use serde_json::json;
use test_harness::recorder::{Answer, RecordedRequest};

use super::{an_hour_later, environment, forward, is_hidden, swept};
use crate::{
    environment::{Environment, refusal},
    time::LONG,
};

/// A definition of the service that reads these secrets, named without the prefix.
async fn reading(world: &World<'_>, service: &str, secrets: &[String]) -> Definition {
    let variables: Vec<String> = (0..secrets.len()).map(|number| format!("TOKEN_{number}")).collect();
    let read: Vec<(&str, &str)> =
        variables.iter().map(String::as_str).zip(secrets.iter().map(String::as_str)).collect();
    world.definition_reading(&format!("{service}-hostile"), &mesh_tags(service), None, &read).await
}

/// Secrets Manager denies the key of the secret of the service `locked`, in its own words.
fn locking(seen: &RecordedRequest, _: usize) -> Answer {
    let is_locked = seen.operation().as_deref() == Some("GetSecretValue")
        && seen.json()["SecretId"].as_str().is_some_and(|name| name.ends_with("-locked"));
    if is_locked {
        let text = "Access to KMS is not allowed";
        return Answer::status(400, json!({ "__type": "AccessDeniedException", "Message": text }).to_string());
    }
    Answer::Forward
}

fn fault_about<'r>(report: &'r SweepReport, secret: &str) -> &'r Problem {
    let about: Vec<&Problem> = report.faults.iter().filter(|fault| fault.reason.contains(secret)).collect();
    assert_eq!(about.len(), 1, "{secret} is reported once: {:?}", report.faults);
    about[0]
}

#[tokio::test]
async fn faulty_secrets_harm_only_their_own_service() {
    let world = World::without_deployment("hostile-secrets").await;
    let service = |name: &str| format!("{}-{name}", world.name);
    // Given a service with a token and no task
    let idle = service("idle");
    let task = world.run(&world.mesh_definition(&idle).await).await;
    let event = world.event(&task).await;
    let provisioning = environment(&world, forward, locking, &[], |edges| edges).await;
    assert!(provisioning.handle(&[event]).await.failures.is_empty());
    world.stop(&task).await;
    // And tasks of services whose secrets are reserved, foreign, locked by a key, and marked for deletion
    let foreign = service("foreign");
    world.put_secret(&world.secret_name(&foreign), &json!({ "password": "not a token" })).await;
    let deleted = world.secret_name(&service("deleted"));
    world.put_secret(&deleted, &json!({})).await;
    world.aws.call("secretsmanager", "secretsmanager.DeleteSecret", &json!({ "SecretId": deleted })).await;
    let faulty = [
        "consul-client-token".to_owned(),
        "x-bootstrap-token".to_owned(),
        foreign,
        service("locked"),
        service("deleted"),
    ];
    let (mut tasks, mut events) = (Vec::new(), Vec::new());
    for service in &faulty {
        let task = world.run(&reading(&world, service, std::slice::from_ref(service)).await).await;
        events.push(world.event(&task).await);
        tasks.push(task);
    }
    // And their events do not return to the queue: their authors could keep the alarm of the dead-letter queue on
    let report = provisioning.handle(&events).await;
    assert_eq!((report.failures.len(), report.faults.len()), (0, faulty.len()), "{report:?}");
    // And a new task of a service whose event was lost
    let new = service("new");
    world.run(&reading(&world, &new, std::slice::from_ref(&new)).await).await;
    for dry_run in [true, false] {
        // When the clusters are swept
        let environment = environment(&world, forward, locking, &[], an_hour_later).await;
        let report = swept(&environment, &SweepOrder { dry_run, ..SweepOrder::default() }).await;
        // Then each fault is reported once, with its owner and a task that reads the secret
        assert_eq!(report.outcome, if dry_run { SweepOutcome::DryRun } else { SweepOutcome::Done }, "{report:?}");
        for (service, task) in faulty.iter().zip(&tasks) {
            let owner = fault_about(&report, service).owner.as_deref().unwrap_or_default();
            let id = task_id(task);
            assert!(owner.contains(&format!("service {service}")) && owner.contains(id), "{owner}");
        }
        assert_eq!(report.faults.len(), faulty.len(), "{:?}", report.faults);
    }
    // And everything else was done
    assert!(is_hidden(&world, &idle).await, "the token of a service without tasks");
    world.provisioned(&world.secret_name(&new)).await;
    // And the clean-up goes on without them
    let environment = environment(&world, forward, locking, &[], |edges| edges).await;
    let cleaned = environment.controller.clean_up(Deadline::after(LONG)).await;
    assert!(cleaned.problems.is_empty() && cleaned.faults.len() == faulty.len(), "{cleaned:?}");
    assert_eq!(world.is_empty(&world.secret_name(&new)).await, Some(true));
}

#[tokio::test]
async fn a_secret_that_never_rests_is_a_fault_of_its_own() {
    // Given a secret that another writer changes whenever the controller writes it
    let world = World::without_deployment("restless").await;
    world.run(&world.mesh_definition(&world.service()).await).await;
    let restless = |seen: &RecordedRequest, before| match seen.operation().as_deref() {
        Some("GetSecretValue") => {
            Answer::ok(json!({ "SecretString": "{}", "VersionId": format!("v{before}") }).to_string())
        }
        Some("PutSecretValue") => refusal("ResourceExistsException"),
        _ => Answer::Forward,
    };
    let settings = [("TIME_BOUNDS", "secrets-lag=0,attempt=3")];
    let environment = environment(&world, forward, restless, &settings, |edges| edges).await;
    // When the clusters are swept, then the sweep is complete without it
    let report = swept(&environment, &SweepOrder::default()).await;
    assert_eq!(report.outcome, SweepOutcome::Done, "{report:?}");
    let reason = &fault_about(&report, &world.secret_name(&world.service())).reason;
    assert!(reason.ends_with("changed since it was read"), "{reason}");
}

#[tokio::test]
async fn a_key_that_locks_every_secret_concerns_everything() {
    // Given two services with tokens
    let world = World::without_deployment("hostile-key").await;
    let provisioning = environment(&world, forward, forward, &[], |edges| edges).await;
    for service in ["hostile-key-a", "hostile-key-b"] {
        let task = world.run(&reading(&world, service, &[service.to_owned()]).await).await;
        assert!(provisioning.handle(&[world.event(&task).await]).await.failures.is_empty());
    }
    // When the key of all secrets denies the role
    let locked = |seen: &RecordedRequest, _: usize| match seen.operation().as_deref() {
        Some("GetSecretValue") => {
            let text = "Access to KMS is not allowed";
            Answer::status(400, json!({ "__type": "AccessDeniedException", "Message": text }).to_string())
        }
        _ => Answer::Forward,
    };
    // Then the sweep is incomplete, and its alarm follows
    let report = swept(&environment(&world, forward, locked, &[], |edges| edges).await, &SweepOrder::default()).await;
    assert_eq!(report.outcome, SweepOutcome::Incomplete, "{report:?}");
}

#[tokio::test]
async fn a_role_that_may_read_no_secret_concerns_everything() {
    let world = World::without_deployment("hostile-denied").await;
    world.run(&world.mesh_definition(&world.service()).await).await;
    let denied = |seen: &RecordedRequest, _: usize| match seen.operation().as_deref() {
        Some("GetSecretValue") => {
            let text = "User: r is not authorized to perform: secretsmanager:GetSecretValue because no identity-based policy allows it";
            Answer::status(400, json!({ "__type": "AccessDeniedException", "Message": text }).to_string())
        }
        _ => Answer::Forward,
    };
    let report = swept(&environment(&world, forward, denied, &[], |edges| edges).await, &SweepOrder::default()).await;
    assert_eq!(report.outcome, SweepOutcome::Incomplete, "{report:?}");
}

/// Sixty spellings of a service's name.
fn spellings(service: &str) -> Vec<String> {
    let spell = |number: usize| {
        let letters = service.chars().enumerate();
        letters.map(|(at, c)| if number >> at & 1 == 1 { c.to_ascii_uppercase() } else { c }).collect()
    };
    (1..=60).map(spell).collect()
}

async fn tokens_of(world: &World<'_>, service: &str) -> usize {
    world.tokens_about(&format!("Token for {service} service")).await.len()
}

#[tokio::test]
async fn sixty_spellings_of_one_service_make_one_token() {
    let world = World::without_deployment("hostile-spellings").await;
    let service = format!("spelled-{}", world.name);
    let definition = reading(&world, &service, &spellings(&service)).await;
    // When its tasks start, in several environments at once
    let mut events = Vec::new();
    for _ in 0..3 {
        events.push(world.event(&world.run(&definition).await).await);
    }
    let environments = [start(&world).await, start(&world).await, start(&world).await];
    futures::future::join_all(environments.iter().zip(&events).map(async |(it, event)| {
        it.handle(std::slice::from_ref(event)).await;
    }))
    .await;
    // Then one of them has a token
    assert_eq!(tokens_of(&world, &service).await, 1);
    // And the sweep says so once, with few calls for many spellings
    let environment = start(&world).await;
    let report = swept(&environment, &SweepOrder::default()).await;
    assert_eq!(report.outcome, SweepOutcome::Done, "{report:?}");
    let fault = fault_about(&report, "secret name");
    assert!(fault.owner.as_deref().is_some_and(|owner| owner.contains(&format!("service {service}"))), "{fault:?}");
    assert_eq!(tokens_of(&world, &service).await, 1);
    let lists = environment.consul.lines().iter().filter(|line| line.contains("servicename")).count();
    assert_eq!(lists, 0, "the list of the reading says it");
}

async fn start(world: &World<'_>) -> Environment {
    environment(world, forward, forward, &[], |edges| edges).await
}

#[tokio::test]
async fn a_sweep_alone_gives_one_of_sixty_spellings_a_token() {
    let world = World::without_deployment("hostile-swept").await;
    let service = format!("spelled-{}", world.name);
    let mut read = spellings(&service);
    read.push(service.clone());
    world.run(&reading(&world, &service, &read).await).await;
    swept(&start(&world).await, &SweepOrder::default()).await;
    assert_eq!(tokens_of(&world, &service).await, 1);
    world.provisioned(&world.secret_name(&service)).await;
}

#[tokio::test]
async fn a_token_that_a_cluster_outside_of_the_selection_has_used_is_kept() {
    let world = World::without_deployment("hostile-narrowed").await;
    let (service, other) = (world.service(), format!("{}-other", world.name));
    let definition = world.mesh_definition(&service).await;
    // Given a service in two clusters, both selected
    world.aws.create_cluster(&other).await;
    let both: &'static str = Box::leak(format!("{},{}", world.cluster(), cluster_arn(&other)).into_boxed_str());
    let wide = environment(&world, forward, forward, &[("ECS_CLUSTER_ARNS", both)], |edges| edges).await;
    let task = world.run(&definition).await;
    assert!(wide.handle(&[world.event(&task).await]).await.failures.is_empty());
    let run = json!({ "cluster": other, "taskDefinition": definition.0 });
    let elsewhere = world.ecs_call("RunTask", &run).await["tasks"][0]["taskArn"].as_str().unwrap().to_owned();
    swept(&wide, &SweepOrder::default()).await;
    // When the selection is narrowed to one of them, whose task stops
    world.stop(&task).await;
    let narrow = environment(&world, forward, forward, &[], an_hour_later).await;
    let report = swept(&narrow, &SweepOrder::default()).await;
    // Then the other cluster's task keeps its token, and the sweep says so
    assert!(!is_hidden(&world, &service).await, "{elsewhere} uses it");
    let skipped = format!("{:?}", report.clusters[0].skipped);
    assert!(skipped.contains(&other) && skipped.contains(&format!("service {service}")), "{skipped}");
    let checked = narrow.handle(&[idle_check(&service)]).await;
    assert!(checked.failures.is_empty(), "{checked:?}");
    assert!(!is_hidden(&world, &service).await, "{elsewhere} uses it");
}
