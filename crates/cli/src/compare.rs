//! `ecs-mesh compare`

use clap::Args;
use diagnosis::{CompareReport, Wanted, clusters_of, compare};
use jiff::Timestamp;

use crate::{
    compare_text,
    connect::{AwsArguments, runtime},
    controller_log::HistoryArguments,
    exit::{Exit, Failure},
    output::OutputArguments,
    progress::Progress,
    reading::{Clients, PrefixArguments, known, selected},
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
    #[command(flatten)]
    prefix: PrefixArguments,
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
        arguments.output.show(&report, compare_text::text, streams)?;
        streams.problems(&report.problems);
        Ok(exit(&report))
    })
}

/// Reads the history first: what is done meanwhile counts as done.
async fn read(arguments: &Arguments, progress: &Progress) -> Result<CompareReport, Failure> {
    let clients = Clients::new(&arguments.aws).await?;
    let since = arguments.history.since(Timestamp::now());
    progress.say("reading the log of the functions");
    let history = arguments.history.read(&clients.sdk, Wanted::Observed, since).await;
    progress.say("listing clusters");
    let mut clusters = selected(&clients.ecs, &[]).await?;
    let named = clusters_of(&history);
    clusters.retain(|cluster| named.contains(cluster.as_str()));
    let installation = clients.installation(arguments.history.stack(), &arguments.prefix).await?;
    let reader = clients.reader(&installation);
    let observed = reader.read(&clusters, &|what| progress.say(&format!("reading {what}"))).await;
    progress.say("reading tokens");
    let tokens = reader.tokens().await;
    let mut report = compare(&history, since, &observed, known(&tokens), Timestamp::now());
    report.problems.extend(installation.problem);
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
