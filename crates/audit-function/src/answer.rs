//! The answer of an invocation: the report, or a link to it.

use serde_json::{Value, json};

use crate::invocation::Invocation;
use crate::report_store::{ReportStore, StoreError};
use audit::report::{Format, Medium, RenderError, Report};

/// The largest answer, in bytes: Lambda accepts 6 MB.
const MAX_ANSWER: usize = 5_000_000;

/// Why the answer could not be created.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnswerError {
    /// The report could not be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The report in JSON could not be parsed.
    #[error("the report is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The report could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Answers an invocation.
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
    use crate::fakes::{Bucket, invocation};

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
