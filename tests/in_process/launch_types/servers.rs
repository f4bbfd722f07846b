//! Consul's servers as tasks (`ecs://`): the address of a task, or why there is none.

use std::sync::Arc;

use aws::ecs::AwsEcs;
use consul::{Acl as _, ConsulError, HttpConsul, NoServers, Server, TlsSettings};
use ecs_mesh_controller::wiring;
use mesh::tenancy::Tenancy;
use serde_json::{Value, json};
use test_harness::recorder::{Answer, Recorder};

use crate::{
    client::quick_retries,
    environment::{Token, sdk_at},
    launch_types::SAMPLES,
};

const ADDRESS: &str = "ecs://infra/consul-server:8500";

/// An ECS with a family of which these tasks are running, and a service with these tasks.
async fn ecs(of_family: Vec<Value>, of_service: Vec<Value>) -> Recorder {
    let arns = |tasks: &[Value]| tasks.iter().map(|task| task["taskArn"].clone()).collect::<Vec<Value>>();
    Recorder::start(move |seen, _| {
        let asked = seen.json();
        let answer = match seen.operation().as_deref() {
            Some("ListTasks") if asked.get("family").is_some() => json!({ "taskArns": arns(&of_family) }),
            Some("ListTasks") => json!({ "taskArns": arns(&of_service) }),
            _ => {
                let all = of_family.iter().chain(&of_service);
                let tasks: Vec<&Value> =
                    all.filter(|task| asked["tasks"].as_array().unwrap().contains(&task["taskArn"])).collect();
                json!({ "tasks": tasks, "failures": [] })
            }
        };
        Answer::ok(answer.to_string())
    })
    .await
}

/// A task as ECS describes it, from the `detail` of its event: without the times, which have another format there.
fn described(detail: &Value) -> Value {
    let fields = ["taskArn", "lastStatus", "desiredStatus", "launchType", "containers", "attachments"];
    let mut task: Value = fields.iter().map(|field| ((*field).to_owned(), detail[*field].clone())).collect();
    for attachment in task["attachments"].as_array_mut().unwrap() {
        if attachment["type"] == "eni" {
            attachment["type"] = json!("ElasticNetworkInterface");
        }
    }
    task
}

fn sample(file: &str) -> Value {
    described(&SAMPLES.iter().find(|sample| sample.file == file).unwrap().detail())
}

/// A task whose only address is this one, in its containers.
fn with_ipv6(address: &str) -> Value {
    let mut task = sample("task-running-ipv6-only.json");
    for container in task["containers"].as_array_mut().unwrap() {
        container["networkInterfaces"][0]["ipv6Address"] = json!(address);
    }
    task
}

async fn discovered(ecs: &Recorder) -> Result<Vec<Server>, NoServers> {
    wiring::servers(&ADDRESS.parse().unwrap(), Arc::new(AwsEcs::new(&sdk_at(&ecs.url)))).servers().await
}

#[tokio::test]
async fn a_server_in_any_task_is_found_or_refused() {
    for sample in &SAMPLES {
        // Given Consul servers in a task of this launch type and network mode
        let task = described(&sample.detail());
        let ecs = ecs(vec![task.clone()], vec![]).await;
        let found = discovered(&ecs).await;
        match (sample.server, found) {
            (Some(url), found) => {
                let urls: Vec<String> = found.unwrap().into_iter().map(|server| server.url.into()).collect();
                assert_eq!(urls, [url], "{}", sample.file);
            }
            (None, found) => {
                let refusal = found.unwrap_err();
                // No task of this definition ever gets an address: it is not waited for
                assert!(matches!(refusal, NoServers::Unknown(_)), "{}: {refusal}", sample.file);
                assert_eq!(
                    refusal.to_string(),
                    format!(
                        "task {} (launch type {}): ECS describes no IP address of it, because it has no network \
                         interface (network mode bridge, host or none); run the Consul servers in network mode awsvpc, \
                         or set CONSUL_HTTP_ADDR to their addresses (https://host:port)",
                        task["taskArn"].as_str().unwrap(),
                        sample.launch_type
                    )
                );
            }
        }
    }
}

#[tokio::test]
async fn a_request_without_a_server_says_why() {
    let ecs = ecs(vec![sample("task-running-external.json")], vec![]).await;
    let servers = wiring::servers(&ADDRESS.parse().unwrap(), Arc::new(AwsEcs::new(&sdk_at(&ecs.url))));
    let token = Arc::new(Token("own".to_owned()));
    let consul = HttpConsul::new(servers, &TlsSettings::default(), token, quick_retries()).unwrap();
    let error = consul.tokens(&Tenancy::Community, &|_| true).await.unwrap_err();
    assert!(matches!(error, ConsulError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("(launch type EXTERNAL)"), "{error}");
    // Its family and the service of that name were listed once
    assert_eq!(ecs.operations(), ["DescribeTasks", "ListTasks", "ListTasks"]);
}

#[tokio::test]
async fn tasks_without_an_address_are_left_out() {
    let without = sample("task-running-ec2-host.json");
    // Given another task of the family with an address; or, if the family has none, of the service
    for (of_family, of_service) in
        [(vec![without.clone(), with_ipv6("fd00::7")], vec![]), (vec![without.clone()], vec![with_ipv6("fd00::7")])]
    {
        let servers = discovered(&ecs(of_family, of_service).await).await.unwrap();
        assert_eq!(servers.iter().map(|server| server.url.as_str()).collect::<Vec<_>>(), ["http://[fd00::7]:8500/"]);
    }
    // The first task without an address is reported
    let first = sample("task-running-external.json");
    let refusal = discovered(&ecs(vec![first, without], vec![]).await).await.unwrap_err().to_string();
    assert!(refusal.contains("(launch type EXTERNAL)"), "{refusal}");
}

#[tokio::test]
async fn a_malformed_address_names_its_field() {
    let mut ipv4 = sample("task-running-ec2.json");
    ipv4["attachments"] = json!([]);
    ipv4["containers"][0]["networkInterfaces"][0]["privateIpv4Address"] = json!("10.0.1");
    let mut attached = sample("task-running-ec2.json");
    attached["attachments"][0]["details"] = json!([{ "name": "privateIPv4Address", "value": "10.0" }]);
    for (task, field, value) in [
        (ipv4, "privateIpv4Address", "10.0.1"),
        (attached, "privateIPv4Address", "10.0"),
        (with_ipv6("fd00::7::"), "ipv6Address", "fd00::7::"),
    ] {
        let error = discovered(&ecs(vec![task], vec![]).await).await.unwrap_err().to_string();
        assert!(error.contains(field) && error.contains(&format!("{value:?}")), "{error}");
    }
}

#[tokio::test]
async fn a_server_with_only_an_ipv6_address_is_reached() {
    let consul = Recorder::start(|_, _| Answer::ok("[]")).await;
    let port = consul.url.rsplit(':').next().unwrap();
    // Given a task with the IPv6 address of this machine's IPv4 socket
    let ecs = ecs(vec![with_ipv6("::ffff:127.0.0.1")], vec![]).await;
    let address = format!("ecs://infra/consul-server:{port}").parse().unwrap();
    let servers = wiring::servers(&address, Arc::new(AwsEcs::new(&sdk_at(&ecs.url))));
    let token = Arc::new(Token("own".to_owned()));
    let client = HttpConsul::new(servers, &TlsSettings::default(), token, quick_retries()).unwrap();
    client.tokens(&Tenancy::Community, &|_| true).await.unwrap();
    assert_eq!(consul.requests()[0].header("host"), Some(format!("[::ffff:7f00:1]:{port}").as_str()));
}
