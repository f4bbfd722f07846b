//! The `task-events` function, deployed from our own template, between real SQS messages and a real Consul server.
//!
//! Assertions are about what Consul and Secrets Manager hold. The tests run side by side in one stack, each in a
//! cluster of its own.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod fixture;
mod stack;
mod world;

use fixture::{Fixture, controller_token};
use reqwest::Method;
use serde_json::{Value, json};
use stack::{
    consul::Consul,
    deploy::deploy,
    jwt::JwtAuthMethod,
    wait::{SOON, eventually},
};

// ---- starting ----

#[tokio::test]
async fn a_first_start_provisions_tokens_that_really_work() {
    let world = Fixture::tokens("first-start").await;
    let service = world.service();
    // When the first task of a service starts
    let definition = world.mesh_definition(&service).await;
    world.start_task(&definition).await;
    // Then the service's secret holds a token that can register the service and its proxy, and no other service
    let own = world.provisioned(&world.secret_name(&service)).await;
    let register = async |name: &str| {
        let body = json!({
            "Node": world.cluster(), "Address": "127.0.0.1", "SkipNodeUpdate": true,
            "Service": { "ID": format!("{name}-1"), "Service": name },
        });
        world.consul.call(Method::PUT, "/v1/catalog/register", &own.token, Some(&body)).await.status
    };
    world.register_raw(&json!({})).await;
    assert_eq!(register(&service).await, 200);
    assert_eq!(register(&format!("{service}-sidecar-proxy")).await, 200);
    assert_eq!(register("somebody-else").await, 403);
    // And the client agents' secret holds one that can register a node
    let client = world.provisioned("mesh-consul-client-token").await;
    let node = json!({ "Node": "ip-10-0-1-12", "Address": "10.0.1.12" });
    assert_eq!(world.consul.call(Method::PUT, "/v1/catalog/register", &client.token, Some(&node)).await.status, 200);
    assert_ne!(own.token, client.token);
}

#[tokio::test]
async fn a_second_task_of_the_service_makes_no_new_token() {
    let world = Fixture::tokens("second-task").await;
    let definition = world.mesh_definition(&world.service()).await;
    world.start_task(&definition).await;
    let first = world.provisioned(&world.secret_name(&world.service())).await;
    world.start_task(&definition).await;
    world.settled().await;
    assert_eq!(world.pair(&world.secret_name(&world.service())).await, Some(first));
    assert_eq!(world.tokens_about(&world.service()).await.len(), 1);
}

#[tokio::test]
async fn twenty_concurrent_first_starts_yield_one_token_and_one_secret_value() {
    let world = Fixture::tokens("twenty-starts").await;
    let definition = world.mesh_definition(&world.service()).await;
    let mut events = Vec::new();
    for _ in 0..20 {
        let task = world.run(&definition).await;
        events.push(world.event(&task).await);
    }
    futures::future::join_all(events.iter().map(|event| world.deliver(std::slice::from_ref(event)))).await;
    world.settled().await;
    let pair = world.provisioned(&world.secret_name(&world.service())).await;
    let tokens = world.tokens_about(&world.service()).await;
    assert_eq!(tokens.len(), 1, "{tokens:#?}");
    assert_eq!(tokens[0]["AccessorID"], pair.accessor_id);
}

#[tokio::test]
async fn an_old_controller_s_token_is_adopted_and_later_revoked() {
    let world = Fixture::tokens("adopted").await;
    let service = world.service();
    let old = world.token_of_old_controller(&service).await;
    let definition = world.mesh_definition(&service).await;
    let task = world.start_task(&definition).await;
    world.settled().await;
    assert_eq!(world.pair(&world.secret_name(&service)).await, Some(old.clone()), "the secret stays as it was");
    assert_eq!(world.tokens_about(&service).await.len(), 1, "no second token");
    // And when its service is idle, it goes like our own
    world.stop_task(&task).await;
    world.blanked(&world.secret_name(&service)).await;
    assert!(!world.is_valid(&old.token).await);
}

#[tokio::test]
async fn a_secret_without_a_value_and_one_with_an_empty_object_are_filled_in() {
    let world = Fixture::tokens("empty-secret").await;
    let service = world.service();
    world.put_secret(&world.secret_name(&service), &json!({})).await;
    let definition = world.mesh_definition(&service).await;
    world.start_task(&definition).await;
    world.provisioned(&world.secret_name(&service)).await;
}

#[tokio::test]
async fn a_task_is_in_the_mesh_by_its_own_tags_where_its_definition_has_none() {
    let world = Fixture::tokens("own-tags").await;
    let service = world.service();
    let config = json!({ "service": { "name": service } });
    let definition = world.definition(&service, &json!([]), Some(&config)).await;
    let tags = json!([{ "key": "consul.hashicorp.com/mesh", "value": "true" }]);
    let task = world.run_tagged(&definition, &tags).await;
    world.deliver(&[world.event(&task).await]).await;
    world.provisioned(&world.secret_name(&service)).await;
}

#[tokio::test]
async fn tasks_outside_the_mesh_and_gateways_get_no_token() {
    let world = Fixture::tokens("not-in-mesh").await;
    let plain = world.definition(&format!("{}-plain", world.name), &json!([]), None).await;
    let mesh = json!([{ "key": "consul.hashicorp.com/mesh", "value": "true" }]);
    let config = json!({ "gateway": { "kind": "mesh-gateway" } });
    let gateway = world.definition(&format!("{}-gateway", world.name), &mesh, Some(&config)).await;
    world.start_task(&plain).await;
    world.start_task(&gateway).await;
    world.settled().await;
    assert_eq!(world.tokens_about(world.name).await, Vec::<Value>::new());
    assert_eq!(world.secret_text(&world.secret_name(&format!("{}-gateway", world.name))).await, None);
}

// ---- stopping: service tokens ----

#[tokio::test]
async fn one_of_two_tasks_stopping_keeps_the_token() {
    let world = Fixture::tokens("one-of-two").await;
    let definition = world.mesh_definition(&world.service()).await;
    let first = world.start_task(&definition).await;
    world.start_task(&definition).await;
    let pair = world.provisioned(&world.secret_name(&world.service())).await;
    world.stop_task(&first).await;
    world.settled().await;
    assert!(world.is_valid(&pair.token).await);
    assert_eq!(world.pair(&world.secret_name(&world.service())).await, Some(pair));
}

#[tokio::test]
async fn the_last_task_stopping_revokes_the_token_and_a_restart_gets_another() {
    let world = Fixture::tokens("last-task").await;
    let secret = world.secret_name(&world.service());
    let definition = world.mesh_definition(&world.service()).await;
    let task = world.start_task(&definition).await;
    let stolen = world.provisioned(&secret).await;
    // When the last task stops and the grace period passes
    world.stop_task(&task).await;
    world.blanked(&secret).await;
    // Then the token is gone
    assert!(!world.is_valid(&stolen.token).await);
    assert_eq!(world.tokens_about(&world.service()).await, Vec::<Value>::new());
    // And a restart gets a new secret half: the stolen one stays dead
    world.start_task(&definition).await;
    let new = world.provisioned(&secret).await;
    assert_eq!(new.accessor_id, stolen.accessor_id);
    assert_ne!(new.token, stolen.token);
    assert!(!world.is_valid(&stolen.token).await);
}

#[tokio::test]
async fn a_restart_within_the_grace_period_keeps_the_token() {
    let world = Fixture::tokens("quick-restart").await;
    let secret = world.secret_name(&world.service());
    let definition = world.mesh_definition(&world.service()).await;
    let task = world.start_task(&definition).await;
    let pair = world.provisioned(&secret).await;
    // When a task stops and its successor starts before the look that is due after the grace period
    world.stop(&task).await;
    let successor = world.run(&definition).await;
    world.deliver(&[world.event(&task).await, world.event(&successor).await]).await;
    world.settled().await;
    assert!(world.is_valid(&pair.token).await);
    assert_eq!(world.pair(&secret).await, Some(pair));
}

// ---- stopping: login tokens, services, checks ----

#[tokio::test]
async fn of_login_tokens_only_the_stopped_task_s_go() {
    let world = Fixture::login("login-tokens").await;
    let other = Fixture::login("login-tokens-other").await;
    let service = world.service();
    let definition = world.mesh_definition(&service).await;
    let (stopping, staying) = (world.run(&definition).await, world.run(&definition).await);
    let method = JwtAuthMethod::create(world.consul, "login-tokens").await;
    let log_in =
        async |cluster: &str, task: &str| method.log_in_task(&service, cluster, world::task_id(task)).await.secret_id;
    let gone = [log_in(&world.cluster(), &stopping).await, log_in(&world.cluster(), &stopping).await];
    // The same task ID in another cluster, another task, and a login whose meta is not a task's
    let kept = [
        log_in(&other.cluster(), &stopping).await,
        log_in(&world.cluster(), &staying).await,
        method.log_in(&service, &json!({ "consul.hashicorp.com/task-id": world::task_id(&stopping) })).await.secret_id,
    ];
    world.stop_task(&stopping).await;
    world.settled().await;
    for token in gone {
        assert!(!world.is_valid(&token).await, "a login token of the stopped task is left");
    }
    for token in kept {
        assert!(world.is_valid(&token).await, "a login token of somebody else is gone");
    }
}

#[tokio::test]
async fn auth_method_mode_creates_nothing() {
    let world = Fixture::login("creates-nothing").await;
    let definition = world.mesh_definition(&world.service()).await;
    world.start_task(&definition).await;
    world.settled().await;
    assert_eq!(world.tokens_about(world.name).await, Vec::<Value>::new());
    assert_eq!(world.secret_text(&world.secret_name(&world.service())).await, None);
}

#[tokio::test]
async fn auth_method_mode_revokes_an_idle_service_s_old_token_all_the_same() {
    let world = Fixture::login("left-behind").await;
    let old = world.token_of_old_controller(&world.service()).await;
    let definition = world.mesh_definition(&world.service()).await;
    let task = world.start_task(&definition).await;
    world.stop_task(&task).await;
    world.blanked(&world.secret_name(&world.service())).await;
    assert!(!world.is_valid(&old.token).await);
}

#[tokio::test]
async fn of_the_catalog_only_the_stopped_task_s_services_go() {
    let world = Fixture::login("catalog").await;
    let definition = world.mesh_definition(&world.service()).await;
    let (stopping, staying) = (world.run(&definition).await, world.run(&definition).await);
    world.register_instance(&world.service(), &stopping).await;
    world.register_instance(&world.service(), &staying).await;
    assert_eq!(world.service_ids().await.len(), 4);
    world.stop_task(&stopping).await;
    world.settled().await;
    let left = format!("{}-{}", world.service(), world::task_id(&staying));
    assert_eq!(world.service_ids().await, [left.clone(), format!("{left}-sidecar-proxy")]);
    assert_eq!(world.checks_of(&stopping).await, Vec::<Value>::new());
    assert_eq!(world.checks_of(&staying).await.len(), 3);
}

#[tokio::test]
async fn a_hundred_tasks_stopping_at_once_are_all_cleared() {
    let world = Fixture::login("hundred-stops").await;
    let definition = world.mesh_definition(&world.service()).await;
    let mut events = Vec::new();
    for _ in 0..100 {
        let task = world.run(&definition).await;
        world.register_instance(&world.service(), &task).await;
        world.stop(&task).await;
        events.push(world.event(&task).await);
    }
    world.deliver(&events).await;
    world.settled().await;
    assert_eq!(world.service_ids().await, Vec::<String>::new());
}

#[tokio::test]
async fn told_to_stop_turns_the_task_s_checks_critical_and_no_other() {
    let world = Fixture::login("told-to-stop").await;
    let definition = world.mesh_definition(&world.service()).await;
    let (stopping, staying) = (world.run(&definition).await, world.run(&definition).await);
    world.register_instance(&world.service(), &stopping).await;
    world.register_instance(&world.service(), &staying).await;
    let before = world.checks_of(&stopping).await;
    world.deliver(&[world.event_as(&stopping, "RUNNING", "STOPPED", 9).await]).await;
    world.settled().await;
    let statuses = |checks: &[Value]| checks.iter().map(|check| check["Status"].clone()).collect::<Vec<_>>();
    let after = world.checks_of(&stopping).await;
    assert_eq!(statuses(&after), ["critical", "critical", "critical"]);
    assert_eq!(statuses(&world.checks_of(&staying).await), ["passing", "passing", "passing"]);
    // And nothing else of the check has changed
    for (old, new) in before.iter().zip(&after) {
        for field in ["CheckID", "Name", "Type", "Notes", "ServiceID", "ServiceName", "Definition"] {
            assert_eq!(old[field], new[field], "{field}");
        }
    }
    assert_eq!(world.service_ids().await.len(), 4, "the task is still registered: it is not stopped yet");
}

// ---- disorder and strangers ----

#[tokio::test]
async fn duplicate_reordered_and_replayed_events_change_nothing() {
    let world = Fixture::tokens("disorder").await;
    let secret = world.secret_name(&world.service());
    let definition = world.mesh_definition(&world.service()).await;
    let task = world.run(&definition).await;
    let staying = world.run(&definition).await;
    let running = world.event(&task).await;
    let provisioning = world.event_as(&task, "PROVISIONING", "RUNNING", 1).await;
    world.register_instance(&world.service(), &staying).await;
    // Given a start that was seen twice and in the wrong order
    world.deliver(&[running.clone(), provisioning.clone(), running.clone(), world.event(&staying).await]).await;
    world.settled().await;
    let pair = world.provisioned(&secret).await;
    // When the task stops, and old news of it arrives late
    world.stop(&task).await;
    let stopped = world.event(&task).await;
    world.deliver(&[stopped.clone(), running.clone(), stopped.clone(), provisioning.clone()]).await;
    world.settled().await;
    assert_eq!(world.pair(&secret).await, Some(pair.clone()));
    assert!(world.is_valid(&pair.token).await);
    assert_eq!(world.service_ids().await.len(), 2, "the other task's instances stay");
    // And when the service is gone, a replay of its whole life brings nothing back
    world.stop_task(&staying).await;
    world.blanked(&secret).await;
    world.deliver(&[provisioning, running, stopped]).await;
    world.settled().await;
    assert_eq!(world.secret_text(&secret).await.as_deref(), Some("{}"));
    assert_eq!(world.tokens_about(&world.service()).await, Vec::<Value>::new());
}

#[tokio::test]
async fn foreign_and_hand_made_tokens_and_services_survive_everything() {
    let world = Fixture::tokens("strangers").await;
    let service = world.service();
    let definition = world.mesh_definition(&service).await;
    let task = world.start_task(&definition).await;
    world.provisioned(&world.secret_name(&service)).await;
    // Given tokens that look almost like ours
    let id = world::task_id(&task);
    for description in [
        format!("made by hand for {service}"),
        format!("Token for {service} service\nconsul.hashicorp.com/cluster: strangers-elsewhere"),
        format!("Token for {service} service"),
        format!("token created via login: {{\"consul.hashicorp.com/cluster\":\"{}\"}}", world.cluster()),
        format!("token created via login: not JSON {id} {}", world.name),
    ] {
        let body = json!({ "Description": description, "ServiceIdentities": [{ "ServiceName": service }] });
        world.consul.put("/v1/acl/token", &body).await;
    }
    // And services that a hand registered on our node, one of them with a meta that is not the task's
    world.register_instance(&service, &task).await;
    world.register_raw(&json!({ "Service": { "ID": "by-hand", "Service": "by-hand" } })).await;
    world.register_raw(&json!({ "Service": { "ID": format!("by-hand-{id}"), "Service": "by-hand" } })).await;
    world
        .register_raw(
            &json!({ "Service": { "ID": "other", "Service": "by-hand", "Meta": { "task-id": format!("{id}0") } } }),
        )
        .await;
    let strangers = async || {
        let mut tokens = world.tokens_about(world.name).await;
        tokens.retain(|token| !token["Description"].as_str().unwrap().ends_with(&world.cluster()));
        let services = world.node_services().await["Services"].as_array().unwrap().clone();
        let by_hand: Vec<Value> = services.into_iter().filter(|service| service["Service"] == "by-hand").collect();
        (tokens, by_hand)
    };
    let before = strangers().await;
    assert_eq!((before.0.len(), before.1.len()), (5, 3), "{before:#?}");
    // When the task stops and the service's token is revoked
    world.stop_task(&task).await;
    world.blanked(&world.secret_name(&service)).await;
    world.settled().await;
    // Then all of them are there, byte for byte
    assert_eq!(strangers().await, before);
    assert_eq!(world.service_ids().await.len(), 3);
}

#[tokio::test]
async fn a_hand_made_token_in_the_secret_is_left_alone() {
    let world = Fixture::tokens("hand-made").await;
    let service = world.service();
    let made = world.consul.put("/v1/acl/token", &json!({ "Description": format!("mine, for {service}") })).await;
    let value = json!({ "accessor_id": made["AccessorID"], "token": made["SecretID"] });
    world.put_secret(&world.secret_name(&service), &value).await;
    let definition = world.mesh_definition(&service).await;
    let task = world.start_task(&definition).await;
    world.worked_off().await;
    world.stop_task(&task).await;
    world.settled().await;
    let secret = world.secret_text(&world.secret_name(&service)).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&secret).unwrap(), value);
    assert!(world.is_valid(made["SecretID"].as_str().unwrap()).await);
}

#[tokio::test]
async fn poison_ends_in_the_dead_letter_queue_while_the_rest_of_its_batch_is_done() {
    let world = Fixture::tokens("poison").await;
    let service = world.service();
    let definition = world.mesh_definition(&service).await;
    let task = world.run(&definition).await;
    let good = world.event(&task).await;
    let bad_name = json!([
        { "key": "consul.hashicorp.com/mesh", "value": "true" },
        { "key": "consul.hashicorp.com/service-name", "value": "Not Legal" },
    ]);
    let lonely = json!([
        { "key": "consul.hashicorp.com/mesh", "value": "true" },
        { "key": "consul.hashicorp.com/partition", "value": "p" },
    ]);
    let bad_name = world.run(&world.definition(&format!("{}-bad-name", world.name), &bad_name, None).await).await;
    let lonely = world.run(&world.definition(&format!("{}-lonely-tag", world.name), &lonely, None).await).await;
    let mut unknown_status = good.clone();
    unknown_status["detail"]["lastStatus"] = json!("DANCING");
    let mut no_arn = good.clone();
    no_arn["detail"].as_object_mut().unwrap().remove("taskArn");
    let bodies = [
        format!("{{\"this is not\": JSON, {}", world.name),
        unknown_status.to_string(),
        no_arn.to_string(),
        world.event(&bad_name).await.to_string(),
        world.event(&lonely).await.to_string(),
        good.to_string(),
    ];
    world.deliver_raw(&bodies).await;
    world.provisioned(&world.secret_name(&service)).await;
    world.settled().await;
    eventually("five messages in the dead-letter queue", SOON, || async {
        let dead = world.waiting(&world.deployed.failed_queue_url).await;
        if dead.len() == 5 { Ok(()) } else { Err(format!("{dead:#?}")) }
    })
    .await;
}

// ---- faults ----

#[tokio::test]
async fn while_consul_is_down_messages_wait_and_afterwards_they_are_done() {
    let fixture = Fixture::get().await;
    // Given a deployment with a Consul of its own, which is down
    let consul = Consul::start().await;
    let token = controller_token(&consul, "outage").await;
    let world = fixture.deployment_of_its_own(&consul, "outage", &token.secret_id, &[]).await;
    let definition = world.mesh_definition(&world.service()).await;
    let (starting, stopping) = (world.run(&definition).await, world.run(&definition).await);
    world.register_instance(&world.service(), &stopping).await;
    consul.stop();
    world.stop(&stopping).await;
    world.deliver(&[world.event(&starting).await, world.event(&stopping).await]).await;
    eventually("both messages to be handed back", SOON, || async {
        let waiting = world.waiting(&world.deployed.queue_url).await;
        let back = waiting.iter().filter(|message| message["ReceiveCount"].as_u64() >= Some(1)).count();
        if back == 2 { Ok(()) } else { Err(format!("{waiting:#?}")) }
    })
    .await;
    // When it is back
    consul.start_again().await;
    // Then they are done, without anybody's help
    world.provisioned(&world.secret_name(&world.service())).await;
    world.settled().await;
    assert_eq!(world.service_ids().await, Vec::<String>::new());
    assert_eq!(world.waiting(&world.deployed.failed_queue_url).await, Vec::<Value>::new());
}

#[tokio::test]
async fn with_a_wrong_credential_nothing_is_deleted_and_nothing_provisioned_until_it_is_right() {
    let fixture = Fixture::get().await;
    let consul = &fixture.stack.consul;
    let wrong = "11111111-2222-3333-4444-555555555555";
    let world = fixture.deployment_of_its_own(consul, "wrong-credential", wrong, &[]).await;
    let service = world.service();
    let definition = world.mesh_definition(&service).await;
    let (starting, stopping) = (world.run(&definition).await, world.run(&definition).await);
    world.register_instance(&service, &stopping).await;
    let method = JwtAuthMethod::create(consul, "wrong-credential").await;
    let login = method.log_in_task(&service, &world.cluster(), world::task_id(&stopping)).await;
    let old = world.token_of_old_controller(&service).await;
    world.stop(&stopping).await;
    world.deliver(&[world.event(&starting).await, world.event(&stopping).await]).await;
    // Then the messages come back, with an error that says what to do
    let log = eventually("a clear error in the log", SOON, || async {
        let lines = world.aws.logs(&world.deployed.log_group).await;
        let found = lines.iter().find(|line| line.contains("consul_credential_rejected"));
        found.cloned().ok_or_else(|| format!("{lines:#?}"))
    })
    .await;
    assert!(log.contains("CONSUL_HTTP_TOKEN_SECRET_ARN"), "{log}");
    assert!(!log.contains(wrong), "{log}");
    // And everything is as it was
    assert!(world.is_valid(&login.secret_id).await && world.is_valid(&old.token).await);
    assert_eq!(world.service_ids().await.len(), 2);
    assert_eq!(world.pair(&world.secret_name(&service)).await, Some(old.clone()));
    // And once the secret holds a right one, it is read again, and the work is done
    let right = controller_token(consul, "right").await;
    let secrets = world.aws.secrets();
    let name = "wrong-credential-controller";
    secrets.put_secret_value().secret_id(name).secret_string(right.secret_id).send().await.expect("PutSecretValue");
    eventually("the stopped task's services to go", SOON, || async {
        let left = world.service_ids().await;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
    world.settled().await;
    assert!(!world.is_valid(&login.secret_id).await);
    assert!(world.is_valid(&old.token).await, "the starting task keeps the service's token");
}

#[tokio::test]
async fn consul_behind_tls_with_its_own_authority_and_another_name() {
    let fixture = Fixture::get().await;
    let consul = Consul::start_with_tls("server.dc1.consul").await;
    let token = controller_token(&consul, "tls").await;
    let ca = consul.ca_certificate.clone().expect("a certificate");
    let ca_arn = fixture.secret("tls-ca", &ca).await;
    let parameters = [("ConsulCaCertSecretArn", ca_arn.as_str()), ("ConsulTlsServerName", "server.dc1.consul")];
    let world = fixture.deployment_of_its_own(&consul, "tls", &token.secret_id, &parameters).await;
    let definition = world.mesh_definition(&world.service()).await;
    world.start_task(&definition).await;
    world.provisioned(&world.secret_name(&world.service())).await;
}

// ---- the template and the example events ----

#[tokio::test]
async fn the_rule_s_pattern_matches_the_right_files_in_events() {
    let fixture = Fixture::get().await;
    let parameters = fixture.parameters(&fixture.stack.consul, "pattern", "unused", "123456789012").await;
    let parameters: Vec<(&str, &str)> = parameters.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let deployed = deploy(&fixture.stack.aws, "pattern", &parameters).await;
    let rule = fixture.stack.aws.call("events", "AWSEvents.DescribeRule", &json!({ "Name": deployed.rule_name })).await;
    let pattern = rule["EventPattern"].as_str().expect("a pattern");
    for (name, event) in fixture::example_events() {
        let body = json!({ "EventPattern": pattern, "Event": event.to_string() });
        let tested = fixture.stack.aws.call("events", "AWSEvents.TestEventPattern", &body).await;
        let expected = !matches!(name.as_str(), "task-in-another-account.json" | "sqs-batch.json");
        assert_eq!(tested["Result"], expected, "{name}");
    }
}

#[tokio::test]
async fn every_file_in_events_can_be_invoked() {
    let world = Fixture::tokens("examples").await;
    let web = world.mesh_definition("web").await;
    let plain = world.definition("nightly-report", &json!([]), None).await;
    let mesh = json!([{ "key": "consul.hashicorp.com/mesh", "value": "true" }]);
    let config = json!({ "gateway": { "kind": "mesh-gateway" } });
    let gateway = world.definition("mesh-gateway", &mesh, Some(&config)).await;
    for (name, event) in fixture::example_events() {
        // The examples' account, cluster and revisions become those of the local stack
        let text = event
            .to_string()
            .replace("123456789012", stack::aws::ACCOUNT)
            .replace("cluster/prod", "cluster/examples")
            .replace("task/prod/", "task/examples/")
            .replace(":task-definition/web:7", web.0.split_at(web.0.find(":task-definition/").unwrap()).1)
            .replace(
                ":task-definition/nightly-report:12",
                plain.0.split_at(plain.0.find(":task-definition/").unwrap()).1,
            )
            .replace(
                ":task-definition/mesh-gateway:3",
                gateway.0.split_at(gateway.0.find(":task-definition/").unwrap()).1,
            );
        let event: Value = serde_json::from_str(&text).unwrap();
        let answer = world.aws.invoke(&world.deployed.function_name, &event).await;
        match name.as_str() {
            "task-malformed.json" => {
                let error = answer.expect_err(&name);
                assert!(error["errorMessage"].as_str().unwrap().contains("detail.lastStatus"), "{error}");
            }
            "sqs-batch.json" => {
                let answer = answer.expect(&name);
                let failed: Vec<&str> = answer["batchItemFailures"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|item| item["itemIdentifier"].as_str().unwrap())
                    .collect();
                assert_eq!(failed, ["00000007-5c1e-4b7e-9d4c-2f6a7b8c9d0e", "00000008-5c1e-4b7e-9d4c-2f6a7b8c9d0e"]);
            }
            _ => assert_eq!(answer.expect(&name), json!({ "outcome": "done" }), "{name}"),
        }
    }
    assert_eq!(world.secret_text("mesh-web").await, None, "ECS knows none of these tasks: nothing is made for them");
}
