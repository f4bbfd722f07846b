//! Who calls.

use async_trait::async_trait;

use super::AwsInstallation;
use crate::stack::{StackError, failed};

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The ID of the account.
    pub account: String,
    /// The ARN of the user or the assumed role.
    pub arn: String,
}

/// Says who calls.
#[async_trait]
pub trait Identity: Send + Sync {
    /// The caller. It takes no permission.
    async fn caller(&self) -> Result<Caller, StackError>;
}

#[async_trait]
impl Identity for AwsInstallation {
    async fn caller(&self) -> Result<Caller, StackError> {
        let subject = || "the AWS credentials".to_owned();
        let answer = self.sts.get_caller_identity().send().await.map_err(|e| failed(subject(), &e))?;
        match (answer.account, answer.arn) {
            (Some(account), Some(arn)) => Ok(Caller { account, arn }),
            _ => Err(StackError::Malformed { subject: subject() }),
        }
    }
}
