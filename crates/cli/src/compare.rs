//! `ecs-mesh compare`

use std::env;

use aws::ecs::AwsEcs;
use clap::Args;
use diagnosis::{CompareReport, Reader, Scope, Wanted, clusters::select, clusters_of, compare};
use jiff::Timestamp;
use mesh::secret_name::SecretNamePrefix;

use crate::{
    compare_text,
    connect::{AwsArguments, runtime},
    consul_variables::ConsulVariables,
    controller_log::HistoryArguments,
    exit::{Exit, Failure},
    output::{Output, OutputArguments, document},
    progress::Progress,
    sheet::Medium,
    status::secret_prefix,
    streams::Streams,
};

/// Show what a stack in Mode=observe would have done, what another controller did meanwhile, and what is still to do
#[derive(Debug, Args)]
#[command(
    after_help = "It only reads: the log of the stack's functions, and what ECS and Consul (by its usual variables) have now in the \
                  clusters that the log names.\n\n\
                  Exit codes: 0 nothing is still to do, 1 something is, 2 something could not be read, or the log has nothing of \
                  Mode=observe.\n\n\
                  Examples:\n  ecs-mesh compare\n  ecs-mesh compare --since 7d --stack ecs-mesh-observer\n  \
                  ecs-mesh compare --output json"
)]
pub(super) struct Arguments {
    /// The prefix of the names of secrets: the stack's parameter `SecretNamePrefix`
    #[arg(long, value_name = "PREFIX", default_value = "consul-ecs", value_parser = secret_prefix)]
    secret_name_prefix: SecretNamePrefix,
    #[command(flatten)]
    history: HistoryArguments,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    aws: AwsArguments,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let progress = Progress::new()?;
        let report = Box::pin(progress.during(read(arguments, &progress))).await?;
        match arguments.output.output {
            Output::Json => streams.print(&format!("{:#}\n", document(&report)))?,
            Output::Text => {
                let medium = Medium { width: streams.width(), in_colour: streams.in_colour };
                streams.print(&compare_text::text(&report, medium))?;
            }
        }
        for problem in &report.problems {
            streams.diagnostic(&format!("error: {problem}"));
        }
        Ok(exit(&report))
    })
}

/// Reads the history first: what somebody does meanwhile is done.
async fn read(arguments: &Arguments, progress: &Progress) -> Result<CompareReport, Failure> {
    let variables = ConsulVariables::read(|name| env::var(name).ok())?;
    let sdk = arguments.aws.sdk().await?;
    let (ecs, consul) = (AwsEcs::new(&sdk), variables.client()?);
    let since = arguments.history.since(Timestamp::now());
    progress.say("reading the log of the functions");
    let history = arguments.history.read(&sdk, Wanted::Observed, since).await;
    progress.say("listing clusters");
    let mut clusters = select(&ecs, &[]).await.map_err(|error| Failure::Message(error.to_string()))?;
    let named = clusters_of(&history);
    clusters.retain(|cluster| named.contains(cluster.as_str()));
    let scope =
        Scope { secret_prefix: arguments.secret_name_prefix.clone(), default_tenancy: variables.tenancy.clone() };
    let reader = Reader::new(&ecs, &consul, scope);
    let observed = reader.read(&clusters, &|what| progress.say(&format!("reading {what}"))).await;
    progress.say("reading tokens");
    let tokens = reader.tokens().await;
    let known = tokens.as_ref().ok().and_then(Option::as_deref);
    let mut report = compare(&history, since, &observed, known, Timestamp::now());
    report.problems.extend(tokens.err().filter(|problem| !report.problems.contains(problem)));
    Ok(report)
}

fn exit(report: &CompareReport) -> Exit {
    if !report.problems.is_empty() || report.is_empty() {
        Exit::Unusable
    } else if report.still_to_do.is_empty() {
        Exit::Clean
    } else {
        Exit::Findings
    }
}
