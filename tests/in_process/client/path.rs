//! What `ecs-mesh path` asks Consul, and how the recorded answers are read.

use consul::{ChainOverrides, ConsulError, IntentionAction, IntentionEnd, Matched, ProxyPlace, UnreadableCertificate};
use mesh::tenancy::Tenancy;
use serde_json::{Value, json};
use test_harness::recorder::Answer;

use crate::client::{against, enterprise, enterprise::in_short};

const ANSWERS: &str = include_str!("../../recordings/mesh-answers.json");

/// What a release answered in a case.
fn recorded(release: &str, case: &str) -> Answer {
    let answer = recording(release, case);
    let body = answer["body"].as_str().map_or_else(|| answer["body"].to_string(), str::to_owned);
    Answer::status(answer["status"].as_u64().unwrap().try_into().unwrap(), body)
}

/// The status and the body of it.
fn recording(release: &str, case: &str) -> Value {
    let rows: Vec<Value> = serde_json::from_str(ANSWERS).unwrap();
    let row = rows.iter().find(|row| row["case"] == case).unwrap_or_else(|| panic!("{case}"));
    row["answers"][release].clone()
}

#[tokio::test]
async fn each_request_names_the_place_of_its_service() {
    let (server, consul) = against(|request, _| match request.uri.as_str() {
        uri if uri.contains("discovery-chain") => recorded("1.22", "nothing configured, default deny: chain"),
        uri if uri.contains("intentions") || uri.contains("services") => Answer::ok("{}"),
        _ => Answer::ok("[]"),
    })
    .await;
    let overrides = ChainOverrides {
        protocol: Some("http".to_owned()),
        connect_timeout_ms: Some(7000),
        mesh_gateway_mode: Some("local".to_owned()),
    };
    for tenancy in [enterprise(), Tenancy::Community] {
        consul.discovery_chain("api", &tenancy, None, &ChainOverrides::default()).await.unwrap();
        consul.discovery_chain("api", &tenancy, Some("dc2"), &overrides).await.unwrap();
        let subset =
            ProxyPlace { datacenter: Some("dc2"), filter: "Service.Meta.version == v2", ..ProxyPlace::default() };
        consul.proxies_of("api", &tenancy, subset).await.unwrap();
        let at_peer = ProxyPlace { peer: Some("east"), ..ProxyPlace::default() };
        consul.proxies_of("api", &tenancy, at_peer).await.unwrap();
        consul.intentions(IntentionEnd::Destination, "api", &tenancy).await.unwrap();
        consul.intentions(IntentionEnd::Source, "web", &tenancy).await.unwrap();
        consul.service_names(&tenancy).await.unwrap();
    }
    let requests = |tenancy: &str| {
        let with = |line: &str| match (tenancy, line.contains('?')) {
            ("", _) => line.to_owned(),
            (_, true) => format!("{line}&{tenancy}"),
            (_, false) => format!("{line}?{tenancy}"),
        };
        [
            "GET /discovery-chain/api",
            "POST /discovery-chain/api?compile-dc=dc2",
            "GET /health/connect/api?dc=dc2&filter=Service.Meta.version+%3D%3D+v2",
            "GET /health/connect/api?peer=east",
            "GET /connect/intentions/match?by=destination&name=api",
            "GET /connect/intentions/match?by=source&name=web",
            "GET /catalog/services",
        ]
        .map(with)
    };
    let seen: Vec<String> = server.lines().iter().map(|line| in_short(line)).collect();
    assert_eq!(seen, [requests("T"), requests("")].concat());
    let body = json!({ "OverrideProtocol": "http", "OverrideConnectTimeout": "7000ms", "OverrideMeshGateway": { "Mode": "local" } });
    assert_eq!(server.requests()[1].json(), body);
}

#[tokio::test]
async fn recorded_answers_are_read() {
    for release in ["1.8.7", "1.22"] {
        let (_, consul) = against(move |request, _| match request.uri.as_str() {
            uri if uri.contains("discovery-chain") => recorded(release, "router: chain"),
            uri if uri.contains("health/connect") => recorded(release, "proxies of the node, merged"),
            _ => recorded(release, "list of intentions"),
        })
        .await;
        let chain = consul.discovery_chain("api", &Tenancy::Community, None, &ChainOverrides::default()).await.unwrap();
        assert_eq!((chain.protocol.as_str(), chain.targets.len()), ("http", 2), "{release}");
        let router = &chain.nodes[&chain.start_node];
        let taken: Vec<Matched> =
            router.routes.iter().filter_map(|route| Some(route.definition.http()?.matches("GET", "/health"))).collect();
        assert_eq!(taken, [Matched::No, Matched::Yes, Matched::Yes], "{release}");
        let proxies = consul.proxies_of("web", &Tenancy::Community, ProxyPlace::default()).await.unwrap();
        let [proxy] = proxies.as_slice() else { panic!("{proxies:?}") };
        assert_eq!((proxy.address.as_str(), proxy.port, proxy.is_passing()), ("10.0.0.1", 20_000, true));
        assert_eq!((proxy.upstreams[0].destination_name.as_str(), proxy.upstreams[0].local_bind_port), ("api", 1234));
    }
    let (_, consul) = against(|_, _| recorded("1.22", "layer 7 permissions: match")).await;
    let intentions = consul.intentions(IntentionEnd::Destination, "api", &Tenancy::Community).await.unwrap();
    let [intention] = intentions.as_slice() else { panic!("{intentions:?}") };
    let actions: Vec<IntentionAction> = intention.permissions.iter().map(|permission| permission.action).collect();
    assert_eq!((intention.action, actions), (None, vec![IntentionAction::Allow, IntentionAction::Deny]));
}

#[tokio::test]
async fn refusal_of_each_release_is_a_missing_permission() {
    for release in ["1.8.7", "1.22"] {
        for case in ["chain", "match"] {
            let case = format!("with a token without rules: {case}");
            let (_, consul) = against(move |_, _| recorded(release, &case)).await;
            let refused = consul.intentions(IntentionEnd::Destination, "api", &Tenancy::Community).await.unwrap_err();
            assert!(matches!(refused, ConsulError::PermissionDenied { .. }), "{refused:?}");
        }
    }
}

#[tokio::test]
async fn peering_that_is_not_there_is_none_on_every_release() {
    for release in ["1.8.7", "1.22"] {
        let (server, consul) = against(move |request, _| match request.uri.as_str() {
            uri if uri.contains("token/self") => Answer::ok(r#"{"AccessorID":"a"}"#),
            _ => recorded(release, "a peering that is not there"),
        })
        .await;
        assert_eq!(consul.peering("west", &enterprise()).await.unwrap(), None, "{release}");
        assert_eq!(in_short(&server.lines()[0]), "GET /peering/west?P");
    }
    let (_, consul) = against(|_, _| recorded("1.22", "one peering")).await;
    let waiting = consul.peering("east", &Tenancy::Community).await.unwrap().unwrap();
    assert_eq!((waiting.is_active(), waiting.imported_services().len()), (false, 0), "{waiting:?}");
}

#[tokio::test]
async fn roots_are_read_with_their_times() {
    let root = json!({
        "ID": "04:48", "Name": "Consul CA Primary Cert", "Active": true, "RootCert": "…", "IntermediateCerts": null,
        "NotBefore": "2026-01-01T00:00:00Z", "NotAfter": "2036-01-01T00:00:00Z",
    });
    let (server, consul) =
        against(move |_, _| Answer::ok(json!({ "ActiveRootID": "04:48", "Roots": [root] }).to_string())).await;
    let roots = consul.ca_roots().await.unwrap();
    assert_eq!((roots[0].is_active, roots[0].not_after.to_string().as_str()), (true, "2036-01-01T00:00:00Z"));
    assert_eq!(server.lines(), ["GET /v1/connect/ca/roots"]);
}

#[tokio::test]
async fn intermediate_that_signs_is_the_last_one() {
    let root = |intermediates: Value| {
        json!({
            "Name": "Consul CA Primary Cert", "Active": true, "IntermediateCerts": intermediates,
            "NotBefore": "2026-01-01T00:00:00Z", "NotAfter": "2036-01-01T00:00:00Z",
        })
    };
    let read = async |intermediates: Value| {
        let body = json!({ "Roots": [root(intermediates)] }).to_string();
        let (_, consul) = against(move |_, _| Answer::ok(body.clone())).await;
        consul.ca_roots().await.unwrap().remove(0).intermediate
    };
    let [old, new] = ["1.8.7", "1.22"].map(|release| recording(release, "roots as PEM")["body"].clone());
    let validity = read(json!([old, new])).await.unwrap().unwrap();
    let times = [validity.not_before, validity.not_after].map(|time| time.to_string());
    assert_eq!(times, ["2026-11-24T19:41:49Z", "2036-11-21T19:41:49Z"]);
    assert_eq!(read(json!([new, "…"])).await, Some(Err(UnreadableCertificate)));
    for none in [json!(null), json!([])] {
        assert_eq!(read(none).await, None);
    }
}

#[tokio::test]
async fn policy_for_calls_is_the_one_for_intentions_or_else_that_of_acls() {
    let policy = async |debug: Value| {
        let answer = json!({ "Config": { "Datacenter": "dc1" }, "DebugConfig": debug }).to_string();
        let (_, consul) = against(move |_, _| Answer::ok(answer.clone())).await;
        consul::Logins::datacenter(&consul).await.unwrap().allows_calls_by_default
    };
    let of_acls =
        |policy: &str| json!({ "ACLResolverSettings": { "ACLDefaultPolicy": policy }, "DefaultIntentionPolicy": "" });
    assert!(policy(of_acls("allow")).await && !policy(of_acls("deny")).await);
    assert!(!policy(json!({ "ACLDefaultPolicy": "deny" })).await, "before 1.9");
    let own = |acls: &str, own: &str| json!({ "ACLResolverSettings": { "ACLDefaultPolicy": acls }, "DefaultIntentionPolicy": own });
    assert!(policy(own("deny", "allow")).await && !policy(own("allow", "deny")).await);
}

#[tokio::test]
async fn mesh_gateways_are_those_of_a_filtered_answer_alone() {
    let of = async |release: &'static str| {
        let (_, consul) = against(move |_, _| recorded(release, "mesh gateways")).await;
        consul.mesh_gateways(&Tenancy::Community, None).await
    };
    assert_eq!(of("1.22").await.unwrap(), []);
    // Consul 1.8 overlooks the filter, and answers with every service
    let unfiltered = of("1.8.7").await.unwrap_err();
    assert!(
        matches!(&unfiltered, ConsulError::Malformed { reason, .. } if reason.contains("gateways")),
        "{unfiltered:?}"
    );
}

#[tokio::test]
async fn exported_services_are_those_of_the_api_or_else_of_the_entry() {
    let (server, consul) = against(|_, _| recorded("1.22", "exported services")).await;
    let exported = consul.exported_services(&enterprise()).await.unwrap();
    assert_eq!(exported.len(), 1);
    assert!(!exported[0].is_export("api", "team"), "to a peer only");
    assert_eq!(server.lines().len(), 1);
    // Before 1.17.3
    let entry = json!({ "Name": "team", "Services": [{ "Name": "*", "Consumers": [{ "Peer": "east" }, { "Partition": "front" }] }] });
    let (_, consul) = against(move |request, _| match request.uri.as_str() {
        uri if uri.contains("/config/exported-services/team") => Answer::ok(entry.to_string()),
        uri if uri.contains("token/self") => Answer::ok(r#"{"AccessorID":"a"}"#),
        _ => recorded("1.8.7", "exported services"),
    })
    .await;
    let exported = consul.exported_services(&enterprise()).await.unwrap();
    assert!(exported[0].is_export("api", "front") && !exported[0].is_export("api", "back"), "{exported:?}");
}
