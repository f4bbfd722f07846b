//! Which services a question is about.

use mesh::tenancy::Tenancy;
use serde_json::json;

use super::*;

fn upstream_to(world: &mut World, fields: Value) {
    let upstream = serde_json::from_value(fields).unwrap();
    world.source.proxies.as_mut().unwrap()[0].upstreams.push(upstream);
}

#[test]
fn service_is_found_by_its_name_in_consul_or_in_ecs() {
    let mut world = World::new(NEW);
    world.observed.clusters[0].services[0].state.name = "web-service".to_owned();
    for name in ["web", "web-service"] {
        assert_eq!(services_named(name, &world.observed), [service("web")], "{name}");
    }
    assert_eq!(services_named("api", &world.observed), []);
}

#[test]
fn destination_is_where_the_only_upstream_of_its_name_leads_unless_the_question_says_where() {
    let mut world = World::new(NEW);
    let named = |world: &World, datacenter: Option<&str>| {
        let place = DestinationPlace { datacenter: datacenter.map(str::to_owned), ..DestinationPlace::default() };
        destination_named("orders", &place, &world.source).datacenter
    };
    assert_eq!(named(&world, None), None);
    upstream_to(&mut world, json!({ "DestinationName": "orders", "Datacenter": "dc2" }));
    assert_eq!(named(&world, None).as_deref(), Some("dc2"));
    assert_eq!(named(&world, Some("dc3")).as_deref(), Some("dc3"));
    upstream_to(&mut world, json!({ "DestinationName": "orders", "Datacenter": "dc4" }));
    assert_eq!(named(&world, None), None, "two upstreams of this name");
    let enterprise = Tenancy::of_default_partition();
    let place = DestinationPlace { tenancy: Some(enterprise.clone()), ..DestinationPlace::default() };
    assert_eq!(destination_named("api", &place, &world.source).tenancy, enterprise);
}

#[test]
fn destinations_are_those_of_upstreams_of_routes_and_of_intentions_that_allow() {
    let mut world = World::new(NEW);
    upstream_to(&mut world, json!({ "DestinationName": "orders" }));
    upstream_to(&mut world, json!({ "DestinationName": "abroad", "DestinationPeer": "east" }));
    upstream_to(&mut world, json!({ "DestinationName": "asked", "DestinationType": "prepared_query" }));
    let mut allowed = intentions(NEW, "web allowed");
    allowed[0].destination_name = "billing".to_owned();
    let all = |more: Vec<Intention>| destinations(&world.source, &[allowed.clone(), more].concat());
    let names = |found: Vec<ServiceAt>| found.into_iter().map(|it| it.name).collect::<Vec<String>>();
    assert_eq!(names(all(Vec::new())), ["abroad", "api", "billing", "orders"]);
    // Neither a refusal nor an intention to everything adds one
    let more = [intentions(NEW, "web denied"), intentions(NEW, "web allowed everywhere")].concat();
    assert_eq!(names(all(more)), ["abroad", "api", "billing", "orders"]);
    // An API gateway has routes instead of upstreams
    let route = json!({ "Kind": "tcp-route", "Name": "raw", "Services": [{ "Name": "stock" }] });
    world.source.proxies = Ok(Vec::new());
    world.source.routes = Some(Ok(vec![serde_json::from_value(route).unwrap()]));
    assert_eq!(names(destinations(&world.source, &[])), ["stock"]);
}
