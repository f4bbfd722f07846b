//! `ecs-mesh status`

#[cfg(test)]
mod tests;

use std::{fmt::Write, time::Duration};

use audit::{report::counted, spelling::nearest};
use aws::{installation::AwsInstallation, sdk::SdkConfig};
use clap::Args;
use diagnosis::{DeploymentStatus, ServiceStatus, State, StatusReport, TaskStatus, status};
use jiff::Timestamp;
use mesh::{arn::ClusterArn, consul_ecs::SERVICE_METHOD};
use observe::Inspection;
use report::SweepReport;
use serde_json::Value;

use crate::{
    account::{AwsArguments, runtime},
    clients::{Clients, known},
    installation::{Installation, PrefixArguments, StackArguments},
    output::{Output, OutputArguments, Progress, document},
    reconcile::Reconcile,
    sheet::{Cell, Medium, NOTHING_TO_SAY, Sheet, Tone, ago, wrapped},
    streams::{Exit, Failure, Streams},
    sweep,
};

/// Show each service of the mesh in ECS and in Consul, and what is wrong
#[derive(Debug, Args)]
#[command(after_help = "It only reads. Consul's address and token come from its usual variables: CONSUL_HTTP_ADDR, \
                  CONSUL_HTTP_TOKEN, CONSUL_CACERT, CONSUL_TLS_SERVER_NAME, CONSUL_PARTITION, CONSUL_NAMESPACE.\n\n\
                  Exit codes: 0 every service is healthy, 1 a service is faulty or starting, 2 something could not be \
                  read.\n\n\
                  Examples:\n  ecs-mesh status\n  ecs-mesh status web --cluster prod --watch\n  \
                  until ecs-mesh status web --cluster prod; do sleep 5; done\n  ecs-mesh status --plan\n  \
                  ecs-mesh status --profile prod --region eu-west-1 --output json")]
pub(super) struct Arguments {
    /// The service to show with its tasks, by its name in Consul or in ECS [default: all services]
    #[arg(value_name = "SERVICE")]
    service: Option<String>,
    /// Limit to one cluster, by name or ARN; may be repeated [default: every cluster that the stack manages; without a
    /// stack, every cluster of the account and region]
    #[arg(long, value_name = "CLUSTER")]
    cluster: Vec<String>,
    /// Refresh every SECONDS seconds [without a number: 5]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "5",
          value_parser = clap::value_parser!(u64).range(1..=3_600))]
    watch: Option<u64>,
    /// Also show what the next sweep would do, as the stack's function `reconcile` plans it. With `Mode=observe`, show
    /// what `Mode=act` would do
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
        let installation = Installation::read(&clients.sdk, &arguments.stack.stack, &arguments.prefix).await?;
        loop {
            let (report, clusters) = match read(arguments, &clients, &installation).await {
                // It may be readable the next time.
                Err(Failure::Message(reason)) if arguments.watch.is_some() => {
                    let mut unread = status(&Inspection::default(), None, Timestamp::now());
                    unread.problems.push(reason);
                    (unread, Vec::new())
                }
                read => read?,
            };
            let plan = if arguments.plan { Some(plan(arguments, &clusters, &clients.sdk).await?) } else { None };
            show(arguments, (&report, &clusters), &installation, plan.as_ref(), streams)?;
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
    let stack = &arguments.stack.stack;
    let reconcile = Reconcile::of(stack, &installation, &progress).await?;
    let absent =
        || Failure::Message(format!("stack {stack}: it does not exist, so it has no plan. Use ecs-mesh survey"));
    reconcile.ok_or_else(absent)?.plan(clusters, false).await
}

/// Reads the clusters, and leaves out the services that were not asked for.
async fn read(
    arguments: &Arguments,
    clients: &Clients,
    installation: &Installation,
) -> Result<(StatusReport, Vec<ClusterArn>), Failure> {
    let progress = Progress::new()?;
    let work = async {
        progress.say("listing clusters");
        let clusters = installation.clusters(&clients.ecs, &arguments.cluster).await?;
        // Who may not read tokens gets a verdict without them.
        let (observed, tokens) = clients.read(installation, &clusters, &progress).await;
        let mut report = status(&observed, known(&tokens), Timestamp::now());
        if let (Some(tokens), true) = (known(&tokens), arguments.cluster.is_empty()) {
            report.untraceable_logins = tokens.untraceable_logins(&clusters);
        }
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
    match nearest(name, known.iter().map(String::as_str)) {
        Some(nearest) => format!("no service {name:?} in the mesh; did you mean {nearest:?}?"),
        None if known.is_empty() => format!("no service {name:?} in the mesh; the mesh has no services"),
        None => format!("no service {name:?} in the mesh; found {}", known.join(", ")),
    }
}

fn show(
    arguments: &Arguments,
    (report, clusters): (&StatusReport, &[ClusterArn]),
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
            streams.print(&text(report, arguments.service.is_some(), medium))?;
            // Without a list of the clusters, nothing is said of those that the stack selects.
            let listed = (report.problems.is_empty() || !clusters.is_empty()).then_some(clusters);
            if let Some(line) = installation.line(&arguments.stack.stack, listed) {
                streams.print(&format!("{line}\n"))?;
            }
            if let Some((plan, _)) = plan {
                let text = sweep::plan_text(plan, medium);
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

const SERVICES: [&str; 8] =
    ["service", "tasks", "in Consul", "consul-ecs", "dataplane", "token from", "changed", "verdict"];
const UNPROVEN: [&str; 3] = ["service", "task", "why"];
const UNTRACEABLE: [&str; 3] = ["of", "login tokens", "oldest"];
/// The most services whose untraceable login tokens are shown.
const MOST_UNTRACEABLE: usize = 10;
const TASKS: [&str; 5] = ["task", "revision", "status", "started", "verdict"];

/// The text of a report; with the tasks of each service, if one was asked for.
fn text(report: &StatusReport, with_tasks: bool, medium: Medium) -> String {
    let mut out = String::new();
    let mut clusters: Vec<&str> = report.services.iter().map(|service| service.cluster.as_str()).collect();
    clusters.dedup();
    for cluster in clusters {
        let services: Vec<&ServiceStatus> = report.services.iter().filter(|it| it.cluster == cluster).collect();
        let name = services.first().map_or(cluster, |service| service.cluster_name());
        out.push_str(&wrapped(&Cell::new(format!("Cluster {name}"), Tone::Strong), medium));
        let mut sheet = Sheet::new(&SERVICES);
        for service in &services {
            sheet.add(service_row(service, report.read_at));
        }
        // Writing to a `String` cannot fail.
        let _ = write!(out, "\n{}\n", sheet.text(medium));
        if with_tasks {
            out.extend(services.iter().map(|service| details(service, report.read_at, medium)));
        }
        let notes = services.iter().flat_map(|service| &service.notes);
        out.extend(
            notes.map(|note| format!("{}\n", wrapped(&Cell::new(format!("Note: {note}"), Tone::Pending), medium))),
        );
    }
    if !with_tasks {
        out.push_str(&wrapped(&Cell::plain(summary(report)), medium));
    }
    out + &unproven(report, with_tasks, medium) + &untraceable(report, medium)
}

/// The services with login tokens that no sweep can delete, those with many first.
fn untraceable(report: &StatusReport, medium: Medium) -> String {
    let all = &report.untraceable_logins;
    if all.is_empty() {
        return String::new();
    }
    let mut sheet = Sheet::new(&UNTRACEABLE);
    for logins in all.iter().take(MOST_UNTRACEABLE) {
        let oldest = logins.oldest.map_or_else(|| NOTHING_TO_SAY.to_owned(), |at| ago(at, report.read_at));
        sheet.add(vec![
            Cell::new(logins.owner.as_str(), Tone::Strong),
            Cell::plain(logins.count.to_string()),
            Cell::plain(oldest),
        ]);
    }
    let total = all.iter().map(|it| it.count).sum();
    let verb = if total == 1 { "names" } else { "name" };
    let total = counted(total, "login token");
    let more = all.len().saturating_sub(MOST_UNTRACEABLE);
    let more = if more == 0 { String::new() } else { format!(" (and of {more} more services)") };
    let title = format!(
        "{total} {verb} no task of these clusters, so no sweep deletes them{more}. Set MaxTokenTTL on the auth method \
         {SERVICE_METHOD}: Consul then deletes them after that time"
    );
    format!("\n{}\n{}", wrapped(&Cell::new(title, Tone::Pending), medium), sheet.text(medium))
}

/// The registered tasks without a login token that proves their admission: all of them, or one of each service.
fn unproven(report: &StatusReport, with_tasks: bool, medium: Medium) -> String {
    if let Some(reason) = &report.admission_unknown {
        let unknown = format!("Admission of the registered tasks is unknown: {reason}");
        return format!("\n{}", wrapped(&Cell::new(unknown, Tone::Faint), medium));
    }
    let mut sheet = Sheet::new(&UNPROVEN);
    let mut total = 0_usize;
    for service in &report.services {
        let tasks: Vec<(&TaskStatus, &String)> =
            service.tasks.iter().filter_map(|task| Some((task, task.unproven.as_ref()?))).collect();
        total = total.saturating_add(tasks.len());
        for (task, why) in tasks.iter().take(if with_tasks { tasks.len() } else { 1 }) {
            let others =
                if with_tasks || tasks.len() == 1 { String::new() } else { format!(" and {} more", tasks.len() - 1) };
            let task = Cell::plain(format!("{}{others}", task.id));
            sheet.add(vec![Cell::new(name(service), Tone::Strong), task, Cell::new(why.as_str(), Tone::Pending)]);
        }
    }
    if total == 0 {
        return String::new();
    }
    let title = format!("Registered without proof by a login token: {}", counted(total, "task"));
    format!("\n{}\n{}", wrapped(&Cell::new(title, Tone::Strong), medium), sheet.text(medium))
}

/// The other faults of a service, and its tasks.
fn details(service: &ServiceStatus, now: Timestamp, medium: Medium) -> String {
    let mut out = String::new();
    for fault in service.faults.iter().skip(1) {
        out.push_str(&wrapped(&Cell::new(format!("Also: {fault}"), Tone::Bad), medium));
        out.push('\n');
    }
    if let Some(deployment) = &service.deployment {
        out.push_str(&wrapped(&Cell::plain(deployment_text(deployment)), medium));
        out.push('\n');
    }
    if service.tasks.is_empty() {
        return out + "No task\n";
    }
    let mut sheet = Sheet::new(&TASKS);
    for task in &service.tasks {
        sheet.add(task_row(task, now));
    }
    out + &sheet.text(medium)
}

/// Which revisions run, and what the mesh does with them: ECS shifts what comes through its load balancer, and no more.
fn deployment_text(deployment: &DeploymentStatus) -> String {
    let revisions = deployment.revisions.iter().map(|it| {
        let passing = it.passing_tasks.map_or_else(|| "?".to_owned(), |passing| passing.to_string());
        format!("{} ({passing} of {} passing)", it.revision, it.running_tasks)
    });
    let revisions = revisions.collect::<Vec<String>>().join(", ");
    let bake = deployment.bake_minutes.map(|minutes| format!(", bake time {}", counted(minutes, "minute")));
    let kind = deployment.strategy.as_ref().map(|strategy| format!("{strategy}{}: ", bake.unwrap_or_default()));
    let requests = if kind.is_some() { ". Requests through the mesh reach each of them" } else { "" };
    format!("Deployment: {}{revisions}{requests}", kind.unwrap_or_default())
}

fn service_row(service: &ServiceStatus, now: Timestamp) -> Vec<Cell> {
    let versions = |all: &std::collections::BTreeSet<String>| {
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        Cell::plain(if all.is_empty() { NOTHING_TO_SAY.to_owned() } else { all.join(", ") })
    };
    let mut sources: Vec<&str> = service.tokens.iter().map(diagnosis::TokenSource::as_str).collect();
    sources.dedup();
    let changed = service.last_change.map_or_else(|| NOTHING_TO_SAY.to_owned(), |change| ago(change.at, now));
    vec![
        Cell::new(name(service), Tone::Strong),
        Cell::plain(tasks(service)),
        Cell::plain(in_consul(service)),
        versions(&service.versions.consul_ecs),
        versions(&service.versions.consul_dataplane),
        Cell::plain(if sources.is_empty() { NOTHING_TO_SAY.to_owned() } else { sources.join(", ") }),
        Cell::plain(changed),
        Cell::new(&service.verdict, tone(service.state)),
    ]
}

/// The name of a service, with its namespace and partition where it has them.
fn name(service: &ServiceStatus) -> String {
    match (&service.namespace, &service.partition) {
        (Some(namespace), Some(partition)) => format!("{} ({partition}/{namespace})", service.service),
        _ => service.service.clone(),
    }
}

fn tasks(service: &ServiceStatus) -> String {
    let least = if service.unsorted_tasks == 0 { "" } else { "at least " };
    match service.desired_tasks {
        Some(desired) => format!("{least}{} of {desired}", service.running_tasks),
        None => format!("{least}{}", service.running_tasks),
    }
}

fn in_consul(service: &ServiceStatus) -> String {
    match (service.instances, service.passing_instances) {
        (Some(0), _) => "none".to_owned(),
        (Some(all), Some(passing)) => format!("{passing} of {all} passing"),
        _ => "?".to_owned(),
    }
}

fn task_row(task: &TaskStatus, now: Timestamp) -> Vec<Cell> {
    let or_dash = |text: &Option<String>| Cell::plain(text.as_deref().unwrap_or(NOTHING_TO_SAY));
    let started = task.started_at.map_or_else(|| NOTHING_TO_SAY.to_owned(), |at| ago(at, now));
    vec![
        Cell::new(&task.id, Tone::Strong),
        or_dash(&task.revision),
        or_dash(&task.last_status),
        Cell::plain(started),
        Cell::new(&task.verdict, tone(task.state)),
    ]
}

fn tone(state: State) -> Tone {
    match state {
        State::Healthy => Tone::Good,
        State::ScaledToZero | State::Stopping => Tone::Faint,
        State::Starting | State::Unknown => Tone::Pending,
        State::Faulty => Tone::Bad,
    }
}

fn summary(report: &StatusReport) -> String {
    let total = report.services.len();
    if total == 0 && !report.problems.is_empty() {
        return "Which services the mesh has is unknown: not everything could be read".to_owned();
    }
    if total == 0 {
        return "No service of the mesh was found".to_owned();
    }
    let count = |is_it: fn(State) -> bool| report.services.iter().filter(|it| is_it(it.state)).count();
    let kinds = [
        ("healthy", count(|state| state == State::Healthy)),
        ("with a fault", count(|state| state == State::Faulty)),
        ("unknown", count(|state| state == State::Unknown)),
        ("starting", count(|state| state == State::Starting)),
        ("stopping", count(|state| state == State::Stopping)),
        ("scaled to zero", count(|state| state == State::ScaledToZero)),
    ];
    let kinds = kinds.iter().filter(|(_, count)| *count > 0).map(|(kind, count)| format!("{count} {kind}"));
    format!("{}: {}", counted(total, "service"), kinds.collect::<Vec<String>>().join(", "))
}
