//! Which tokens a batch of stopped tasks lists: those with the identity of their service, if every login has it, or all.

use local_stack::world::{World, mesh_tags, task_id};
use observe::SweepOrder;
use serde_json::{Value, json};
use test_harness::{
    jwt::JwtAuthMethod,
    recorder::{Answer, RecordedRequest},
};

use crate::{environment::Environment, sweep::swept};

fn is_list(seen: &RecordedRequest) -> bool {
    seen.uri.starts_with("/v1/acl/tokens")
}

/// A task definition with the mesh tags of `service` and this configuration.
async fn stopped(world: &World<'_>, service: &str, config: Value, containers: &[Value]) -> Value {
    let definition = match containers {
        [] => world.definition(service, &mesh_tags(service), Some(&config)).await,
        _ => world.definition_with(service, containers).await,
    };
    let task = world.run(&definition).await;
    world.stop(&task).await;
    world.event(&task).await
}

#[tokio::test]
async fn a_stop_lists_the_tokens_of_its_service_if_each_login_has_its_identity() {
    let world = World::without_deployment("listed").await;
    let service = |name: &str| json!({ "service": { "name": name, "port": 9090 } });
    let web = stopped(&world, "listed-web", service("listed-web"), &[]).await;
    let again = stopped(&world, "listed-web", service("listed-web"), &[]).await;
    let api = stopped(&world, "listed-api", service("listed-api"), &[]).await;
    let gateway = json!({ "gateway": { "kind": "mesh-gateway", "lanAddress": { "port": 8443 } } });
    let gateway = stopped(&world, "listed-gateway", gateway, &[]).await;
    let agent = json!({ "name": "consul-client", "image": "hashicorp/consul:1.8", "essential": false });
    let with_agent = stopped(&world, "listed-agent", Value::Null, &[agent]).await;
    let of_web = "GET /v1/acl/tokens?servicename=listed-web&consistent=";
    let all = "GET /v1/acl/tokens?consistent=";
    for (settings, events, expected) in [
        (&[][..], &[&web][..], of_web),
        (&[("BOOTSTRAP", "full")], &[&web], of_web),
        (&[], &[&web, &again], of_web),
        // A server that ignores the filter would send the whole list for each service
        (&[], &[&web, &api], all),
        // They log in for a role only, or their binding rules are another creator's
        (&[], &[&gateway], all),
        (&[], &[&with_agent], all),
        (&[], &[&web, &gateway], all),
        (&[("BOOTSTRAP", "none")], &[&web], all),
        (&[("TOKEN_MODE", "secrets-manager")], &[&web], all),
    ] {
        // When the tasks have stopped
        let environment = Environment::scripted(&world, settings, |_, _| Answer::Forward).await;
        let events: Vec<Value> = events.iter().map(|event| (*event).clone()).collect();
        let report = environment.handle(&events).await;
        // Then one list is read
        assert!(report.failures.is_empty(), "{report:?}");
        let requests = environment.consul.requests();
        let lists: Vec<String> = requests.iter().filter(|seen| is_list(seen)).map(RecordedRequest::line).collect();
        assert_eq!(lists, [expected], "{settings:?}");
    }
}

/// Consul's list, as servers since 2023 filter it.
fn filtered(list: &str, service: &str) -> String {
    let mut tokens: Vec<Value> = serde_json::from_str(list).expect("a list");
    tokens.retain(|token| {
        let identities = token["ServiceIdentities"].as_array();
        identities.is_some_and(|all| all.iter().any(|identity| identity["ServiceName"] == service))
    });
    Value::Array(tokens).to_string()
}

#[tokio::test]
async fn a_login_of_a_task_under_another_identity_is_deleted_by_the_next_sweep() {
    // Given a server that filters by service, and a stopped task with a login as its service and one as another
    let world = World::without_deployment("two-identities").await;
    world.create_node().await;
    let method = JwtAuthMethod::create(world.consul, world.name).await;
    let service = world.service();
    let task = world.run(&world.dataplane_definition(&service).await).await;
    for identity in [&service, "two-identities-other"] {
        method.log_in_task(identity, &world.cluster(), task_id(&task)).await;
    }
    let environment = Environment::scripted(&world, &[], |seen, _| match seen.uri.split_once("servicename=") {
        Some((_, service)) if is_list(seen) => {
            let service = service.split('&').next().unwrap().to_owned();
            Answer::ForwardAs(String::new(), Box::new(move |list| filtered(&list, &service)))
        }
        _ => Answer::Forward,
    })
    .await;
    world.stop(&task).await;
    // When its event is handled
    let report = environment.handle(&[world.event(&task).await]).await;
    assert!(report.failures.is_empty(), "{report:?}");
    // Then the login as its service is deleted
    let left = world.tokens_about(task_id(&task)).await;
    let identities: Vec<&Value> = left.iter().map(|token| &token["ServiceIdentities"][0]["ServiceName"]).collect();
    assert_eq!(identities, ["two-identities-other"]);
    // And the other one with the next sweep
    let report = swept(&environment, &SweepOrder::default()).await;
    assert!(report.problems.is_empty(), "{report:?}");
    assert_eq!(world.tokens_about(task_id(&task)).await, [Value::Null; 0]);
}
