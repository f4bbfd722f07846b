//! Upstreams and transparent proxy.

use observe::{GatewayRoute, RegisteredUpstream};
use serde_json::json;

use super::*;
use crate::examples::{configure, described, revision};

fn assert_way_out(verdict: PlaceVerdict, part: &str, change: impl FnOnce(&mut ConnectProxy)) -> PathLine {
    assert_line(NEW, Place::WayOut, verdict, part, |world| {
        let proxies = world.source.proxies.as_mut().unwrap();
        proxies.truncate(1);
        change(&mut proxies[0]);
    })
}

fn upstream(fields: Value) -> RegisteredUpstream {
    serde_json::from_value(fields).unwrap()
}

#[test]
fn upstream_is_the_way_out() {
    for version in BOTH {
        assert_line(version, Place::WayOut, PlaceVerdict::Ok, "by 127.0.0.1:1234", |_| {});
    }
}

#[test]
fn upstream_that_is_not_there_is_named_with_a_free_port() {
    let line =
        assert_way_out(PlaceVerdict::Fault, "web-sidecar-proxy-1 has no upstream api, and transparent", |proxy| {
            proxy.upstreams = vec![upstream(json!({ "DestinationName": "orders", "LocalBindPort": 1234 }))];
        });
    let change = line.change.unwrap();
    assert!(change.contains(r#"Add {"destinationName":"api","localBindPort":1235} to proxy.upstreams"#), "{change}");
    assert!(change.contains("of task definition web:3 and deploy it"), "{change}");
}

#[test]
fn upstream_of_the_definition_that_the_registration_lacks_needs_another_task() {
    let defined = |name: &'static str| {
        move |world: &mut World| {
            let upstreams = json!([{ "destinationName": name, "localBindPort": 1234 }]);
            let config = json!({ "service": { "port": 8080 }, "proxy": { "upstreams": upstreams } }).to_string();
            world.observed.clusters[0].tasks.iter_mut().for_each(|task| configure(task, &config));
            world.source.proxies.as_mut().unwrap().iter_mut().for_each(|proxy| proxy.upstreams.clear());
        }
    };
    let part = "transparent proxy is off, although its definition has it";
    let line = assert_line(NEW, Place::WayOut, PlaceVerdict::Fault, part, defined("api"));
    assert!(line.change.unwrap().starts_with("Replace the task"));
    let line = assert_line(NEW, Place::WayOut, PlaceVerdict::Fault, "transparent proxy is off", defined("orders"));
    assert!(line.change.unwrap().starts_with("Add "));
}

#[test]
fn transparent_proxy_needs_no_upstream() {
    assert_way_out(PlaceVerdict::Ok, "by transparent proxy", |proxy| {
        proxy.upstreams.clear();
        proxy.is_transparent = true;
    });
}

#[test]
fn transparent_proxy_on_fargate_is_a_fault_unless_there_is_an_upstream() {
    let on_fargate = |world: &mut World| {
        described(&mut world.observed.clusters[0].tasks[0]).placement.is_on_fargate = true;
        world.source.proxies.as_mut().unwrap().iter_mut().for_each(|proxy| proxy.is_transparent = true);
    };
    assert_line(NEW, Place::WayOut, PlaceVerdict::Ok, "by 127.0.0.1:1234", on_fargate);
    assert_line(NEW, Place::WayOut, PlaceVerdict::Fault, "which Fargate does not support", |world| {
        on_fargate(world);
        world.source.proxies.as_mut().unwrap().iter_mut().for_each(|proxy| proxy.upstreams.clear());
    });
}

#[test]
fn upstream_of_another_name_or_place_is_named() {
    for (fields, part) in [
        (json!({ "DestinationName": "apis", "LocalBindPort": 1 }), "its upstream apis has another name"),
        (json!({ "DestinationName": "api", "Datacenter": "dc2" }), "its upstream api leads elsewhere: datacenter dc2"),
        (json!({ "DestinationName": "api", "DestinationNamespace": "team" }), "leads elsewhere: namespace team"),
        (json!({ "DestinationName": "api", "DestinationPeer": "east" }), "leads elsewhere: peer east"),
        (json!({ "DestinationName": "api", "DestinationType": "prepared_query" }), "it is a prepared query"),
    ] {
        assert_way_out(PlaceVerdict::Fault, part, |proxy| proxy.upstreams = vec![upstream(fields)]);
    }
    // Names that mean the proxy's own place
    assert_way_out(PlaceVerdict::Ok, "by 127.0.0.1:9", |proxy| {
        let own = json!({ "DestinationName": "api", "DestinationNamespace": "default", "DestinationPartition": "default", "LocalBindPort": 9 });
        proxy.upstreams = vec![upstream(own)];
    });
}

#[test]
fn port_of_two_upstreams_is_a_fault_unless_they_have_addresses_of_their_own() {
    let other = |address: &str| {
        upstream(json!({ "DestinationName": "orders", "LocalBindPort": 1234, "LocalBindAddress": address }))
    };
    let part = "the upstreams api and orders of proxy web-sidecar-proxy-1 both listen on 127.0.0.1:1234";
    assert_way_out(PlaceVerdict::Fault, part, |proxy| proxy.upstreams.push(other("127.0.0.1")));
    assert_way_out(PlaceVerdict::Ok, "by 127.0.0.1:1234", |proxy| proxy.upstreams.push(other("127.0.0.2")));
}

#[test]
fn revision_of_some_tasks_without_the_upstream_is_a_fault() {
    let change = |world: &mut World| world.source.proxies.as_mut().unwrap()[1].upstreams.clear();
    let line = assert_line(
        NEW,
        Place::WayOut,
        PlaceVerdict::Fault,
        "1 of 2 proxies, such as web-sidecar-proxy-1, has no upstream api",
        change,
    );
    assert!(line.change.is_some());
    // Asked from the other task, it is none
    assert_line(NEW, Place::WayOut, PlaceVerdict::Ok, "by 127.0.0.1:1234", |world| {
        change(world);
        world.from_task = Some(id(1));
    });
}

#[test]
fn port_that_the_proxy_needs_itself_is_a_fault_and_that_of_a_container_possible() {
    let at = |port: u16| {
        move |proxy: &mut ConnectProxy| {
            proxy.upstreams = vec![upstream(json!({ "DestinationName": "api", "LocalBindPort": port }))];
        }
    };
    for port in [20_000, 19_000] {
        let part = format!("listens on 127.0.0.1:{port}, which the proxy needs itself");
        assert_way_out(PlaceVerdict::Fault, &part, at(port));
    }
    let mapped = |world: &mut World, port: u16| {
        at(9090)(&mut world.source.proxies.as_mut().unwrap()[0]);
        revision(&mut world.observed.clusters[0].tasks[0]).containers[0].ports = vec![port];
    };
    let part = "listens on 127.0.0.1:9090, and container app has a port mapping for 9090";
    let line = assert_line(NEW, Place::WayOut, PlaceVerdict::Possible, part, |world| mapped(world, 9090));
    assert!(line.change.unwrap().starts_with("Give it another localBindPort"));
    assert_line(NEW, Place::WayOut, PlaceVerdict::Ok, "by 127.0.0.1", |world| mapped(world, 8080));
}

#[test]
fn api_gateway_reaches_the_services_of_its_routes() {
    let routes = |routes: Vec<GatewayRoute>| {
        move |world: &mut World| {
            world.source.proxies = Ok(Vec::new());
            world.source.routes = Some(Ok(routes));
        }
    };
    let route = |fields: Value| serde_json::from_value::<GatewayRoute>(fields).unwrap();
    let http = |service: &str| {
        let rules = json!([{ "Services": [{ "Name": service, "Weight": 1 }] }]);
        route(json!({ "Kind": "http-route", "Name": "shop", "Parents": [{ "Name": "web" }], "Rules": rules }))
    };
    let tcp = route(
        json!({ "Kind": "tcp-route", "Name": "raw", "Parents": [{ "Name": "web" }], "Services": [{ "Name": "api" }] }),
    );
    let way_out = |verdict, part, change| assert_line(NEW, Place::WayOut, verdict, part, routes(change));
    way_out(PlaceVerdict::Ok, "the http-route shop of gateway web leads to api", vec![http("api")]);
    way_out(PlaceVerdict::Ok, "the tcp-route raw of gateway web leads to api", vec![http("orders"), tcp]);
    let line = way_out(PlaceVerdict::Fault, "no route of gateway web leads to api", vec![http("orders")]);
    assert_eq!(line.commands, ["consul config read -kind http-route -name shop"]);
    way_out(PlaceVerdict::NotNeeded, "no proxy is registered", Vec::new());
    let unread = assert_line(NEW, Place::WayOut, PlaceVerdict::Unknown, "", |world| {
        routes(Vec::new())(world);
        world.source.routes = Some(Err(refused()));
    });
    assert_eq!(unread.missing_permission.as_deref(), Some(r#"mesh = "read""#));
}
