//! What an upgrade of Consul needs, for people, and in Markdown.

use std::{fmt::Write, iter};

use diagnosis::{Blocker, RowName, UpgradeReport, UpgradeStep};

use crate::{
    by_hand::counted,
    sheet::{Cell, Medium, NOTHING_TO_SAY, Sheet, Tone, wrapped},
};

const COLUMNS: [&str; 4] = ["revision", "service", "place", "why"];
/// What is said instead of the steps.
const NO_ORDER: &str =
    "The order depends on what Consul's servers have now: set CONSUL_HTTP_ADDR, or pass --consul VERSION.";
const ORDER: &str = "What to do, in this order:";

/// What blocks it, and the steps.
pub(super) fn text(report: &UpgradeReport, medium: Medium) -> String {
    let mut out = format!("\n{}", wrapped(&Cell::new(title(report), Tone::Strong), medium));
    out.push_str(&wrapped(&Cell::plain(summary(report)), medium));
    for (found, tone) in [(&report.blockers, Tone::Bad), (&report.unknown, Tone::Pending)] {
        if found.is_empty() {
            continue;
        }
        let mut sheet = Sheet::new(&COLUMNS);
        for blocker in found {
            let [revision, service, place, why] = cells(blocker);
            sheet.add(vec![
                Cell::new(revision, Tone::Strong),
                Cell::plain(service),
                Cell::plain(place),
                Cell::new(why, tone),
            ]);
        }
        // Writing to a `String` cannot fail.
        let _ = write!(out, "\n{}", sheet.text(medium));
    }
    if report.from.is_none() {
        return out + "\n" + &wrapped(&Cell::plain(NO_ORDER), medium);
    }
    if !report.steps.is_empty() {
        let _ = write!(out, "\n{}", wrapped(&Cell::plain(ORDER), medium));
    }
    for (number, step) in report.steps.iter().enumerate() {
        out.push_str(&item(&format!("{}. ", number + 1), &step.what, Tone::Plain, medium));
        for (what, tone) in details(step) {
            out.push_str(&item("   - ", &what, tone, medium));
        }
    }
    out
}

/// An item of a list, whose further lines begin below its text.
fn item(mark: &str, text: &str, tone: Tone, medium: Medium) -> String {
    let indent = mark.chars().count();
    let width = medium.width.map(|width| width.saturating_sub(indent.try_into().unwrap_or(u16::MAX)));
    let text = wrapped(&Cell::new(text, tone), Medium { width, ..medium });
    let marks = iter::once(mark.to_owned()).chain(iter::repeat(" ".repeat(indent)));
    text.lines().zip(marks).flat_map(|(line, mark)| [mark, line.to_owned(), "\n".to_owned()]).collect()
}

/// The same as a section of a page.
pub(super) fn markdown(report: &UpgradeReport) -> String {
    let mut out = format!("\n## {}\n\n{}\n", title(report), summary(report));
    for found in [&report.blockers, &report.unknown].into_iter().filter(|found| !found.is_empty()) {
        let _ = write!(out, "\n| {} |\n|{}\n", COLUMNS.join(" | "), " --- |".repeat(COLUMNS.len()));
        for blocker in found {
            let cells = cells(blocker).map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
    }
    if report.from.is_none() {
        return out + "\n" + NO_ORDER + "\n";
    }
    if !report.steps.is_empty() {
        let _ = writeln!(out, "\n{ORDER}\n");
    }
    for (number, step) in report.steps.iter().enumerate() {
        let _ = writeln!(out, "{}. {}", number + 1, step.what);
        for (what, _) in details(step) {
            let _ = writeln!(out, "   - {what}");
        }
    }
    out
}

fn title(report: &UpgradeReport) -> String {
    let target = &report.target;
    match &report.from {
        Some(from) if from == target => format!("Upgrade to Consul {target}, which the servers have"),
        Some(from) => format!("Upgrade of Consul from {from} to {target}"),
        None => format!("Upgrade of Consul to {target}"),
    }
}

fn summary(report: &UpgradeReport) -> String {
    let UpgradeReport { target, revisions, blockers, unknown, .. } = report;
    let what = match (revisions, blockers.len(), unknown.len()) {
        (0, ..) => "Nothing of Consul's mesh was found".to_owned(),
        (_, 0, 0) => format!(
            "Nothing blocks it: {} of Consul's mesh, which {} with Consul {target}",
            counted(*revisions, "revision", "revisions"),
            if *revisions == 1 { "goes" } else { "all go" }
        ),
        (all, not, unknown) => {
            let goes = all.saturating_sub(not).saturating_sub(unknown);
            let parts = [
                (goes > 0).then(|| counted(goes, "goes with it", "go with it")),
                (not > 0).then(|| counted(not, "does not go with it", "do not go with it")),
                (unknown > 0).then(|| format!("of {unknown} it is not known")),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            format!("Of {} of Consul's mesh, {}", counted(*all, "revision", "revisions"), parts.join(", "))
        }
    };
    format!("{what} (releases as of {})", report.table_as_of)
}

fn cells(blocker: &Blocker) -> [String; 4] {
    let Blocker { row, reasons } = blocker;
    let service = row.service.clone().unwrap_or_else(|| NOTHING_TO_SAY.to_owned());
    [row.revision.clone(), service, row.place.clone(), reasons.join("; ")]
}

/// The revisions of a step, and what to know before.
fn details(step: &UpgradeStep) -> Vec<(String, Tone)> {
    let named = |row: &RowName| match &row.service {
        Some(service) => format!("{} of the service {service}, {}", row.revision, row.place),
        None => format!("{}, {}", row.revision, row.place),
    };
    let rows = step.rows.iter().map(|row| (named(row), Tone::Plain));
    rows.chain(step.notes.iter().map(|note| (format!("note: {note}"), Tone::Faint))).collect()
}

#[cfg(test)]
mod tests {
    use diagnosis::upgrade;

    use super::*;
    use crate::inventory_text::tests::web;

    fn report() -> UpgradeReport {
        let row = RowName { place: "prod".to_owned(), service: Some("web".to_owned()), revision: "web:3".to_owned() };
        let reasons = vec!["consul-ecs 0.9.0 goes with Consul 1.20, 1.21, 1.22".to_owned()];
        let update = UpgradeStep {
            what: "Update the tasks to consul-ecs 0.10.1".to_owned(),
            rows: vec![row.clone()],
            notes: vec!["consul-ecs 0.10.1: a defect".to_owned()],
        };
        let servers = UpgradeStep { what: "Upgrade Consul's servers".to_owned(), rows: Vec::new(), notes: Vec::new() };
        UpgradeReport {
            target: "2.0".to_owned(),
            from: Some("1.22".to_owned()),
            table_as_of: "2026-11-23".to_owned(),
            revisions: 4,
            blockers: vec![Blocker { row, reasons }],
            unknown: Vec::new(),
            steps: vec![update, servers],
        }
    }

    #[test]
    fn steps_are_numbered_and_name_their_revisions() {
        let text = text(&report(), Medium { width: None, in_colour: false });
        let expected = "
Upgrade of Consul from 1.22 to 2.0
Of 4 revisions of Consul's mesh, 3 go with it, 1 does not go with it (releases as of 2026-11-23)

revision  service  place  why
web:3     web      prod   consul-ecs 0.9.0 goes with Consul 1.20, 1.21, 1.22

What to do, in this order:
1. Update the tasks to consul-ecs 0.10.1
   - web:3 of the service web, prod
   - note: consul-ecs 0.10.1: a defect
2. Upgrade Consul's servers
";
        assert_eq!(text, expected);
    }

    #[test]
    fn items_are_indented_on_a_narrow_terminal() {
        let text = text(&report(), Medium { width: Some(24), in_colour: false });
        let expected = "\
1. Update the tasks to
   consul-ecs 0.10.1
   - web:3 of the
     service web, prod
   - note: consul-ecs
     0.10.1: a defect
2. Upgrade Consul's
   servers
";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn revisions_are_counted_by_what_is_known() {
        let unknown = report().blockers;
        let of = |report: UpgradeReport| summary(&report).split(" (").next().unwrap().to_owned();
        let both = UpgradeReport { unknown: unknown.clone(), ..report() };
        assert_eq!(
            of(both),
            "Of 4 revisions of Consul's mesh, 2 go with it, 1 does not go with it, of 1 it is not known"
        );
        let only_unknown = UpgradeReport { unknown, blockers: Vec::new(), ..report() };
        assert_eq!(of(only_unknown), "Of 4 revisions of Consul's mesh, 3 go with it, of 1 it is not known");
    }

    #[test]
    fn documented_example_is_what_is_printed() {
        let line = |text: &str| text.parse().unwrap();
        let report = upgrade(&[web()], Some(line("1.20")), line("2.0")).unwrap();
        let printed = text(&report, Medium { width: None, in_colour: false });
        assert!(include_str!("../../../docs/command-line.md").contains(printed.trim()), "{printed}");
    }

    #[test]
    fn page_has_the_same_in_markdown() {
        let page = markdown(&report());
        assert!(
            page.starts_with(
                "\n## Upgrade of Consul from 1.22 to 2.0\n\nOf 4 revisions of Consul's mesh, 3 go with it, 1 does not go"
            ),
            "{page}"
        );
        assert!(page.contains("| web:3 | web | prod | consul-ecs 0.9.0 goes with"), "{page}");
        assert!(page.ends_with("1. Update the tasks to consul-ecs 0.10.1\n   - web:3 of the service web, prod\n   - note: consul-ecs 0.10.1: a defect\n2. Upgrade Consul's servers\n"), "{page}");
    }

    #[test]
    fn without_the_version_of_the_servers_there_is_no_order() {
        let report = UpgradeReport { from: None, steps: Vec::new(), ..report() };
        assert!(text(&report, Medium { width: None, in_colour: false }).ends_with(&format!("\n{NO_ORDER}\n")));
        assert!(markdown(&report).ends_with(&format!("\n{NO_ORDER}\n")));
    }
}
