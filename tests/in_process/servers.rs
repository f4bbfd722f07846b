//! `ecs://cluster/family-or-service:port`: Consul servers that run as ECS tasks of every launch type and network mode, as in the
//! files in `events/`, and the requests that find them.

use std::{net::IpAddr, sync::Arc};

use aws::ecs::{AwsEcs, EcsError};
use consul::{ConsulError, HttpConsul, NoServers, RetryPolicy, Server, TlsSettings, TokenReads};
use controller::settings::Settings;
use ecs_mesh_controller::wiring;
use mesh::tenancy::Tenancy;
use serde_json::{Value, json};
use test_harness::{
    recorder::{Answer, RecordedRequest, Recorder},
    tls::certificate_for,
};

use crate::{
    client::quick_retries,
    environment::{Token, refusal, sdk_at},
};

const CLUSTER: &str = "infra";
const NAME: &str = "consul-server";

/// A task with this status and address.
fn task(status: &str, address: &str) -> Value {
    let mut task = sample("task-running-ec2.json");
    (task["lastStatus"], task["taskArn"]) = (json!(status), json!(address));
    let details = task["attachments"][0]["details"].as_array_mut().unwrap();
    details.iter_mut().find(|it| it["name"] == "privateIPv4Address").unwrap()["value"] = json!(address);
    task
}

/// ECS with one task of the family for each address.
async fn ecs_with(addresses: &[&str]) -> Recorder {
    ecs_of(addresses.iter().map(|address| task("RUNNING", address)).collect(), vec![]).await
}

async fn addresses(ecs: &Recorder) -> Result<Vec<String>, EcsError> {
    let found = AwsEcs::new(&sdk_at(&ecs.url)).addresses(CLUSTER, NAME).await?;
    Ok(found.iter().map(IpAddr::to_string).collect())
}

/// The bodies of the calls so far.
fn bodies(ecs: &Recorder) -> Vec<Value> {
    ecs.requests().iter().map(RecordedRequest::json).collect()
}

#[tokio::test]
async fn only_running_tasks_are_listed() {
    let rows =
        [("RUNNING", "10.0.1.7"), ("PENDING", "10.0.1.8"), ("DEPROVISIONING", "10.0.1.9"), ("RUNNING", "10.0.2.7")];
    let ecs = ecs_of(rows.map(|(status, address)| task(status, address)).to_vec(), vec![]).await;
    assert_eq!(addresses(&ecs).await.unwrap(), ["10.0.1.7", "10.0.2.7"]);
    let described = json!({ "cluster": CLUSTER, "tasks": rows.map(|(_, address)| address) });
    assert_eq!(bodies(&ecs), [json!({ "cluster": CLUSTER, "family": NAME }), described]);
}

#[tokio::test]
async fn a_service_is_the_second_choice() {
    for of_family in [vec![], vec![task("PENDING", "10.0.1.8")]] {
        let ecs = ecs_of(of_family, vec![task("RUNNING", "10.0.1.7")]).await;
        assert_eq!(addresses(&ecs).await.unwrap(), ["10.0.1.7"]);
        let listings: Vec<Value> = bodies(&ecs).into_iter().filter(|body| body.get("tasks").is_none()).collect();
        let of_family = json!({ "cluster": CLUSTER, "family": NAME });
        assert_eq!(listings, [of_family, json!({ "cluster": CLUSTER, "serviceName": NAME })]);
    }
}

#[tokio::test]
async fn an_unknown_name_has_no_tasks() {
    let ecs = Recorder::start(|seen, _| match seen.json().get("family") {
        Some(_) => Answer::ok(json!({ "taskArns": [] }).to_string()),
        None => refusal("ServiceNotFoundException"),
    })
    .await;
    assert_eq!(addresses(&ecs).await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn an_unknown_cluster_is_an_error() {
    let ecs = Recorder::start(|_, _| refusal("ClusterNotFoundException")).await;
    let error = addresses(&ecs).await.unwrap_err().to_string();
    for part in [CLUSTER, NAME, "ClusterNotFoundException"] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn all_pages_are_read() {
    let ecs = Recorder::start(|seen, _| {
        let body = seen.json();
        let answer = match (seen.operation().as_deref(), body["nextToken"].as_str()) {
            (Some("ListTasks"), None) => json!({ "taskArns": vec!["x"; 100], "nextToken": "2" }),
            (Some("ListTasks"), _) => json!({ "taskArns": ["last"] }),
            _ if body["tasks"] == json!(["last"]) => json!({ "tasks": [task("RUNNING", "10.0.2.1")] }),
            _ => json!({ "tasks": [task("RUNNING", "10.0.1.1")] }),
        };
        Answer::ok(answer.to_string())
    })
    .await;
    assert_eq!(addresses(&ecs).await.unwrap(), ["10.0.1.1", "10.0.2.1"]);
}

/// A client of the servers at an `ecs://` address.
fn client(address: &str, ecs: &Recorder, tls: &TlsSettings, token: &str) -> HttpConsul {
    let ecs = Arc::new(AwsEcs::new(&sdk_at(&ecs.url)));
    let servers = wiring::servers(&address.parse().unwrap(), ecs);
    HttpConsul::new(servers, tls, Arc::new(Token(token.to_owned())), quick_retries()).unwrap()
}

async fn ask(consul: &dyn TokenReads) -> Result<(), ConsulError> {
    consul.tokens(&Tenancy::Community, &|_| true).await.map(drop)
}

fn port(url: &str) -> &str {
    url.rsplit(':').next().unwrap()
}

#[tokio::test]
async fn the_function_finds_its_servers_in_ecs() {
    let consul = Recorder::start(|_, _| Answer::ok("[]")).await;
    // One of the two tasks has just stopped
    let ecs = ecs_with(&["127.0.0.2", "127.0.0.1"]).await;
    let address = format!("ecs://{CLUSTER}/{NAME}:{}", port(&consul.url));
    let mut settings = Settings::read(|name| {
        Some(match name {
            "CONSUL_HTTP_ADDR" => "http://replaced:8500".to_owned(),
            "CONSUL_HTTP_TOKEN" => "own".to_owned(),
            "ECS_CLUSTER_ARNS" => "arn:aws:ecs:us-east-1:123456789012:cluster/prod".to_owned(),
            "QUEUE_URL" => "http://127.0.0.1:1/queue".to_owned(),
            _ => return None,
        })
    })
    .unwrap();
    // Without TLS, which settings do not permit for servers in tasks
    settings.consul_addresses = address.parse().unwrap();
    let edges = wiring::Clients::new(&settings, &sdk_at(&ecs.url), RetryPolicy::for_events()).await.unwrap().edges;
    assert_eq!(ecs.operations(), Vec::<String>::new(), "no discovery before the first request");
    ask(&*edges.reads.consul).await.unwrap();
    ask(&*edges.reads.consul).await.unwrap();
    assert_eq!(consul.requests().len(), 2);
    assert_eq!(ecs.operations(), ["DescribeTasks", "ListTasks"]);
}

#[tokio::test]
async fn no_running_task_is_a_transient_error() {
    let ecs = Arc::new(AwsEcs::new(&sdk_at(&ecs_with(&[]).await.url)));
    let servers = wiring::servers(&"ecs://infra/consul-server:8500".parse().unwrap(), ecs);
    let error = servers.servers().await.unwrap_err();
    assert!(matches!(error, NoServers::NotUp(_)), "{error}");
    let text = error.to_string();
    for part in [r#"no running task of family or service "consul-server" in cluster "infra""#, "CONSUL_HTTP_ADDR"] {
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn an_ecs_refusal_is_reported_at_once() {
    let ecs = Recorder::start(|_, _| refusal("AccessDeniedException")).await;
    let error = ask(&client("ecs://infra/consul-server:8500", &ecs, &TlsSettings::default(), "own")).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("AccessDeniedException") && text.contains("ecs:DescribeTasks"), "{text}");
    assert_eq!(ecs.operations(), ["ListTasks"]);
}

#[tokio::test]
async fn certificates_are_verified_against_the_configured_name() {
    let consul =
        local_stack::consul::Consul::start_with_certificate("server.dc1.consul", certificate_for("server.dc1.consul"))
            .await;
    let ecs = ecs_with(&["127.0.0.1"]).await;
    let tls = |name: Option<&str>| TlsSettings {
        ca_certificates: consul.ca_certificate.clone(),
        server_name: name.map(str::to_owned),
    };
    let address = format!("ecs://{CLUSTER}/{NAME}:{}?scheme=https", port(&consul.address));
    let client = |address: &str, name| client(address, &ecs, &tls(name), &consul.management_token);
    ask(&client(&address, Some("server.dc1.consul"))).await.unwrap();
    // The certificate has neither another name nor the task's address
    for name in [Some("another.name"), None] {
        let error = ask(&client(&address, name)).await.unwrap_err();
        assert!(
            matches!(error, ConsulError::Unavailable { .. }) && error.to_string().contains("certificate"),
            "{error}"
        );
    }
    // And the same with a name that DNS resolves
    let named = format!("https://localhost:{}", port(&consul.address));
    ask(&client(&named, Some("server.dc1.consul"))).await.unwrap();
    ask(&client(&named, None)).await.unwrap_err();
}

/// A sample event.
struct Sample {
    /// The file's name in `events/`.
    file: &'static str,
    /// The launch type of its task.
    launch_type: &'static str,
    /// The URL of a Consul server on port 8500 that runs as this task; `None` if ECS does not describe its address.
    server: Option<&'static str>,
}

const SAMPLES: [Sample; 8] = [
    Sample { file: "task-running.json", launch_type: "FARGATE", server: Some("http://10.0.1.12:8500/") },
    Sample { file: "task-running-ec2.json", launch_type: "EC2", server: Some("http://10.0.1.21:8500/") },
    Sample { file: "task-running-ec2-bridge.json", launch_type: "EC2", server: None },
    Sample { file: "task-running-ec2-host.json", launch_type: "EC2", server: None },
    Sample {
        file: "task-running-managed-instances.json",
        launch_type: "MANAGED_INSTANCES",
        server: Some("http://10.0.1.24:8500/"),
    },
    Sample { file: "task-running-external.json", launch_type: "EXTERNAL", server: None },
    // The first interface, and IPv4 before IPv6
    Sample {
        file: "task-running-several-interfaces.json",
        launch_type: "FARGATE",
        server: Some("http://10.0.1.26:8500/"),
    },
    Sample {
        file: "task-running-ipv6-only.json",
        launch_type: "FARGATE",
        server: Some("http://[2600:1f18:5a2b:3c10::27]:8500/"),
    },
];

impl Sample {
    /// The `detail` of the event.
    fn detail(&self) -> Value {
        let path = format!("{}/events/{}", env!("CARGO_MANIFEST_DIR"), self.file);
        let text = std::fs::read_to_string(path).unwrap();
        let mut event: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(event["detail"]["launchType"], self.launch_type, "{}", self.file);
        event["detail"].take()
    }
}

const ADDRESS: &str = "ecs://infra/consul-server:8500";

/// An ECS where these tasks run, of a family and of a service.
async fn ecs_of(of_family: Vec<Value>, of_service: Vec<Value>) -> Recorder {
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
fn as_described(detail: &Value) -> Value {
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
    as_described(&SAMPLES.iter().find(|sample| sample.file == file).unwrap().detail())
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
        let task = as_described(&sample.detail());
        let ecs = ecs_of(vec![task.clone()], vec![]).await;
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
                        "task {} (launch type {}): ECS reports no IP address because the task has no network \
                         interface (network mode bridge, host or none); run the Consul servers in network mode \
                         awsvpc, or set CONSUL_HTTP_ADDR to their addresses (https://host:port)",
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
    let ecs = ecs_of(vec![sample("task-running-external.json")], vec![]).await;
    let error = ask(&client(ADDRESS, &ecs, &TlsSettings::default(), "own")).await.unwrap_err();
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
        let servers = discovered(&ecs_of(of_family, of_service).await).await.unwrap();
        assert_eq!(servers.iter().map(|server| server.url.as_str()).collect::<Vec<_>>(), ["http://[fd00::7]:8500/"]);
    }
    // The first task without an address is reported
    let first = sample("task-running-external.json");
    let refusal = discovered(&ecs_of(vec![first, without], vec![]).await).await.unwrap_err().to_string();
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
        let error = discovered(&ecs_of(vec![task], vec![]).await).await.unwrap_err().to_string();
        assert!(error.contains(field) && error.contains(&format!("{value:?}")), "{error}");
    }
}

#[tokio::test]
async fn a_server_with_only_an_ipv6_address_is_reached() {
    let consul = Recorder::start(|_, _| Answer::ok("[]")).await;
    let port = consul.url.rsplit(':').next().unwrap();
    // Given a task with the IPv6 address of this machine's IPv4 socket
    let ecs = ecs_of(vec![with_ipv6("::ffff:127.0.0.1")], vec![]).await;
    let address = format!("ecs://infra/consul-server:{port}");
    ask(&client(&address, &ecs, &TlsSettings::default(), "own")).await.unwrap();
    assert_eq!(consul.requests()[0].header("host"), Some(format!("[::ffff:7f00:1]:{port}").as_str()));
}
