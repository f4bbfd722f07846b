//! Where Consul answers otherwise than one would expect.

use super::*;

fn compiled(version: &str, case: &str) -> DiscoveryChain {
    serde_json::from_value(answer(version, case)["Chain"].clone()).unwrap()
}

#[test]
fn chain_of_a_name_that_nothing_has_means_nothing() {
    for version in BOTH {
        for (case, name) in
            [("a service that nobody registered", "ghost"), ("a name that no service can have", "not a name")]
        {
            let part = format!("the name leads to {name}: Consul has no proxy of it");
            assert_line(version, Place::Name, PlaceVerdict::Fault, &part, |world| {
                world.chained(compiled(version, case), &[name]);
                world.destination.service = service(name);
            });
        }
    }
}

#[test]
fn chain_of_a_datacenter_that_is_not_there_means_nothing() {
    for version in BOTH {
        let reason = answer_with(500, version, "instances in a datacenter that is not there");
        let refused = || {
            let (subject, reason) = ("proxies of service api".to_owned(), reason.as_str().unwrap().to_owned());
            InspectionError::from(ConsulError::Refused { subject, status: 500, reason })
        };
        let part = "Consul has no route to datacenter dc2";
        assert_line(version, Place::Name, PlaceVerdict::Fault, part, |world| {
            world.chained(compiled(version, "compiled in a datacenter that is not there"), &[]);
            world.destination.service.datacenter = Some("dc2".to_owned());
            world.destination.proxies.values_mut().for_each(|proxies| *proxies = Err(refused()));
        });
        // As a failover, it is not there when it is needed
        let part = "failover of api to api.default.";
        assert_line(version, Place::Name, PlaceVerdict::Possible, part, |world| {
            let failover = chain(version, "failover to another datacenter");
            let elsewhere = failover.targets.keys().find(|id| id.ends_with("dc2")).cloned().unwrap();
            world.chained(failover, &[]);
            world.destination.proxies.insert(elsewhere, Err(refused()));
        });
    }
}

#[test]
fn overrides_of_an_upstream_decide_the_protocol_of_the_chain() {
    let case = "with the overrides of a proxy: protocol, timeout, gateway mode";
    for version in BOTH {
        assert_line(version, Place::Name, PlaceVerdict::Ok, "api (http) means api", |world| {
            world.chained(compiled(version, case), &[]);
        });
    }
}

#[test]
fn gateway_mode_counts_only_before_a_border() {
    let mut world = World::new(NEW);
    world.chained(compiled(NEW, "with proxy-defaults http and gateway mode remote"), &[]);
    let lines = world.path().lines;
    assert!(lines.iter().all(|line| line.place != Place::Border), "{lines:#?}");
}

#[test]
fn proxy_passes_although_its_service_is_critical() {
    for version in BOTH {
        let status = answer(version, "checks of api, one critical")[0]["Status"].clone();
        assert_eq!(status, "critical", "{version}");
        let passing = proxies(version, "healthy proxies although the service is critical");
        assert_line(version, Place::DestinationTasks, PlaceVerdict::Ok, "1 of 1 proxy of api passing", |world| {
            world.destination.proxies.values_mut().for_each(|proxies| *proxies = Ok(passing.clone()));
        });
    }
}

#[test]
fn call_that_permissions_allow_is_one_that_the_check_of_consul_refuses() {
    assert_eq!(answer(NEW, "layer 7 permissions: check")["Allowed"], false);
    assert_line(NEW, Place::Permission, PlaceVerdict::Ok, "intention web → api allows GET /v1/items", |world| {
        world.chained(chain(NEW, "layer 7 permissions"), &[]);
        world.destination.intentions.insert(service("api"), Ok(intentions(NEW, "layer 7 permissions")));
        world.request = Some(get("/v1/items"));
    });
}

#[test]
fn authority_is_shown_to_a_token_with_more_than_reads() {
    let reads = "with a token with service, node, intention and operator read";
    for version in BOTH {
        answer_with(403, version, &format!("{reads}: CA configuration"));
        answer_with(200, version, &format!("{reads}: roots"));
    }
}
