//! EC2: whether instances are gone, and what a network lets through.

mod network;

use std::fmt::Display;

use async_trait::async_trait;
use aws_smithy_xml::decode::{Document, XmlDecodeError, try_data};
use aws_types::SdkConfig;
use mesh::host::{Ec2InstanceId, Ec2Instances};

pub use self::network::{AclEntry, GroupRule, Interface, NetworkAcl, Ports, RulePeer};
use crate::{
    query::{QueryApi, QueryFailure, QueryService, each},
    sdk::describe,
};

/// The most values of a filter.
const FILTER_LIMIT: usize = 200;
/// Source: <https://docs.aws.amazon.com/ec2/latest/devguide/ec2-endpoints.html>
const EC2: QueryService = QueryService { id: "EC2", name: "ec2" };

#[derive(Debug, Clone, thiserror::Error)]
pub enum Ec2Error {
    /// EC2 refused the call.
    #[error(
        "ec2:{action} was refused: {reason}. Allow ec2:{action} for who calls it (the role's policies, its boundary and the \
         policies of the organisation)"
    )]
    Refused { action: &'static str, reason: String },
    /// EC2 did not answer, or with an error.
    #[error("ec2:{action} failed: {reason}. In a VPC without a route to the internet, it needs an endpoint for EC2")]
    Failed { action: &'static str, reason: String },
}

/// The action of the instances.
const DESCRIBE_INSTANCES: &str = "DescribeInstances";

/// Reads the states of EC2 instances.
#[async_trait]
pub trait Ec2: Send + Sync {
    /// Which of these instances are gone, and which run. EC2 describes a terminated instance for about an hour.
    async fn instances(&self, ids: &[Ec2InstanceId]) -> Result<Ec2Instances, Ec2Error>;
}

/// The EC2 of the account and region.
pub struct AwsEc2 {
    api: QueryApi,
}

impl AwsEc2 {
    pub fn new(config: &SdkConfig) -> Self {
        Self { api: QueryApi::new(config, &EC2) }
    }

    /// Sends a form, and returns the body of the answer.
    async fn call(&self, action: &'static str, form: String) -> Result<Vec<u8>, Ec2Error> {
        self.api.call(form).await.map_err(|failure| match failure {
            QueryFailure::Refused(reason) => Ec2Error::Refused { action, reason },
            QueryFailure::Failed(reason) => Ec2Error::Failed { action, reason },
        })
    }
}

#[async_trait]
impl Ec2 for AwsEc2 {
    async fn instances(&self, ids: &[Ec2InstanceId]) -> Result<Ec2Instances, Ec2Error> {
        let mut instances = Ec2Instances::default();
        for chunk in ids.chunks(FILTER_LIMIT) {
            let body = self.call(DESCRIBE_INSTANCES, form(DESCRIBE_INSTANCES, "instance-id", chunk)).await?;
            let unreadable = |error| Ec2Error::Failed { action: DESCRIBE_INSTANCES, reason: describe(&error) };
            read(&body, &mut instances).map_err(unreadable)?;
        }
        Ok(instances)
    }
}

/// The form of an action with one filter. A filter, because an ID that EC2 does not know would fail the whole call as a parameter.
/// The values are IDs and addresses, which need no encoding.
fn form(action: &str, filter: &str, values: &[impl Display]) -> String {
    let values = values.iter().enumerate().map(|(index, value)| format!("&Filter.1.Value.{}={value}", index + 1));
    let start = format!("Action={action}&Version=2016-11-15&Filter.1.Name={filter}");
    std::iter::once(start).chain(values).collect()
}

/// Reads the states of the instances in an answer: `reservationSet/item/instancesSet/item`, and there `instanceId` and
/// `instanceState/name`.
fn read(body: &[u8], instances: &mut Ec2Instances) -> Result<(), XmlDecodeError> {
    let mut document = Document::try_from(body)?;
    let mut root = document.root_element()?;
    if !root.start_el().matches("DescribeInstancesResponse") {
        return Err(XmlDecodeError::custom("this is not an answer of DescribeInstances"));
    }
    each(&mut root, &["reservationSet", "item", "instancesSet", "item"], &mut |instance| {
        let (mut id, mut state) = (None, None);
        while let Some(mut tag) = instance.next_tag() {
            match tag.start_el().local() {
                "instanceId" => id = try_data(&mut tag)?.parse::<Ec2InstanceId>().ok(),
                "instanceState" => {
                    each(&mut tag, &["name"], &mut |name| {
                        state = Some(try_data(name)?.into_owned());
                        Ok(())
                    })?;
                }
                _ => {}
            }
        }
        match (id, state.as_deref()) {
            (Some(id), Some("shutting-down" | "stopping" | "stopped" | "terminated")) => {
                instances.gone.insert(id);
            }
            (Some(id), Some("running")) => drop(instances.running.insert(id)),
            _ => {}
        }
        Ok(())
    })
}
