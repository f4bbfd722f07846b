//! Whether security groups and network ACLs let the connection through, from the interface of the caller to the public listener of
//! the proxy that takes it.

use std::net::Ipv4Addr;

use observe::{Answer, ConnectProxy, GatewayMode, GroupRule, Interface, NetworkAcl, Ports, RulePeer};

use super::{
    chain::{Leg, Taken},
    evidence::{PathEvidence, not_read},
    report::{PathLine, Place},
};
use crate::doctor::{quoted, word};

const PLACE: Place = Place::Network;
const INTERFACES_READ: &str = "ec2:DescribeNetworkInterfaces";
const RULES_READ: &str = "ec2:DescribeSecurityGroupRules";
const ACLS_READ: &str = "ec2:DescribeNetworkAcls";
/// The ports from which Linux connects: <https://docs.kernel.org/networking/ip-sysctl.html>, `ip_local_port_range`.
const EPHEMERAL: [u16; 2] = [32_768, 60_999];

pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let sources = evidence.source.proxies.iter().flatten();
    let is_asked = |proxy: &&ConnectProxy| evidence.from_task.is_none() || proxy.task.as_ref() == evidence.from_task;
    let sources: Vec<&ConnectProxy> = sources.filter(is_asked).collect();
    let mut connections = Vec::new();
    for leg in evidence.targets() {
        for to in first_hops(evidence, &leg) {
            connections.extend(sources.iter().map(|from| Connection::new(evidence, &from.address, to, &leg)));
        }
    }
    let Some(first) = connections.first() else {
        return vec![PathLine::not_needed(PLACE, "there are no two proxies to connect")];
    };
    if let Err(error) = &evidence.network.interfaces {
        return vec![not_read(PLACE, error, INTERFACES_READ)];
    }
    let by_groups = connections.iter().find_map(Connection::by_groups);
    let by_acls = connections.iter().find_map(Connection::by_acls);
    let unknown = connections.iter().find_map(Connection::unknown_end);
    let mut found: Vec<PathLine> = [by_groups, by_acls, unknown].into_iter().flatten().collect();
    // What the rules cannot show, a connection from the caller's own task can.
    if let Some(line) = found.first_mut() {
        let dial = format!("nc -zvw3 {} {}", word(first.to.address), first.port);
        line.commands.extend(evidence.in_source_task(&dial));
    }
    if found.is_empty() {
        found.push(PathLine::ok(PLACE, format!("security groups and network ACLs let {first} through")));
    }
    found
}

/// Where the proxies of the caller connect to, with the port: the proxies of a target, or the gateways before them.
fn first_hops<'a>(evidence: &PathEvidence<'a>, leg: &Leg<'a>) -> Vec<(&'a str, u16)> {
    let destination = evidence.destination;
    let border = evidence.border(leg.target);
    let gateway = border.as_ref().and_then(|border| border.gateways.first());
    let is_own = border.as_ref().is_some_and(|border| border.mode == GatewayMode::Local);
    let proxies = match gateway {
        Some(place) => destination.borders.gateways.get(place),
        None => destination.proxies.get(leg.id),
    };
    let passing = proxies.into_iter().flatten().flatten().filter(|proxy| proxy.is_passing());
    let address = |proxy: &'a ConnectProxy| match &proxy.wan {
        Some((address, port)) if gateway.is_some() && !is_own => (address.as_str(), *port),
        _ => (proxy.address.as_str(), proxy.port),
    };
    passing.map(address).collect()
}

/// A connection from one proxy to another, or to a gateway.
struct Connection<'a> {
    from: Ends<'a>,
    to: Ends<'a>,
    port: u16,
    taken: Taken,
    rules: &'a Answer<Vec<GroupRule>>,
    acls: &'a Answer<Vec<NetworkAcl>>,
}

/// An end of a connection.
#[derive(Clone, Copy)]
struct Ends<'a> {
    address: &'a str,
    /// The interface, if there is one with this address, and only one.
    interface: Option<&'a Interface>,
}

impl std::fmt::Display for Connection<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} → {}:{}", self.from.address, self.to.address, self.port)
    }
}

/// What a set of rules says of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allowed {
    Yes,
    No,
    /// It depends on a prefix list.
    Perhaps,
}

impl<'a> Connection<'a> {
    fn new(evidence: &PathEvidence<'a>, from: &'a str, (to, port): (&'a str, u16), leg: &Leg<'a>) -> Self {
        let end = |address: &'a str| {
            let known = evidence.network.interfaces.as_ref().ok();
            let found = known.zip(address.parse().ok()).and_then(|(known, parsed): (_, Ipv4Addr)| known.get(&parsed));
            let only = found.filter(|found| found.len() == 1).and_then(|found| found.first());
            Ends { address, interface: only }
        };
        let (rules, acls) = (&evidence.network.rules, &evidence.network.acls);
        Self { from: end(from), to: end(to), port, taken: leg.taken, rules, acls }
    }

    /// Both interfaces, if they are known and in one VPC.
    fn ends(&self) -> Option<(&'a Interface, &'a Interface)> {
        let (from, to) = (self.from.interface?, self.to.interface?);
        (from.vpc == to.vpc).then_some((from, to))
    }

    /// An end that EC2 does not know, or that another VPC has.
    fn unknown_end(&self) -> Option<PathLine> {
        let unknown = [self.from, self.to].into_iter().find(|end| end.interface.is_none());
        if let Some(end) = unknown {
            let what =
                format!("this account and region have no interface, or several, with the address {}", end.address);
            return Some(PathLine::in_no_api(PLACE, what));
        }
        let (from, to) = (self.from.interface?, self.to.interface?);
        let what = format!("{self} leads from {} to {}: routes between VPCs are not looked at", from.vpc, to.vpc);
        self.ends().is_none().then(|| PathLine::in_no_api(PLACE, what))
    }

    /// A fault, if the connection is surely made.
    fn blocked(&self, why: &str) -> PathLine {
        let what = format!("{self} is blocked: {why}");
        match self.taken {
            Taken::Surely => PathLine::fault(PLACE, what),
            Taken::Perhaps => PathLine::possible(PLACE, what),
        }
    }

    fn by_groups(&self) -> Option<PathLine> {
        let (from, to) = self.ends()?;
        let rules = match self.rules {
            Ok(rules) => rules,
            Err(error) => return Some(not_read(PLACE, error, RULES_READ)),
        };
        let port = self.port;
        let authorize = |way: &str, group: &str, other: &str| {
            let permissions =
                format!("IpProtocol=tcp,FromPort={port},ToPort={port},UserIdGroupPairs=[{{GroupId={other}}}]");
            let (group, permissions) = (word(group), quoted(&permissions));
            format!("aws ec2 authorize-security-group-{way} --group-id {group} --ip-permissions {permissions}")
        };
        for (own, other, is_egress, way) in [(from, to, true, "egress"), (to, from, false, "ingress")] {
            let named = own.groups.join(", ");
            let (direction, end) = if is_egress { ("to", other.address) } else { ("from", other.address) };
            let why = format!("no {way} rule of {named} allows TCP port {port} {direction} {end}");
            let Some((group, peer)) = own.groups.first().zip(other.groups.first()) else { continue };
            match by_rules(rules, own, other, is_egress, port) {
                Allowed::Yes => {}
                Allowed::No => {
                    return Some(
                        self.blocked(&why).changed_by("Add the rule").with_command(authorize(way, group, peer)),
                    );
                }
                Allowed::Perhaps => {
                    return Some(PathLine::possible(
                        PLACE,
                        format!("{self}: {why}, unless a prefix list has the address"),
                    ));
                }
            }
        }
        None
    }

    /// Within a subnet, network ACLs do not count.
    fn by_acls(&self) -> Option<PathLine> {
        let (from, to) = self.ends()?;
        if from.subnet == to.subnet {
            return None;
        }
        let acls = match self.acls {
            Ok(acls) => acls,
            Err(error) => return Some(not_read(PLACE, error, ACLS_READ)),
        };
        let [first, last] = EPHEMERAL;
        let answers = format!("ports {first} to {last}");
        let asked = format!("port {}", self.port);
        let ways: [(&Interface, bool, &Interface, &[u16], &str); 4] = [
            (from, true, to, &[self.port], &asked),
            (to, false, from, &[self.port], &asked),
            (to, true, from, &EPHEMERAL, &answers),
            (from, false, to, &EPHEMERAL, &answers),
        ];
        ways.iter().find_map(|(own, is_egress, other, ports, named)| {
            let acl = acls.iter().find(|acl| acl.subnets.contains(&own.subnet))?;
            let is_denied = ports.iter().any(|port| !allows(acl, *is_egress, other.address, *port));
            let (way, direction) = if *is_egress { ("outbound", "to") } else { ("inbound", "from") };
            let why = format!(
                "network ACL {} of {} denies {way} TCP {named} {direction} {}",
                acl.id, own.subnet, other.address
            );
            is_denied.then(|| {
                self.blocked(&why).changed_by("Add a rule to the network ACL, also for the ports of the answers")
            })
        })
    }
}

/// What the rules of the groups of an interface say of connections with another one.
fn by_rules(rules: &[GroupRule], own: &Interface, other: &Interface, is_egress: bool, port: u16) -> Allowed {
    let is_tcp = |protocol: &str| ["tcp", "6", "-1"].contains(&protocol);
    let of_own = rules.iter().filter(|rule| own.groups.contains(&rule.group) && rule.is_egress == is_egress);
    let for_port = of_own.filter(|rule| is_tcp(&rule.protocol) && Ports::contains(rule.ports, port));
    let mut allowed = Allowed::No;
    for rule in for_port {
        match &rule.peer {
            RulePeer::Block(block) if block.contains(&other.address) => return Allowed::Yes,
            RulePeer::Group(group) if other.groups.contains(group) => return Allowed::Yes,
            RulePeer::PrefixList(_) => allowed = Allowed::Perhaps,
            RulePeer::Block(_) | RulePeer::Group(_) | RulePeer::Other => {}
        }
    }
    allowed
}

/// Whether a network ACL lets TCP through: the first entry that matches decides, and none denies.
fn allows(acl: &NetworkAcl, is_egress: bool, other: Ipv4Addr, port: u16) -> bool {
    let decides = acl.entries.iter().find(|entry| {
        entry.is_egress == is_egress
            && ["6", "-1"].contains(&entry.protocol.as_str())
            && entry.ports.contains(port)
            && entry.block.is_some_and(|block| block.contains(&other))
    });
    decides.is_some_and(|entry| entry.allows)
}
