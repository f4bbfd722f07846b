//! Elastic Load Balancing: the health of the targets of target groups.
//!
//! Source: <https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_DescribeTargetHealth.html>

use aws_smithy_xml::decode::{Document, XmlDecodeError};
use aws_types::SdkConfig;

use crate::{
    query::{Leaves, QueryApi, QueryFailure, QueryService, each, encoded},
    sdk::describe,
};

/// Source: <https://docs.aws.amazon.com/general/latest/gr/elb.html>
const LOAD_BALANCING: QueryService = QueryService { id: "Elastic Load Balancing v2", name: "elasticloadbalancing" };
const ACTION: &str = "DescribeTargetHealth";

/// A target of a target group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its address, or the ID of its instance.
    pub id: String,
    /// `None` if the answer has no possible port.
    pub port: Option<u16>,
    /// For example `healthy`, `unhealthy` or `initial`.
    pub state: String,
    /// Why it is not healthy, for example `Target.FailedHealthChecks`; may be empty.
    pub reason: String,
}

/// Why targets could not be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TargetsError {
    #[error(
        "elasticloadbalancing:{ACTION} was refused: {0}. Allow elasticloadbalancing:{ACTION} for who calls it (the role's \
         policies, its boundary and the policies of the organisation)"
    )]
    Refused(String),
    /// Elastic Load Balancing did not answer, or with an error.
    #[error("elasticloadbalancing:{ACTION} failed: {0}")]
    Failed(String),
}

/// The Elastic Load Balancing of the account and region.
pub struct AwsLoadBalancers {
    api: QueryApi,
}

impl AwsLoadBalancers {
    pub fn new(config: &SdkConfig) -> Self {
        Self { api: QueryApi::new(config, &LOAD_BALANCING) }
    }

    /// The targets of the target group with this ARN. One call: the answer has no pages.
    pub async fn targets(&self, group: &str) -> Result<Vec<Target>, TargetsError> {
        let form = format!("Action={ACTION}&Version=2015-12-01&TargetGroupArn={}", encoded(group));
        let body = self.api.call(form).await.map_err(|failure| match failure {
            QueryFailure::Refused(reason) => TargetsError::Refused(reason),
            QueryFailure::Failed(reason) => TargetsError::Failed(reason),
        })?;
        read(&body).map_err(|error| TargetsError::Failed(describe(&error)))
    }
}

fn read(body: &[u8]) -> Result<Vec<Target>, XmlDecodeError> {
    const PATHS: &[&str] = &["Target/Id", "Target/Port", "TargetHealth/State", "TargetHealth/Reason"];
    let mut document = Document::try_from(body)?;
    let mut root = document.root_element()?;
    if !root.start_el().matches(&format!("{ACTION}Response")) {
        return Err(XmlDecodeError::custom(format!("this is not an answer of {ACTION}")));
    }
    let mut targets = Vec::new();
    each(&mut root, &[&format!("{ACTION}Result"), "TargetHealthDescriptions", "member"], &mut |member| {
        let mut fields = Leaves::of(member, PATHS)?;
        targets.push(Target {
            id: fields.text("Target/Id"),
            port: fields.text("Target/Port").parse::<u16>().ok().filter(|port| *port > 0),
            state: fields.text("TargetHealth/State"),
            reason: fields.text("TargetHealth/Reason"),
        });
        Ok(())
    })?;
    Ok(targets)
}
