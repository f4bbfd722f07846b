//! `ecs-mesh inventory`

use std::env;

use aws::ecs::AwsEcs;
use clap::{Args, ValueEnum};
use consul::{HttpConsul, Release};
use diagnosis::{InventoryReport, Reader, Scope, clusters::select, inventory};
use jiff::Timestamp;
use mesh::secret_name::SecretNamePrefix;

use crate::{
    connect::{AwsArguments, runtime},
    consul_variables::{ConsulVariables, names_consul},
    exit::{Exit, Failure},
    inventory_text,
    output::document,
    progress::Progress,
    sheet::Medium,
    status::secret_prefix,
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
    /// The prefix of the names of secrets: the stack's parameter `SecretNamePrefix`
    #[arg(long, value_name = "PREFIX", default_value = "consul-ecs", value_parser = secret_prefix)]
    secret_name_prefix: SecretNamePrefix,
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
        let medium = Medium { width: streams.width(), in_colour: streams.in_colour };
        streams.print(&match arguments.output {
            Format::Text => inventory_text::text(&report, medium),
            Format::Json => format!("{:#}\n", document(&report)),
            Format::Markdown => inventory_text::markdown(&report),
        })?;
        if arguments.output != Format::Json {
            for problem in &report.problems {
                streams.diagnostic(&format!("error: {problem}"));
            }
        }
        Ok(if report.problems.is_empty() { Exit::Clean } else { Exit::Unusable })
    })
}

async fn read(arguments: &Arguments) -> Result<InventoryReport, Failure> {
    let variables = ConsulVariables::read(|name| env::var(name).ok())?;
    let (ecs, consul) = (AwsEcs::new(&arguments.aws.sdk().await?), variables.client()?);
    let scope =
        Scope { secret_prefix: arguments.secret_name_prefix.clone(), default_tenancy: variables.tenancy.clone() };
    let reader = Reader::new(&ecs, &consul, scope);
    let progress = Progress::new()?;
    let work = async {
        progress.say("listing clusters");
        let clusters = select(&ecs, &arguments.cluster).await.map_err(|error| Failure::Message(error.to_string()))?;
        let say = |what: &str| progress.say(&format!("reading {what}"));
        let mut observed = reader.read_ecs(&clusters, &say).await;
        let version = version(&consul).await.unwrap_or_else(|problem| {
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
