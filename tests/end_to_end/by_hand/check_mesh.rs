//! `ecs-mesh check --mesh` on a real Consul, with exactly the policy of its page. What each answer of Consul means,
//! `crates/diagnosis/src/live_mesh/tests.rs` shows, and what the rules make of it, `crates/audit/tests/audit/live_mesh.rs`.

use std::fs;

use local_stack::{Stack, scratch, world::World};
use serde_json::{Value, json};
use test_harness::jwt::JwtKey;

use super::{Said, command, said};

const PAGE: &str = include_str!("../../../docs/reference/commands/check.md");
const DEFINITION: &str = include_str!("../../../crates/audit/src/bases/dataplane.json");

/// The documented policy.
fn policy() -> &'static str {
    let (_, rest) = PAGE.split_once("```hcl\n").expect("the policy");
    rest.split("```").next().expect("its end")
}

/// A service that logs in at an auth method, and calls another one.
fn definition(name: &str, upstream: &str, method: &str) -> String {
    let configured = |text: &str| {
        let mut configuration: Value = serde_json::from_str(text).unwrap();
        configuration["service"]["name"] = json!(name);
        configuration["consulLogin"]["method"] = json!(method);
        configuration["proxy"]["upstreams"][0]["destinationName"] = json!(upstream);
        configuration.to_string()
    };
    let mut definition: Value = serde_json::from_str(DEFINITION).unwrap();
    for container in definition["containerDefinitions"].as_array_mut().unwrap() {
        for variable in container["environment"].as_array_mut().into_iter().flatten() {
            if variable["name"] == "CONSUL_ECS_CONFIG_JSON" {
                variable["value"] = json!(configured(variable["value"].as_str().unwrap()));
            }
        }
    }
    serde_json::to_string_pretty(&definition).unwrap()
}

/// Checks one definition, with this token.
async fn check(world: &World<'_>, token: &str, definition: &str, arguments: &[&str]) -> Said {
    let file = scratch::directory().join(format!("{}.json", world.name));
    fs::write(&file, definition).unwrap();
    let file = file.to_str().unwrap();
    let all = [&["check", file, "--mesh", "--output", "json", "--select", "consul-live"], arguments].concat();
    let mut command = command(&Stack::shared().await.aws.endpoint, &all).await;
    command.env("CONSUL_HTTP_ADDR", &world.consul.address).env("CONSUL_HTTP_TOKEN", token);
    said(&mut command).await
}

/// The rules and messages of the findings.
fn found(said: &Said) -> Vec<String> {
    let document = said.json();
    let findings = document["findings"].as_array().unwrap_or_else(|| panic!("{document:#}")).iter();
    let shown = findings.map(|it| format!("{}: {}", it["rule"].as_str().unwrap(), it["message"].as_str().unwrap()));
    let mut shown: Vec<String> = shown.collect();
    shown.sort_unstable();
    shown
}

#[tokio::test]
async fn files_are_compared_with_what_consul_has() {
    let world = World::without_deployment("check-mesh").await;
    let [web, orders, method] = ["web", "orders", "jwt"].map(|part| format!("{}-{part}", world.name));
    let token = world.consul.token_with_rules(world.name, policy()).await.secret_id;
    let node = json!({ "Node": format!("{}-node", world.name), "Address": "192.0.2.1", "SkipNodeUpdate": true,
        "Service": { "Service": orders, "Port": 80 } });
    world.consul.put("/v1/catalog/register", &node).await;

    // A name that Consul has not, and an auth method that it has not
    let misspelt = orders.replace("orders", "oders");
    let said = check(&world, &token, &definition(&web, &misspelt, &method), &[]).await;
    let expected = [
        format!("consul-live-login: Consul has no auth method {method}, at which the task logs in"),
        format!("consul-live-upstream: Consul has no service {misspelt}; {orders} is one"),
    ];
    assert_eq!((found(&said), said.code), (expected.to_vec(), Some(1)), "{}", said.errors);

    // The right name: the default policy denies the call
    let config = JwtKey::generate().config(&json!({}));
    let jwt = json!({ "Name": method, "Type": "jwt", "Config": config });
    world.consul.put("/v1/acl/auth-method", &jwt).await;
    let correct = definition(&web, &orders, &method);
    let said = check(&world, &token, &correct, &[]).await;
    let denied = format!(
        "consul-live-intention: Consul denies calls from {web} to {orders}: no intention is about them, and the default policy denies them"
    );
    let of_type =
        format!("consul-live-login: the auth method {method} is of type jwt, but the task logs in with its IAM role");
    assert_eq!((found(&said), said.code), (vec![denied, of_type.clone()], Some(1)), "{}", said.errors);

    // An intention allows it
    let intention = json!({ "SourceName": web, "DestinationName": orders, "SourceType": "consul", "Action": "allow" });
    let answer = world.consul.call(
        reqwest::Method::POST,
        "/v1/connect/intentions",
        &world.consul.management_token,
        Some(&intention),
    );
    assert_eq!(answer.await.status, 200);
    let said = check(&world, &token, &correct, &[]).await;
    assert_eq!((found(&said), said.code), (vec![of_type], Some(1)), "{}", said.errors);

    // A token without permissions: a problem for each, and no finding
    let nothing = world.consul.token_with_rules(&format!("{}-nothing", world.name), "").await.secret_id;
    let said = check(&world, &nothing, &correct, &[]).await;
    let document = said.json();
    let problems: Vec<&str> =
        document["problems"].as_array().unwrap().iter().map(|it| it["reason"].as_str().unwrap()).collect();
    assert_eq!((found(&said), said.code, problems.len()), (Vec::new(), Some(2), 3), "{document:#}{}", said.errors);
    for rule in policy().split("\n\n") {
        let rule = rule.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(problems.iter().any(|problem| problem.contains(&format!("lacks {rule},"))), "{rule}: {problems:?}");
    }

    // Without the rules about logins, their permission is not needed
    let services: Vec<&str> = policy().split("\n\n").take(2).collect();
    let services = world.consul.token_with_rules(&format!("{}-services", world.name), &services.join("\n\n")).await;
    let ignored = ["--ignore", "consul-live-login,consul-live-identity"];
    let said = check(&world, &services.secret_id, &correct, &ignored).await;
    assert_eq!((found(&said), said.code), (Vec::new(), Some(0)), "{}", said.errors);
}
