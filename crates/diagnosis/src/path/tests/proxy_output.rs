//! What a proxy says of itself.

use observe::{Endpoint, HeldCertificate, Listener, Rejection};

use super::*;
use crate::examples::revision;

/// The cluster of api, as the recorded chain names it.
const CLUSTER: &str = "api.default.dc1.internal.<uuid 1>.consul";

fn endpoint(cluster: &str, address: &str) -> Endpoint {
    Endpoint { cluster: cluster.to_owned(), address: address.to_owned(), ..Endpoint::default() }
}

fn certificate(is_root: bool, from: &str, until: &str) -> HeldCertificate {
    HeldCertificate { is_root, valid_from: from.parse().unwrap(), expires: until.parse().unwrap() }
}

/// A proxy of web that is as it should be.
fn of_web() -> ProxyOutput {
    ProxyOutput {
        service: Some("web".to_owned()),
        certificates: Some(vec![
            certificate(true, "2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z"),
            certificate(false, "2026-11-22T12:00:00Z", "2026-11-25T12:00:00Z"),
        ]),
        clusters: Some([CLUSTER.to_owned(), "local_app".to_owned()].into()),
        endpoints: vec![endpoint(CLUSTER, "10.0.0.2:20000"), endpoint(CLUSTER, "10.0.0.3:20000")],
        listeners: Some(vec![Listener { name: "api:127.0.0.1:1234".to_owned(), is_active: true }]),
        rejections: Vec::new(),
    }
}

/// A proxy of api that is as it should be.
fn of_api() -> ProxyOutput {
    ProxyOutput {
        service: Some("api".to_owned()),
        clusters: Some(["local_app".to_owned()].into()),
        endpoints: vec![endpoint("local_app", "127.0.0.1:9090")],
        listeners: Some(vec![Listener { name: "public_listener:10.0.0.2:20000".to_owned(), is_active: true }]),
        ..of_web()
    }
}

/// Asserts what the output shows at a place, in the last line about it.
#[track_caller]
fn assert_output(output: ProxyOutput, place: Place, verdict: PlaceVerdict, part: &str) {
    let path = World { proxy_output: Some(output), ..World::new(NEW) }.path();
    let line = path.lines.iter().rfind(|line| line.place == place).unwrap();
    assert!(line.verdict == verdict && line.what.contains(part), "{verdict:?}, {part}: {line:?}");
}

#[test]
fn proxy_that_is_as_it_should_be_leaves_nothing_unknown() {
    for output in [of_web(), of_api()] {
        let path = World { proxy_output: Some(output), ..World::new(NEW) }.path();
        let wrong: Vec<&PathLine> = path
            .lines
            .iter()
            .filter(|line| !matches!(line.verdict, PlaceVerdict::Ok | PlaceVerdict::NotNeeded))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn listener_that_is_missing_or_waits_is_a_fault() {
    let with = |name: &str, is_active| {
        let listeners = vec![Listener { name: name.to_owned(), is_active }];
        ProxyOutput { listeners: Some(listeners), ..of_web() }
    };
    let way_out = |output, verdict, part| assert_output(output, Place::WayOut, verdict, part);
    way_out(of_web(), PlaceVerdict::Ok, "the proxy itself listens: 127.0.0.1:1234");
    way_out(with("orders:127.0.0.1:1235", true), PlaceVerdict::Fault, "has no listener 127.0.0.1:1234");
    way_out(with("api:127.0.0.1:1234", false), PlaceVerdict::Fault, "waits for routes, clusters or certificates");
    // With transparent proxy, another listener takes the app's requests
    let mut world = World { proxy_output: Some(with("outbound_listener:127.0.0.1:15001", true)), ..World::new(NEW) };
    for proxy in world.source.proxies.as_mut().unwrap() {
        (proxy.is_transparent, proxy.upstreams) = (true, Vec::new());
    }
    let line = world.path().lines.into_iter().rfind(|line| line.place == Place::WayOut).unwrap();
    assert_eq!(line.verdict, PlaceVerdict::Ok, "{line:?}");
}

/// The output with a rejected configuration.
fn rejecting(name: &str, output: ProxyOutput) -> ProxyOutput {
    let rejection = Rejection { name: name.to_owned(), reason: "unknown field".to_owned() };
    ProxyOutput { rejections: vec![rejection], ..output }
}

#[test]
fn rejected_configuration_is_a_fault_if_the_request_needs_it() {
    let listener = "api:127.0.0.1:1234";
    let deaf = || ProxyOutput { listeners: Some(Vec::new()), ..of_web() };
    let part = "the proxy rejected api:127.0.0.1:1234: unknown field";
    assert_output(rejecting(listener, deaf()), Place::WayOut, PlaceVerdict::Fault, part);
    // The cluster of the destination belongs to its tasks
    let without = || ProxyOutput { clusters: Some(["local_app".to_owned()].into()), ..of_web() };
    let part = "the proxy of the caller rejected api.default.dc1";
    assert_output(rejecting(CLUSTER, without()), Place::DestinationTasks, PlaceVerdict::Fault, part);
    // A proxy goes on with the configuration that it had before
    for (name, place) in [(listener, Place::WayOut), (CLUSTER, Place::DestinationTasks)] {
        let path = World { proxy_output: Some(rejecting(name, of_web())), ..World::new(NEW) }.path();
        let said: Vec<PlaceVerdict> =
            path.lines.iter().filter(|line| line.place == place).map(|line| line.verdict).collect();
        assert_eq!(said, [PlaceVerdict::Ok, PlaceVerdict::Possible, PlaceVerdict::Ok], "{name}");
        assert_eq!(path.passage, Passage::Open, "{name}");
    }
    // What requests do not need is possible at most
    let other = rejecting("public_listener:10.0.0.1:20000", of_web());
    let path = World { proxy_output: Some(other), ..World::new(NEW) }.path();
    let said: Vec<PlaceVerdict> =
        path.lines.iter().filter(|line| line.place == Place::WayOut).map(|line| line.verdict).collect();
    assert_eq!(said, [PlaceVerdict::Ok, PlaceVerdict::Possible, PlaceVerdict::Ok]);
}

#[test]
fn secret_in_the_reason_of_a_rejection_is_hidden() {
    let mut output = rejecting("api:127.0.0.1:1234", of_web());
    output.rejections[0].reason = "unknown field: password=hunter2secret".to_owned();
    let path = World { proxy_output: Some(output), ..World::new(NEW) }.path();
    let line = path.lines.iter().find(|line| line.what.contains(" rejected ")).unwrap();
    assert!(line.what.contains("unknown field: ") && !format!("{path:?}").contains("hunter2secret"), "{line:?}");
}

#[test]
fn names_in_commands_are_words_of_a_shell() {
    let output = ProxyOutput { certificates: None, ..of_web() };
    let mut world = World { proxy_output: Some(output), ..World::new(NEW) };
    for task in &mut world.observed.clusters[0].tasks {
        "app; id".clone_into(&mut revision(task).containers[0].name);
    }
    let path = world.path();
    let line = path.lines.iter().find(|line| line.what == "--proxy-output has no answer to /certs").unwrap();
    assert!(line.commands[0].contains(" --container 'app; id' --interactive "), "{line:?}");
}

#[test]
fn rejected_configuration_is_told_although_nothing_is_registered() {
    let of = |output: ProxyOutput| {
        let mut world = World { proxy_output: Some(output), ..World::new(NEW) };
        world.source.proxies = Ok(Vec::new());
        let lines = world.path().lines.into_iter().filter(|line| line.place == Place::WayOut);
        lines.map(|line| line.verdict).collect::<Vec<PlaceVerdict>>()
    };
    let rejected = rejecting("api:127.0.0.1:1234", of_web());
    assert_eq!(of(rejected), [PlaceVerdict::NotNeeded, PlaceVerdict::Possible]);
    assert_eq!(of(of_web()), [PlaceVerdict::NotNeeded]);
}

#[test]
fn answer_that_the_file_lacks_is_unknown_with_the_command_that_adds_it() {
    let ask = |path: &str| {
        let url = format!("http://127.0.0.1:19000/{path}");
        format!(
            "aws ecs execute-command --cluster prod --task {} --container app --interactive --command 'curl -s {url}' >> proxy.txt",
            id(1)
        )
    };
    for (place, path, lacking) in [
        (Place::Trust, "certs", ProxyOutput { certificates: None, ..of_web() }),
        (Place::DestinationTasks, "clusters", ProxyOutput { clusters: None, endpoints: Vec::new(), ..of_web() }),
        (Place::WayOut, "config_dump", ProxyOutput { listeners: None, ..of_web() }),
    ] {
        let path_of = World { proxy_output: Some(lacking), ..World::new(NEW) }.path();
        let unknown: Vec<&PathLine> =
            path_of.lines.iter().filter(|line| line.verdict == PlaceVerdict::Unknown).collect();
        let [line] = unknown.as_slice() else { panic!("{unknown:#?}") };
        assert_eq!(
            (line.place, line.what.as_str()),
            (place, format!("--proxy-output has no answer to /{path}").as_str())
        );
        assert_eq!(line.commands, [ask(path), "ecs-mesh path web api --proxy-output proxy.txt".to_owned()]);
        assert_eq!(path_of.passage, Passage::Open, "{path}");
    }
    // Of a proxy of the destination, which Consul alone has here
    let empty = ProxyOutput { clusters: None, endpoints: Vec::new(), listeners: None, certificates: None, ..of_api() };
    let path = World { proxy_output: Some(empty), ..World::new(NEW) }.path();
    let unknown = path.lines.iter().filter(|line| line.verdict == PlaceVerdict::Unknown);
    let unknown: Vec<(Place, usize)> = unknown.map(|line| (line.place, line.commands.len())).collect();
    assert_eq!(unknown, [(Place::DestinationTasks, 0), (Place::DestinationTasks, 0), (Place::Trust, 0)]);
}

#[test]
fn ejected_and_unreached_instances_are_a_fault_if_no_other_is_left() {
    let with = |change: &dyn Fn(&mut [Endpoint])| {
        let mut output = of_web();
        change(&mut output.endpoints);
        output
    };
    let tasks = |output, verdict, part| assert_output(output, Place::DestinationTasks, verdict, part);
    tasks(of_web(), PlaceVerdict::Ok, "the proxy of the caller knows 2 of api, and has ejected none");
    let one = with(&|endpoints| endpoints[0].is_ejected = true);
    tasks(one, PlaceVerdict::Possible, "has ejected 1 of 2 instances of api: 10.0.0.2:20000");
    let all = with(&|endpoints| {
        for endpoint in endpoints {
            endpoint.is_ejected = true;
        }
    });
    tasks(all, PlaceVerdict::Fault, "has ejected every instance of api");
    let unreached = with(&|endpoints| (endpoints[1].connections, endpoints[1].failed_connections) = (3, 3));
    tasks(unreached, PlaceVerdict::Fault, "none of 3 connections of the caller's proxy to 10.0.0.3:20000");
    let some = with(&|endpoints| (endpoints[1].connections, endpoints[1].failed_connections) = (3, 1));
    tasks(some, PlaceVerdict::Ok, "knows 2 of api");
    let none = ProxyOutput { endpoints: Vec::new(), ..of_web() };
    tasks(none, PlaceVerdict::Fault, "knows no instance of api");
    let without = ProxyOutput { clusters: Some(["local_app".to_owned()].into()), ..of_web() };
    tasks(without, PlaceVerdict::Fault, "has no cluster for api");
    // A chain that an upstream changed has a name of its own
    let customized = format!("5379effb~{CLUSTER}");
    let own = ProxyOutput {
        clusters: Some([customized.clone()].into()),
        endpoints: vec![endpoint(&customized, "10.0.0.2:20000")],
        ..of_web()
    };
    tasks(own, PlaceVerdict::Ok, "knows 1 of api");
}

#[test]
fn app_that_the_destination_s_proxy_does_not_reach_is_a_fault() {
    let with = |failed: u64| {
        let app = Endpoint { connections: 4, failed_connections: failed, ..endpoint("local_app", "127.0.0.1:9090") };
        ProxyOutput { endpoints: vec![app], ..of_api() }
    };
    let tasks = |output, verdict, part| assert_output(output, Place::DestinationTasks, verdict, part);
    tasks(
        with(4),
        PlaceVerdict::Fault,
        "none of 4 connections of the destination's proxy to its app at 127.0.0.1:9090",
    );
    tasks(with(1), PlaceVerdict::Possible, "1 of 4 connections to the app at 127.0.0.1:9090 failed");
    tasks(with(0), PlaceVerdict::Ok, "reaches its app at 127.0.0.1:9090");
    let deaf = ProxyOutput { listeners: Some(Vec::new()), ..of_api() };
    tasks(deaf, PlaceVerdict::Fault, "listens for no other proxy");
    let deaf = || ProxyOutput { listeners: Some(Vec::new()), ..of_api() };
    let without = ProxyOutput { clusters: Some([CLUSTER.to_owned()].into()), endpoints: Vec::new(), ..of_api() };
    for (name, output) in [("public_listener:10.0.0.2:20000", deaf()), ("local_app", without)] {
        let path = World { proxy_output: Some(rejecting(name, output)), ..World::new(NEW) }.path();
        let what = format!("the destination's proxy rejected {name}: unknown field");
        let faults = path.lines.iter().filter(|line| line.verdict == PlaceVerdict::Fault);
        let faults: Vec<(Place, &str)> = faults.map(|line| (line.place, line.what.as_str())).collect();
        assert_eq!(faults, [(Place::DestinationTasks, what.as_str())]);
    }
}

#[test]
fn certificate_that_has_expired_and_another_root_are_faults() {
    let trust = |certificates: Vec<HeldCertificate>, verdict, part| {
        let output = ProxyOutput { certificates: Some(certificates), ..of_web() };
        assert_output(output, Place::Trust, verdict, part);
    };
    let [root, own] = of_web().certificates.unwrap().try_into().unwrap();
    let expired = certificate(false, "2026-11-20T12:00:00Z", "2026-11-23T11:59:59Z");
    trust(vec![root.clone(), own.clone()], PlaceVerdict::Ok, "the certificate of the proxy is valid until 2026-11-25");
    trust(vec![root.clone(), expired], PlaceVerdict::Fault, "a certificate of the proxy expired at");
    trust(vec![root.clone()], PlaceVerdict::Fault, "the proxy has no certificate");
    let other = certificate(true, "2025-01-01T00:00:00Z", "2035-01-01T00:00:00Z");
    let part = "the proxy does not trust Consul's active root Consul CA Primary Cert";
    trust(vec![other.clone(), own.clone()], PlaceVerdict::Fault, part);
    // While a root is replaced, the proxy has both
    trust(vec![other, root, own], PlaceVerdict::Ok, "is valid until");
}

#[test]
fn output_of_another_service_says_nothing() {
    let other = ProxyOutput { service: Some("orders".to_owned()), listeners: Some(Vec::new()), ..of_web() };
    let part = "--proxy-output is of a proxy of orders, which is neither end of the request";
    assert_output(other.clone(), Place::Trust, PlaceVerdict::Unknown, part);
    assert_output(other, Place::WayOut, PlaceVerdict::Ok, "the app reaches its proxy by 127.0.0.1:1234");
    let without = ProxyOutput { certificates: None, ..of_web() };
    assert_output(without, Place::Trust, PlaceVerdict::Unknown, "--proxy-output has no answer to /certs");
}
