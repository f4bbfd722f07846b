//! The settings of the audit function: environment variables, parsed once at start.

use std::path::Path;

use audit::{
    Deployment,
    ignore::{Config, ConfigFileError},
};
use document::SourceFile;
use mesh::{
    cluster_selection::ClusterSelection,
    names::InvalidField,
    secret_name::{SecretNamePrefix, SecretNames},
    settings::TokenMode,
    tenancy::{Tenancy, TenancyName},
};

const CONFIGURATION: &str = "AUDIT_CONFIGURATION";

#[derive(Debug)]
pub struct AuditSettings {
    /// `ECS_CLUSTER_ARNS`, `ECS_CLUSTER_ARN_PREFIX`: the clusters of scheduled audits.
    pub clusters: ClusterSelection,
    /// `FINDINGS_TOPIC_ARN`: the topic for announcements.
    pub topic_arn: String,
    /// `REPORTS_BUCKET`: the bucket of large reports and of records.
    pub bucket: String,
    /// `TOKEN_MODE`, `SECRET_NAME_PREFIX`, `CLIENT_TOKEN_SECRET_NAME`, `CONSUL_PARTITION`, `CLUSTER_PARTITIONS`: the
    /// controller's deployment.
    pub deployment: Deployment,
    /// `AUDIT_CONFIGURATION`: the content of an `ecs-mesh.toml`.
    pub configuration: Config,
}

/// A missing or invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A variable, with the valid values.
    #[error(transparent)]
    Variable(#[from] InvalidField),
    /// A position in the text of `AUDIT_CONFIGURATION`.
    #[error(transparent)]
    Configuration(#[from] ConfigFileError),
}

impl AuditSettings {
    /// Reads the settings from `variable`, which gives an environment variable's value.
    ///
    /// # Errors
    /// The first missing or invalid one.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let checked = |name: &'static str, is_valid: fn(&str) -> bool, expected: &'static str| {
            let text = variable(name).unwrap_or_default();
            if is_valid(&text) { Ok(text) } else { Err(InvalidField::new(name, &text, expected)) }
        };
        let clusters =
            checked("ECS_CLUSTER_ARNS", |text| !text.is_empty(), "the ARNs of clusters, separated by commas")?;
        let prefix = variable("ECS_CLUSTER_ARN_PREFIX").filter(|prefix| !prefix.is_empty());
        let clusters =
            ClusterSelection::parse(&clusters, prefix.as_deref()).map_err(|e| e.in_field("ECS_CLUSTER_ARNS"))?;
        let configuration = SourceFile::new(CONFIGURATION, variable(CONFIGURATION).unwrap_or_default());
        Ok(Self {
            deployment: deployment(&variable, &clusters)?,
            clusters,
            topic_arn: checked("FINDINGS_TOPIC_ARN", is_topic, "the ARN of an SNS topic")?,
            bucket: checked("REPORTS_BUCKET", is_bucket, "the name of an S3 bucket")?,
            configuration: Config::read(configuration, Path::new(""))?,
        })
    }
}

/// The controller's deployment for `clusters`.
fn deployment(
    variable: impl Fn(&str) -> Option<String>,
    clusters: &ClusterSelection,
) -> Result<Deployment, InvalidField> {
    let set = |name: &str| variable(name).filter(|text| !text.trim().is_empty());
    let partition = set("CONSUL_PARTITION").map(|name| name.parse::<TenancyName>());
    let partition = partition.transpose().map_err(|e| e.in_field("CONSUL_PARTITION"))?;
    let default_tenancy = partition.map_or(Tenancy::Community, Tenancy::default_namespace_of);
    let prefix = set("SECRET_NAME_PREFIX").unwrap_or_else(|| "consul-ecs".to_owned());
    let prefix = prefix.parse::<SecretNamePrefix>().map_err(|e| e.in_field("SECRET_NAME_PREFIX"))?;
    let mode = set("TOKEN_MODE").map(|mode| mode.parse::<TokenMode>()).transpose();
    Ok(Deployment {
        mode: mode.map_err(|e| e.in_field("TOKEN_MODE"))?.unwrap_or_default(),
        names: SecretNames::new(prefix, set("CLIENT_TOKEN_SECRET_NAME"), default_tenancy.clone(), clusters),
        default_tenancy: set("CLUSTER_PARTITIONS").is_none().then_some(default_tenancy),
    })
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

    fn read(changed: &str, value: &str) -> Result<AuditSettings, SettingsError> {
        AuditSettings::read(|name| {
            let right = match name {
                "ECS_CLUSTER_ARNS" => "arn:aws:ecs:us-east-1:123456789012:cluster/prod",
                "FINDINGS_TOPIC_ARN" => "arn:aws:sns:us-east-1:123456789012:findings",
                "AUDIT_CONFIGURATION"
                | "ECS_CLUSTER_ARN_PREFIX"
                | "CONSUL_PARTITION"
                | "CLUSTER_PARTITIONS"
                | "CLIENT_TOKEN_SECRET_NAME" => "",
                "TOKEN_MODE" => "secrets-manager",
                "SECRET_NAME_PREFIX" => "mesh",
                _ => "mesh-reports",
            };
            Some(if name == changed { value } else { right }.to_owned())
        })
    }

    #[test]
    fn valid_settings_are_read() {
        let settings = read("", "").unwrap();
        assert_eq!(settings.clusters.patterns().len(), 1);
        assert_eq!(settings.bucket, "mesh-reports");
        assert_eq!(settings.deployment.mode, TokenMode::SecretsManager);
        let exception = "[[ignore]]\nrule = \"consul-network-mode\"\nreason = \"a lab\"\n";
        assert_eq!(read("AUDIT_CONFIGURATION", exception).unwrap().configuration.ignores.len(), 1);
    }

    #[test]
    fn invalid_setting_is_named() {
        for (name, value) in [
            ("ECS_CLUSTER_ARNS", ""),
            ("ECS_CLUSTER_ARNS", "prod"),
            ("FINDINGS_TOPIC_ARN", ""),
            ("FINDINGS_TOPIC_ARN", "arn:aws:sqs:us-east-1:123456789012:findings"),
            ("REPORTS_BUCKET", "a bucket"),
            ("TOKEN_MODE", "magic"),
            ("SECRET_NAME_PREFIX", "a b"),
            ("CONSUL_PARTITION", "-p"),
        ] {
            let error = read(name, value).unwrap_err();
            assert!(matches!(&error, SettingsError::Variable(field) if field.field() == name), "{value}: {error}");
        }
    }

    #[test]
    fn error_in_the_configuration_has_its_position() {
        let error =
            read("AUDIT_CONFIGURATION", "[[ignore]]\nrule = \"consul-netwrk-mode\"\nreason = \"x\"\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "AUDIT_CONFIGURATION:2:8: there is no rule \"consul-netwrk-mode\"; did you mean consul-network-mode?"
        );
    }
}
