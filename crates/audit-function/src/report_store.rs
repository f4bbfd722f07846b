//! The bucket of the audit function (large reports, and records of announced findings), and the answer of an invocation: the
//! report, or a link to it.

use std::time::Duration;

use async_trait::async_trait;
use audit::report::{Format, Medium, RenderError, Report};
use aws::sdk::describe;
use aws_sdk_s3::{
    Client,
    error::{ProvideErrorMetadata, SdkError},
    operation::put_object::{PutObjectError, PutObjectOutput},
    presigning::PresigningConfig,
};
use aws_types::SdkConfig;
use serde_json::{Value, json};

use crate::order::Invocation;

const LINK_LIFETIME: Duration = Duration::from_secs(60 * 60);
const RECORD_TYPE: &str = "application/json";

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A call failed, or its answer could not be read.
    #[error("bucket: {operation} of {key} failed: {reason}")]
    Failed {
        /// The AWS operation.
        operation: &'static str,
        key: String,
        /// What happened.
        reason: String,
    },
    /// Other invocations kept writing the object.
    #[error("bucket: PutObject of {key} failed: another invocation wrote it {tries} times in between")]
    Contended {
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
    pub text: String,
    pub version: Version,
}

/// The version of a record: the `ETag` in S3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(pub String);

/// The bucket operations that the auditor uses. Keys include the prefix: `reports/…`, `announced/…`.
#[async_trait]
pub trait ReportStore: Send + Sync {
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

pub struct S3Store {
    client: Client,
    bucket: String,
}

impl S3Store {
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

/// The largest answer, in bytes: Lambda accepts 6 MB.
const MAX_ANSWER: usize = 5_000_000;

#[derive(Debug, thiserror::Error)]
pub(super) enum AnswerError {
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The report in JSON could not be parsed.
    #[error("the report is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(super) struct Responder<'a> {
    pub(super) store: &'a dyn ReportStore,
    pub(super) invocation: &'a Invocation,
}

impl Responder<'_> {
    /// The report in `format`, or the link to it.
    pub(super) async fn answer(&self, report: &Report, format: Format) -> Result<Value, AnswerError> {
        let text = report.render(format, Medium::default())?;
        self.respond(text, format, MAX_ANSWER).await
    }

    /// An answer of at most `largest` bytes.
    async fn respond(&self, text: String, format: Format, largest: usize) -> Result<Value, AnswerError> {
        // A report that already exceeds the limit is not converted into an answer.
        if text.len() <= largest || format == Format::Json {
            let answer = match format {
                Format::Json => serde_json::from_str(&text)?,
                _ => json!({ "format": format.as_str(), "report": text }),
            };
            if answer.to_string().len() <= largest {
                return Ok(answer);
            }
        }
        self.stored(text, format).await
    }

    async fn stored(&self, text: String, format: Format) -> Result<Value, AnswerError> {
        let (extension, content_type) = kind(format);
        let Invocation { id, now, .. } = self.invocation;
        let key = format!("reports/{}-{id}.{extension}", now.strftime("%Y-%m-%d/%H%M%S"));
        self.store.put_report(&key, text, content_type).await?;
        let link = self.store.link(&key).await?;
        Ok(json!({ "outcome": "stored", "bucket": self.store.bucket(), "key": key, "link": link }))
    }
}

/// The file extension and content type of a format.
fn kind(format: Format) -> (&'static str, &'static str) {
    match format {
        Format::Json | Format::Gitlab => ("json", "application/json"),
        Format::Sarif => ("sarif", "application/sarif+json"),
        Format::Junit => ("xml", "application/xml"),
        Format::Html => ("html", "text/html; charset=utf-8"),
        Format::Markdown => ("md", "text/markdown; charset=utf-8"),
        Format::Text | Format::Concise | Format::Github => ("txt", "text/plain; charset=utf-8"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fakes::{Bucket, invocation};

    const REPORT: &str = "{\n  \"schemaVersion\": 1\n}\n";

    async fn answer(format: Format, largest: usize) -> (Value, Bucket) {
        let (store, invocation) = (Bucket::default(), invocation("one"));
        let responder = Responder { store: &store, invocation: &invocation };
        let answer = responder.respond(REPORT.to_owned(), format, largest).await.unwrap();
        (answer, store)
    }

    #[tokio::test]
    async fn json_is_the_answer_and_other_formats_are_texts() {
        assert_eq!(answer(Format::Json, 100).await.0, json!({ "schemaVersion": 1 }));
        assert_eq!(answer(Format::Junit, 100).await.0, json!({ "format": "junit", "report": REPORT }));
    }

    #[tokio::test]
    async fn large_answer_is_stored() {
        // The answer in JSON has 19 bytes; the text fits, but not the answer around it
        for (format, largest, extension) in [(Format::Json, 18, "json"), (Format::Html, 50, "html")] {
            let (answer, bucket) = answer(format, largest).await;
            let key = format!("reports/2026-11-21/100000-one.{extension}");
            let expected = json!({
                "outcome": "stored", "bucket": "the-bucket", "key": key,
                "link": format!("https://the-bucket/{key}?signed"),
            });
            assert_eq!(answer, expected);
            assert_eq!(bucket.text(&key).as_deref(), Some(REPORT));
        }
    }
}
