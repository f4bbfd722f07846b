//! What one author writes harms only the author's own service: reserved names, foreign secrets, sixty spellings of one name.

use serde_json::{Value, json};

use super::world;
use local_stack::world::{World, mesh_tags, task_id};

/// Runs a task of the service that reads these secrets, named without the prefix. Its event is lost.
async fn run_reading(world: &World<'_>, service: &str, secrets: &[String]) -> String {
    let variables: Vec<String> = (0..secrets.len()).map(|number| format!("TOKEN_{number}")).collect();
    let read: Vec<(&str, &str)> =
        variables.iter().map(String::as_str).zip(secrets.iter().map(String::as_str)).collect();
    let family = format!("{}-{service}", world.name);
    world.run(&world.definition_reading(&family, &mesh_tags(service), None, &read).await).await
}

/// Sweeps; the summary.
async fn swept(world: &World<'_>) -> Value {
    let summary = world.sweep(&json!({})).await.unwrap_or_else(|error| panic!("the sweep failed: {error}"));
    assert_eq!(summary["outcome"], "done", "{summary}");
    summary
}

#[tokio::test]
async fn reserved_names_and_foreign_secrets_harm_only_themselves() {
    let world = world("hostile-secrets").await;
    let foreign = format!("{}-foreign", world.name);
    world.put_secret(&world.secret_name(&foreign), &json!({ "password": "not a token" })).await;
    let mut tasks = Vec::new();
    for service in ["consul-client-token", "x-bootstrap-token", &foreign] {
        tasks.push((service, run_reading(&world, service, &[service.to_owned()]).await));
    }
    let good = world.service();
    run_reading(&world, &good, std::slice::from_ref(&good)).await;
    let summary = swept(&world).await;
    let faults = summary["faults"].as_array().expect("faults");
    assert_eq!(faults.len(), tasks.len(), "{faults:?}");
    for (service, task) in &tasks {
        let is_its = |fault: &Value| fault["owner"].as_str().is_some_and(|owner| owner.contains(task_id(task)));
        assert!(faults.iter().any(is_its), "{service}: {faults:?}");
    }
    world.provisioned(&world.secret_name(&good)).await;
}

#[tokio::test]
async fn sixty_spellings_get_one_token() {
    let world = world("hostile-spellings").await;
    let service = format!("spelled-{}", world.name);
    let spell = |number: usize| -> String {
        let letters = service.chars().enumerate();
        letters.map(|(at, c)| if number >> at & 1 == 1 { c.to_ascii_uppercase() } else { c }).collect()
    };
    let spellings: Vec<String> = (1..=60).map(spell).collect();
    run_reading(&world, &service, &spellings).await;
    for _ in 0..2 {
        let summary = swept(&world).await;
        assert_eq!(summary["faults"].as_array().map(Vec::len), Some(1), "{summary}");
        assert_eq!(world.tokens_about(&format!("Token for {service} service")).await.len(), 1);
    }
}
