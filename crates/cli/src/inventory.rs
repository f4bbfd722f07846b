//! `ecs-mesh inventory`

use clap::{Args, ValueEnum};
use consul::{HttpConsul, Release};
use diagnosis::{InventoryReport, inventory};
use jiff::Timestamp;

use crate::{
    connect::{AwsArguments, runtime},
    consul_variables::names_consul,
    exit::{Exit, Failure},
    inventory_text,
    output::json,
    progress::Progress,
    reading::{Clients, PrefixArguments, selected},
    streams::Streams,
};

/// List what runs where, in which releases of consul-ecs, consul-dataplane, Consul and Envoy
#[derive(Debug, Args)]
#[command(after_help = "It only reads. If CONSUL_HTTP_ADDR is set, Consul is asked for its version.\n\n\
                  Exit codes: 0 everything was read, 2 something could not be read.\n\n\
                  Examples:\n  ecs-mesh inventory\n  ecs-mesh inventory --cluster prod --output markdown > inventory.md\n  \
                  ecs-mesh inventory --output json")]
pub(super) struct Arguments {
    /// Only this cluster; its name or ARN. May be repeated [default: every cluster of the account and region]
    #[arg(long, value_name = "CLUSTER")]
    cluster: Vec<String>,
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

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let report = read(arguments).await?;
        let medium = streams.medium();
        streams.print(&match arguments.output {
            Format::Text => inventory_text::text(&report, medium),
            Format::Json => json(&report),
            Format::Markdown => inventory_text::markdown(&report),
        })?;
        if arguments.output != Format::Json {
            streams.problems(&report.problems);
        }
        Ok(if report.problems.is_empty() { Exit::Clean } else { Exit::Unusable })
    })
}

async fn read(arguments: &Arguments) -> Result<InventoryReport, Failure> {
    let clients = Clients::new(&arguments.aws).await?;
    let (reader, progress) = (clients.reader(&arguments.prefix), Progress::new()?);
    let work = async {
        progress.say("listing clusters");
        let clusters = selected(&clients.ecs, &arguments.cluster).await?;
        let say = |what: &str| progress.say(&format!("reading {what}"));
        let mut observed = reader.read_ecs(&clusters, &say).await;
        let version = version(&clients.consul).await.unwrap_or_else(|problem| {
            observed.problems.push(problem);
            None
        });
        Ok::<_, Failure>(inventory(&observed, version, Timestamp::now()))
    };
    progress.during(work).await
}

/// The version of Consul's servers, if Consul is asked.
async fn version(consul: &HttpConsul) -> Result<Option<String>, String> {
    if !names_consul() {
        return Ok(None);
    }
    consul.version().await.map(Some).map_err(|error| diagnosis::consul_problem(&error))
}
