//! What the network of a VPC lets through: interfaces with their security groups, the rules of these, and network ACLs.
//!
//! Source: <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeNetworkInterfaces.html>,
//! <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeSecurityGroupRules.html>,
//! <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeNetworkAcls.html>

use std::{fmt::Display, net::Ipv4Addr};

use aws_smithy_xml::decode::{Document, ScopedDecoder, XmlDecodeError, try_data};
use ipnet::Ipv4Net;

use super::{AwsEc2, Ec2Error, FILTER_LIMIT, form};
use crate::{
    query::{Leaves, each, encoded},
    sdk::describe,
};

/// A network interface of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    pub address: Ipv4Addr,
    pub vpc: String,
    pub subnet: String,
    /// The IDs of its security groups.
    pub groups: Vec<String>,
}

/// A rule of a security group: what it lets through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRule {
    pub group: String,
    /// Whether it is about connections from the interface.
    pub is_egress: bool,
    /// The name or number of the protocol; `-1` for every one.
    pub protocol: String,
    pub ports: Ports,
    pub peer: RulePeer,
}

/// The other end of the connections of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RulePeer {
    Block(Ipv4Net),
    /// Every interface of this security group.
    Group(String),
    /// A prefix list, whose blocks are not read.
    PrefixList(String),
    /// IPv6.
    Other,
}

/// A network ACL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkAcl {
    pub id: String,
    pub subnets: Vec<String>,
    pub entries: Vec<AclEntry>,
}

/// A rule of a network ACL. The one with the lowest number that matches decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AclEntry {
    pub number: u32,
    pub is_egress: bool,
    pub allows: bool,
    /// The number of the protocol; `-1` for every one.
    pub protocol: String,
    pub ports: Ports,
    /// `None` for IPv6.
    pub block: Option<Ipv4Net>,
}

/// A range of ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    from: i32,
    to: i32,
}

impl Ports {
    /// Every port, as AWS writes them for every protocol.
    pub const ALL: Self = Self { from: 0, to: 65_535 };

    pub fn new(from: u16, to: u16) -> Self {
        Self { from: from.into(), to: to.into() }
    }

    pub fn contains(self, port: u16) -> bool {
        (self.from..=self.to).contains(&port.into())
    }
}

fn block(text: &str) -> Result<Ipv4Net, XmlDecodeError> {
    text.parse().map_err(|_| XmlDecodeError::custom(format!("{text:?} is not a block of IPv4 addresses")))
}

impl AwsEc2 {
    /// The network interfaces with these addresses, in any VPC of the account and region.
    pub async fn interfaces(&self, addresses: &[Ipv4Addr]) -> Result<Vec<Interface>, Ec2Error> {
        const PATHS: &[&str] = &["privateIpAddress", "vpcId", "subnetId", "groupSet/item/groupId"];
        let action = "DescribeNetworkInterfaces";
        self.items(action, "addresses.private-ip-address", addresses, "networkInterfaceSet", |item| {
            let mut fields = Leaves::of(item, PATHS)?;
            let address = fields.parsed("privateIpAddress")?;
            let (vpc, subnet) = (fields.text("vpcId"), fields.text("subnetId"));
            Ok(Interface { address, vpc, subnet, groups: fields.all("groupSet/item/groupId") })
        })
        .await
    }

    /// The rules of security groups.
    pub async fn group_rules(&self, groups: &[String]) -> Result<Vec<GroupRule>, Ec2Error> {
        const PATHS: &[&str] = &[
            "groupId",
            "isEgress",
            "ipProtocol",
            "fromPort",
            "toPort",
            "cidrIpv4",
            "prefixListId",
            "referencedGroupInfo/groupId",
        ];
        self.items("DescribeSecurityGroupRules", "group-id", groups, "securityGroupRuleSet", |item| {
            let mut fields = Leaves::of(item, PATHS)?;
            let [cidr, group, list] =
                ["cidrIpv4", "referencedGroupInfo/groupId", "prefixListId"].map(|path| fields.text(path));
            let peer = match (cidr.as_str(), group.as_str(), list.as_str()) {
                ("", "", "") => RulePeer::Other,
                ("", "", _) => RulePeer::PrefixList(list),
                ("", ..) => RulePeer::Group(group),
                (cidr, ..) => RulePeer::Block(block(cidr)?),
            };
            let (protocol, is_egress) = (fields.text("ipProtocol"), fields.text("isEgress") == "true");
            let ports = ports(&mut fields, "fromPort", "toPort", &protocol);
            Ok(GroupRule { group: fields.text("groupId"), is_egress, ports, protocol, peer })
        })
        .await
    }

    /// The network ACLs of subnets.
    pub async fn network_acls(&self, subnets: &[String]) -> Result<Vec<NetworkAcl>, Ec2Error> {
        self.items("DescribeNetworkAcls", "association.subnet-id", subnets, "networkAclSet", read_acl).await
    }

    /// All items of the pages of an action that filters by these values.
    async fn items<T>(
        &self,
        action: &'static str,
        filter: &str,
        values: &[impl Display],
        set: &str,
        read: impl Fn(&mut ScopedDecoder<'_, '_>) -> Result<T, XmlDecodeError>,
    ) -> Result<Vec<T>, Ec2Error> {
        let unreadable = |error: XmlDecodeError| Ec2Error::Failed { action, reason: describe(&error) };
        let mut items = Vec::new();
        for chunk in values.chunks(FILTER_LIMIT) {
            let mut next = String::new();
            loop {
                let page = if next.is_empty() { String::new() } else { format!("&NextToken={}", encoded(&next)) };
                let body = self.call(action, form(action, filter, chunk) + &page).await?;
                let found = &mut |item: &mut ScopedDecoder<'_, '_>| {
                    items.push(read(item)?);
                    Ok(())
                };
                next = read_page(&body, action, set, found).map_err(unreadable)?;
                if next.is_empty() {
                    break;
                }
            }
        }
        Ok(items)
    }
}

/// Calls `found` with each item of a set, and returns the token of the next page; empty on the last one.
fn read_page(
    body: &[u8],
    action: &str,
    set: &str,
    found: &mut dyn FnMut(&mut ScopedDecoder<'_, '_>) -> Result<(), XmlDecodeError>,
) -> Result<String, XmlDecodeError> {
    let mut document = Document::try_from(body)?;
    let mut root = document.root_element()?;
    if !root.start_el().matches(&format!("{action}Response")) {
        return Err(XmlDecodeError::custom(format!("this is not an answer of {action}")));
    }
    let mut next = String::new();
    while let Some(mut tag) = root.next_tag() {
        if tag.start_el().matches(set) {
            each(&mut tag, &["item"], found)?;
        } else if tag.start_el().matches("nextToken") {
            next = try_data(&mut tag)?.into_owned();
        }
    }
    Ok(next)
}

fn read_acl(item: &mut ScopedDecoder<'_, '_>) -> Result<NetworkAcl, XmlDecodeError> {
    const PATHS: &[&str] =
        &["ruleNumber", "egress", "ruleAction", "protocol", "cidrBlock", "portRange/from", "portRange/to"];
    let mut acl = NetworkAcl::default();
    while let Some(mut tag) = item.next_tag() {
        match tag.start_el().local() {
            "networkAclId" => acl.id = try_data(&mut tag)?.into_owned(),
            "associationSet" => each(&mut tag, &["item", "subnetId"], &mut |subnet| {
                acl.subnets.push(try_data(subnet)?.into_owned());
                Ok(())
            })?,
            "entrySet" => each(&mut tag, &["item"], &mut |entry| {
                let mut fields = Leaves::of(entry, PATHS)?;
                let (protocol, cidr) = (fields.text("protocol"), fields.text("cidrBlock"));
                acl.entries.push(AclEntry {
                    number: fields.parsed("ruleNumber")?,
                    is_egress: fields.text("egress") == "true",
                    allows: fields.text("ruleAction") == "allow",
                    ports: ports(&mut fields, "portRange/from", "portRange/to", &protocol),
                    protocol,
                    block: if cidr.is_empty() { None } else { Some(block(&cidr)?) },
                });
                Ok(())
            })?,
            _ => {}
        }
    }
    acl.entries.sort_by_key(|entry| entry.number);
    Ok(acl)
}

/// A range of ports. A rule for every protocol is for every port.
fn ports(fields: &mut Leaves, from: &str, to: &str, protocol: &str) -> Ports {
    let ends = (fields.text(from).parse(), fields.text(to).parse());
    match ends {
        (Ok(from), Ok(to)) if protocol != "-1" && from >= 0 => Ports { from, to },
        _ => Ports::ALL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_contains_the_addresses_with_its_first_bits() {
        let contains = |cidr: &str, address: &str| block(cidr).unwrap().contains(&address.parse::<Ipv4Addr>().unwrap());
        assert!(contains("10.1.0.0/16", "10.1.255.9") && !contains("10.1.0.0/16", "10.2.0.1"));
        assert!(contains("0.0.0.0/0", "192.0.2.1") && contains("10.0.0.7/32", "10.0.0.7"));
        assert!(!contains("10.0.0.7/32", "10.0.0.6"));
        for text in ["10.0.0.0", "10.0.0.0/33", "::/0", "x/8"] {
            assert!(block(text).is_err(), "{text}");
        }
    }
}
