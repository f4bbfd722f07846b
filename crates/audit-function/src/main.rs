//! The `audit` Lambda function: checks whether the account's task definitions will work in the mesh.

use std::{env, process::ExitCode, sync::Arc};

use audit_function::{AuditEdges, AuditSettings, Auditor, S3Store, SettingsError, SnsTopic, audit};
use aws::{ecs::AwsEcs, events::DefaultBus, sdk};
use lambda::{logging, metrics::Metrics, serve};
use mesh::names::InvalidField;
use telemetry::Function;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let level = logging::start(env::var("LOG_LEVEL").ok().as_deref());
    let metrics = Metrics::start(env::var("STACK_NAME").ok(), Function::Audit);
    serve(metrics, async || start(level.clone()), async |auditor, event| audit(auditor, event).await).await
}

fn start(level: Result<(), InvalidField>) -> Result<Auditor, SettingsError> {
    level?;
    let settings = AuditSettings::read(|name| env::var(name).ok())?;
    let config = sdk::of_function(|name| env::var(name).ok());
    let edges = AuditEdges {
        inventory: Arc::new(AwsEcs::new(&config)),
        store: Arc::new(S3Store::new(&config, settings.bucket)),
        topic: Arc::new(SnsTopic::new(&config, settings.topic_arn)),
        bus: Arc::new(DefaultBus::new(&config)),
    };
    Ok(Auditor::new(settings.clusters, settings.deployment, settings.configuration, edges))
}
