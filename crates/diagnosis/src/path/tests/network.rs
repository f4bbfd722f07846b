//! Security groups and network ACLs between 10.0.0.1, where the proxies of web are, and the proxy of api at 10.0.0.2:20000.

use std::net::Ipv4Addr;

use observe::{AclEntry, GroupRule, Interface, NetworkAcl, NetworkReading, Ports, RulePeer};

use super::*;

fn interface(last: u8, group: &str) -> Interface {
    let address = Ipv4Addr::new(10, 0, 0, last);
    Interface { address, vpc: "vpc-1".to_owned(), subnet: "subnet-1".to_owned(), groups: vec![group.to_owned()] }
}

fn rule(group: &str, is_egress: bool, protocol: &str, ports: Ports, peer: RulePeer) -> GroupRule {
    GroupRule { group: group.to_owned(), is_egress, protocol: protocol.to_owned(), ports, peer }
}

fn everywhere() -> RulePeer {
    RulePeer::Block("0.0.0.0/0".parse().unwrap())
}

/// The network of a world in which nothing is blocked: web may connect everywhere, and api takes connections of web's group.
pub(super) fn open() -> NetworkReading {
    let of = |interface: Interface| (interface.address, vec![interface]);
    NetworkReading {
        interfaces: Ok([interface(1, "sg-web"), interface(2, "sg-api")].map(of).into()),
        rules: Ok(vec![
            rule("sg-web", true, "-1", Ports::ALL, everywhere()),
            rule("sg-api", false, "tcp", Ports::new(20_000, 20_000), RulePeer::Group("sg-web".to_owned())),
        ]),
        acls: Ok(Vec::new()),
    }
}

fn api(world: &mut World) -> &mut Interface {
    let Ok(interfaces) = &mut world.network.interfaces else { panic!() };
    &mut interfaces.get_mut(&Ipv4Addr::new(10, 0, 0, 2)).unwrap()[0]
}

/// api is in a subnet of its own, and each subnet has an ACL that lets everything through.
pub(super) fn apart(world: &mut World) {
    api(world).subnet = "subnet-2".to_owned();
    let acl = |id: &str, subnet: &str| NetworkAcl {
        id: id.to_owned(),
        subnets: vec![subnet.to_owned()],
        entries: [true, false].map(|is_egress| entry(100, is_egress, true, Ports::ALL)).to_vec(),
    };
    world.network.acls = Ok(vec![acl("acl-1", "subnet-1"), acl("acl-2", "subnet-2")]);
}

fn entry(number: u32, is_egress: bool, allows: bool, ports: Ports) -> AclEntry {
    AclEntry { number, is_egress, allows, protocol: "6".to_owned(), ports, block: Some("0.0.0.0/0".parse().unwrap()) }
}

#[track_caller]
fn assert_network(verdict: PlaceVerdict, part: &str, change: impl FnOnce(&mut World)) -> PathLine {
    assert_line(NEW, Place::Network, verdict, part, change)
}

#[test]
fn rules_of_both_groups_let_the_connection_through() {
    assert_network(PlaceVerdict::Ok, "let 10.0.0.1 → 10.0.0.2:20000 through", |_| {});
    // By an address, of every protocol
    assert_network(PlaceVerdict::Ok, "through", |world| {
        let by_address = RulePeer::Block("10.0.0.0/24".parse().unwrap());
        world.network.rules.as_mut().unwrap()[1] = rule("sg-api", false, "-1", Ports::ALL, by_address);
    });
}

#[test]
fn missing_rule_is_named_with_the_command_that_adds_it() {
    let part = "10.0.0.1 → 10.0.0.2:20000 is blocked: no ingress rule of sg-api allows TCP port 20000 from 10.0.0.1";
    let others = [
        rule("sg-api", false, "udp", Ports::ALL, everywhere()),
        rule("sg-api", false, "tcp", Ports::new(1, 19_999), everywhere()),
        rule("sg-api", false, "tcp", Ports::ALL, RulePeer::Block("10.1.0.0/16".parse().unwrap())),
        rule("sg-api", false, "tcp", Ports::ALL, RulePeer::Group("sg-api".to_owned())),
        rule("sg-api", false, "tcp", Ports::ALL, RulePeer::Other),
        rule("sg-api", true, "tcp", Ports::ALL, everywhere()),
        rule("sg-other", false, "tcp", Ports::ALL, everywhere()),
    ];
    for other in others {
        let line = assert_network(PlaceVerdict::Fault, part, |world| world.network.rules.as_mut().unwrap()[1] = other);
        let expected = "aws ec2 authorize-security-group-ingress --group-id sg-api --ip-permissions \
                        'IpProtocol=tcp,FromPort=20000,ToPort=20000,UserIdGroupPairs=[{GroupId=sg-web}]'";
        let dial = format!(
            "aws ecs execute-command --cluster prod --task {} --container app --interactive --command 'nc -zvw3 10.0.0.2 20000'",
            id(1)
        );
        assert_eq!(line.commands, [expected, &dial]);
    }
    let line =
        assert_network(PlaceVerdict::Fault, "no egress rule of sg-web allows TCP port 20000 to 10.0.0.2", |world| {
            world.network.rules.as_mut().unwrap().remove(0);
        });
    assert!(line.commands[0].contains("-egress --group-id sg-web"), "{line:?}");
}

#[test]
fn rule_by_a_prefix_list_is_possible() {
    assert_network(PlaceVerdict::Possible, "unless a prefix list has the address", |world| {
        world.network.rules.as_mut().unwrap()[1].peer = RulePeer::PrefixList("pl-1".to_owned());
    });
}

#[test]
fn network_acls_count_between_subnets_in_both_directions() {
    assert_network(PlaceVerdict::Ok, "through", apart);
    for (acl, is_egress, ports, part) in [
        (
            0,
            true,
            Ports::new(20_000, 20_000),
            "network ACL acl-1 of subnet-1 denies outbound TCP port 20000 to 10.0.0.2",
        ),
        (1, false, Ports::ALL, "network ACL acl-2 of subnet-2 denies inbound TCP port 20000 from 10.0.0.1"),
        (1, true, Ports::new(40_000, 60_999), "acl-2 of subnet-2 denies outbound TCP ports 32768 to 60999 to 10.0.0.1"),
        (
            0,
            false,
            Ports::new(32_768, 32_768),
            "acl-1 of subnet-1 denies inbound TCP ports 32768 to 60999 from 10.0.0.2",
        ),
    ] {
        let deny = |world: &mut World| {
            apart(world);
            world.network.acls.as_mut().unwrap()[acl].entries.insert(0, entry(90, is_egress, false, ports));
        };
        assert_network(PlaceVerdict::Fault, part, deny);
        // Within a subnet they do not count
        assert_network(PlaceVerdict::Ok, "through", |world| {
            deny(world);
            api(world).subnet = "subnet-1".to_owned();
        });
    }
    assert_network(PlaceVerdict::Fault, "acl-2 of subnet-2 denies inbound", |world| {
        apart(world);
        world.network.acls.as_mut().unwrap()[1].entries.clear();
    });
}

#[test]
fn what_this_account_does_not_know_is_unknown_and_no_failed_read() {
    for change in [
        (|world| {
            let Ok(interfaces) = &mut world.network.interfaces else { panic!() };
            interfaces.clear();
        }) as fn(&mut World),
        |world| {
            let Ok(interfaces) = &mut world.network.interfaces else { panic!() };
            for found in interfaces.values_mut() {
                found.extend(found.clone());
            }
        },
        |world| api(world).vpc = "vpc-2".to_owned(),
    ] {
        let mut world = World::new(NEW);
        change(&mut world);
        let path = world.path();
        let line = path.lines.iter().find(|line| line.place == Place::Network).unwrap();
        assert_eq!((line.verdict, path.passage), (PlaceVerdict::Unknown, Passage::Open), "{line:?}");
    }
}

#[test]
fn proxies_that_are_not_passing_are_not_connected_to() {
    assert_network(PlaceVerdict::NotNeeded, "no two proxies", |world| {
        let proxies = world.destination.proxies.values_mut().flatten().flatten();
        proxies.for_each(|proxy| proxy.critical_checks = vec!["c".to_owned()]);
    });
}
