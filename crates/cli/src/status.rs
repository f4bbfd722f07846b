//! `ecs-mesh status`

use std::time::Duration;

use aws::{ecs::AwsEcs, installation::AwsInstallation, sdk::SdkConfig};
use clap::Args;
use diagnosis::{Observed, Reader, StatusReport, status};
use jiff::Timestamp;
use mesh::arn::ClusterArn;
use report::SweepReport;
use serde_json::Value;

use crate::{
    by_hand::StackArguments,
    connect::{AwsArguments, runtime},
    exit::{Exit, Failure},
    output::{Output, OutputArguments, document},
    progress::Progress,
    reading::{Clients, Installation, PrefixArguments, known},
    reconcile::Reconcile,
    status_text,
    streams::Streams,
    sweep_text,
};

/// How similar a name has to be to be proposed.
const SIMILAR: f64 = 0.8;

/// Show what ECS runs and what Consul has of each service of the mesh, and what is wrong
#[derive(Debug, Args)]
#[command(
    after_help = "It only reads. Consul is found by its usual variables: CONSUL_HTTP_ADDR, CONSUL_HTTP_TOKEN, CONSUL_CACERT, \
                  CONSUL_TLS_SERVER_NAME, CONSUL_PARTITION, CONSUL_NAMESPACE.\n\n\
                  Exit codes: 0 every service is healthy, 1 one is not, or not yet, 2 something could not be read.\n\n\
                  Examples:\n  ecs-mesh status\n  ecs-mesh status web --cluster prod --watch\n  \
                  until ecs-mesh status web --cluster prod; do sleep 5; done\n  ecs-mesh status --plan\n  \
                  ecs-mesh status --profile prod --region eu-west-1 --output json"
)]
pub(super) struct Arguments {
    /// Only this service, with its tasks; its name in Consul or in ECS
    #[arg(value_name = "SERVICE")]
    service: Option<String>,
    /// Only this cluster; its name or ARN. May be repeated [default: every cluster that the stack manages; every cluster of the
    /// account and region without a stack]
    #[arg(long, value_name = "CLUSTER")]
    cluster: Vec<String>,
    /// Show it again every so many seconds [without a number: 5]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "5",
          value_parser = clap::value_parser!(u64).range(1..=3_600))]
    watch: Option<u64>,
    /// Also show what the next sweep would do: the function `reconcile` of the stack is asked. With `Mode=observe`, what it would
    /// do if it acted
    #[arg(long, conflicts_with = "watch")]
    plan: bool,
    #[command(flatten)]
    stack: StackArguments,
    #[command(flatten)]
    prefix: PrefixArguments,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    aws: AwsArguments,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let clients = Clients::new(&arguments.aws).await?;
        let installation = clients.installation(&arguments.stack.stack, &arguments.prefix).await?;
        let reader = clients.reader(&installation);
        loop {
            let (report, clusters) = match read(arguments, &clients.ecs, &reader, &installation).await {
                // It may be readable the next time.
                Err(Failure::Message(reason)) if arguments.watch.is_some() => {
                    let unread = Observed { problems: vec![reason], ..Observed::default() };
                    (status(&unread, None, Timestamp::now()), Vec::new())
                }
                read => read?,
            };
            let plan = if arguments.plan { Some(plan(arguments, &clusters, &clients.sdk).await?) } else { None };
            show(arguments, &report, &installation, plan.as_ref(), streams)?;
            match arguments.watch {
                Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                None => return Ok(exit(&report)),
            }
        }
    })
}

/// What the next sweep would do: of the clusters that were asked for, or of all clusters of the stack.
async fn plan(
    arguments: &Arguments,
    clusters: &[ClusterArn],
    sdk: &SdkConfig,
) -> Result<(SweepReport, Value), Failure> {
    let (progress, installation) = (Progress::new()?, AwsInstallation::new(sdk));
    let clusters = if arguments.cluster.is_empty() { &[] } else { clusters };
    Reconcile::of(&arguments.stack.stack, &installation, &progress).await?.plan(clusters, false).await
}

/// Reads the clusters, and leaves out the services that were not asked for.
async fn read(
    arguments: &Arguments,
    ecs: &AwsEcs,
    reader: &Reader<'_>,
    installation: &Installation,
) -> Result<(StatusReport, Vec<ClusterArn>), Failure> {
    let progress = Progress::new()?;
    let work = async {
        progress.say("listing clusters");
        let clusters = installation.clusters(ecs, &arguments.cluster).await?;
        let say = |what: &str| progress.say(&format!("reading {what}"));
        let observed = reader.read(&clusters, &say).await;
        progress.say("reading tokens");
        // Who may not read them gets a verdict without them.
        let tokens = reader.tokens().await;
        let mut report = status(&observed, known(&tokens), Timestamp::now());
        report.admission_unknown = report.admission_unknown.or(tokens.err());
        Ok::<_, Failure>((report, clusters))
    };
    let (mut report, clusters) = progress.during(work).await?;
    report.problems.extend(installation.problem.clone());
    if let Some(name) = &arguments.service {
        let known: Vec<String> = report.services.iter().map(|service| service.service.clone()).collect();
        report.services.retain(|service| service.service == *name || service.ecs_services.contains(name));
        if report.services.is_empty() {
            report.problems.push(unknown(name, &known));
        }
    }
    Ok((report, clusters))
}

fn unknown(name: &str, known: &[String]) -> String {
    let likeness = |other: &&String| strsim::jaro_winkler(name, other);
    let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest.filter(|nearest| likeness(nearest) >= SIMILAR) {
        Some(nearest) => format!("there is no service {name:?} in the mesh; did you mean {nearest:?}?"),
        None if known.is_empty() => format!("there is no service {name:?} in the mesh, and no other one either"),
        None => format!("there is no service {name:?} in the mesh; there is {}", known.join(", ")),
    }
}

fn show(
    arguments: &Arguments,
    report: &StatusReport,
    installation: &Installation,
    plan: Option<&(SweepReport, Value)>,
    streams: &mut Streams<'_>,
) -> Result<(), Failure> {
    match arguments.output.output {
        Output::Json => {
            let mut document = document(report);
            if let (Some((_, plan)), Value::Object(fields)) = (plan, &mut document) {
                fields.insert("plan".to_owned(), plan.clone());
            }
            // One document on each line, so that a program knows where it ends.
            let text = if arguments.watch.is_some() { format!("{document}\n") } else { format!("{document:#}\n") };
            streams.print(&text)
        }
        Output::Text => {
            let medium = streams.medium();
            if arguments.watch.is_some() {
                streams.clear()?;
            }
            streams.print(&status_text::text(report, arguments.service.is_some(), medium))?;
            if let (Some(mode), Some(clusters)) =
                (installation.parameter("Mode"), installation.parameter("EcsClusterArns"))
            {
                let stack = &arguments.stack.stack;
                streams.print(&format!("Stack {stack}: Mode={mode}, EcsClusterArns={clusters}\n"))?;
            }
            if let Some((plan, _)) = plan {
                let text = sweep_text::plan(plan, medium);
                streams.print(&format!("\nWhat a sweep would do now (Mode={}):\n\n{text}", plan.mode.as_str()))?;
            }
            streams.problems(&report.problems);
            Ok(())
        }
    }
}

fn exit(report: &StatusReport) -> Exit {
    if !report.problems.is_empty() {
        Exit::Unusable
    } else if report.is_fine() {
        Exit::Clean
    } else {
        Exit::Findings
    }
}
