//! What the rules do not find: published examples that are right, and what only a deployment can tell.

use serde_json::{Value, json};

use super::examples::findings;
use crate::example::{Base, Example, FLAGS};

fn ids(definition: &Value) -> Vec<&'static str> {
    findings(Base::Plain, definition).iter().map(|finding| finding.rule.id).collect()
}

/// The definition of AWS's guide to App Mesh on ECS, with the parts that its editions differ in.
fn guide(image: &str, variable: &str) -> Value {
    let properties = [
        ("IgnoredUID", "1337"),
        ("ProxyIngressPort", "15000"),
        ("ProxyEgressPort", "15001"),
        ("AppPorts", "9080"),
        ("EgressIgnoredIPs", "169.254.170.2,169.254.169.254"),
    ];
    let properties = properties.map(|(name, value)| json!({ "name": name, "value": value }));
    json!({
        "family": "appmesh-gateway",
        "memory": "256",
        "proxyConfiguration": { "type": "APPMESH", "containerName": "envoy", "properties": properties },
        "containerDefinitions": [
            {
                "name": "app",
                "image": "application_image",
                "portMappings": [{ "containerPort": 9080, "hostPort": 9080, "protocol": "tcp" }],
                "essential": true,
                "dependsOn": [{ "containerName": "envoy", "condition": "HEALTHY" }],
            },
            {
                "name": "envoy",
                "image": format!("840364872350.dkr.ecr.us-west-2.amazonaws.com/aws-appmesh-envoy:{image}"),
                "essential": true,
                "environment": [{ "name": variable, "value": "mesh/meshName/virtualNode/virtualNodeName" }],
                "healthCheck": {
                    "command": ["CMD-SHELL", "curl -s http://localhost:9901/server_info | grep state | grep -q LIVE"],
                    "startPeriod": 10,
                    "interval": 5,
                    "timeout": 2,
                    "retries": 3,
                },
                "user": "1337",
            },
        ],
        "executionRoleArn": "arn:aws:iam::123456789012:role/ecsTaskExecutionRole",
        "networkMode": "awsvpc",
    })
}

#[test]
fn the_guides_definition_is_clean_but_for_its_age() {
    let old = guide("v1.11.2.0-prod", "APPMESH_VIRTUAL_NODE_NAME");
    assert_eq!(ids(&old), ["appmesh-envoy-version"]);
    let mut on_fargate = old.clone();
    on_fargate["requiresCompatibilities"] = json!(["FARGATE"]);
    let mut found = ids(&on_fargate);
    found.sort_unstable();
    assert_eq!(found, ["appmesh-envoy-version", "appmesh-task-role"]);
    assert_eq!(ids(&guide("v1.34.13.0-prod", "APPMESH_RESOURCE_ARN")), [""; 0]);
    // The newest edition of the guide still has the old variable.
    assert_eq!(ids(&guide("v1.34.13.0-prod", "APPMESH_VIRTUAL_NODE_NAME")), [""; 0]);
}

#[test]
fn two_circles_are_two_findings_that_name_the_way_round() {
    let waits = |name: &str, on: &[&str]| {
        let on: Vec<Value> = on.iter().map(|on| json!({ "containerName": on, "condition": "START" })).collect();
        json!({ "name": name, "image": "example/app:1", "dependsOn": on })
    };
    let definition = json!({ "family": "circles", "containerDefinitions": [
        waits("a", &["b"]), waits("b", &["c", "e"]), waits("c", &["a"]), waits("d", &["e"]), waits("e", &["d"]),
    ] });
    let messages: Vec<String> = findings(Base::Plain, &definition).into_iter().map(|found| found.message).collect();
    let shown = |way: &str| format!("these containers wait for each other: {way}");
    assert_eq!(messages, [shown("a → b → c → a"), shown("d → e → d")]);
}

/// Changes a part of the plain definition, and says what is found.
fn plain_with(container: usize, key: &str, value: Value) -> Vec<&'static str> {
    let mut definition: Value = serde_json::from_str(Base::Plain.json()).unwrap();
    definition["containerDefinitions"][container][key] = value;
    ids(&definition)
}

#[test]
fn a_script_in_the_hands_of_an_unknown_entry_point_is_not_judged() {
    assert_eq!(plain_with(1, "command", json!(["sh", "-c", "prepare; serve"])), [""; 0]);
}

#[test]
fn a_shell_that_takes_care_of_signals_is_not_judged() {
    for script in ["serve", "prepare; exec serve", "trap 'kill $!' TERM; serve & wait"] {
        assert_eq!(plain_with(1, "entryPoint", json!(["/bin/sh", "-c", script])), [""; 0], "{script}");
    }
}

#[test]
fn quoted_signs_and_redirections_separate_no_commands() {
    for script in [
        "nginx -g 'daemon off;'",
        "java $JAVA_OPTS -jar /app.jar 2>&1",
        "serve &> /dev/null",
        "curl 'http://x/?a=1&b=2'",
        r#"serve --greeting "a \"b\"; c""#,
        r"serve --until \;",
    ] {
        assert_eq!(plain_with(1, "entryPoint", json!(["/bin/sh", "-c", script])), [""; 0], "{script}");
    }
    for script in ["prepare 'a;b'; serve", "prepare 2>&1; serve", "serve & wait"] {
        let found = plain_with(1, "entryPoint", json!(["/bin/sh", "-c", script]));
        assert_eq!(found, ["ecs-shell-entry-point"], "{script}");
    }
}

#[test]
fn secrets_in_all_of_their_forms_are_fine() {
    for form in [
        "arn:aws:secretsmanager:us-east-1:123456789012:secret:db-YzAbCd",
        "arn:aws:secretsmanager:us-east-1:123456789012:secret:db-YzAbCd:url::",
        "arn:aws:secretsmanager:us-east-1:123456789012:secret:db-YzAbCd::AWSPREVIOUS:",
        "arn:aws-cn:ssm:cn-north-1:123456789012:parameter/db/url",
        "/db/url",
        "db-url:3",
    ] {
        assert_eq!(plain_with(0, "secrets", json!([{ "name": "URL", "valueFrom": form }])), [""; 0], "{form}");
    }
}

#[test]
fn variables_may_stand_in_a_file() {
    let mut definition = guide("v1.34.13.0-prod", "LOG_LEVEL");
    assert_eq!(ids(&definition), ["appmesh-envoy-resource"]);
    definition["containerDefinitions"][1]["environmentFiles"] =
        json!([{ "type": "s3", "value": "arn:aws:s3:::b/f.env" }]);
    assert_eq!(ids(&definition), [""; 0]);
}

#[test]
fn an_app_may_wait_for_envoy_over_another_container() {
    let mut definition = guide("v1.34.13.0-prod", "APPMESH_RESOURCE_ARN");
    let worker = json!({
        "name": "worker",
        "image": "example/worker:1",
        "dependsOn": [{ "containerName": "app", "condition": "START" }],
    });
    definition["containerDefinitions"].as_array_mut().unwrap().push(worker);
    assert_eq!(ids(&definition), [""; 0]);
}

#[test]
fn an_app_may_take_longer_to_stop_than_the_proxy_that_it_waited_for() {
    let mut definition: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    // The proxy's own time begins when the app has ended.
    definition["containerDefinitions"][0]["stopTimeout"] = json!(90);
    assert_eq!(ids(&definition), [""; 0]);
}

/// The client base as one of consul-ecs 0.2, with flags and no configuration.
#[test]
fn a_task_of_the_time_before_the_configuration_is_clean() {
    let example = Example { base: Base::Client, given: FLAGS, at: "cpu", fails: None, repaired: Some("\"256\"") };
    assert_eq!(ids(&example.repaired().unwrap()), [""; 0]);
}

#[test]
fn a_token_secret_of_somebody_s_own_may_hold_the_plain_token() {
    let mut definition: Value = serde_json::from_str(Base::Client.json()).unwrap();
    let arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/consul/web-token-AbCdEf";
    definition["containerDefinitions"][1]["secrets"][0]["valueFrom"] = json!(arn);
    assert_eq!(ids(&definition), [""; 0]);
}

#[test]
fn hosts_of_one_s_own_may_grant_more_open_files() {
    let mut definition: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    definition["containerDefinitions"][2]["ulimits"][0]["hardLimit"] = json!(2_097_152);
    definition["requiresCompatibilities"] = json!(["EC2"]);
    assert_eq!(ids(&definition), [""; 0]);
}

#[test]
fn a_network_mode_is_not_mended_where_ecs_would_refuse_the_result() {
    let correct: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    for (key, value, has_fix) in [
        ("links", json!([]), true),
        ("links", json!(["cache"]), false),
        ("portMappings", json!([{ "containerPort": 9090, "hostPort": 8080 }]), false),
        ("portMappings", json!([{ "containerPort": 9090, "hostPort": 0 }]), true),
    ] {
        let mut definition = correct.clone();
        definition["networkMode"] = json!("bridge");
        definition["containerDefinitions"][0][key] = value.clone();
        let found = findings(Base::Dataplane, &definition);
        assert_eq!(found.iter().map(|found| found.rule.id).collect::<Vec<_>>(), ["consul-network-mode"]);
        assert_eq!(found[0].fix.is_some(), has_fix, "{value}");
    }
}

/// What a scanner of secrets would look for.
const CANARY: &str = "e95b599e-166e-7d80-08ad-aee76e7ddf19";

#[test]
fn no_message_holds_a_secret_of_a_command() {
    let canaries = [
        json!([CANARY]),
        json!(["-token", CANARY]),
        json!([format!("-token={CANARY}")]),
        json!([format!("consul login -token={CANARY}; consul agent")]),
        json!([format!("TOKEN={CANARY} mesh-init")]),
        json!(["curl", "-H", format!("X-Consul-Token: {CANARY}")]),
    ];
    for base in Base::ALL.into_iter().filter(|base| *base != Base::AppMeshResources) {
        let correct: Value = serde_json::from_str(base.json()).unwrap();
        for container in 0..correct["containerDefinitions"].as_array().unwrap().len() {
            for (key, words) in
                ["command", "entryPoint"].iter().flat_map(|key| canaries.iter().map(move |it| (key, it)))
            {
                let mut definition = correct.clone();
                definition["containerDefinitions"][container][*key] = words.clone();
                definition["containerDefinitions"][container]["healthCheck"]["command"] = json!(["CMD", CANARY]);
                for found in findings(base, &definition) {
                    let said = format!("{} {} {:?}", found.message, found.help, found.notes);
                    assert!(!said.contains(CANARY), "{}: {said}", found.rule.id);
                }
            }
        }
    }
}

#[test]
fn what_another_container_mounts_may_be_mounted() {
    let mut definition: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    definition["containerDefinitions"][2]["mountPoints"] = json!([]);
    assert_eq!(ids(&definition), ["consul-proxy-mount"]);
    definition["containerDefinitions"][2]["volumesFrom"] = json!([]);
    assert_eq!(ids(&definition), ["consul-proxy-mount"]);
    definition["containerDefinitions"][2]["volumesFrom"] = json!([{ "sourceContainer": "consul-ecs-mesh-init" }]);
    assert_eq!(ids(&definition), [""; 0]);
}

#[test]
fn a_collector_that_is_the_service_is_its_app() {
    let mut definition: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    definition["containerDefinitions"][0]["image"] = json!("otel/opentelemetry-collector:0.100.0");
    assert_eq!(ids(&definition), [""; 0]);
}

#[test]
fn only_the_mesh_calls_a_terminating_gateway() {
    let mut definition: Value = serde_json::from_str(Base::TerminatingGateway.json()).unwrap();
    definition["containerDefinitions"][1]["portMappings"] = json!([]);
    assert_eq!(ids(&definition), [""; 0]);
}
