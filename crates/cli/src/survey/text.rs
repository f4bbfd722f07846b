//! A survey as text: what could not be read first, then the findings, worst first.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use diagnosis::{SurveyFinding, SurveyReport, SurveyedCluster, Unread};
use jiff::Timestamp;
use report::SweptStatus;

use super::summary;
use crate::{
    rules::tone,
    sheet::{Cell, Medium, NOTHING_TO_SAY, Sheet, Tone, ago, wrapped},
};

/// The most objects and commands of a finding that are shown. `--output json` has all.
const SHOWN: usize = 20;
/// The most things that could not be read for want of one permission.
const SHOWN_UNREAD: usize = 3;

pub(super) fn text(report: &SurveyReport, medium: Medium) -> String {
    let mut out = String::new();
    if !report.unread.is_empty() {
        out.push_str(&unread(&report.unread, medium));
        let policies = if report.lacks_a_permission() { " Policies: ecs-mesh survey --print-policies" } else { "" };
        // Writing to a `String` cannot fail.
        let _ = write!(out, "\nThis survey says nothing of what it could not read.{policies}\n\n");
    }
    if !report.clusters.is_empty() {
        out.push_str(&clusters(&report.clusters, medium));
        out.push('\n');
    }
    let mut printed = BTreeSet::new();
    for finding in &report.findings {
        out.push_str(&of_finding(finding, &mut printed, report.read_at, medium));
        out.push('\n');
    }
    out + &wrapped(&Cell::plain(capitalised(&summary(report))), medium)
}

/// What could not be read, by the missing permission: one permission may be missing for every definition.
fn unread(all: &[Unread], medium: Medium) -> String {
    let mut groups: BTreeMap<Option<&str>, Vec<&Unread>> = BTreeMap::new();
    for unread in all {
        groups.entry(unread.permission.as_deref()).or_default().push(unread);
    }
    let mut sheet = Sheet::new(&["permission", "could not be read"]);
    for (permission, group) in groups {
        let shown = if permission.is_some() { SHOWN_UNREAD } else { group.len() };
        let name = || Cell::new(permission.unwrap_or(NOTHING_TO_SAY), Tone::Bad);
        for unread in group.iter().take(shown) {
            sheet.add(vec![name(), Cell::plain(&unread.what)]);
        }
        if let Some(more @ 1..) = group.len().checked_sub(shown) {
            sheet.add(vec![name(), Cell::plain(format!("… and {more} more with --output json"))]);
        }
    }
    sheet.text(medium)
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    let first: String = characters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    first + characters.as_str()
}

/// What is said of a cluster, after its name.
pub(super) fn cells(cluster: &SurveyedCluster) -> [String; 5] {
    let status = match cluster.status {
        SweptStatus::Active => "active",
        SweptStatus::Deleted => "deleted",
        SweptStatus::Unread | SweptStatus::NotRead | SweptStatus::Other => "could not be read",
    };
    let least = if cluster.unsorted_tasks == 0 { "" } else { "at least " };
    let controllers =
        if cluster.controllers.is_empty() { NOTHING_TO_SAY.to_owned() } else { cluster.controllers.join(", ") };
    [
        status.to_owned(),
        format!("{least}{}", cluster.services),
        format!("{least}{}", cluster.mesh_tasks),
        cluster.tasks.to_string(),
        controllers,
    ]
}

fn clusters(clusters: &[SurveyedCluster], medium: Medium) -> String {
    let mut sheet =
        Sheet::new(&["cluster", "status", "services", "tasks in the mesh", "tasks", "controller of consul-ecs"]);
    for cluster in clusters {
        let name = Cell::new(cluster.name(), Tone::Strong);
        sheet.add([name].into_iter().chain(cells(cluster).map(Cell::plain)).collect());
    }
    sheet.text(medium)
}

/// A finding, with its commands. A command that was `printed` before, such as the check of a whole cluster, is not printed again.
fn of_finding<'r>(
    finding: &'r SurveyFinding,
    printed: &mut BTreeSet<&'r str>,
    now: Timestamp,
    medium: Medium,
) -> String {
    let since = finding.since.map(|at| format!(" (oldest {})", ago(at, now))).unwrap_or_default();
    let title = format!("{}[{}]: {}{since}", finding.severity.as_str(), finding.id, finding.title);
    let mut out = wrapped(&Cell::new(title, tone(finding.severity)), medium);
    out.push_str(&wrapped(&Cell::new(&finding.cost, Tone::Faint), medium));
    out.push_str(&objects(finding, medium));
    let unprinted = finding.commands.iter().filter(|command| printed.insert(command.as_str()));
    for command in unprinted.take(SHOWN) {
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "  $ {command}");
    }
    if finding.commands.len() > SHOWN {
        let _ = writeln!(out, "  … and {} more commands with --output json", finding.commands.len() - SHOWN);
    }
    out
}

fn objects(finding: &SurveyFinding, medium: Medium) -> String {
    let has_controller = finding.objects.iter().any(|object| object.controller.is_some());
    let has_why = finding.has_why();
    let columns = [Some("what"), Some("cluster"), has_controller.then_some("a controller"), has_why.then_some("why")];
    let columns: Vec<&'static str> = columns.into_iter().flatten().collect();
    let mut sheet = Sheet::new(&columns);
    for object in finding.objects.iter().take(SHOWN) {
        let or_dash = |text: &Option<String>| Cell::plain(text.as_deref().unwrap_or(NOTHING_TO_SAY));
        let mut row = vec![Cell::new(&object.name, Tone::Strong), or_dash(&object.cluster)];
        if has_controller {
            row.push(or_dash(&object.controller));
        }
        if has_why {
            row.push(Cell::plain(&object.why));
        }
        sheet.add(row);
    }
    let more = finding.objects.len().saturating_sub(SHOWN);
    let more = if more == 0 { String::new() } else { format!("… and {more} more with --output json\n") };
    sheet.text(medium) + &more
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::html::tests::report;

    #[test]
    fn what_one_permission_is_missing_for_is_told_a_few_times() {
        let lacking = |number: usize| Unread {
            what: format!("web:{number}"),
            permission: Some("ecs:DescribeTaskDefinition".to_owned()),
            nameless: "",
        };
        let unread = unread(&[1, 2, 3, 4, 5].map(lacking), Medium { width: None, in_colour: false });
        let last = "ecs:DescribeTaskDefinition  … and 2 more with --output json\n";
        assert!(unread.lines().count() == 5 && unread.ends_with(last), "{unread}");
    }

    #[test]
    fn text_begins_with_what_could_not_be_read_and_ends_with_the_numbers() {
        let text = text(&report(), Medium { width: None, in_colour: false });
        assert!(text.starts_with("permission    could not be read\nacl = \"read\"  tokens\n"), "{text}");
        assert!(
            text.contains("error[left-in-consul]: 300 entries in Consul have no running task (oldest 1 h ago)\n"),
            "{text}"
        );
        assert!(text.contains("… and 280 more with --output json\n  $ curl --data '{}'\n"), "{text}");
        assert!(
            text.ends_with(
                "1 error in 1 cluster of account 123456789012 in us-east-1 (Consul 1.21.4), and 1 could not be read\n"
            ),
            "{text}"
        );
        let hidden = super::text(&report().anonymous(), Medium { width: None, in_colour: false });
        assert!(!hidden.contains("why"), "no column of reasons: {hidden}");
        assert!(hidden.ends_with("1 error in 1 cluster (Consul 1.21.4), and 1 could not be read\n"), "{hidden}");
    }
}
