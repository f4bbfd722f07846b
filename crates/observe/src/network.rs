//! Reads what the network between tasks lets through.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
};

use aws::ec2::{AwsEc2, GroupRule, Interface, NetworkAcl};

use crate::{error::CallError, inspected::InspectionError, path::Answer};

/// The network around some addresses.
#[derive(Debug, Clone)]
pub struct NetworkReading {
    /// The interfaces with these addresses. VPCs may have the same ones.
    pub interfaces: Answer<BTreeMap<Ipv4Addr, Vec<Interface>>>,
    /// The rules of their security groups.
    pub rules: Answer<Vec<GroupRule>>,
    /// The network ACLs of their subnets.
    pub acls: Answer<Vec<NetworkAcl>>,
}

/// The network around these addresses: three requests, and further ones for further pages; none without an address.
pub async fn read_network(ec2: &AwsEc2, addresses: &BTreeSet<Ipv4Addr>) -> NetworkReading {
    let addresses: Vec<Ipv4Addr> = addresses.iter().copied().collect();
    let found = match ec2.interfaces(&addresses).await {
        Ok(found) => found,
        Err(error) => {
            let unread = InspectionError::Call(CallError::from(error));
            return NetworkReading { interfaces: Err(unread.clone()), rules: Err(unread.clone()), acls: Err(unread) };
        }
    };
    let groups: BTreeSet<String> = found.iter().flat_map(|it| it.groups.iter().cloned()).collect();
    let subnets: BTreeSet<String> = found.iter().map(|it| it.subnet.clone()).collect();
    let (groups, subnets) = (Vec::from_iter(groups), Vec::from_iter(subnets));
    let (rules, acls) = tokio::join!(ec2.group_rules(&groups), ec2.network_acls(&subnets));
    let mut interfaces: BTreeMap<Ipv4Addr, Vec<Interface>> = BTreeMap::new();
    for interface in found {
        interfaces.entry(interface.address).or_default().push(interface);
    }
    let unread = |error| InspectionError::Call(CallError::from(error));
    NetworkReading { interfaces: Ok(interfaces), rules: rules.map_err(unread), acls: acls.map_err(unread) }
}
