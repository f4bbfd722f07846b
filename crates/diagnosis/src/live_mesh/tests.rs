//! Recorded answers of Consul 1.8.7 and 1.22.

use super::*;
use crate::recorded::{BOTH, answer};
use std::collections::BTreeMap;

use mesh::permissions::Permission;
use observe::{OutOfTime, READ_AGENTS, READ_LOGINS, READ_SERVICES, TokenOwner};

fn service(name: &str) -> ServicePlace {
    ServicePlace { name: name.to_owned(), tenancy: Tenancy::Community }
}

/// What `web` asks, whose upstream is `api`.
fn asked() -> Questions {
    let call = Call { source: service("web"), upstream: service("api") };
    let method = MethodPlace { name: "iam".to_owned(), tenancy: Tenancy::Community };
    Questions { upstreams: [service("api")].into(), calls: [call].into(), methods: [method].into(), has_tasks: true }
}

/// What a release has in a recorded case, with the default policy `deny`.
fn reading(version: &str, case: &str) -> LiveMeshReading {
    let chain: DiscoveryChain =
        serde_json::from_value(answer(version, &format!("{case}: chain"))["Chain"].clone()).unwrap();
    let intentions: BTreeMap<String, Option<Vec<Intention>>> =
        serde_json::from_value(answer(version, &format!("{case}: match"))).unwrap();
    let intentions: Vec<Intention> = intentions.into_values().flatten().flatten().collect();
    let first = ChainServices::of(&at(&service("api")), &chain).first;
    let datacenter = Datacenter {
        name: "dc1".to_owned(),
        is_primary: true,
        allows_by_default: false,
        allows_calls_by_default: false,
    };
    LiveMeshReading {
        datacenter: Ok((datacenter, "1.22.1+ent".to_owned())),
        chains: [(at(&service("api")), Ok(chain))].into(),
        intentions: first.into_iter().map(|service| (service, Ok(intentions.clone()))).collect(),
        names: [(Tenancy::Community, Ok(vec!["api".to_owned(), "web".to_owned()]))].into(),
        methods: [((Tenancy::Community, "iam".to_owned()), Ok(None))].into(),
    }
}

fn judged(reading: &LiveMeshReading) -> (LiveMesh, Vec<String>) {
    live_mesh(&asked(), &Tenancy::Community, reading)
}

/// Why `web` may not call `api`.
fn denied(reading: &LiveMeshReading) -> Option<String> {
    let (mesh, problems) = judged(reading);
    assert!(problems.is_empty(), "{problems:?}");
    mesh.denials.into_values().next().map(|denial| format!("{}: {}", denial.target.name, denial.reason))
}

#[test]
fn only_what_is_certainly_denied_is_a_denial() {
    let by_default = Some("api: no intention is about them, and the default policy denies them");
    let web_denied = Some("api: intention web → api denies them");
    for (versions, case, expected) in [
        (&BOTH[..], "nothing configured, default deny", by_default),
        (&BOTH[1..], "web allowed", None),
        (&BOTH[1..], "web denied", web_denied),
        (&BOTH[1..], "all allowed, web denied", web_denied),
        // They depend on the request, and on a token.
        (&BOTH[1..], "layer 7 permissions", None),
        (&BOTH[1..], "allowed with JWT", None),
        (&BOTH[1..], "web allowed everywhere", None),
    ] {
        for version in versions {
            assert_eq!(denied(&reading(version, case)).as_deref(), expected, "{version}: {case}");
        }
    }
    // Consul refuses to write them for a service that is not HTTP, but the protocol may change later.
    let mut tcp = reading("1.22", "layer 7 permissions");
    tcp.chains = reading("1.22", "nothing configured, default deny").chains;
    assert!(denied(&tcp).is_some_and(|why| why.contains("of a service that is not HTTP")));
}

#[test]
fn calls_that_no_intention_is_about_are_decided_by_the_default_policy() {
    for version in BOTH {
        let mut reading = reading(version, "nothing configured, default deny");
        if let Ok((datacenter, _)) = &mut reading.datacenter {
            datacenter.allows_calls_by_default = true;
        }
        assert_eq!(denied(&reading), None);
        reading.datacenter = Err(LiveMeshError::Lacks(READ_AGENTS));
        assert!(judged(&reading).0.denials.is_empty(), "unknown is not denied");
    }
}

#[test]
fn a_name_means_what_its_chain_says() {
    let targets = |version: &str, case: &str| -> Vec<String> {
        let (mesh, _) = judged(&reading(version, case));
        mesh.upstreams[&service("api")].targets.iter().map(|target| target.name.clone()).collect()
    };
    for version in BOTH {
        assert_eq!(targets(version, "nothing configured, default deny"), ["api"], "{version}");
        let redirected = targets(version, "redirect to nothing");
        assert!(redirected.len() == 1 && redirected[0] != "api", "{version}: {redirected:?}");
        // What another datacenter has is not known here.
        assert_eq!(targets(version, "redirect to another datacenter"), [""; 0], "{version}");
        assert_eq!(denied(&reading(version, "redirect to another datacenter")), None, "{version}");
        let (mesh, _) = judged(&reading(version, "router"));
        assert_eq!(mesh.upstreams[&service("api")].protocol, "http", "{version}");
    }
}

#[test]
fn what_was_read_is_there_and_an_absent_method_is_absent() {
    let (mesh, problems) = judged(&reading("1.22", "web allowed"));
    assert_eq!((mesh.servers, problems), (Some(Release::line(1, 22)), Vec::new()));
    assert_eq!((mesh.has(&service("api")), mesh.has(&service("orders"))), (Some(true), Some(false)));
    assert_eq!(mesh.methods.into_values().collect::<Vec<_>>(), [None]);
}

#[test]
fn what_could_not_be_read_is_left_out_and_said_once_with_the_permission() {
    let lacks = |permission: &Permission| LiveMeshError::Lacks(permission.clone());
    let reading = LiveMeshReading {
        datacenter: Err(lacks(&READ_AGENTS)),
        chains: [(at(&service("api")), Err(lacks(&READ_SERVICES)))].into(),
        intentions: BTreeMap::new(),
        names: [(Tenancy::Community, Err(lacks(&READ_SERVICES)))].into(),
        methods: [((Tenancy::Community, "iam".to_owned()), Err(lacks(&READ_LOGINS)))].into(),
    };
    let (mesh, problems) = judged(&reading);
    let of = |rule: &str, what: &str| {
        format!("the token in CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE lacks {rule}, so {what} not checked")
    };
    let expected = [
        of(r#"service_prefix "" { policy = "read" }"#, "upstreams are"),
        of(r#"agent_prefix "" { policy = "read" }"#, "releases and calls that no intention is about are"),
        of(r#"acl = "read""#, "logins are"),
    ];
    assert_eq!(problems, expected);
    assert!(mesh.upstreams.is_empty() && mesh.services.is_empty() && mesh.methods.is_empty() && mesh.servers.is_none());
}

#[test]
fn one_cause_is_said_once() {
    let gone = || {
        let (subject, reason) = ("services".to_owned(), "connection refused".to_owned());
        LiveMeshError::Call(ConsulError::Unavailable { subject, reason, had_no_effect: true }.into())
    };
    let mut reading = reading("1.22", "web allowed");
    reading.datacenter = Err(gone());
    reading.names = [(Tenancy::Community, Err(gone()))].into();
    let gone_without = |what: &str| {
        format!("Consul could not be read at CONSUL_HTTP_ADDR: connection refused, so {what} are not checked")
    };
    let servers = "releases and calls that no intention is about";
    assert_eq!(judged(&reading).1, [gone_without(&format!("upstreams and {servers}"))]);
    reading.methods = [((Tenancy::Community, "iam".to_owned()), Err(gone()))].into();
    assert_eq!(judged(&reading).1, [gone_without(&format!("upstreams, logins, and {servers}"))]);
    reading.names = [(Tenancy::Community, Err(LiveMeshError::Call(OutOfTime.into())))].into();
    let late = "Consul did not answer in time, so upstreams are not checked".to_owned();
    assert_eq!(judged(&reading).1, [late, gone_without(&format!("logins and {servers}"))]);
}

#[test]
fn a_refusal_is_consuls_and_names_no_controller() {
    let (subject, reason) = ("the list of services".to_owned(), "broken".to_owned());
    let (other_subject, other_reason) = (subject.clone(), reason.clone());
    for (refused, expected) in [
        (ConsulError::Refused { subject, status: 500, reason }, "Consul refused with status 500: broken"),
        (
            ConsulError::PermissionDenied { subject: other_subject, token: TokenOwner::Command, reason: other_reason },
            "the token in CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE lacks a permission: broken",
        ),
    ] {
        let mut reading = reading("1.22", "web allowed");
        reading.names = [(Tenancy::Community, Err(LiveMeshError::Call(refused.into())))].into();
        let expected =
            format!("Consul could not be read: the list of services: {expected}, so upstreams are not checked");
        assert_eq!(judged(&reading).1, [expected]);
    }
}

#[test]
fn a_version_that_is_none_is_said_and_others_are_not() {
    for (version, is_known) in [("1.22.1+ent", true), ("2.0.0-dev", true), ("", false), ("1.21.4<script>", false)] {
        let mut reading = reading("1.22", "web allowed");
        if let Ok((_, its)) = &mut reading.datacenter {
            version.clone_into(its);
        }
        let (mesh, problems) = judged(&reading);
        assert_eq!(mesh.servers.is_some(), is_known, "{version}");
        let expected: &[&str] = if is_known { &[] } else { &[UNKNOWN_VERSION] };
        assert_eq!(problems, expected, "{version}");
    }
}
