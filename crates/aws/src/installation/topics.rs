//! The encryption of a topic: `CloudWatch` publishes only with a key whose policy permits it.
//!
//! Source: <https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html>

use async_trait::async_trait;
use aws_sdk_kms::types::KeyManagerType;

use super::AwsInstallation;
use crate::stack::{StackError, failed};

/// The KMS key of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicKey {
    /// Its ARN.
    pub arn: String,
    /// Its policy, in JSON; `None` for a key of AWS, whose policy cannot be changed.
    pub policy: Option<String>,
}

/// Reads topics.
#[async_trait]
pub trait Topics: Send + Sync {
    /// The key of a topic; `None` if the topic is not encrypted with KMS.
    async fn key_of(&self, topic: &str) -> Result<Option<TopicKey>, StackError>;
}

#[async_trait]
impl Topics for AwsInstallation {
    async fn key_of(&self, topic: &str) -> Result<Option<TopicKey>, StackError> {
        let answer = self.topics.get_topic_attributes().topic_arn(topic).send().await;
        let answer = answer.map_err(|e| failed(format!("topic {topic}"), &e))?;
        let id = answer.attributes().and_then(|attributes| attributes.get("KmsMasterKeyId"));
        let Some(id) = id.filter(|id| !id.is_empty()) else { return Ok(None) };
        let subject = || format!("key {id} of topic {topic}");
        // An alias has no policy, but the key that it names.
        let described = self.keys.describe_key().key_id(id).send().await.map_err(|e| failed(subject(), &e))?;
        let key = described.key_metadata.ok_or_else(|| StackError::Malformed { subject: subject() })?;
        let arn = key.arn.unwrap_or(key.key_id);
        if key.key_manager == Some(KeyManagerType::Aws) {
            return Ok(Some(TopicKey { arn, policy: None }));
        }
        let policy = self.keys.get_key_policy().key_id(&arn).send().await.map_err(|e| failed(subject(), &e))?;
        let policy = policy.policy.ok_or_else(|| StackError::Malformed { subject: subject() })?;
        Ok(Some(TopicKey { arn, policy: Some(policy) }))
    }
}
