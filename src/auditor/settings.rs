//! The settings of the audit function: environment variables, parsed once at start.

use crate::mesh::{arn::ClusterArn, field::InvalidField};

/// The settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSettings {
    /// `ECS_CLUSTER_ARNS`: what the schedule looks at.
    pub clusters: Vec<ClusterArn>,
    /// `FINDINGS_TOPIC_ARN`: where findings are announced to people.
    pub topic_arn: String,
    /// `REPORTS_BUCKET`: where large reports and the records of announcements are.
    pub bucket: String,
}

impl AuditSettings {
    /// Reads the settings from `variable`, which gives an environment variable's value.
    ///
    /// # Errors
    /// The first variable that is missing or wrong, by name, with what it should hold.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidField> {
        let checked = |name: &'static str, is_right: fn(&str) -> bool, expected: &'static str| {
            let text = variable(name).unwrap_or_default();
            if is_right(&text) { Ok(text) } else { Err(InvalidField::new(name, &text, expected)) }
        };
        let clusters =
            checked("ECS_CLUSTER_ARNS", |text| !text.is_empty(), "the ARNs of clusters, separated by commas")?;
        let clusters = clusters.split(',').map(|arn| arn.trim().parse::<ClusterArn>());
        Ok(Self {
            clusters: clusters.collect::<Result<_, _>>().map_err(|e| e.in_field("ECS_CLUSTER_ARNS"))?,
            topic_arn: checked("FINDINGS_TOPIC_ARN", is_topic, "the ARN of an SNS topic")?,
            bucket: checked("REPORTS_BUCKET", is_bucket, "the name of an S3 bucket")?,
        })
    }
}

fn is_topic(text: &str) -> bool {
    let fields: Vec<&str> = text.split(':').collect();
    matches!(fields.as_slice(), ["arn", _, "sns", _, _, name] if !name.is_empty())
}

fn is_bucket(text: &str) -> bool {
    let is_legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    (3..=63).contains(&text.len()) && text.bytes().all(is_legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(changed: &str, value: &str) -> Result<AuditSettings, InvalidField> {
        AuditSettings::read(|name| {
            let right = match name {
                "ECS_CLUSTER_ARNS" => "arn:aws:ecs:us-east-1:123456789012:cluster/prod",
                "FINDINGS_TOPIC_ARN" => "arn:aws:sns:us-east-1:123456789012:findings",
                _ => "mesh-reports",
            };
            Some(if name == changed { value } else { right }.to_owned())
        })
    }

    #[test]
    fn right_settings_are_read() {
        let settings = read("", "").unwrap();
        assert_eq!(settings.clusters.len(), 1);
        assert_eq!(settings.bucket, "mesh-reports");
    }

    #[test]
    fn a_wrong_setting_is_named() {
        for (name, value) in [
            ("ECS_CLUSTER_ARNS", ""),
            ("ECS_CLUSTER_ARNS", "prod"),
            ("FINDINGS_TOPIC_ARN", ""),
            ("FINDINGS_TOPIC_ARN", "arn:aws:sqs:us-east-1:123456789012:findings"),
            ("REPORTS_BUCKET", "a bucket"),
        ] {
            assert_eq!(read(name, value).unwrap_err().field(), name, "{value}");
        }
    }
}
