//! The hosts of tasks: container instances, and the EC2 instances behind them.

use std::{collections::BTreeSet, str::FromStr};

use crate::{
    arn::{ClusterArn, ContainerInstanceArn},
    names::{InvalidField, text},
};

/// The ID of an EC2 instance, for example `i-0123456789abcdef0`. External instances (ECS Anywhere) have IDs that begin with
/// `mi-`, and are no EC2 instances.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ec2InstanceId(String);

text!(Ec2InstanceId.0);

impl FromStr for Ec2InstanceId {
    type Err = InvalidField;

    fn from_str(id: &str) -> Result<Self, InvalidField> {
        let is_hexadecimal = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
        match id.strip_prefix("i-") {
            Some(digits) if digits.len() <= 32 && is_hexadecimal(digits) => Ok(Self(id.to_owned())),
            _ => Err(InvalidField::new("ec2InstanceId", id, "the ID of an EC2 instance")),
        }
    }
}

/// A host whose agent has lost contact with ECS, as its event says. Agents reconnect several times an hour, so that this
/// alone means nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LostHost {
    pub cluster: ClusterArn,
    pub container_instance: ContainerInstanceArn,
    pub ec2_instance: Ec2InstanceId,
}

/// What EC2 says of instances. An instance that is in neither set is not known, or in another state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ec2Instances {
    /// Shutting down, stopping, stopped or terminated: the containers on them run no longer, or not for long.
    pub gone: BTreeSet<Ec2InstanceId>,
    pub running: BTreeSet<Ec2InstanceId>,
}

/// What ECS and EC2 together say of the host of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Host {
    /// Nothing: EC2 was not asked, does not know it, or contradicts ECS.
    #[default]
    Unknown,
    /// Its agent is connected, and EC2 says that it runs.
    Running,
    /// Its agent is not connected, and EC2 says that it is gone.
    Gone,
}

impl Ec2Instances {
    /// What is known of a task's host.
    pub fn host(&self, instance: &Ec2InstanceId, is_disconnected: bool) -> Host {
        match is_disconnected {
            true if self.gone.contains(instance) => Host::Gone,
            false if self.running.contains(instance) => Host::Running,
            _ => Host::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ec2_instances_have_an_ec2_instance_id() {
        for (id, is_ec2) in [
            ("i-0123456789abcdef0", true),
            ("i-f3a8506b", true),
            ("mi-0123456789abcdef0", false),
            ("i-", false),
            ("i-1&Action=TerminateInstances", false),
            ("", false),
        ] {
            assert_eq!(id.parse::<Ec2InstanceId>().is_ok(), is_ec2, "{id}");
        }
    }

    #[test]
    fn both_formats_of_arns_are_container_instances() {
        let prefix = "arn:aws:ecs:us-east-1:123456789012:";
        for (resource, is_one) in
            [("container-instance/prod/0123", true), ("container-instance/0123", true), ("task/prod/0123", false)]
        {
            assert_eq!(format!("{prefix}{resource}").parse::<ContainerInstanceArn>().is_ok(), is_one, "{resource}");
        }
    }

    #[test]
    fn a_host_is_gone_only_if_both_ecs_and_ec2_say_so() {
        let [gone, running, unknown] = ["i-1", "i-2", "i-3"].map(|id| id.parse::<Ec2InstanceId>().unwrap());
        let seen = Ec2Instances { gone: [gone.clone()].into(), running: [running.clone()].into() };
        assert_eq!((seen.host(&gone, true), seen.host(&gone, false)), (Host::Gone, Host::Unknown));
        assert_eq!((seen.host(&running, true), seen.host(&running, false)), (Host::Unknown, Host::Running));
        assert_eq!((seen.host(&unknown, true), seen.host(&unknown, false)), (Host::Unknown, Host::Unknown));
    }
}
