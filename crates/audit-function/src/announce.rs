//! Announcements of findings: an SNS topic for people, the default event bus of `EventBridge` for programs.

use async_trait::async_trait;
use audit::{
    report::{Reported, counted},
    severity::Severity,
};
use aws::sdk::describe;
use aws_sdk_sns::types::MessageAttributeValue;
use aws_types::SdkConfig;
use mesh::arn::TaskDefinitionArn;
use report::{AuditFinding, Event};
use uuid::Uuid;

use crate::announcement_log::RevisionFindings;

/// The message attribute for filters of subscriptions.
const SEVERITY: &str = "severity";

/// An announcement that could not be published.
#[derive(Debug, thiserror::Error)]
#[error("announcing: {subject} failed: {reason}")]
pub struct AnnounceError {
    subject: &'static str,
    reason: String,
}

impl AnnounceError {
    /// `subject`, the AWS operation, failed.
    pub fn new(subject: &'static str, reason: impl Into<String>) -> Self {
        Self { subject, reason: reason.into() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its subject: ASCII in one line, at most 100 characters.
    pub subject: String,
    /// Its text, at most 256 KiB.
    pub text: String,
    /// The highest severity in it.
    pub severity: &'static str,
}

#[async_trait]
pub trait Topic: Send + Sync {
    async fn notify(&self, message: &Message) -> Result<(), AnnounceError>;
}

pub struct SnsTopic {
    topics: aws_sdk_sns::Client,
    topic_arn: String,
}

impl SnsTopic {
    pub fn new(config: &SdkConfig, topic_arn: String) -> Self {
        Self { topics: aws_sdk_sns::Client::new(config), topic_arn }
    }
}

#[async_trait]
impl Topic for SnsTopic {
    async fn notify(&self, message: &Message) -> Result<(), AnnounceError> {
        let subject = "Publish";
        let severity = MessageAttributeValue::builder().data_type("String").string_value(message.severity).build();
        let call = self
            .topics
            .publish()
            .topic_arn(&self.topic_arn)
            .subject(&message.subject)
            .message(&message.text)
            .message_attributes(SEVERITY, severity.map_err(|e| AnnounceError::new(subject, describe(&e)))?);
        call.send().await.map(drop).map_err(|e| AnnounceError::new(subject, describe(&e)))
    }
}

/// The longest message, in bytes: SNS accepts 256 KiB, attributes included.
const MAX_MESSAGE: usize = 240_000;
/// The longest text of one finding, in bytes, so that several fit into a message.
const MAX_FINDING: usize = 20_000;
/// The longest name in a subject: SNS accepts 100 characters.
const MAX_NAME: usize = 50;

/// An event for each finding.
pub(super) fn events(fresh: &[RevisionFindings<'_>]) -> Vec<Event> {
    let all = fresh
        .iter()
        .flat_map(|of_revision| of_revision.findings.iter().map(move |(id, found)| (of_revision, id, *found)));
    let event = |(of_revision, id, found): (&RevisionFindings<'_>, &Uuid, &Reported)| AuditFinding {
        task_definition_arn: of_revision.revision.to_string(),
        family: of_revision.revision.family().to_string(),
        revision: of_revision.revision.revision().to_string(),
        rule: found.rule.id.to_owned(),
        severity: found.severity.as_str().to_owned(),
        container: found.container.clone(),
        message: found.message.clone(),
        effect: found.effect.clone(),
        help: found.help.clone(),
        page: found.page(),
        fingerprint: id.to_string(),
    };
    all.map(event).map(Event::AuditFinding).collect()
}

/// One message with all findings, or several if they are too many for one.
pub(super) fn messages(fresh: &[RevisionFindings<'_>]) -> Vec<Message> {
    let severities: Vec<Severity> =
        fresh.iter().flat_map(|of_revision| of_revision.findings.values()).map(|found| found.severity).collect();
    let Some(severity) = severities.iter().max() else { return Vec::new() };
    let subject = format!("ecs-mesh: {} in {}", summary(&severities), place(fresh));
    let texts = texts(fresh);
    let number = texts.len();
    let messages = texts.into_iter().enumerate().map(|(index, text)| {
        let part = if number == 1 { String::new() } else { format!(" ({} of {number})", index + 1) };
        Message { subject: format!("{subject}{part}"), text, severity: severity.as_str() }
    });
    messages.collect()
}

/// `2 errors, 1 warning`.
fn summary(severities: &[Severity]) -> String {
    let counts = [Severity::Error, Severity::Warning, Severity::Info]
        .map(|severity| (severity, severities.iter().filter(|found| **found == severity).count()));
    let shown = counts.iter().filter(|(_, number)| *number > 0);
    shown.map(|(severity, number)| counted(*number, severity.as_str())).collect::<Vec<_>>().join(", ")
}

/// The revision, if there is only one; else their number.
fn place(fresh: &[RevisionFindings<'_>]) -> String {
    match fresh {
        [of_revision] => name(&of_revision.revision).chars().take(MAX_NAME).collect(),
        _ => format!("{} task definitions", fresh.len()),
    }
}

fn name(revision: &TaskDefinitionArn) -> String {
    format!("{}:{}", revision.family(), revision.revision())
}

/// The findings by revision, in the fewest texts within the limit.
fn texts(fresh: &[RevisionFindings<'_>]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for of_revision in fresh {
        let heading = format!("{}\n{}\n\n", name(&of_revision.revision), of_revision.revision);
        let mut has_heading = false;
        let mut findings: Vec<&Reported> = of_revision.findings.values().copied().collect();
        findings.sort_by_key(|found| (std::cmp::Reverse(found.severity), found.start));
        for found in findings {
            let finding = paragraph(found);
            match texts.last_mut() {
                Some(text) if text.len() + heading.len() + finding.len() <= MAX_MESSAGE => {
                    if !has_heading {
                        text.push_str(&heading);
                    }
                    text.push_str(&finding);
                }
                _ => texts.push(format!("{heading}{finding}")),
            }
            has_heading = true;
        }
    }
    texts
}

fn paragraph(found: &Reported) -> String {
    let container = found.container.as_ref().map(|name| format!(" in container {name}")).unwrap_or_default();
    let mut text = format!(
        "  {}{container}: {} [{}]\n    at run time: {}\n    fix: {}\n    more: {}\n",
        found.severity.as_str(),
        found.message,
        found.rule.id,
        found.effect,
        found.help,
        found.more(),
    );
    if text.len() > MAX_FINDING {
        let end = (0..=MAX_FINDING).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push_str("…\n");
    }
    text.push('\n');
    text
}
