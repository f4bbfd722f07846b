//! Routers, splitters and resolvers.

use observe::ProxyDefaults;
use serde_json::json;

use super::*;

#[test]
fn name_means_what_the_chain_says() {
    for version in BOTH {
        assert_line(version, Place::Name, PlaceVerdict::Ok, "api (tcp) means api", |_| {});
        let splitter = "splitter with a service that is not there";
        let part = "90 % of the requests: api, an answer within 15s; 10 % of the requests: api-canary";
        assert_line(version, Place::Name, PlaceVerdict::Ok, part, |world| world.chained(chain(version, splitter), &[]));
    }
}

#[test]
fn name_that_nothing_has_is_a_fault_with_the_nearest_one() {
    for version in BOTH {
        let nothing = |world: &mut World| {
            world.destination.service = service("apo");
            let mut ghost = chain(version, "nothing configured, default deny");
            ghost.targets.values_mut().for_each(|target| target.service = "apo".to_owned());
            ghost.service_name = "apo".to_owned();
            world.chained(ghost, &["api"]);
            world.destination.names = Some(Ok(vec!["api".to_owned(), "consul".to_owned()]));
        };
        let part =
            "the name leads to apo: Consul has no proxy of it, and ECS runs no task of it. Consul has a service api";
        assert_line(version, Place::Name, PlaceVerdict::Fault, part, nothing);
        // The tasks of a service that is not registered are no fault of the name
        assert_line(version, Place::Name, PlaceVerdict::Ok, "means web", |world| {
            nothing(world);
            let Ok(chain) = &mut world.destination.chain else { panic!() };
            chain.targets.values_mut().for_each(|target| target.service = "web".to_owned());
        });
    }
}

#[test]
fn misspelt_name_decides_before_an_upstream_and_an_intention_are_proposed() {
    let mut world = World::new(NEW);
    world.destination.service = service("apii");
    let mut ghost = chain(NEW, "nothing configured, default deny");
    ghost.targets.values_mut().for_each(|target| target.service = "apii".to_owned());
    world.chained(ghost, &["api"]);
    world.destination.intentions.values_mut().for_each(|intentions| *intentions = Ok(Vec::new()));
    world.destination.names = Some(Ok(vec!["api".to_owned()]));
    let path = world.path();
    assert!(path.conclusion.ends_with("Consul has a service api. Correct the name, or start the service"), "{path:#?}");
    assert!(path.lines.iter().all(|line| line.commands.iter().all(|it| !it.contains("intention"))), "{path:#?}");
    // Not everything was read: it may be there
    world.observed.problems.push(refused());
    let conclusion = world.path().conclusion;
    assert!(conclusion.contains("has an upstream apii") && conclusion.contains("Later faults"), "{conclusion}");
}

#[test]
fn redirect_to_nothing_is_a_fault() {
    for version in BOTH {
        let redirect = || chain(version, "redirect to nothing");
        let part = "the service-resolver redirects to api-v2: Consul has no proxy of it";
        let line = assert_line(version, Place::Name, PlaceVerdict::Fault, part, |world| {
            world.chained(redirect(), &["api-v2"]);
        });
        assert_eq!(line.commands, ["consul config read -kind service-resolver -name api"]);
        assert_line(version, Place::Name, PlaceVerdict::Ok, "means api-v2", |world| world.chained(redirect(), &[]));
    }
}

#[test]
fn subset_without_instances_is_a_fault() {
    for version in BOTH {
        let subset = || chain(version, "subset without instances");
        let part = "subset v2 of api, which has no instance: none fulfils Service.Meta.version == v2";
        assert_line(version, Place::Name, PlaceVerdict::Fault, part, |world| world.chained(subset(), &["v2"]));
        assert_line(version, Place::Name, PlaceVerdict::Ok, "subset v2 of api", |world| world.chained(subset(), &[]));
    }
}

#[test]
fn failover_takes_over_and_one_that_cannot_is_possible() {
    for version in BOTH {
        let failover = || chain(version, "failover");
        assert_line(version, Place::Name, PlaceVerdict::Ok, "with failover to api-backup", |world| {
            world.chained(failover(), &[]);
        });
        assert_line(version, Place::Name, PlaceVerdict::Ok, "with failover", |world| {
            world.chained(failover(), &["api."]);
        });
        let part = "failover of api to api-backup";
        assert_line(version, Place::Name, PlaceVerdict::Possible, part, |world| {
            world.chained(failover(), &["api-backup"]);
        });
        // Neither has a proxy
        assert_line(version, Place::Name, PlaceVerdict::Fault, "Consul has no proxy", |world| {
            world.chained(failover(), &["api"]);
        });
    }
}

#[test]
fn datacenter_without_a_route_is_a_fault_and_another_failure_is_unknown() {
    for version in BOTH {
        let elsewhere = |reason: &'static str| {
            move |world: &mut World| {
                world.chained(chain(version, "redirect to another datacenter"), &[]);
                let (subject, reason) = ("proxies of service api".to_owned(), reason.to_owned());
                let error = ConsulError::Refused { subject, status: 500, reason };
                world.destination.proxies.values_mut().for_each(|proxies| *proxies = Err(error.clone().into()));
            }
        };
        let part = "Consul has no route to datacenter dc2";
        assert_line(version, Place::Name, PlaceVerdict::Fault, part, elsewhere("No path to datacenter"));
        assert_line(version, Place::Name, PlaceVerdict::Unknown, "busy", elsewhere("busy"));
    }
}

#[test]
fn part_of_the_requests_that_goes_nowhere_is_a_fault() {
    for version in BOTH {
        let splitter = || chain(version, "splitter with a service that is not there");
        let part = "10 % of the requests go to api-canary: Consul has no proxy of it";
        let line = assert_line(version, Place::Name, PlaceVerdict::Fault, part, |world| {
            world.chained(splitter(), &["api-canary"]);
        });
        assert_eq!(line.commands, ["consul config read -kind service-splitter -name api"]);
    }
}

#[test]
fn route_to_nothing_is_a_fault_of_the_requests_that_take_it() {
    for version in BOTH {
        let asked = |request: Option<HttpRequest>| {
            move |world: &mut World| {
                world.chained(chain(version, "router"), &["admin"]);
                world.request = request;
            }
        };
        let part = "requests /admin… go to admin: Consul has no proxy of it";
        assert_line(version, Place::Name, PlaceVerdict::Possible, part, asked(None));
        assert_line(version, Place::Name, PlaceVerdict::Fault, part, asked(Some(get("/admin/users"))));
        assert_line(
            version,
            Place::Name,
            PlaceVerdict::Ok,
            "means requests GET /health: api",
            asked(Some(get("/health"))),
        );
        assert_line(version, Place::Name, PlaceVerdict::Ok, "means api", asked(Some(get("/v1"))));
    }
}

#[test]
fn protocols_that_contradict_each_other_are_a_fault_and_another_refusal_is_unknown() {
    for version in BOTH {
        let refused = |reason: String| {
            move |world: &mut World| {
                let subject = "discovery chain of service api".to_owned();
                world.destination.chain = Err(ConsulError::Refused { subject, status: 500, reason }.into());
            }
        };
        for (case, part) in [
            ("write: a splitter with another protocol", r#"service "api-canary" has "tcp" which is not "http""#),
            ("write: a router for tcp", r#"uses a protocol "tcp" that does not permit advanced routing"#),
        ] {
            let recorded = answer_with(500, version, case).as_str().unwrap().to_owned();
            let line = assert_line(version, Place::Name, PlaceVerdict::Fault, part, refused(recorded));
            assert!(line.change.unwrap().contains("one protocol"), "{version}");
        }
        assert_line(version, Place::Name, PlaceVerdict::Unknown, "busy", refused("busy".to_owned()));
    }
}

/// The second line about the name: what is possible although it leads somewhere.
#[track_caller]
fn assert_second(part: Option<&str>, change: impl FnOnce(&mut World)) {
    let mut world = World::new(NEW);
    change(&mut world);
    let lines: Vec<PathLine> = world.path().lines.into_iter().filter(|line| line.place == Place::Name).collect();
    let second = lines.get(1).map(|line| (line.verdict, line.what.contains(part.unwrap_or_default())));
    assert_eq!(second, part.map(|_| (PlaceVerdict::Possible, true)), "{lines:?}");
}

#[test]
fn protocol_of_an_upstream_that_takes_routers_away_is_possible() {
    let upstream = |protocol: &'static str| {
        move |world: &mut World| {
            let upstream =
                json!({ "DestinationName": "api", "LocalBindPort": 1234, "Config": { "protocol": protocol } });
            let proxies = world.source.proxies.as_mut().unwrap();
            for proxy in proxies {
                proxy.upstreams = vec![serde_json::from_value(upstream.clone()).unwrap()];
            }
            let defaults = json!({ "Config": { "protocol": "http" } });
            world.mesh.proxy_defaults = Ok(Some(serde_json::from_value::<ProxyDefaults>(defaults).unwrap()));
        }
    };
    let part = "the upstream api has the protocol tcp, and its service http: routers and splitters do not apply";
    assert_second(Some(part), upstream("tcp"));
    // Of one kind, and one that the service has itself
    assert_second(None, upstream("grpc"));
    assert_second(None, |world| {
        upstream("tcp")(world);
        world.destination.limits = Ok(Some(serde_json::from_value(json!({ "Protocol": "tcp" })).unwrap()));
    });
}

#[test]
fn protocol_that_proxies_were_registered_with_is_possible_if_callers_use_another() {
    let registered = |protocol: &'static str| {
        move |world: &mut World| {
            let proxies = world.destination.proxies.values_mut().flatten().flatten();
            proxies.for_each(|proxy| proxy.protocol = Some(protocol.to_owned()));
        }
    };
    assert_second(
        Some("the proxies of api were registered with the protocol grpc, and callers use tcp"),
        registered("grpc"),
    );
    assert_second(None, registered("tcp"));
}

#[test]
fn request_to_a_service_that_is_tcp_takes_no_route() {
    let part = "api (tcp) means api. No route or permission for requests applies";
    assert_line(NEW, Place::Name, PlaceVerdict::Ok, part, |world| world.request = Some(get("/v1")));
    let line = assert_line(NEW, Place::Name, PlaceVerdict::Ok, "api (tcp) means api", |_| {});
    assert!(!line.what.contains("No route"), "{line:?}");
}

#[test]
fn service_outside_of_the_mesh_needs_a_terminating_gateway() {
    let outside = |names: &'static [&'static str]| {
        move |world: &mut World| {
            world.chained(chain(NEW, "nothing configured, default deny"), &["api"]);
            world.destination.names = Some(Ok(names.iter().map(|name| (*name).to_owned()).collect()));
        }
    };
    let part = "api, which is in the catalog without a proxy, and no terminating gateway takes its requests";
    assert_line(NEW, Place::Name, PlaceVerdict::Fault, part, outside(&["api"]));
    assert_line(
        NEW,
        Place::Name,
        PlaceVerdict::Fault,
        "Consul has no proxy of it, and ECS runs no task of it",
        outside(&["orders"]),
    );
}
