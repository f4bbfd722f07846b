//! `ecs-mesh inventory`

use audit::versions::{InvalidVersion, Line};
use audit_read::input::{Gathered, gather};
use clap::{Args, ValueEnum};
use consul::{HttpConsul, Release};
use diagnosis::{InventoryReport, UpgradeError, UpgradeReport, inventory, rows_of_files, upgrade};
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    by_hand::StackArguments,
    connect::{AwsArguments, runtime},
    consul_variables::{ConsulVariables, names_consul},
    exit::{Exit, Failure},
    inventory_text,
    output::json,
    progress::Progress,
    reading::{Clients, PrefixArguments, selected},
    streams::Streams,
    upgrade_text,
};

/// List what runs where, in which releases of consul-ecs, consul-dataplane, Consul and Envoy
#[derive(Debug, Args)]
#[command(after_help = "It only reads. If CONSUL_HTTP_ADDR is set, Consul is asked for its version.\n\n\
                  Exit codes: 0 everything was read, and nothing blocks the upgrade; 1 something blocks it; 2 something could not be \
                  read, or it is not known whether it blocks; 3 the files have no task definition.\n\n\
                  Examples:\n  ecs-mesh inventory\n  ecs-mesh inventory --cluster prod --output markdown > inventory.md\n  \
                  ecs-mesh inventory --target-consul 2.0\n  ecs-mesh inventory services/ --consul 1.20.2 --target-consul 2.0\n  \
                  ecs-mesh inventory --output json")]
pub(super) struct Arguments {
    /// Task definitions in files, directories and globs instead of clusters; - is standard input
    #[arg(value_name = "PATHS")]
    paths: Vec<String>,
    /// Only this cluster; its name or ARN. May be repeated [default: every cluster of the account and region]
    #[arg(long, value_name = "CLUSTER", conflicts_with = "paths")]
    cluster: Vec<String>,
    /// Say what blocks an upgrade of Consul's servers to this version, and which releases go with it
    #[arg(long, value_name = "VERSION", value_parser = Line::of_version)]
    target_consul: Option<Line>,
    /// The version of Consul's servers now [default: Consul is asked, if `CONSUL_HTTP_ADDR` is set]
    #[arg(long, value_name = "VERSION", value_parser = consul_version)]
    consul: Option<String>,
    #[command(flatten)]
    stack: StackArguments,
    #[command(flatten)]
    prefix: PrefixArguments,
    /// The format
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    output: Format,
    #[command(flatten)]
    aws: AwsArguments,
}

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
    /// A table for a page
    Markdown,
}

/// Checks a version of Consul, and keeps it as it is written.
fn consul_version(version: &str) -> Result<String, InvalidVersion> {
    Line::of_version(version).map(|_| version.to_owned())
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let inventory = if arguments.paths.is_empty() {
            of_clusters(arguments).await?
        } else {
            of_files(arguments, gather(&arguments.paths, streams.input)).await?
        };
        let upgrade = match arguments.target_consul {
            Some(target) => {
                let from = inventory.consul.as_deref().and_then(|version| Line::of_version(version).ok());
                let refused = |error: UpgradeError| Failure::Message(error.to_string());
                Some(upgrade(&inventory.rows, from, target).map_err(refused)?)
            }
            None => None,
        };
        let document = Document { are_files: !arguments.paths.is_empty(), inventory, upgrade };
        document.show(arguments.output, streams)?;
        Ok(document.exit())
    })
}

/// The inventory, and what an upgrade needs if that was asked.
#[derive(Debug, Serialize)]
struct Document {
    /// Whether files were read, and no clusters.
    #[serde(skip)]
    are_files: bool,
    #[serde(flatten)]
    inventory: InventoryReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    upgrade: Option<UpgradeReport>,
}

impl Document {
    fn show(&self, format: Format, streams: &mut Streams<'_>) -> Result<(), Failure> {
        let (inventory, medium) = (&self.inventory, streams.medium());
        let mut text = match format {
            Format::Text => inventory_text::text(inventory, medium),
            Format::Json => json(self),
            Format::Markdown => inventory_text::markdown(inventory),
        };
        if let Some(upgrade) = &self.upgrade {
            match format {
                Format::Text => text.push_str(&upgrade_text::text(upgrade, medium)),
                Format::Markdown => text.push_str(&upgrade_text::markdown(upgrade)),
                Format::Json => {}
            }
        }
        streams.print(&text)?;
        if format != Format::Json {
            streams.problems(&inventory.problems);
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        let upgrade = self.upgrade.as_ref();
        if !self.inventory.problems.is_empty() {
            Exit::Unusable
        } else if self.are_files && self.inventory.rows.is_empty() {
            Exit::Nothing
        } else if upgrade.is_some_and(|upgrade| !upgrade.blockers.is_empty()) {
            Exit::Findings
        } else if upgrade.is_some_and(|upgrade| !upgrade.unknown.is_empty()) {
            Exit::Unusable
        } else {
            Exit::Clean
        }
    }
}

/// The inventory of clusters.
async fn of_clusters(arguments: &Arguments) -> Result<InventoryReport, Failure> {
    let clients = Clients::new(&arguments.aws).await?;
    let installation = clients.installation(&arguments.stack.stack, &arguments.prefix).await?;
    let (reader, progress) = (clients.reader(&installation), Progress::new()?);
    let work = async {
        progress.say("listing clusters");
        let clusters = selected(&clients.ecs, &arguments.cluster).await?;
        let say = |what: &str| progress.say(&format!("reading {what}"));
        let mut observed = reader.read_ecs(&clusters, &say).await;
        let version = version(arguments, &clients.consul).await.unwrap_or_else(|problem| {
            observed.problems.push(problem);
            None
        });
        observed.problems.extend(installation.problem.clone());
        Ok::<_, Failure>(inventory(&observed, version, Timestamp::now()))
    };
    progress.during(work).await
}

/// The inventory of files.
async fn of_files(arguments: &Arguments, gathered: Gathered) -> Result<InventoryReport, Failure> {
    let consul = ConsulVariables::read(|name| std::env::var(name).ok())?.client()?;
    // What only a plan tells may be a task definition that blocks an upgrade.
    let unread = gathered.problems.iter().chain(&gathered.unchecked);
    let mut problems: Vec<String> = unread.map(ToString::to_string).collect();
    let version = version(arguments, &consul).await.unwrap_or_else(|problem| {
        problems.push(problem);
        None
    });
    let rows = rows_of_files(&gathered.material);
    Ok(InventoryReport { read_at: Timestamp::now(), consul: version, rows, problems })
}

/// The version of Consul's servers, if it was given, or Consul is asked.
async fn version(arguments: &Arguments, consul: &HttpConsul) -> Result<Option<String>, String> {
    if arguments.consul.is_some() || !names_consul() {
        return Ok(arguments.consul.clone());
    }
    consul.version().await.map(Some).map_err(|error| diagnosis::consul_problem(&error))
}
