//! The bucket of the audit function: large reports, and records of announced findings.

use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_s3::{
    Client,
    error::{ProvideErrorMetadata, SdkError},
    operation::put_object::{PutObjectError, PutObjectOutput},
    presigning::PresigningConfig,
};
use aws_types::SdkConfig;

use aws::sdk::describe;

/// The lifetime of a link.
const LINK_LIFETIME: Duration = Duration::from_secs(60 * 60);
const RECORD_TYPE: &str = "application/json";

/// An error of S3.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A call failed, or its answer could not be read.
    #[error("bucket: {operation} of {key} failed: {reason}")]
    Failed {
        /// The AWS operation.
        operation: &'static str,
        /// The object.
        key: String,
        /// What happened.
        reason: String,
    },
    /// Other invocations kept writing the object.
    #[error("bucket: PutObject of {key} failed: another invocation wrote it {tries} times in between")]
    Contended {
        /// The object.
        key: String,
        /// The number of attempts.
        tries: usize,
    },
}

impl StoreError {
    /// `operation`, the AWS operation, failed for `key`.
    pub fn new(operation: &'static str, key: &str, reason: impl Into<String>) -> Self {
        Self::Failed { operation, key: key.to_owned(), reason: reason.into() }
    }
}

/// A record as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its text.
    pub text: String,
    /// Its version.
    pub version: Version,
}

/// The version of a record: the `ETag` in S3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(pub String);

/// The bucket operations that the auditor uses. Keys include the prefix: `reports/…`, `announced/…`.
#[async_trait]
pub trait ReportStore: Send + Sync {
    /// The bucket's name.
    fn bucket(&self) -> &str;

    /// Writes a report.
    async fn put_report(&self, key: &str, text: String, content_type: &str) -> Result<(), StoreError>;

    /// A presigned link to a report, valid for one hour.
    async fn link(&self, key: &str) -> Result<String, StoreError>;

    /// Creates a record; `None` if it exists.
    async fn create(&self, key: &str, text: String) -> Result<Option<Version>, StoreError>;

    /// Reads a record that exists.
    async fn read(&self, key: &str) -> Result<Stored, StoreError>;

    /// Replaces the version `seen` of a record; `None` if another invocation has replaced it since.
    async fn replace(&self, key: &str, text: String, seen: &Version) -> Result<Option<Version>, StoreError>;
}

/// An S3 bucket.
pub struct S3Store {
    client: Client,
    bucket: String,
}

impl S3Store {
    /// The bucket with this name.
    pub fn new(config: &SdkConfig, bucket: String) -> Self {
        Self { client: Client::new(config), bucket }
    }
}

#[async_trait]
impl ReportStore for S3Store {
    fn bucket(&self) -> &str {
        &self.bucket
    }

    async fn put_report(&self, key: &str, text: String, content_type: &str) -> Result<(), StoreError> {
        let call = self.client.put_object().bucket(&self.bucket).key(key).content_type(content_type);
        let sent = call.body(text.into_bytes().into()).send().await;
        sent.map(drop).map_err(|e| StoreError::new("PutObject", key, describe(&e)))
    }

    async fn link(&self, key: &str) -> Result<String, StoreError> {
        let failed = |reason: String| StoreError::new("signing a link", key, reason);
        let lifetime = PresigningConfig::expires_in(LINK_LIFETIME).map_err(|e| failed(describe(&e)))?;
        let call = self.client.get_object().bucket(&self.bucket).key(key);
        let signed = call.presigned(lifetime).await.map_err(|e| failed(describe(&e)))?;
        Ok(signed.uri().to_owned())
    }

    async fn create(&self, key: &str, text: String) -> Result<Option<Version>, StoreError> {
        let call = self.client.put_object().bucket(&self.bucket).key(key).content_type(RECORD_TYPE);
        written(key, call.body(text.into_bytes().into()).if_none_match("*").send().await)
    }

    async fn read(&self, key: &str) -> Result<Stored, StoreError> {
        let failed = |reason: String| StoreError::new("GetObject", key, reason);
        let call = self.client.get_object().bucket(&self.bucket).key(key);
        let answer = call.send().await.map_err(|e| failed(describe(&e)))?;
        let version = answer.e_tag.ok_or_else(|| failed("the answer has no ETag".to_owned()))?;
        let bytes = answer.body.collect().await.map_err(|e| failed(describe(&e)))?.into_bytes();
        let text = String::from_utf8(bytes.to_vec()).map_err(|e| failed(e.to_string()))?;
        Ok(Stored { text, version: Version(version) })
    }

    async fn replace(&self, key: &str, text: String, seen: &Version) -> Result<Option<Version>, StoreError> {
        let call = self.client.put_object().bucket(&self.bucket).key(key).content_type(RECORD_TYPE);
        written(key, call.body(text.into_bytes().into()).if_match(&seen.0).send().await)
    }
}

/// The result of a conditional write; `None` if the condition was not met.
fn written(key: &str, sent: Result<PutObjectOutput, SdkError<PutObjectError>>) -> Result<Option<Version>, StoreError> {
    let failed = |reason: String| StoreError::new("PutObject", key, reason);
    match sent {
        Ok(answer) => match answer.e_tag {
            Some(version) => Ok(Some(Version(version))),
            None => Err(failed("the answer has no ETag".to_owned())),
        },
        // The condition is not met; another write is in progress; the record was deleted since it was read.
        Err(SdkError::ServiceError(e))
            if matches!(e.err().code(), Some("PreconditionFailed" | "ConditionalRequestConflict" | "NoSuchKey")) =>
        {
            Ok(None)
        }
        Err(e) => Err(failed(describe(&e))),
    }
}
