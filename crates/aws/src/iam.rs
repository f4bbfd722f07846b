//! IAM: the task roles that `iam:GetRole` is permitted for. IAM has no endpoint inside a VPC outside of its own region, so that
//! a function without a way to the internet may not reach it.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_iam::{Client, error::ProvideErrorMetadata as _, operation::get_role::GetRoleError, types::Role};
use aws_types::SdkConfig;
use jiff::Timestamp;
use mesh::{
    admission::{IamRole, RoleArn},
    names::InvalidField,
};

use crate::sdk::{Lazy, describe, lazy};

#[derive(Debug, Clone, thiserror::Error)]
pub enum IamError {
    /// The call failed, after retries.
    #[error("role {role}: iam:GetRole failed: {reason}")]
    Failed { role: RoleArn, reason: String },
    /// IAM refused it. A role that does not exist has no path, so that a permission with one does not match it.
    #[error("role {role} does not exist, or the controller may not read it with iam:GetRole: {reason}")]
    Refused { role: RoleArn, reason: String },
    /// The answer has an undocumented value.
    #[error("role {role}: IAM's answer could not be read: {source}")]
    Malformed { role: RoleArn, source: InvalidField },
}

/// Reads IAM roles.
#[async_trait]
pub trait IamRoles: Send + Sync {
    /// The role with the name in `arn`, which may have another path; `None` if IAM has none.
    async fn role(&self, arn: &RoleArn) -> Result<Option<IamRole>, IamError>;
}

/// The IAM of the account.
pub struct AwsIam {
    client: Lazy<Client>,
}

impl AwsIam {
    pub fn new(config: &SdkConfig) -> Self {
        Self { client: lazy(config, Client::new) }
    }
}

#[async_trait]
impl IamRoles for AwsIam {
    async fn role(&self, arn: &RoleArn) -> Result<Option<IamRole>, IamError> {
        match self.client.get_role().role_name(arn.name()).send().await {
            Ok(answer) => {
                let role = answer.role().map(read).transpose();
                role.map_err(|source| IamError::Malformed { role: arn.clone(), source })
            }
            Err(error) if error.as_service_error().is_some_and(GetRoleError::is_no_such_entity_exception) => Ok(None),
            Err(error) if error.code() == Some("AccessDenied") => {
                Err(IamError::Refused { role: arn.clone(), reason: describe(&error) })
            }
            Err(error) => Err(IamError::Failed { role: arn.clone(), reason: describe(&error) }),
        }
    }
}

fn read(role: &Role) -> Result<IamRole, InvalidField> {
    let created = role.create_date().secs();
    let tags = role.tags().iter().map(|tag| (tag.key().to_owned(), tag.value().to_owned()));
    Ok(IamRole {
        arn: role.arn().parse()?,
        created_at: Timestamp::from_second(created)
            .map_err(|_| InvalidField::new("CreateDate", &created.to_string(), "a time"))?,
        tags: tags.collect::<BTreeMap<_, _>>(),
    })
}
