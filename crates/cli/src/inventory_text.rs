//! The inventory for people, and as a table in Markdown.

use std::fmt::Write;

use diagnosis::{Generation, InventoryReport, InventoryRow};

use crate::{
    by_hand::counted,
    sheet::{Cell, Medium, NOTHING_TO_SAY, Sheet, Tone, wrapped},
};

const COLUMNS: [&str; 8] =
    ["service", "generation", "consul-ecs", "dataplane", "Consul", "Envoy", "tasks", "revision and place"];

/// The rows of each cluster, and how many services are of which generation.
pub(super) fn text(report: &InventoryReport, medium: Medium) -> String {
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
            let tone = if row.generation == Generation::Unknown { Tone::Pending } else { Tone::Plain };
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
pub(super) fn markdown(report: &InventoryReport) -> String {
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
    let mut generations: Vec<Generation> = report.rows.iter().map(|row| row.generation).collect();
    generations.sort();
    let kinds = generations.chunk_by(|a, b| a == b).filter_map(|same| {
        let generation = same.first()?;
        Some(format!(
            "{} {}",
            same.len(),
            if *generation == Generation::None { "in no mesh" } else { generation.as_str() }
        ))
    });
    let kinds: Vec<String> = kinds.collect();
    format!("{consul}{}: {}", counted(report.rows.len(), "revision", "revisions"), kinds.join(", "))
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use diagnosis::Images;

    use super::*;

    /// `web:4` on Consul Dataplane, in a cluster.
    pub(crate) fn web() -> InventoryRow {
        let images = Images {
            consul_ecs: Some("0.9.0".to_owned()),
            consul_dataplane: Some("1.6.2".to_owned()),
            ..Images::default()
        };
        InventoryRow {
            cluster: Some("arn:aws:ecs:us-east-1:123456789012:cluster/prod".to_owned()),
            file: None,
            ecs_service: Some("web".to_owned()),
            service: Some("web".to_owned()),
            partition: None,
            namespace: None,
            revision: "web:4".to_owned(),
            runs_on: BTreeSet::from(["FARGATE".to_owned()]),
            generation: Generation::Dataplane,
            images,
            desired_tasks: Some(2),
            tasks: Some(2),
        }
    }

    fn report() -> InventoryReport {
        let job = InventoryRow {
            ecs_service: None,
            service: None,
            generation: Generation::None,
            images: Images::default(),
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
        assert!(text.ends_with("\nConsul 1.21.4; 2 revisions: 1 dataplane, 1 in no mesh\n"), "{text}");
    }

    #[test]
    fn page_gets_a_table() {
        let text = markdown(&report());
        assert!(text.starts_with("| cluster or file | service | generation |"), "{text}");
        let row = "| prod | web | dataplane | 0.9.0 | 1.6.2 | – | – | 2 of 2 | web:4 on FARGATE |\n";
        assert!(text.contains(row), "{text}");
    }
}
