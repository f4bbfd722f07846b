//! The service of a peer, of another datacenter and of another partition.

use mesh::tenancy::Tenancy;
use observe::{ExportedService, GatewayPlace, Peering};
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

#[test]
fn peer_that_exports_a_service_without_an_instance_is_a_fault() {
    let part = "peer east exports api, and no instance of it has arrived";
    assert_line(NEW, Place::Border, PlaceVerdict::Fault, part, |world| {
        of_east(Some(active(&["api"])))(world);
        world.destination.proxies.values_mut().for_each(|proxies| *proxies = Ok(Vec::new()));
    });
    assert_line(NEW, Place::Border, PlaceVerdict::Ok, "exports api", of_east(Some(active(&["api"]))));
}

fn place(datacenter: Option<&str>) -> GatewayPlace {
    GatewayPlace { tenancy: Tenancy::Community, datacenter: datacenter.map(str::to_owned) }
}

/// api is in the datacenter dc2, as its resolver says, and its proxies there pass.
fn in_dc2(world: &mut World, mode: &str) {
    let mut chain = answer(NEW, "redirect to another datacenter: chain")["Chain"].clone();
    for target in chain["Targets"].as_object_mut().unwrap().values_mut() {
        target["MeshGateway"] = json!({ "Mode": mode });
    }
    world.chained(serde_json::from_value(chain).unwrap(), &[]);
}

/// A gateway of this name at 10.0.0.9:8443, as another datacenter sees it.
fn gateway(is_passing: bool) -> ConnectProxy {
    let status = if is_passing { "passing" } else { "critical" };
    let addresses = json!({ "wan": { "Address": "10.0.0.9", "Port": 8443 } });
    let gateway = json!({
        "Node": { "Address": "127.0.0.1" },
        "Service": { "ID": "gateway-1", "Kind": "mesh-gateway", "Address": "10.9.9.9", "Port": 8443, "TaggedAddresses": addresses },
        "Checks": [{ "Name": "c", "Status": status }],
    });
    serde_json::from_value(gateway).unwrap()
}

#[test]
fn datacenter_is_reached_by_gateways_that_pass() {
    let border = |verdict, part, mode: &'static str, own: &[ConnectProxy], other: &[ConnectProxy]| {
        let gateways = [(place(None), Ok(own.to_vec())), (place(Some("dc2")), Ok(other.to_vec()))].into();
        assert_line(NEW, Place::Border, verdict, part, |world| {
            in_dc2(world, mode);
            world.destination.borders.gateways = gateways;
        })
    };
    let (up, down) = ([gateway(true)], [gateway(false)]);
    let part = "requests to api in datacenter dc2 pass mesh gateways (mode remote): 1 of datacenter dc2";
    border(PlaceVerdict::Ok, part, "remote", &[], &up);
    border(PlaceVerdict::Ok, "(mode local): 1 of this datacenter, then 1 of datacenter dc2", "local", &up, &up);
    border(PlaceVerdict::Fault, "datacenter dc2 has no mesh gateway, and requests", "remote", &up, &[]);
    border(PlaceVerdict::Fault, "datacenter dc2 has no mesh gateway that passes", "remote", &up, &down);
    border(PlaceVerdict::Fault, "this datacenter has no mesh gateway that passes", "local", &down, &up);
    // Without a mode, the network has to lead there
    border(PlaceVerdict::Possible, "no mode of mesh gateways is set", "", &up, &up);
    border(PlaceVerdict::Possible, "no mode of mesh gateways is set", "none", &up, &up);
}

#[test]
fn network_leads_to_the_gateway_before_a_datacenter() {
    let towards = |mode: &'static str| {
        let mut world = World::new(NEW);
        in_dc2(&mut world, mode);
        let gateways = || Ok(vec![gateway(true)]);
        world.destination.borders.gateways = [(place(None), gateways()), (place(Some("dc2")), gateways())].into();
        let line = world.path().lines.into_iter().find(|line| line.place == Place::Network).unwrap();
        line.what
    };
    assert_eq!(towards("remote"), "this account and region have no interface, or several, with the address 10.0.0.9");
    // A gateway of its own place has an address for it
    assert!(towards("local").ends_with("with the address 10.9.9.9"), "{}", towards("local"));
    assert!(towards("none").contains("10.0.0.1 → 10.0.0.2:20000"), "{}", towards("none"));
}

#[test]
fn peer_is_reached_by_a_gateway_of_its_own_place_with_the_mode_local() {
    let local = |gateways: Vec<ConnectProxy>| {
        move |world: &mut World| {
            of_east(Some(active(&["api"])))(world);
            let upstream = json!({
                "DestinationName": "api", "DestinationPeer": "east", "LocalBindPort": 1234, "MeshGateway": { "Mode": "local" },
            });
            for proxy in world.source.proxies.as_mut().unwrap() {
                proxy.upstreams = vec![serde_json::from_value(upstream.clone()).unwrap()];
            }
            world.destination.borders.gateways = [(place(None), Ok(gateways))].into();
        }
    };
    let said = |gateways| {
        let mut world = World::new(NEW);
        local(gateways)(&mut world);
        let lines = world.path().lines.into_iter().filter(|line| line.place == Place::Border);
        lines.map(|line| (line.verdict, line.what)).nth(1).unwrap()
    };
    let (verdict, what) = said(vec![gateway(true)]);
    assert!(verdict == PlaceVerdict::Ok && what.ends_with("(mode local): 1 of this datacenter"), "{what}");
    let (verdict, what) = said(Vec::new());
    assert!(verdict == PlaceVerdict::Fault && what.starts_with("this datacenter has no mesh gateway"), "{what}");
}

/// web is in the partition `front`, and api in the partition `back`.
fn across_partitions(world: &mut World, exported: Value) {
    let of = |partition: &str| Tenancy::default_namespace_of(partition.parse().unwrap());
    let mut chain = answer(NEW, "nothing configured, default deny: chain")["Chain"].clone();
    for target in chain["Targets"].as_object_mut().unwrap().values_mut() {
        target["Partition"] = json!("back");
    }
    world.source.service.tenancy = of("front");
    world.destination.service.tenancy = of("back");
    world.chained(serde_json::from_value(chain).unwrap(), &[]);
    let exported: Vec<ExportedService> = serde_json::from_value(exported).unwrap();
    world.destination.borders.exports = [("back".parse().unwrap(), Ok(exported))].into();
}

#[test]
fn partition_has_to_export_the_service_to_that_of_the_caller() {
    let border = |verdict, part, exported: Value| {
        assert_line(NEW, Place::Border, verdict, part, |world| across_partitions(world, exported))
    };
    let part = "partition back does not export api to partition front";
    let line = border(PlaceVerdict::Fault, part, json!([]));
    let entry = r#"{"Kind":"exported-services","Name":"back","Partition":"back","Services":[{"Name":"api","Consumers":[{"Partition":"front"}]}]}"#;
    assert_eq!(line.commands, [format!("echo '{entry}' | consul config write -")]);
    // What is exported to others is not replaced
    let line =
        border(PlaceVerdict::Fault, part, json!([{ "Service": "api", "Consumers": { "Partitions": ["other"] } }]));
    assert_eq!(line.commands, ["consul config read -kind exported-services -name back -partition back"]);
    for exported in [
        json!([{ "Service": "api", "Consumers": { "Peers": ["east"], "Partitions": ["front"] } }]),
        json!([{ "Name": "*", "Consumers": [{ "Peer": "east" }, { "Partition": "front" }] }]),
    ] {
        border(PlaceVerdict::Possible, "no mode of mesh gateways is set", exported);
    }
    let unread = assert_line(NEW, Place::Border, PlaceVerdict::Unknown, "", |world| {
        across_partitions(world, json!([]));
        world.destination.borders.exports.values_mut().for_each(|exported| *exported = Err(refused()));
    });
    assert_eq!(unread.missing_permission.as_deref(), Some(r#"mesh = "read""#));
}
