//! Each fault with a test that finds it, next to one that must not, by what Consul 1.8.7 and 1.22.6 answered.

mod asked;
mod border;
mod limits;
mod load_balancer;
mod name;
mod network;
mod permission;
mod proxy_output;
mod surprises;
mod tasks;
mod trust;
mod url;
mod way_out;

use std::collections::BTreeMap;

use observe::{
    BorderReading, CaRoot, CallError, ConnectProxy, ConsulError, Datacenter, DestinationReading, DiscoveryChain,
    Ec2Error, Inspection, InspectionError, Intention, MeshReading, NetworkReading, ProxyOutput, ServiceAt,
    SourceReading, TargetsReading, TokenOwner,
};
use serde_json::Value;

use super::*;
use crate::{
    examples::{healthy, id, login_token, now, tokens},
    recorded::{BOTH, NEW, answer, answer_with},
    tokens::Tokens,
};

fn chain(version: &str, case: &str) -> DiscoveryChain {
    serde_json::from_value(answer(version, &format!("{case}: chain"))["Chain"].clone()).unwrap()
}

fn intentions(version: &str, case: &str) -> Vec<Intention> {
    let answer: BTreeMap<String, Option<Vec<Intention>>> =
        serde_json::from_value(answer(version, &format!("{case}: match"))).unwrap();
    answer.into_values().flatten().flatten().collect()
}

fn proxies(version: &str, case: &str) -> Vec<ConnectProxy> {
    serde_json::from_value(answer(version, case)).unwrap()
}

fn service(name: &str) -> ServiceAt {
    ServiceAt { name: name.to_owned(), tenancy: mesh::tenancy::Tenancy::Community, datacenter: None, peer: None }
}

/// The token lacks a permission.
fn refused() -> InspectionError {
    let (subject, reason) = ("the thing".to_owned(), "Permission denied".to_owned());
    ConsulError::PermissionDenied { subject, token: TokenOwner::Command, reason }.into()
}

/// The caller may not call EC2.
fn not_authorized() -> InspectionError {
    let error = Ec2Error::Refused { action: "Describe", reason: "UnauthorizedOperation".to_owned() };
    InspectionError::Call(CallError::from(error))
}

/// All that is read of a path.
struct World {
    observed: Inspection,
    tokens: Tokens,
    mesh: MeshReading,
    source: SourceReading,
    destination: DestinationReading,
    network: NetworkReading,
    targets: TargetsReading,
    request: Option<HttpRequest>,
    proxy_output: Option<ProxyOutput>,
    from_task: Option<mesh::arn::TaskId>,
}

impl World {
    /// web has two healthy tasks whose proxies have an upstream api; api has a proxy that passes, and web may call it.
    fn new(version: &str) -> Self {
        // As it was registered: without what the config entries of the recording added.
        let mut merged = answer(version, "proxies of the node, merged");
        merged[0]["Service"]["Proxy"]["Upstreams"][0]["Config"] = Value::Null;
        let proxy = serde_json::from_value::<Vec<ConnectProxy>>(merged).unwrap().remove(0);
        let of_task = |number| ConnectProxy { task: Some(id(number)), ..proxy.clone() };
        let chain = chain(version, "nothing configured, default deny");
        let api = proxies(version, "nothing configured, default deny: healthy proxies");
        // Consul 1.8 has no config entry with which the recording allows it.
        let allowed = intentions(NEW, "web allowed");
        Self {
            observed: Inspection { clusters: vec![healthy()], problems: Vec::new() },
            tokens: tokens([1, 1, 2, 2].map(login_token).to_vec()),
            mesh: MeshReading {
                datacenter: Ok(Datacenter {
                    name: "dc1".to_owned(),
                    is_primary: true,
                    allows_by_default: false,
                    allows_calls_by_default: false,
                }),
                roots: Ok(vec![root("2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z")]),
                entry: Ok(None),
                proxy_defaults: Ok(None),
            },
            source: SourceReading {
                service: service("web"),
                proxies: Ok(vec![of_task(1), of_task(2)]),
                limits: Ok(None),
                routes: None,
            },
            destination: DestinationReading {
                service: service("api"),
                proxies: chain.targets.keys().map(|target| (target.clone(), Ok(api.clone()))).collect(),
                chain: Ok(chain),
                intentions: [(service("api"), Ok(allowed))].into(),
                names: None,
                peering: None,
                limits: Ok(None),
                borders: BorderReading::default(),
            },
            network: network::open(),
            targets: TargetsReading::default(),
            request: None,
            proxy_output: None,
            from_task: None,
        }
    }

    /// Another chain, whose targets have the proxies of the first api, except those that are named.
    fn chained(&mut self, chain: DiscoveryChain, without: &[&str]) {
        let api = self.destination.proxies.values().next().cloned().unwrap();
        let of_target = |target: &String| {
            let is_without = without.iter().any(|name| target.starts_with(name));
            (target.clone(), if is_without { Ok(Vec::new()) } else { api.clone() })
        };
        self.destination.proxies = chain.targets.keys().map(of_target).collect();
        let allowed = self.destination.intentions[&service("api")].clone();
        self.destination.intentions =
            chain.targets.values().map(|target| (service(&target.service), allowed.clone())).collect();
        self.destination.chain = Ok(chain);
    }

    fn path(&self) -> ServicePath {
        path(&PathEvidence {
            observed: &self.observed,
            tokens: Some(&self.tokens),
            mesh: &self.mesh,
            source: &self.source,
            destination: &self.destination,
            network: &self.network,
            targets: &self.targets,
            request: self.request.as_ref(),
            proxy_output: self.proxy_output.as_ref(),
            from_task: self.from_task.as_ref(),
            now: now(),
        })
    }
}

fn root(not_before: &str, not_after: &str) -> CaRoot {
    CaRoot {
        name: "Consul CA Primary Cert".to_owned(),
        is_active: true,
        not_before: not_before.parse().unwrap(),
        not_after: not_after.parse().unwrap(),
        intermediate: None,
    }
}

/// The first line about a place, after a change.
fn line_of(version: &str, place: Place, change: impl FnOnce(&mut World)) -> PathLine {
    let mut world = World::new(version);
    change(&mut world);
    let path = world.path();
    path.lines.into_iter().find(|line| line.place == place).unwrap_or_else(|| panic!("no line about {place:?}"))
}

/// Asserts the verdict of the first line about a place, and a part of what it says.
#[track_caller]
fn assert_line(
    version: &str,
    place: Place,
    verdict: PlaceVerdict,
    part: &str,
    change: impl FnOnce(&mut World),
) -> PathLine {
    let line = line_of(version, place, change);
    assert!(line.verdict == verdict && line.what.contains(part), "{version}: {verdict:?}, {part}: {line:?}");
    line
}

fn get(path: &str) -> HttpRequest {
    HttpRequest { method: "GET".to_owned(), path: path.to_owned() }
}

#[test]
fn path_without_a_fault_is_open() {
    for version in BOTH {
        let path = World::new(version).path();
        assert_eq!(
            (path.passage, path.conclusion.as_str()),
            (Passage::Open, "Nothing that was read stops requests from web to api")
        );
        let verdicts: Vec<_> = path.lines.iter().map(|line| (line.place, line.verdict)).collect();
        let expected = [
            (Place::SourceTasks, PlaceVerdict::Ok),
            (Place::WayOut, PlaceVerdict::Ok),
            (Place::Url, PlaceVerdict::NotNeeded),
            (Place::Name, PlaceVerdict::Ok),
            (Place::Permission, PlaceVerdict::Ok),
            (Place::Network, PlaceVerdict::Ok),
            (Place::Limits, PlaceVerdict::Ok),
            (Place::DestinationTasks, PlaceVerdict::Ok),
            (Place::Trust, PlaceVerdict::Ok),
            // What no API has does not make the answer unknown.
            (Place::Trust, PlaceVerdict::Unknown),
        ];
        assert_eq!(verdicts, expected, "{path:#?}");
    }
}

#[test]
fn first_fault_decides_the_sentence_and_later_ones_are_counted() {
    let mut world = World::new(NEW);
    world.source.proxies.as_mut().unwrap().iter_mut().for_each(|proxy| proxy.upstreams.clear());
    world.destination.intentions.values_mut().for_each(|intentions| *intentions = Ok(Vec::new()));
    let path = world.path();
    assert_eq!(path.passage, Passage::Blocked);
    let expected =
        "Requests from web to api fail: none of 2 proxies has an upstream api, and transparent proxy is off. Add ";
    assert!(path.conclusion.starts_with(expected), "{}", path.conclusion);
    assert!(path.conclusion.ends_with(". Later faults: 1, listed above"), "{}", path.conclusion);
}

#[test]
fn one_failed_read_makes_its_line_unknown_and_stops_nothing() {
    for (place, permission, spoil) in [
        (
            Place::WayOut,
            r#"service_prefix "" { policy = "read" }"#,
            (|world| world.source.proxies = Err(refused())) as fn(&mut World),
        ),
        (Place::Name, r#"service_prefix "" { policy = "read" }"#, |world| world.destination.chain = Err(refused())),
        (Place::Permission, r#"service_prefix "" { policy = "read" }"#, |world| {
            world.destination.intentions.values_mut().for_each(|intentions| *intentions = Err(refused()));
        }),
        (Place::Permission, r#"agent_prefix "" { policy = "read" }"#, |world| {
            world.destination.intentions.values_mut().for_each(|intentions| *intentions = Ok(Vec::new()));
            world.mesh.datacenter = Err(refused());
        }),
        (Place::Network, "ec2:DescribeNetworkInterfaces", |world| world.network.interfaces = Err(not_authorized())),
        (Place::Network, "ec2:DescribeSecurityGroupRules", |world| world.network.rules = Err(not_authorized())),
        (Place::Network, "ec2:DescribeNetworkAcls", |world| {
            network::apart(world);
            world.network.acls = Err(not_authorized());
        }),
        (Place::Limits, r#"service_prefix "" { policy = "read" }"#, |world| world.source.limits = Err(refused())),
        (Place::DestinationTasks, r#"service_prefix "" { policy = "read" }"#, |world| {
            world.destination.proxies.values_mut().for_each(|proxies| *proxies = Err(refused()));
        }),
    ] {
        let mut world = World::new(NEW);
        spoil(&mut world);
        let path = world.path();
        let line = path.lines.iter().find(|line| line.place == place && line.verdict == PlaceVerdict::Unknown);
        let line = line.unwrap_or_else(|| panic!("{place:?}: {path:#?}"));
        assert_eq!(line.missing_permission.as_deref(), Some(permission), "{line:?}");
        assert_eq!(path.passage, Passage::Unknown, "{path:#?}");
        assert!(path.lines.iter().any(|line| line.verdict == PlaceVerdict::Ok), "{path:#?}");
    }
}
