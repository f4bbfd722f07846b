//! `ecs-mesh sweep`

use aws::{ecs::AwsEcs, installation::AwsInstallation};
use clap::Args;
use mesh::arn::ClusterArn;
use report::{SweepOutcome, SweepReport};
use serde_json::Value;

use crate::{
    by_hand::{StackArguments, counted, may_go_on},
    connect::{AwsArguments, runtime},
    exit::{Exit, Failure},
    output::{self, Output, OutputArguments},
    progress::Progress,
    reading::selected,
    reconcile::Reconcile,
    sheet::Medium,
    streams::Streams,
    sweep_summary::{deletions, has_actions, has_changes},
    sweep_text,
};

/// Show what a sweep would do, and do it
#[derive(Debug, Args)]
#[command(
    after_help = "The function `reconcile` of the stack does it, with its own permissions. A question is asked before anything is \
                  deleted.\n\n\
                  Exit codes: 0 done, or planned, 1 deletions are held back, or the answer was no, 2 the sweep was incomplete, or \
                  was refused.\n\n\
                  Examples:\n  ecs-mesh sweep --dry-run\n  ecs-mesh sweep --cluster prod\n  ecs-mesh sweep --cluster prod --force"
)]
pub(super) struct Arguments {
    /// Only this cluster; its name or ARN. May be repeated [default: every cluster of the stack]
    #[arg(long, value_name = "CLUSTER")]
    cluster: Vec<String>,
    /// Only show what would be done
    #[arg(long)]
    dry_run: bool,
    /// Also delete and correct what the guard holds back (`MaxDeletePercent`), and delete what belongs to clusters that ECS does
    /// not know
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(long, short, conflicts_with = "dry_run")]
    yes: bool,
    /// The name of the function `reconcile` [default: that of the stack]
    #[arg(long, value_name = "NAME", conflicts_with = "stack")]
    function: Option<String>,
    #[command(flatten)]
    stack: StackArguments,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    aws: AwsArguments,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let sdk = arguments.aws.sdk().await?;
        let progress = Progress::new()?;
        let clusters = match arguments.cluster.as_slice() {
            [] => Vec::new(),
            named => {
                progress.say("listing clusters");
                progress.during(selected(&AwsEcs::new(&sdk), named)).await?
            }
        };
        let installation = AwsInstallation::new(&sdk);
        let reconcile = match &arguments.function {
            Some(function) => Reconcile::named(function, &installation, &progress),
            None => Reconcile::of(&arguments.stack.stack, &installation, &progress).await?,
        };
        Sweeper { arguments, reconcile, clusters }.run(streams).await
    })
}

struct Sweeper<'a> {
    arguments: &'a Arguments,
    reconcile: Reconcile<'a>,
    clusters: Vec<ClusterArn>,
}

impl Sweeper<'_> {
    async fn run(&self, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
        let (plan, document) = self.reconcile.plan(&self.clusters, self.arguments.force).await?;
        if self.arguments.dry_run || plan.outcome == SweepOutcome::Incomplete || !plan.mode.acts() {
            self.show(&plan, &document, sweep_text::plan, streams)?;
            if !self.arguments.dry_run {
                let why = if plan.mode.acts() { "the plan is incomplete" } else { "the Mode of the stack is observe" };
                streams.diagnostic(&format!("Nothing was changed, because {why}"));
            }
            return Ok(exit(&plan));
        }
        if self.arguments.output.output == Output::Text {
            streams.print(&sweep_text::plan(&plan, streams.medium()))?;
        }
        let question = format!("Sweep, with {}?", counted(deletions(&plan), "deletion", "deletions"));
        if deletions(&plan) > 0 && !may_go_on(self.arguments.yes, &question, streams)? {
            return Ok(Exit::Findings);
        }
        // Also if nothing is planned: a sweep sets up in Consul what is missing, which is no part of a plan.
        let (done, document) = self.reconcile.sweep(&self.clusters, self.arguments.force).await?;
        if self.arguments.output.output == Output::Json || has_actions(&plan) || has_changes(&done) {
            self.show(&done, &document, sweep_text::done, streams)?;
        }
        Ok(exit(&done))
    }

    fn show(
        &self,
        report: &SweepReport,
        document: &Value,
        text: fn(&SweepReport, Medium) -> String,
        streams: &mut Streams<'_>,
    ) -> Result<(), Failure> {
        match self.arguments.output.output {
            Output::Json => streams.print(&output::json(document))?,
            Output::Text => streams.print(&text(report, streams.medium()))?,
        }
        streams.problems(report.problems.iter().map(|problem| &problem.reason));
        Ok(())
    }
}

fn exit(report: &SweepReport) -> Exit {
    match report.outcome {
        SweepOutcome::Incomplete => Exit::Unusable,
        _ if report.is_held_back() => Exit::Findings,
        _ => Exit::Clean,
    }
}
