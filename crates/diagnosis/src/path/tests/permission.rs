//! Intentions and the default policy.

use observe::{ProxyDefaults, ServiceLimits};
use serde_json::json;

use super::*;

#[track_caller]
fn assert_permission(verdict: PlaceVerdict, part: &str, change: impl FnOnce(&mut World)) -> PathLine {
    assert_line(NEW, Place::Permission, verdict, part, change)
}

fn with(case: &'static str) -> impl Fn(&mut World) {
    move |world| {
        world.destination.intentions.insert(service("api"), Ok(intentions(NEW, case)));
    }
}

fn http(world: &mut World) {
    let Ok(chain) = &mut world.destination.chain else { panic!() };
    chain.protocol = "http".to_owned();
}

#[test]
fn default_policy_decides_without_an_intention() {
    for version in BOTH {
        let none = |world: &mut World| {
            let none = intentions(version, "nothing configured, default deny");
            world.destination.intentions.insert(service("api"), Ok(none));
        };
        let part = "web → api: no intention is about it, and the default policy denies it";
        let line = assert_line(version, Place::Permission, PlaceVerdict::Fault, part, none);
        assert_eq!(line.commands, ["consul intention create -allow web api"]);
        assert_line(version, Place::Permission, PlaceVerdict::Ok, "the default policy allows it", |world| {
            none(world);
            world.mesh.datacenter.as_mut().unwrap().allows_calls_by_default = true;
        });
    }
}

#[test]
fn intention_that_denies_is_named_and_replaced() {
    let line = assert_permission(PlaceVerdict::Fault, "intention web → api denies it", with("web denied"));
    assert_eq!(line.commands, ["consul intention create -allow -replace web api"]);
    assert_permission(PlaceVerdict::Ok, "intention web → api allows it", with("web allowed"));
}

#[test]
fn first_in_order_of_precedence_decides() {
    assert_permission(PlaceVerdict::Fault, "intention web → api denies it", with("all allowed, web denied"));
    // Another caller
    assert_permission(PlaceVerdict::Ok, "intention * → api allows it", |world| {
        with("all allowed, web denied")(world);
        world.source.service = service("orders");
    });
    assert_permission(PlaceVerdict::Ok, "intention web → * allows it", with("web allowed everywhere"));
}

#[test]
fn intention_of_another_service_or_peer_decides_nothing() {
    assert_permission(PlaceVerdict::Fault, "no intention is about it", |world| {
        world.source.service = service("orders");
    });
    assert_permission(PlaceVerdict::Fault, "no intention is about it", |world| {
        let Ok(intentions) = world.destination.intentions.get_mut(&service("api")).unwrap() else { panic!() };
        intentions[0].source_peer = "east".to_owned();
    });
}

#[test]
fn permissions_decide_by_request() {
    let asked = |request: Option<HttpRequest>| {
        move |world: &mut World| {
            with("layer 7 permissions")(world);
            http(world);
            world.request = request;
        }
    };
    let post = HttpRequest { method: "POST".to_owned(), path: "/v1/orders".to_owned() };
    assert_permission(PlaceVerdict::Possible, "Pass --http METHOD PATH", asked(None));
    assert_permission(PlaceVerdict::Ok, "intention web → api allows GET /v1/orders", asked(Some(get("/v1/orders"))));
    assert_permission(PlaceVerdict::Fault, "denies POST /v1/orders by a permission", asked(Some(post)));
    // A request that no permission is for
    assert_permission(PlaceVerdict::Fault, "no permission of intention web → api is for GET /v2", |world| {
        asked(Some(get("/v2")))(world);
        let Ok(intentions) = world.destination.intentions.get_mut(&service("api")).unwrap() else { panic!() };
        intentions[0].permissions.pop();
    });
}

#[test]
fn permissions_for_requests_deny_every_connection_of_a_tcp_service() {
    let part = "has permissions for requests, which deny every connection of a service that is not HTTP";
    assert_permission(PlaceVerdict::Fault, part, |world| {
        with("layer 7 permissions")(world);
        world.request = Some(get("/v1/orders"));
    });
    assert_permission(PlaceVerdict::Ok, "allows GET /v1/orders", |world| {
        with("layer 7 permissions")(world);
        world.request = Some(get("/v1/orders"));
        http(world);
    });
}

#[test]
fn web_token_makes_an_allowed_call_possible() {
    assert_permission(PlaceVerdict::Possible, "allows it, with a valid JSON web token", with("allowed with JWT"));
}

#[test]
fn intentions_are_about_the_service_that_the_name_means() {
    let redirected = |world: &mut World| world.chained(chain(NEW, "redirect to nothing"), &[]);
    assert_permission(PlaceVerdict::Fault, "web → api-v2: no intention is about it", |world| {
        redirected(world);
        world.destination.intentions.insert(service("api-v2"), Ok(Vec::new()));
    });
    assert_permission(PlaceVerdict::Ok, "allows it", redirected);
}

#[test]
fn callers_are_listed_in_order_of_precedence_with_the_default_policy_last() {
    let world = World::new(NEW);
    let all = callers(&intentions(NEW, "all allowed, web denied"), &world.mesh.datacenter);
    let said: Vec<String> = all.iter().map(|it| format!("{} {} by {}", it.source, it.action, it.intention)).collect();
    assert_eq!(said, ["web deny by intention web → api", "* allow by intention * → api", "* deny by default policy"]);
    let by_request = callers(&intentions(NEW, "layer 7 permissions"), &Err(refused()));
    assert_eq!(by_request.len(), 1, "{by_request:?}");
    assert_eq!(by_request[0].action, "by permissions");
}

#[test]
fn permissions_for_requests_deny_every_connection_of_proxies_that_were_registered_as_tcp() {
    let registered = |protocol: &'static str| {
        move |world: &mut World| {
            with("layer 7 permissions")(world);
            http(world);
            world.request = Some(get("/v1/orders"));
            let proxies = world.destination.proxies.values_mut().flatten().flatten();
            proxies.for_each(|proxy| proxy.protocol = Some(protocol.to_owned()));
        }
    };
    assert_permission(PlaceVerdict::Fault, "which deny every connection", registered("tcp"));
    assert_permission(PlaceVerdict::Ok, "allows GET /v1/orders", registered("http"));
}

#[test]
fn service_that_decides_too_is_possible() {
    let extension =
        |name: &str| json!({ "EnvoyExtensions": [{ "Name": name, "Arguments": { "ProxyType": "connect-proxy" } }] });
    let decided = |change: &dyn Fn(&mut World, Value)| {
        let of = |name: &str| {
            let mut world = World::new(NEW);
            change(&mut world, extension(name));
            let lines = world.path().lines.into_iter().filter(|line| line.place == Place::Permission);
            lines.map(|line| (line.verdict, line.what)).nth(1)
        };
        assert_eq!(of("builtin/lua"), None);
        of("builtin/ext-authz").unwrap()
    };
    let limits = |fields: Value| Ok(Some(serde_json::from_value::<ServiceLimits>(fields).unwrap()));
    let said = |entry: &str| {
        let what = format!("the extension builtin/ext-authz in the {entry} lets another service decide too");
        (PlaceVerdict::Possible, what)
    };
    assert_eq!(decided(&|world, fields| world.destination.limits = limits(fields)), said("service-defaults of api"));
    assert_eq!(decided(&|world, fields| world.source.limits = limits(fields)), said("service-defaults of web"));
    let of_all = decided(&|world, fields| {
        world.mesh.proxy_defaults = Ok(Some(serde_json::from_value::<ProxyDefaults>(fields).unwrap()));
    });
    assert_eq!(of_all, said("proxy-defaults of global"));
}

#[test]
fn intentions_of_a_failover_count_as_soon_as_it_takes_over() {
    let failing_over = |without: &'static [&'static str]| {
        move |world: &mut World| {
            world.chained(chain(NEW, "failover"), without);
            world.destination.intentions.insert(service("api-backup"), Ok(intentions(NEW, "web denied")));
        }
    };
    let said = |change: &dyn Fn(&mut World)| {
        let mut world = World::new(NEW);
        change(&mut world);
        let lines = world.path().lines.into_iter().filter(|line| line.place == Place::Permission);
        lines.map(|line| (line.verdict, line.what)).collect::<Vec<_>>()
    };
    let taken = said(&failing_over(&["api."]));
    let denies = |(verdict, what): &(PlaceVerdict, String)| {
        *verdict == PlaceVerdict::Fault && what.starts_with("web → api-backup: ")
    };
    assert!(taken.iter().any(denies), "{taken:?}");
    let idle = said(&failing_over(&[]));
    assert_eq!(idle.len(), 1, "{idle:?}");
}
