//! `ecs-mesh inventory`

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use audit::report::counted;
use audit_read::input::{Gathered, gather_except};
use clap::Args;
use consul::{HttpConsul, ServerVersion as _};
use diagnosis::{
    InventoryReport, InventoryRow, MeshGeneration, UpgradeReport, inventory, needs_mesh_entry, rows_of_files, unread,
    upgrade,
};
use jiff::Timestamp;
use mesh::{names::InvalidField, release::Release, tenancy::Tenancy};
use observe::MeshEntryReading;
use serde::Serialize;

use crate::{
    account::{AwsArguments, runtime, selected},
    clients::Clients,
    config::{self, working_directory},
    consul_variables::{ConsulVariables, names_consul},
    installation::{Installation, PrefixArguments, StackArguments},
    output::{Listing, Progress, json},
    sheet::{Cell, Medium, NOTHING_TO_SAY, Sheet, Tone, wrapped},
    streams::{Exit, Failure, Streams},
    upgrade,
};

/// List what runs where, and its releases of consul-ecs, consul-dataplane, Consul and Envoy
#[derive(Debug, Args)]
#[command(after_help = "It only reads. If CONSUL_HTTP_ADDR is set, it asks Consul for its version.\n\n\
                  Exit codes: 0 everything was read, and nothing blocks the upgrade; 1 something blocks it; 2 \
                  something could not be read, or may block it; 3 the files have no task definition.\n\n\
                  Examples:\n  ecs-mesh inventory\n  ecs-mesh inventory --cluster prod --output markdown > inventory.md\n  \
                  ecs-mesh inventory --target-consul 2.0\n  ecs-mesh inventory services/ --consul 1.20.2 --target-consul 2.0\n  \
                  ecs-mesh inventory --output json")]
pub(super) struct Arguments {
    /// Files, directories and globs to read instead of clusters; - is standard input
    #[arg(value_name = "PATHS")]
    paths: Vec<String>,
    /// Limit to one cluster, by name or ARN; may be repeated [default: every cluster of the account and region]
    #[arg(long, value_name = "CLUSTER", conflicts_with = "paths")]
    cluster: Vec<String>,
    /// Show what blocks an upgrade of Consul's servers to this version, and which releases support it
    #[arg(long, value_name = "VERSION", value_parser = Release::line_of)]
    target_consul: Option<Release>,
    /// Set the current version of Consul's servers [default: Consul's answer, if `CONSUL_HTTP_ADDR` is set]
    #[arg(long, value_name = "VERSION", value_parser = consul_version)]
    consul: Option<String>,
    #[command(flatten)]
    stack: StackArguments,
    #[command(flatten)]
    prefix: PrefixArguments,
    /// Set the output format
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t = Listing::Text)]
    output: Listing,
    #[command(flatten)]
    aws: AwsArguments,
}

/// Checks a version of Consul, and keeps it as it is written.
fn consul_version(version: &str) -> Result<String, InvalidField> {
    Release::line_of(version).map(|_| version.to_owned())
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let (inventory, mesh_entry) = if arguments.paths.is_empty() {
            of_clusters(arguments).await?
        } else {
            let directory = working_directory()?;
            let config = config::read(None, &directory)?;
            let gathered = gather_except(&arguments.paths, streams.input, |name| config.excludes(name, &directory));
            of_files(arguments, gathered).await?
        };
        let upgrade = match arguments.target_consul {
            Some(target) => {
                let from = inventory.consul.as_deref().and_then(|version| Release::line_of(version).ok());
                Some(upgrade(&inventory.rows, from, target, mesh_entry.as_ref()).map_err(Failure::new)?)
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Document {
    /// Whether files were read, and no clusters.
    #[serde(skip)]
    are_files: bool,
    #[serde(flatten)]
    inventory: InventoryReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    upgrade: Option<UpgradeReport>,
}

impl Document {
    fn show(&self, format: Listing, streams: &mut Streams<'_>) -> Result<(), Failure> {
        let (inventory, medium) = (&self.inventory, streams.medium());
        let mut text = match format {
            Listing::Text => text(inventory, medium),
            Listing::Json => json(self),
            Listing::Markdown => markdown(inventory),
        };
        if let Some(upgrade) = &self.upgrade {
            match format {
                Listing::Text => text.push_str(&upgrade::text(upgrade, medium)),
                Listing::Markdown => text.push_str(&upgrade::markdown(upgrade)),
                Listing::Json => {}
            }
        }
        streams.print(&text)?;
        if format != Listing::Json {
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

/// What is there, and the config entry `mesh` if the upgrade depends on it and Consul was asked.
type Asked = (InventoryReport, Option<MeshEntryReading>);

async fn of_clusters(arguments: &Arguments) -> Result<Asked, Failure> {
    let clients = Clients::new(&arguments.aws).await?;
    let installation = Installation::read(&clients.sdk, &arguments.stack.stack, &arguments.prefix).await?;
    let progress = Progress::new()?;
    let work = async {
        progress.say("listing clusters");
        let clusters = selected(&clients.ecs, &arguments.cluster).await?;
        let say = |what: &str| progress.say(&format!("reading {what}"));
        let observed = clients.inspector(&installation).inspect_ecs(&clusters, &say).await;
        let (version, problem) = match version(arguments, &clients.consul).await {
            Ok(version) => (version, None),
            Err(problem) => (None, Some(problem)),
        };
        let mesh_entry = mesh_entry(arguments, &clients.consul, clients.tenancy()).await;
        let mut report = inventory(&observed, version, Timestamp::now());
        report
            .problems
            .extend(problem.into_iter().chain(installation.problem.clone()).chain(unread_entry(mesh_entry.as_ref())));
        Ok::<_, Failure>((report, mesh_entry))
    };
    progress.during(work).await
}

async fn of_files(arguments: &Arguments, gathered: Gathered) -> Result<Asked, Failure> {
    let variables = ConsulVariables::read(|name| std::env::var(name).ok())?;
    let consul = variables.client()?;
    // What only a plan tells may be a task definition that blocks an upgrade.
    let unread = gathered.problems.iter().chain(&gathered.unchecked);
    let mut problems: Vec<String> = unread.map(ToString::to_string).collect();
    let version = version(arguments, &consul).await.unwrap_or_else(|problem| {
        problems.push(problem);
        None
    });
    let mesh_entry = mesh_entry(arguments, &consul, &variables.tenancy).await;
    problems.extend(unread_entry(mesh_entry.as_ref()));
    let rows = rows_of_files(&gathered.material);
    Ok((InventoryReport { read_at: Timestamp::now(), consul: version, rows, problems }, mesh_entry))
}

/// The config entry `mesh`, if the upgrade depends on it and Consul is asked.
async fn mesh_entry(arguments: &Arguments, consul: &HttpConsul, tenancy: &Tenancy) -> Option<MeshEntryReading> {
    arguments.target_consul.filter(|target| names_consul() && needs_mesh_entry(*target))?;
    Some(consul.mesh_entry(tenancy).await)
}

/// Why the config entry could not be read.
fn unread_entry(read: Option<&MeshEntryReading>) -> Option<String> {
    let error = read?.as_ref().err()?;
    Some(unread(&error.clone().into()))
}

/// The version of Consul's servers, if it was given, or Consul is asked.
async fn version(arguments: &Arguments, consul: &HttpConsul) -> Result<Option<String>, String> {
    if arguments.consul.is_some() || !names_consul() {
        return Ok(arguments.consul.clone());
    }
    consul.version().await.map(Some).map_err(|error| unread(&error.into()))
}

const COLUMNS: [&str; 8] =
    ["service", "generation", "consul-ecs", "dataplane", "Consul", "Envoy", "tasks", "revision and place"];

/// The rows of each cluster, and the number of services of each generation.
fn text(report: &InventoryReport, medium: Medium) -> String {
    let mut out = String::new();
    for rows in report.rows.chunk_by(|a, b| a.cluster == b.cluster) {
        let is_cluster = rows.first().is_some_and(|row| row.cluster.is_some());
        let title = if is_cluster {
            format!("Cluster {}", rows.first().map_or("", InventoryRow::place))
        } else {
            "Files".to_owned()
        };
        out.push_str(&wrapped(&Cell::new(title, Tone::Strong), medium));
        let mut sheet = Sheet::new(&COLUMNS);
        for row in rows {
            let tone = if row.generation == MeshGeneration::Unknown { Tone::Pending } else { Tone::Plain };
            let [service, others @ ..] = cells(row);
            let others = others.map(|text| Cell::new(text, tone));
            sheet.add([Cell::new(service, Tone::Strong)].into_iter().chain(others).collect());
        }
        // Writing to a `String` cannot fail.
        let _ = write!(out, "\n{}\n", sheet.text(medium));
    }
    out + &wrapped(&Cell::plain(summary(report)), medium)
}

/// One table of all clusters.
fn markdown(report: &InventoryReport) -> String {
    let mut out = format!("| cluster or file | {} |\n|{}\n", COLUMNS.join(" | "), " --- |".repeat(COLUMNS.len() + 1));
    for row in &report.rows {
        let cells = cells(row).map(|cell| cell.replace('|', "\\|"));
        let _ = writeln!(out, "| {} | {} |", row.place(), cells.join(" | "));
    }
    let _ = writeln!(out, "\n{}", summary(report));
    out
}

/// The cells of a row, in the order of the columns.
fn cells(row: &InventoryRow) -> [String; 8] {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| NOTHING_TO_SAY.to_owned());
    let tasks = match (row.tasks, row.desired_tasks) {
        (Some(tasks), Some(desired)) => format!("{tasks} of {desired}"),
        (Some(tasks), None) => tasks.to_string(),
        (None, _) => NOTHING_TO_SAY.to_owned(),
    };
    let places: Vec<&str> = row.runs_on.iter().map(String::as_str).collect();
    let place = if places.is_empty() { String::new() } else { format!(" on {}", places.join(", ")) };
    let file = row.file.as_ref().map(|file| format!(" in {file}")).unwrap_or_default();
    [
        name(row),
        row.generation.as_str().to_owned(),
        or_dash(&row.images.consul_ecs),
        or_dash(&row.images.consul_dataplane),
        or_dash(&row.images.consul),
        or_dash(&row.images.envoy),
        tasks,
        format!("{}{place}{file}", row.revision),
    ]
}

/// The name in ECS, and in parentheses the one in Consul where it is another one, or in a namespace.
fn name(row: &InventoryRow) -> String {
    let in_ecs = row.ecs_service.as_deref().unwrap_or(NOTHING_TO_SAY);
    match (&row.service, &row.partition, &row.namespace) {
        (Some(service), Some(partition), Some(namespace)) => format!("{in_ecs} ({partition}/{namespace}/{service})"),
        (Some(service), ..) if service != in_ecs => format!("{in_ecs} ({service})"),
        _ => in_ecs.to_owned(),
    }
}

fn summary(report: &InventoryReport) -> String {
    let consul = report.consul.as_ref().map(|version| format!("Consul {version}; ")).unwrap_or_default();
    if report.rows.is_empty() {
        return format!("{consul}no service or task was found");
    }
    // Several services may run one revision, and one service several while it is deployed.
    let revision = |row: &InventoryRow| (row.cluster.clone(), row.file.clone(), row.revision.clone());
    let revisions: BTreeMap<_, MeshGeneration> =
        report.rows.iter().map(|row| (revision(row), row.generation)).collect();
    let service = |row: &InventoryRow| Some((row.cluster.clone(), row.file.clone(), row.ecs_service.clone()?));
    let services: BTreeSet<_> = report.rows.iter().filter_map(service).collect();
    let mut generations: Vec<MeshGeneration> = revisions.values().copied().collect();
    generations.sort();
    let kinds = generations.chunk_by(|a, b| a == b).filter_map(|same| {
        let generation = same.first()?;
        Some(format!(
            "{} {}",
            same.len(),
            if *generation == MeshGeneration::None { "in no mesh" } else { generation.as_str() }
        ))
    });
    let kinds: Vec<String> = kinds.collect();
    let (services, revisions) = (counted(services.len(), "service"), counted(revisions.len(), "revision"));
    format!("{consul}{services}, {revisions}: {}", kinds.join(", "))
}

#[cfg(test)]
pub(super) mod tests {
    use diagnosis::ImageTags;

    use super::*;

    /// `web:4` on Consul Dataplane, in a cluster.
    pub(crate) fn web() -> InventoryRow {
        let images = ImageTags {
            consul_ecs: Some("0.9.0".to_owned()),
            consul_dataplane: Some("1.6.2".to_owned()),
            ..ImageTags::default()
        };
        InventoryRow {
            cluster: Some("arn:aws:ecs:us-east-1:123456789012:cluster/prod".to_owned()),
            ecs_service: Some("web".to_owned()),
            service: Some("web".to_owned()),
            revision: "web:4".to_owned(),
            runs_on: BTreeSet::from(["FARGATE".to_owned()]),
            generation: MeshGeneration::Dataplane,
            images,
            desired_tasks: Some(2),
            tasks: Some(2),
            ..InventoryRow::default()
        }
    }

    fn report() -> InventoryReport {
        let job = InventoryRow {
            ecs_service: None,
            service: None,
            revision: "job:1".to_owned(),
            generation: MeshGeneration::None,
            images: ImageTags::default(),
            desired_tasks: None,
            ..web()
        };
        InventoryReport {
            read_at: "2026-11-23T12:00:00Z".parse().unwrap(),
            consul: Some("1.21.4".to_owned()),
            rows: vec![web(), job],
            problems: Vec::new(),
        }
    }

    #[test]
    fn pipe_gets_one_line_for_each_revision() {
        let text = text(&report(), Medium { width: None, in_colour: false });
        assert!(text.starts_with("Cluster prod\n\nservice  generation  consul-ecs"), "{text}");
        assert!(text.contains("web:4 on FARGATE\n"), "{text}");
        assert!(text.ends_with("\nConsul 1.21.4; 1 service, 2 revisions: 1 dataplane, 1 in no mesh\n"), "{text}");
    }

    #[test]
    fn revision_of_two_services_counts_once() {
        let second = InventoryRow { ecs_service: Some("web-2".to_owned()), ..web() };
        let text =
            text(&InventoryReport { rows: vec![web(), second], ..report() }, Medium { width: None, in_colour: false });
        assert!(text.ends_with("; 2 services, 1 revision: 1 dataplane\n"), "{text}");
    }

    #[test]
    fn page_gets_a_table() {
        let text = markdown(&report());
        assert!(text.starts_with("| cluster or file | service | generation |"), "{text}");
        let row = "| prod | web | dataplane | 0.9.0 | 1.6.2 | – | – | 2 of 2 | web:4 on FARGATE |\n";
        assert!(text.contains(row), "{text}");
    }
}
