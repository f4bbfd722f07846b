//! What `ecs-mesh path` asks Consul, for each kind of destination. tests/CALLS.md has the same numbers.

use ::aws::ecs::AwsEcs;
use consul::ChainOverrides;
use mesh::tenancy::Tenancy;
use observe::{Deadline, Inspector, IntentionEnd, Origin, ServiceAt};
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

use crate::{
    environment::{client, sdk_at},
    time::LONG,
};

const ANSWERS: &str = include_str!("../recordings/mesh-answers.json");

fn recorded(case: &str) -> Value {
    let rows: Vec<Value> = serde_json::from_str(ANSWERS).unwrap();
    let row = rows.iter().find(|row| row["case"] == case).unwrap_or_else(|| panic!("{case}"));
    row["answers"]["1.22"]["body"].clone()
}

/// The chain of api, whose only target is in this place and reached with this mode of mesh gateways.
fn chain(partition: &str, datacenter: &str, mode: &str) -> Value {
    let mut answer = recorded("nothing configured, default deny: chain");
    for target in answer["Chain"]["Targets"].as_object_mut().unwrap().values_mut() {
        target["Partition"] = json!(partition);
        target["Datacenter"] = json!(datacenter);
        target["MeshGateway"] = json!({ "Mode": mode });
    }
    answer
}

/// A Consul in which web calls api. `chain` is what the name means, and `proxies` what web has registered.
fn answer(request: &RecordedRequest, chain: &Value, proxies: &Value) -> Answer {
    let path = request.uri.split('?').next().unwrap_or_default();
    let body = match path.strip_prefix("/v1/").unwrap_or_default() {
        "internal/acl/authorize" => json!([{ "Allow": true }, { "Allow": true }]),
        "agent/self" => json!({ "Config": { "Datacenter": "dc1" }, "DebugConfig": {} }),
        "connect/ca/roots" => json!({ "Roots": [] }),
        "health/connect/web" => proxies.clone(),
        "health/connect/api" => recorded("nothing configured, default deny: healthy proxies"),
        "discovery-chain/api" => chain.clone(),
        "catalog/services" if request.uri.contains("filter") => json!({ "mesh-gateway": [] }),
        "peering/east" => recorded("one peering"),
        "health/service/mesh-gateway" | "exported-services" | "config/http-route" | "config/tcp-route" => json!([]),
        _ => json!({}),
    };
    Answer::ok(body.to_string())
}

fn service(name: &str, partition: Option<&str>) -> ServiceAt {
    let tenancy = partition.map_or(Tenancy::Community, |name| Tenancy::default_namespace_of(name.parse().unwrap()));
    ServiceAt { name: name.to_owned(), tenancy, datacenter: None, peer: None }
}

/// The requests for the mesh and the source, and those for the destination. Each is sorted, because some are concurrent.
async fn asked(source: ServiceAt, destination: ServiceAt, chain: Value, proxies: Value) -> (Vec<String>, Vec<String>) {
    let server = Recorder::start(move |request, _| answer(request, &chain, &proxies)).await;
    let consul = client(&server.url, "token");
    let ecs = AwsEcs::new(&sdk_at(&server.url));
    let inspector = Inspector {
        ecs: &ecs,
        consul: &consul,
        secret_prefix: "path-calls".parse().unwrap(),
        default_tenancy: Tenancy::Community,
        deadline: Deadline::after(LONG),
    };
    let requests = || {
        let mut lines: Vec<String> = server.lines().iter().map(|line| line.replace("/v1/", "")).collect();
        lines.sort();
        server.forget();
        lines
    };
    let reader = inspector.paths().await;
    let (source, mesh) = (reader.source(&source).await, reader.mesh(&source.tenancy).await);
    let common = requests();
    let origin = Origin { source: &source, mesh: &mesh };
    reader.destination(&destination, &ChainOverrides::default(), origin).await;
    (common, requests())
}

fn registered() -> Value {
    recorded("proxies of the node, merged")
}

#[tokio::test]
async fn service_of_the_same_place_costs_seven_requests_and_four_for_its_destination() {
    let here = chain("default", "dc1", "");
    let (common, destination) = asked(service("web", None), service("api", None), here, registered()).await;
    let expected = [
        "GET agent/self",
        "GET config/mesh/mesh",
        "GET config/proxy-defaults/global",
        "GET config/service-defaults/web",
        "GET connect/ca/roots",
        "GET health/connect/web",
        "POST internal/acl/authorize",
    ];
    assert_eq!(common, expected);
    let expected = [
        "GET config/service-defaults/api",
        "GET connect/intentions/match?by=destination&name=api",
        "GET discovery-chain/api",
        "GET health/connect/api?dc=dc1",
    ];
    assert_eq!(destination, expected);
}

#[tokio::test]
async fn source_without_a_proxy_costs_two_more_for_the_routes_of_a_gateway() {
    let here = chain("default", "dc1", "");
    let (common, _) = asked(service("web", None), service("api", None), here, json!([])).await;
    let routes: Vec<&str> = common.iter().map(String::as_str).filter(|line| line.contains("-route")).collect();
    assert_eq!((common.len(), routes), (9, vec!["GET config/http-route", "GET config/tcp-route"]));
}

/// The requests for the border before the destination.
fn of_border(requests: &[String]) -> Vec<&str> {
    let is_it = |line: &&str| ["filter=", "health/service", "export"].iter().any(|part| line.contains(part));
    requests.iter().map(String::as_str).filter(is_it).collect()
}

#[tokio::test]
async fn another_datacenter_costs_two_for_the_gateways_of_each_place_that_the_mode_needs() {
    let names = "filter=ServiceKind+%3D%3D+%22mesh-gateway%22";
    let [here, there] = [String::new(), "&dc=dc2".to_owned()].map(|dc| format!("GET catalog/services?{names}{dc}"));
    let [gateway, gateway_there] = ["GET health/service/mesh-gateway", "GET health/service/mesh-gateway?dc=dc2"];
    for (mode, expected) in [
        ("", vec![]),
        ("remote", vec![there.as_str(), gateway_there]),
        ("local", vec![here.as_str(), there.as_str(), gateway, gateway_there]),
    ] {
        let elsewhere = chain("default", "dc2", mode);
        let (_, destination) = asked(service("web", None), service("api", None), elsewhere, registered()).await;
        assert_eq!(of_border(&destination), expected, "{mode}");
    }
}

#[tokio::test]
async fn another_partition_costs_one_for_what_it_exports_and_two_for_its_gateways() {
    let (web, api) = (service("web", Some("front")), service("api", Some("back")));
    let (_, destination) = asked(web, api, chain("back", "dc1", "remote"), registered()).await;
    let expected = [
        "GET catalog/services?filter=ServiceKind+%3D%3D+%22mesh-gateway%22&partition=back&ns=default",
        "GET exported-services?partition=back",
        "GET health/service/mesh-gateway?partition=back&ns=default",
    ];
    assert_eq!(of_border(&destination), expected);
}

#[tokio::test]
async fn service_of_a_peer_costs_two_requests() {
    let east = ServiceAt { peer: Some("east".to_owned()), ..service("api", None) };
    let (_, destination) = asked(service("web", None), east, Value::Null, registered()).await;
    assert_eq!(destination, ["GET health/connect/api?peer=east", "GET peering/east"]);
}

#[tokio::test]
async fn callers_of_a_service_cost_four_requests() {
    let server = Recorder::start(|request, _| answer(request, &Value::Null, &Value::Null)).await;
    let (consul, ecs) = (client(&server.url, "token"), AwsEcs::new(&sdk_at(&server.url)));
    let inspector = Inspector {
        ecs: &ecs,
        consul: &consul,
        secret_prefix: "path-callers".parse().unwrap(),
        default_tenancy: Tenancy::Community,
        deadline: Deadline::after(LONG),
    };
    let reader = inspector.paths().await;
    reader.intentions(IntentionEnd::Destination, &service("api", None)).await.unwrap();
    reader.datacenter().await.unwrap();
    reader.names(&Tenancy::Community).await.unwrap();
    let expected = [
        "POST /v1/internal/acl/authorize",
        "GET /v1/connect/intentions/match?by=destination&name=api",
        "GET /v1/agent/self",
        "GET /v1/catalog/services",
    ];
    assert_eq!(server.lines(), expected);
}
