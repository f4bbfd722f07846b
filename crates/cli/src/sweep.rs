//! `ecs-mesh sweep`

use std::{env, fmt::Write};

use audit::report::counted;
use aws::{ecs::AwsEcs, installation::AwsInstallation, sdk::SdkConfig};
use clap::Args;
use mesh::arn::ClusterArn;
use report::{CheckStatus, ClusterReport, PlannedAction, SweepOutcome, SweepReport, SweptStatus};
use serde_json::{Value, json};

use crate::{
    account::{AwsArguments, runtime, selected},
    consul_variables::ConsulVariables,
    installation::{DEFAULT_PREFIX, StackArguments, secret_prefix},
    output::{self, Output, OutputArguments, Progress},
    planner::LocalPlanner,
    reconcile::{Reconcile, deletions, has_actions, has_changes},
    sheet::{Cell, Medium, Sheet, Tone, wrapped},
    streams::{Exit, Failure, Streams, confirm_unless},
};

/// Show what a sweep would do, then run it
#[derive(Debug, Args)]
#[command(
    after_help = "The stack's function `reconcile` does the work, with its own permissions. The command asks before \
                  it deletes anything. Without a stack, --dry-run makes the plan here: AWS credentials and \
                  CONSUL_HTTP_ADDR and CONSUL_HTTP_TOKEN have to read what the function would.\n\n\
                  Exit codes: 0 done, or planned, 1 the guard holds deletions back, the sweep left a fault, or the \
                  answer was no, 2 the sweep was incomplete, or refused.\n\n\
                  Examples:\n  ecs-mesh sweep --dry-run\n  ecs-mesh sweep --cluster prod\n  ecs-mesh sweep --cluster prod --force"
)]
pub(super) struct Arguments {
    /// Limit to one cluster, by name or ARN; may be repeated [default: every cluster of the stack]
    #[arg(long, value_name = "CLUSTER")]
    cluster: Vec<String>,
    /// Show the plan without running it
    #[arg(long)]
    dry_run: bool,
    /// Also apply what the guard holds back (`MaxDeletePercent`), and delete everything of clusters that ECS does not
    /// know
    #[arg(long)]
    force: bool,
    /// Skip the confirmation prompt
    #[arg(long, short, conflicts_with = "dry_run")]
    yes: bool,
    /// Use the function `reconcile` with this name [default: the stack's function]
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
        let installation = AwsInstallation::new(&sdk);
        let reconcile = match &arguments.function {
            Some(function) => Some(Reconcile::named(function, &installation, &progress)),
            None => Reconcile::of(&arguments.stack.stack, &installation, &progress).await?,
        };
        let Some(reconcile) = reconcile else { return without_stack(arguments, &sdk, &progress, streams).await };
        let clusters = match arguments.cluster.as_slice() {
            [] => Vec::new(),
            named => {
                progress.say("listing clusters");
                progress.during(selected(&AwsEcs::new(&sdk), named)).await?
            }
        };
        Sweeper { arguments, reconcile, clusters }.run(streams).await
    })
}

/// Plans a sweep here, because there is no stack to plan it.
async fn without_stack(
    arguments: &Arguments,
    sdk: &SdkConfig,
    progress: &Progress,
    streams: &mut Streams<'_>,
) -> Result<Exit, Failure> {
    let stack = &arguments.stack.stack;
    if !arguments.dry_run {
        let reason = format!(
            "stack {stack}: it does not exist in this account and region, so nothing can sweep. `ecs-mesh sweep \
             --dry-run` makes the plan without it"
        );
        return Err(Failure::Message(reason));
    }
    let variables = ConsulVariables::read(|name| env::var(name).ok())?;
    progress.say("planning the sweep");
    let plan = progress.during(async {
        let prefix = secret_prefix(DEFAULT_PREFIX).map_err(Failure::new)?;
        let planner = LocalPlanner::new(sdk, &variables, &arguments.cluster, &prefix).await?;
        Ok::<_, Failure>(planner.plan(arguments.force).await)
    });
    let plan = plan.await?;
    streams.diagnostic(&format!(
        "There is no stack {stack}: the plan was made here, by the default settings of a stack for {}",
        if arguments.cluster.is_empty() { "every cluster" } else { "these clusters" }
    ));
    show(arguments.output.output, &plan, &json!(plan), plan_text, streams)?;
    Ok(exit(&plan))
}

struct Sweeper<'a> {
    arguments: &'a Arguments,
    reconcile: Reconcile<'a>,
    clusters: Vec<ClusterArn>,
}

impl Sweeper<'_> {
    async fn run(&self, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
        let output = self.arguments.output.output;
        let (plan, document) = self.reconcile.plan(&self.clusters, self.arguments.force).await?;
        if self.arguments.dry_run || plan.outcome == SweepOutcome::Incomplete || !plan.mode.acts() {
            show(output, &plan, &document, plan_text, streams)?;
            if !self.arguments.dry_run {
                let why = if plan.mode.acts() { "the plan is incomplete" } else { "the stack has Mode=observe" };
                streams.diagnostic(&format!("Nothing was changed: {why}"));
            }
            return Ok(exit(&plan));
        }
        if output == Output::Text {
            streams.print(&plan_text(&plan, streams.medium()))?;
        }
        let question = format!("Sweep, with {}?", counted(deletions(&plan), "deletion"));
        if deletions(&plan) > 0 && !confirm_unless(self.arguments.yes, &question, streams)? {
            return Ok(Exit::Findings);
        }
        // Also if nothing is planned: a sweep sets up in Consul what is missing, which is no part of a plan.
        let (done, document) = self.reconcile.sweep(&self.clusters, self.arguments.force).await?;
        if output == Output::Json || has_actions(&plan) || has_changes(&done) {
            show(output, &done, &document, done_text, streams)?;
        }
        Ok(exit(&done))
    }
}

fn show(
    format: Output,
    report: &SweepReport,
    document: &Value,
    text: fn(&SweepReport, Medium) -> String,
    streams: &mut Streams<'_>,
) -> Result<(), Failure> {
    match format {
        Output::Json => streams.print(&output::json(document))?,
        Output::Text => streams.print(&text(report, streams.medium()))?,
    }
    streams.problems(report.problems.iter().chain(&report.faults));
    Ok(())
}

fn exit(report: &SweepReport) -> Exit {
    match report.outcome {
        SweepOutcome::Incomplete => Exit::Unusable,
        _ if report.is_held_back() || !report.faults.is_empty() => Exit::Findings,
        _ => Exit::Clean,
    }
}

/// What a sweep would do.
pub(super) fn plan_text(summary: &SweepReport, medium: Medium) -> String {
    let mut out = String::new();
    for cluster in summary.clusters.iter().filter(|cluster| !cluster.planned.is_empty()) {
        let planned = cluster.planned.iter().map(|action| (action, described(action)[2].clone()));
        let planned = actions(planned, ["action", "on", "because"], medium);
        let _ = writeln!(out, "{}{planned}", heading(cluster, medium));
    }
    if out.is_empty() {
        let _ = writeln!(out, "Nothing to do in {}", clusters(summary));
    }
    out + &left(summary, medium)
}

/// What was left in each cluster, and why.
fn left(summary: &SweepReport, medium: Medium) -> String {
    let clusters = summary.clusters.iter().map(|cluster| {
        let text = not_now(cluster, medium) + &held_back(cluster, medium) + &skipped(cluster, medium);
        if text.is_empty() { text } else { format!("\n{}{text}", heading(cluster, medium)) }
    });
    let text: String = clusters.collect();
    if summary.left_out == 0 {
        return text;
    }
    let left_out = format!("{} not shown: the answer would be too long", counted(summary.left_out, "entry"));
    text + "\n" + &wrapped(&Cell::new(left_out, Tone::Pending), medium) + "\n"
}

/// What waits, and what was refused.
fn not_now(cluster: &ClusterReport, medium: Medium) -> String {
    let waiting = cluster.waiting.iter().map(|it| {
        let until = it.until.as_ref().map(|until| format!("until {until}"));
        (&it.action, until.or_else(|| it.waits_for.clone()).unwrap_or_default())
    });
    let blocked = cluster.blocked.iter().map(|it| (&it.action, it.reason.clone()));
    actions(waiting, ["waiting", "on", "for"], medium) + &actions(blocked, ["blocked", "on", "because"], medium)
}

/// A sheet of actions, with a remark on each; empty if there are none.
fn actions<'a>(
    all: impl Iterator<Item = (&'a PlannedAction, String)>,
    columns: [&'static str; 3],
    medium: Medium,
) -> String {
    let mut all = all.peekable();
    if all.peek().is_none() {
        return String::new();
    }
    let mut sheet = Sheet::new(&columns);
    for (action, remark) in all {
        let [what, object, _] = described(action);
        let tone = if action.deletes() { Tone::Bad } else { Tone::Plain };
        sheet.add(vec![Cell::new(what, tone), Cell::plain(object), Cell::plain(remark)]);
    }
    sheet.text(medium)
}

/// What is planned, with what, and why.
fn described(planned: &PlannedAction) -> [String; 3] {
    use PlannedAction as A;
    let row = |what: &str, object: &str, why: &str| [what.to_owned(), object.to_owned(), why.to_owned()];
    let of_stopped = |task: &str| format!("its task {task} has stopped");
    match planned {
        A::Provision { holder } => row("create or update token", holder, "a task reads it"),
        A::CreateNode { node } => row("create node", node, "tasks register on it"),
        A::ShowOrphan { holder, .. } => row("restore token", holder, "its secret does not contain it"),
        A::MarkCritical { service_id, reason } => row("drain", service_id, reason),
        A::EndDrain { service_id } => row("end drain", service_id, "the host of its task runs again"),
        A::DeleteLoginToken { accessor_id, task_id } => {
            row("delete login token", accessor_id, &of_stopped(task_id.as_deref().unwrap_or_default()))
        }
        A::Deregister { service_id, task_id } => row("deregister", service_id, &of_stopped(task_id)),
        A::ForceLeave { node } => row("remove agent", node, "its task has stopped"),
        A::DeregisterNode { node } => row("deregister node", node, "its cluster was deleted"),
        A::HideToken { holder, .. } => row("hide token", holder, "no task uses it; deleted later"),
        A::Revoke { holder, .. } => row("delete token", holder, "no task uses it"),
        A::DeleteOrphan { accessor_id, .. } => row("delete token", accessor_id, "no secret has it"),
        A::Repair { task_id, instances, checks } => {
            let lost: Vec<&str> = instances.iter().chain(checks).map(String::as_str).collect();
            row("register again", &format!("task {task_id}"), &format!("Consul has lost {}", lost.join(", ")))
        }
        A::CorrectHealth { task_id, checks } => {
            let status = |check: &CheckStatus| format!("{} is {}", check.check_id, check.status);
            let statuses: Vec<String> = checks.iter().map(status).collect();
            row("correct status", &format!("task {task_id}"), &statuses.join(", "))
        }
        A::Other { action, fields } => row(action, &json!(fields).to_string(), ""),
    }
}

/// What a sweep has done.
fn done_text(summary: &SweepReport, medium: Medium) -> String {
    let mut sheet =
        Sheet::new(&["cluster", "created", "hidden", "deleted", "drained", "repaired", "corrected", "left"]);
    for cluster in &summary.clusters {
        let number = |count: usize| Cell::plain(count.to_string());
        let left = if cluster.left == 0 { Tone::Plain } else { Tone::Bad };
        sheet.add(vec![
            Cell::new(cluster.name(), Tone::Strong),
            number(cluster.created.values().sum()),
            number(cluster.hidden),
            number(cluster.deleted.values().sum()),
            number(cluster.drained),
            number(cluster.repaired),
            number(cluster.corrected),
            Cell::new(cluster.left.to_string(), left),
        ]);
    }
    sheet.text(medium) + &left(summary, medium)
}

fn heading(cluster: &ClusterReport, medium: Medium) -> String {
    let status = match cluster.status {
        SweptStatus::Active => "",
        SweptStatus::Deleted => " (deleted)",
        SweptStatus::Unread => " (unread)",
        SweptStatus::NotRead => " (named by tokens alone)",
        SweptStatus::Other => " (unknown status)",
    };
    wrapped(&Cell::new(format!("Cluster {}{status}", cluster.name()), Tone::Strong), medium) + "\n"
}

fn held_back(cluster: &ClusterReport, medium: Medium) -> String {
    let held = |reason: &String| format!("Held back without --force: {reason}");
    let text = cluster.guard.as_ref().map(held);
    text.map(|text| wrapped(&Cell::new(text, Tone::Pending), medium) + "\n").unwrap_or_default()
}

fn skipped(cluster: &ClusterReport, medium: Medium) -> String {
    if cluster.skipped.is_empty() {
        return String::new();
    }
    let mut sheet = Sheet::new(&["skipped", "because"]);
    for skipped in &cluster.skipped {
        sheet.add(vec![Cell::plain(&skipped.what), Cell::plain(&skipped.why)]);
    }
    sheet.text(medium)
}

fn clusters(summary: &SweepReport) -> String {
    match summary.clusters.as_slice() {
        [one] => format!("cluster {}", one.name()),
        several => format!("{} clusters", several.len()),
    }
}
