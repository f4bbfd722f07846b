//! Limits, outlier detection and TLS versions, as Consul 1.22.6 answers the config entries. 1.8.7 knows none of them.

use observe::{MeshEntry, ProxyDefaults, ServiceLimits};
use serde_json::{Map, json};

use super::*;
use crate::examples::configure;

fn limits(case: &str) -> ServiceLimits {
    serde_json::from_value(answer(NEW, case)).unwrap()
}

#[track_caller]
fn assert_limits(verdict: PlaceVerdict, part: &str, change: impl FnOnce(&mut World)) -> PathLine {
    assert_line(NEW, Place::Limits, verdict, part, change)
}

#[test]
fn connections_that_the_destination_takes_are_named() {
    let part = "each proxy of api takes at most 2 connections (MaxInboundConnections)";
    let line =
        assert_limits(PlaceVerdict::Possible, part, |world| world.destination.limits = Ok(Some(limits("read limits"))));
    assert_eq!(line.commands, ["consul config read -kind service-defaults -name api"]);
    // An entry without a limit
    assert_limits(PlaceVerdict::Ok, "no limit is set", |world| {
        world.destination.limits = Ok(Some(limits("read limits of upstreams")));
    });
}

#[test]
fn limits_of_calls_are_merged_as_consul_does() {
    let set = |name: &'static str| {
        move |world: &mut World| {
            world.source.limits = Ok(Some(limits("read limits of upstreams")));
            world.destination.service.name = name.to_owned();
        }
    };
    let mut world = World::new(NEW);
    set("api")(&mut world);
    let lines = world.path().lines.into_iter().filter(|line| line.place == Place::Limits);
    let said: Vec<String> = lines.map(|line| line.what).collect();
    let merged = "each proxy of web limits its calls: MaxConnections 1";
    assert_eq!(said, [merged, "outlier detection of web may eject instances of api that fail"]);
    assert_limits(PlaceVerdict::Possible, "each proxy of web limits its calls: MaxConnections 1", set("orders"));
    assert_limits(PlaceVerdict::Ok, "no limit is set", |world| world.source.limits = Ok(Some(limits("read limits"))));
}

#[test]
fn tls_versions_that_no_connection_can_have_are_a_fault() {
    let with = |entry: Map<String, Value>| move |world: &mut World| world.mesh.entry = Ok(Some(MeshEntry::from(entry)));
    let recorded: Map<String, Value> = serde_json::from_value(answer(NEW, "read mesh")).unwrap();
    let part = "demands TLSv1_3 of incoming connections and allows outgoing ones at most TLSv1_2";
    assert_limits(PlaceVerdict::Fault, part, with(recorded));
    for tls in [
        json!({ "Incoming": { "TLSMinVersion": "TLSv1_2" }, "Outgoing": { "TLSMaxVersion": "TLSv1_2" } }),
        json!({ "Incoming": { "TLSMinVersion": "TLSv1_3" }, "Outgoing": { "TLSMaxVersion": "TLS_AUTO" } }),
        json!({ "Incoming": { "TLSMinVersion": "TLSv1_3" } }),
    ] {
        let part = "lacks what the config entry mesh demands has no connection: Incoming.TLSMinVersion";
        assert_limits(PlaceVerdict::Possible, part, with([("TLS".to_owned(), tls)].into_iter().collect()));
    }
    let nothing = json!({ "Incoming": { "TLSMinVersion": "TLS_AUTO", "ECDHCurves": [] } });
    assert_limits(PlaceVerdict::Ok, "no limit is set", with([("TLS".to_owned(), nothing)].into_iter().collect()));
}

#[test]
fn key_exchange_groups_that_no_connection_can_have_are_a_fault() {
    let with = |taken: &'static str, offered: &'static str| {
        move |world: &mut World| {
            let tls =
                json!({ "Incoming": { "ECDHCurves": [taken] }, "Outgoing": { "ECDHCurves": [offered, "P-521"] } });
            world.mesh.entry = Ok(Some(MeshEntry::from([("TLS".to_owned(), tls)].into_iter().collect::<Map<_, _>>())));
        }
    };
    let part = "takes the key-exchange groups P-256 and offers only X25519, P-521";
    assert_limits(PlaceVerdict::Fault, part, with("P-256", "X25519"));
    let part = "Incoming.ECDHCurves X25519, Outgoing.ECDHCurves X25519 or P-521";
    assert_limits(PlaceVerdict::Possible, part, with("X25519", "X25519"));
}

#[test]
fn rate_limits_of_the_destination_are_named() {
    let with = |level: Value| {
        move |world: &mut World| {
            let entry = json!({ "Kind": "service-defaults", "Name": "api", "RateLimits": { "InstanceLevel": level } });
            world.destination.limits = Ok(Some(serde_json::from_value(entry).unwrap()));
        }
    };
    let part = "each proxy of api takes at most 100 requests a second (RateLimits)";
    assert_limits(PlaceVerdict::Possible, part, with(json!({ "RequestsPerSecond": 100 })));
    let part = "each proxy of api limits the requests a second of 1 of its routes (RateLimits)";
    assert_limits(
        PlaceVerdict::Possible,
        part,
        with(json!({ "Routes": [{ "PathExact": "/v1", "RequestsPerSecond": 1 }] })),
    );
    assert_limits(PlaceVerdict::Ok, "no limit is set", with(json!({})));
}

#[test]
fn outlier_detection_of_the_definition_that_consul_does_not_use_is_named() {
    let with = |failures: i64| {
        move |world: &mut World| {
            let config = json!({
                "service": { "name": "web", "port": 80, "networkResilienceConfig": { "enabled": true, "outlierDetection": { "maxFailures": 5 } } },
                "proxy": {}, "healthSyncContainers": ["app"], "consulLogin": { "enabled": true },
            });
            let cluster = &mut world.observed.clusters[0];
            cluster.tasks.iter_mut().for_each(|task| configure(task, &config.to_string()));
            let own = cluster.tasks[0].identity.service.clone();
            let used = [("MaxFailures".to_owned(), json!(failures))].into_iter().collect();
            cluster.outlier_detection = [(own, Ok(Some(used)))].into();
        }
    };
    let part = "brings outlier detection that Consul does not use: maxFailures 5 (Consul has 1)";
    let line = assert_limits(PlaceVerdict::Possible, part, with(1));
    assert_eq!(line.commands, ["consul config read -kind service-defaults -name web"]);
    assert_limits(PlaceVerdict::Ok, "no limit is set", with(5));
}

/// web asks for `GET /big` of api, which is HTTP.
fn big(world: &mut World) {
    let Ok(chain) = &mut world.destination.chain else { panic!() };
    chain.protocol = "http".to_owned();
    world.request = Some(get("/big"));
}

#[test]
fn request_that_may_take_longer_than_the_default_is_possibly_cut_off() {
    let part = "GET /big that takes longer than 15s ends with status 504, unless the app answers sooner: RequestTimeout in the \
                service-router of api and LocalRequestTimeoutMs in the service-defaults of api is not set";
    let line = assert_limits(PlaceVerdict::Possible, part, big);
    let expected = [
        r#"echo '{"Kind":"service-router","Name":"api","Routes":[{"Destination":{"RequestTimeout":"60s"}}]}' | consul config write -"#,
        r#"echo '{"Kind":"service-defaults","Name":"api","LocalRequestTimeoutMs":60000}' | consul config write -"#,
    ];
    assert_eq!(line.commands, expected);
    // Without a request, or where proxies do not look into it, nothing is said
    assert_limits(PlaceVerdict::Ok, "no limit is set", |world| {
        big(world);
        world.request = None;
    });
    assert_limits(PlaceVerdict::Ok, "no limit is set", |world| world.request = Some(get("/big")));
}

#[test]
fn time_that_is_set_at_both_ends_is_not_the_default() {
    let router = |world: &mut World| {
        big(world);
        let Ok(chain) = &mut world.destination.chain else { panic!() };
        let resolver = json!({ "Target": chain.targets.keys().next().unwrap(), "RequestTimeout": "60s" });
        chain
            .nodes
            .values_mut()
            .for_each(|node| node.resolver = Some(serde_json::from_value(resolver.clone()).unwrap()));
    };
    assert_limits(PlaceVerdict::Possible, "sooner: LocalRequestTimeoutMs in", router);
    let by_entry = |world: &mut World| {
        let entry = json!({ "LocalRequestTimeoutMs": 60_000 });
        world.destination.limits = Ok(Some(serde_json::from_value::<ServiceLimits>(entry).unwrap()));
    };
    let by_all = |world: &mut World| {
        let config = json!({ "Config": { "local_request_timeout_ms": 60_000 } });
        world.mesh.proxy_defaults = Ok(Some(serde_json::from_value::<ProxyDefaults>(config).unwrap()));
    };
    let by_proxies = |world: &mut World| {
        let proxies = world.destination.proxies.values_mut().flatten().flatten();
        proxies.for_each(|proxy| proxy.local_request_timeout_ms = Some(60_000));
    };
    for at_service in [by_entry as fn(&mut World), by_all, by_proxies] {
        assert_limits(PlaceVerdict::Possible, "sooner: RequestTimeout in", |world| {
            big(world);
            at_service(world);
        });
        assert_limits(PlaceVerdict::Ok, "no limit is set", |world| {
            router(world);
            at_service(world);
        });
    }
}
