//! What the rules do not report: correct published examples, and values that are known only at deployment.

use serde_json::{Value, json};

use super::{CANARY, examples::findings};
use crate::example::Base;

fn ids(definition: &Value) -> Vec<&'static str> {
    findings(Base::Plain, definition).iter().map(|finding| finding.rule.id).collect()
}

/// The definition in AWS's guide to App Mesh on ECS, with the parts that differ between its editions.
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
fn the_guide_s_definition_is_only_outdated() {
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
fn two_cycles_are_two_findings_with_their_paths() {
    let waits = |name: &str, on: &[&str]| {
        let on: Vec<Value> = on.iter().map(|on| json!({ "containerName": on, "condition": "START" })).collect();
        json!({ "name": name, "image": "example/app:1", "dependsOn": on })
    };
    let definition = json!({ "family": "cycles", "containerDefinitions": [
        waits("a", &["b"]), waits("b", &["c", "e"]), waits("c", &["a"]), waits("d", &["e"]), waits("e", &["d"]),
    ] });
    let messages: Vec<String> = findings(Base::Plain, &definition).into_iter().map(|found| found.message).collect();
    let shown = |cycle: &str| format!("these containers wait for each other: {cycle}");
    assert_eq!(messages, [shown("a → b → c → a"), shown("d → e → d")]);
}

/// The rules that report the plain definition with another value in a container.
fn plain_with(container: usize, key: &str, value: Value) -> Vec<&'static str> {
    let mut definition: Value = serde_json::from_str(Base::Plain.json()).unwrap();
    definition["containerDefinitions"][container][key] = value;
    ids(&definition)
}

#[test]
fn scripts_of_unknown_entry_points_are_not_reported() {
    assert_eq!(plain_with(1, "command", json!(["sh", "-c", "prepare; serve"])), [""; 0]);
}

#[test]
fn shells_that_forward_signals_are_not_reported() {
    for script in ["serve", "prepare; exec serve", "trap 'kill $!' TERM; serve & wait"] {
        assert_eq!(plain_with(1, "entryPoint", json!(["/bin/sh", "-c", script])), [""; 0], "{script}");
    }
}

#[test]
fn quotes_and_redirections_do_not_separate_commands() {
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
fn all_forms_of_references_are_valid() {
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
fn variables_may_be_in_a_file() {
    let mut definition = guide("v1.34.13.0-prod", "LOG_LEVEL");
    assert_eq!(ids(&definition), ["appmesh-envoy-resource"]);
    definition["containerDefinitions"][1]["environmentFiles"] =
        json!([{ "type": "s3", "value": "arn:aws:s3:::b/f.env" }]);
    assert_eq!(ids(&definition), [""; 0]);
}

#[test]
fn an_app_may_wait_for_envoy_indirectly() {
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
fn an_app_may_stop_more_slowly_than_its_proxy() {
    let mut definition: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    // The proxy's own timeout begins after the app has stopped.
    definition["containerDefinitions"][0]["stopTimeout"] = json!(90);
    assert_eq!(ids(&definition), [""; 0]);
}

#[test]
fn a_user_s_token_secret_may_be_plain_text() {
    let mut definition: Value = serde_json::from_str(Base::Client.json()).unwrap();
    let arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/consul/web-token-AbCdEf";
    definition["containerDefinitions"][1]["secrets"][0]["valueFrom"] = json!(arn);
    assert_eq!(ids(&definition), [""; 0]);
}

#[test]
fn ec2_hosts_may_grant_more_open_files() {
    let mut definition: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    definition["containerDefinitions"][2]["ulimits"][0]["hardLimit"] = json!(2_097_152);
    definition["requiresCompatibilities"] = json!(["EC2"]);
    assert_eq!(ids(&definition), [""; 0]);
}

#[test]
fn a_network_mode_is_fixed_only_if_ecs_accepts_it() {
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

#[test]
fn messages_contain_no_secrets_of_commands() {
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
                    let texts = format!("{} {} {:?}", found.message, found.help, found.notes);
                    assert!(!texts.contains(CANARY), "{}: {texts}", found.rule.id);
                }
            }
        }
    }
}

#[test]
fn volumes_from_other_containers_count_as_mounted() {
    let mut definition: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    definition["containerDefinitions"][2]["mountPoints"] = json!([]);
    assert_eq!(ids(&definition), ["consul-proxy-mount"]);
    definition["containerDefinitions"][2]["volumesFrom"] = json!([]);
    assert_eq!(ids(&definition), ["consul-proxy-mount"]);
    definition["containerDefinitions"][2]["volumesFrom"] = json!([{ "sourceContainer": "consul-ecs-mesh-init" }]);
    assert_eq!(ids(&definition), [""; 0]);
}

#[test]
fn a_lone_collector_counts_as_app() {
    let mut definition: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    definition["containerDefinitions"][0]["image"] = json!("otel/opentelemetry-collector:0.100.0");
    assert_eq!(ids(&definition), [""; 0]);
}

#[test]
fn terminating_gateways_need_no_port_mappings() {
    let mut definition: Value = serde_json::from_str(Base::TerminatingGateway.json()).unwrap();
    definition["containerDefinitions"][1]["portMappings"] = json!([]);
    assert_eq!(ids(&definition), [""; 0]);
}
