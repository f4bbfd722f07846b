//! The service of a peer.

use observe::Peering;
use serde_json::json;

use super::*;

/// api is a service of the peer east, as web's upstream says.
fn of_east(peering: Option<Value>) -> impl FnOnce(&mut World) {
    move |world| {
        world.destination.service.peer = Some("east".to_owned());
        let chain = DiscoveryChain::of_peer("api", "east");
        let proxies = world.destination.proxies.values().next().cloned().unwrap();
        world.destination.proxies = chain.targets.keys().map(|target| (target.clone(), proxies.clone())).collect();
        world.destination.chain = Ok(chain);
        world.destination.intentions.clear();
        world.destination.peering =
            Some(Ok(peering.map(|peering| serde_json::from_value::<Peering>(peering).unwrap())));
        let upstream = json!({ "DestinationName": "api", "DestinationPeer": "east", "LocalBindPort": 1234 });
        for proxy in world.source.proxies.as_mut().unwrap() {
            proxy.upstreams = vec![serde_json::from_value(upstream.clone()).unwrap()];
        }
    }
}

fn active(imported: &[&str]) -> Value {
    let mut peering = answer(NEW, "peerings: one that waits")[0].clone();
    peering["State"] = json!("ACTIVE");
    peering["StreamStatus"]["ImportedServices"] = json!(imported);
    peering
}

#[test]
fn peering_has_to_be_there_active_and_import_the_service() {
    let waiting = || Some(answer(NEW, "peerings: one that waits")[0].clone());
    let border = |verdict, part, peering| assert_line(NEW, Place::Border, verdict, part, of_east(peering));
    border(PlaceVerdict::Fault, "this cluster has no peering east", None);
    border(PlaceVerdict::Fault, "the peering east is PENDING", waiting());
    border(PlaceVerdict::Fault, "peer east does not export api", Some(active(&["orders"])));
    border(PlaceVerdict::Ok, "peer east is active and exports api", Some(active(&["api"])));
    let unread = assert_line(NEW, Place::Border, PlaceVerdict::Unknown, "", |world| {
        of_east(Some(active(&["api"])))(world);
        world.destination.peering = Some(Err(refused()));
    });
    assert_eq!(unread.missing_permission.as_deref(), Some(r#"peering = "read""#));
}

#[test]
fn what_the_peer_decides_is_unknown_here_and_the_path_is_open() {
    let mut world = World::new(NEW);
    of_east(Some(active(&["api"])))(&mut world);
    let path = world.path();
    let verdict = |place: Place| path.lines.iter().find(|line| line.place == place).unwrap().verdict;
    let verdicts = [Place::WayOut, Place::Name, Place::Permission, Place::DestinationTasks].map(verdict);
    let expected = [PlaceVerdict::Ok, PlaceVerdict::NotNeeded, PlaceVerdict::Unknown, PlaceVerdict::Ok];
    assert_eq!((verdicts, path.passage), (expected, Passage::Open), "{path:#?}");
    assert!(path.conclusion.contains("from web to api of peer east"), "{}", path.conclusion);
}

#[test]
fn place_that_the_request_does_not_pass_has_no_line() {
    let path = World::new(NEW).path();
    assert!(!path.lines.iter().any(|line| line.place == Place::Border), "{path:#?}");
}
