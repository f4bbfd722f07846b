//! What blocks an upgrade of Consul, for people, and in Markdown.

use std::{fmt::Write, iter};

use audit::report::counted;
use diagnosis::{Blocker, UpgradeReport};

use crate::sheet::{Cell, Medium, NOTHING_TO_SAY, Sheet, Tone, wrapped};

const COLUMNS: [&str; 4] = ["revision", "service", "place", "why"];

pub(super) fn text(report: &UpgradeReport, medium: Medium) -> String {
    let mut out = format!("\n{}", wrapped(&Cell::new(title(report), Tone::Strong), medium));
    out.extend(facts(report).map(|fact| wrapped(&Cell::plain(fact), medium)));
    // As they can be pasted: they are not wrapped.
    out.extend(report.commands.iter().map(|command| format!("\n  {command}\n")));
    let sheets = [(&report.blockers, Tone::Bad), (&report.unknown, Tone::Pending), (&report.ahead, Tone::Plain)];
    for (found, tone) in sheets {
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
    out
}

/// The same as a section of a page.
pub(super) fn markdown(report: &UpgradeReport) -> String {
    let mut out = format!("\n## {}\n\n", title(report));
    out.extend(facts(report).map(|fact| format!("- {fact}\n")));
    out.extend(report.commands.iter().map(|command| format!("\n```sh\n{command}\n```\n")));
    let tables = [&report.blockers, &report.unknown, &report.ahead];
    for found in tables.into_iter().filter(|found| !found.is_empty()) {
        let _ = write!(out, "\n| {} |\n|{}\n", COLUMNS.join(" | "), " --- |".repeat(COLUMNS.len()));
        for blocker in found {
            let cells = cells(blocker).map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
    }
    out
}

fn title(report: &UpgradeReport) -> String {
    let target = &report.target;
    match &report.from {
        Some(from) if from == target => format!("Upgrade to Consul {target}, which the servers already run"),
        Some(from) => format!("Upgrade of Consul from {from} to {target}"),
        None => format!("Upgrade of Consul to {target}"),
    }
}

/// The summary, the newest releases, and what HashiCorp demands.
fn facts(report: &UpgradeReport) -> impl Iterator<Item = String> {
    iter::once(summary(report)).chain([newest(report)]).chain(report.notes.iter().cloned())
}

fn summary(report: &UpgradeReport) -> String {
    let UpgradeReport { target, table_as_of, .. } = report;
    let (blocking, unknown) = (report.blockers.len(), report.unknown.len());
    let go = report.revisions.saturating_sub(blocking).saturating_sub(unknown);
    let revisions = counted(report.revisions, "revision");
    format!(
        "{revisions} in Consul's mesh: {go} ready for Consul {target}, {blocking} blocking, {unknown} unknown \
         (releases as of {table_as_of})"
    )
}

fn newest(report: &UpgradeReport) -> String {
    match &report.newest {
        Some(newest) => format!(
            "Newest releases for Consul {}: consul-ecs {}, consul-dataplane {}",
            newest.consul.join(" and "),
            newest.consul_ecs,
            newest.consul_dataplane
        ),
        None => format!("No releases of consul-ecs and consul-dataplane support Consul {}", report.target),
    }
}

fn cells(blocker: &Blocker) -> [String; 4] {
    let Blocker { row, reasons } = blocker;
    let service = row.service.clone().unwrap_or_else(|| NOTHING_TO_SAY.to_owned());
    [row.revision.clone(), service, row.place.clone(), reasons.join("; ")]
}

#[cfg(test)]
mod tests {
    use diagnosis::{NewestReleases, RowName, upgrade};

    use super::*;
    use crate::inventory::tests::web;

    const PLAIN: Medium = Medium { width: None, in_colour: false };

    fn report() -> UpgradeReport {
        let row = RowName { place: "prod".to_owned(), service: Some("web".to_owned()), revision: "web:3".to_owned() };
        let reasons = vec!["consul-ecs 0.9.0 supports only Consul 1.20, 1.21, 1.22".to_owned()];
        UpgradeReport {
            target: "2.0".to_owned(),
            from: Some("1.22".to_owned()),
            table_as_of: "2026-11-23".to_owned(),
            revisions: 4,
            blockers: vec![Blocker { row, reasons }],
            unknown: Vec::new(),
            ahead: Vec::new(),
            newest: Some(NewestReleases {
                consul: vec!["1.22".to_owned(), "2.0".to_owned()],
                consul_ecs: "0.10.1".to_owned(),
                consul_dataplane: "1.9.12".to_owned(),
            }),
            notes: vec!["Before Consul 2.0: a license".to_owned()],
            commands: vec!["echo '{}' | consul config write -".to_owned()],
        }
    }

    #[test]
    fn blockers_follow_the_newest_releases_and_the_demands() {
        let expected = "
Upgrade of Consul from 1.22 to 2.0
4 revisions in Consul's mesh: 3 ready for Consul 2.0, 1 blocking, 0 unknown (releases as of 2026-11-23)
Newest releases for Consul 1.22 and 2.0: consul-ecs 0.10.1, consul-dataplane 1.9.12
Before Consul 2.0: a license

  echo '{}' | consul config write -

revision  service  place  why
web:3     web      prod   consul-ecs 0.9.0 supports only Consul 1.20, 1.21, 1.22
";
        assert_eq!(text(&report(), PLAIN), expected);
    }

    #[test]
    fn page_has_the_same_in_markdown() {
        let expected = "
## Upgrade of Consul from 1.22 to 2.0

- 4 revisions in Consul's mesh: 3 ready for Consul 2.0, 1 blocking, 0 unknown (releases as of 2026-11-23)
- Newest releases for Consul 1.22 and 2.0: consul-ecs 0.10.1, consul-dataplane 1.9.12
- Before Consul 2.0: a license

```sh
echo '{}' | consul config write -
```

| revision | service | place | why |
| --- | --- | --- | --- |
| web:3 | web | prod | consul-ecs 0.9.0 supports only Consul 1.20, 1.21, 1.22 |
";
        assert_eq!(markdown(&report()), expected);
    }

    #[test]
    fn documented_example_is_what_is_printed() {
        let line = |text: &str| text.parse().unwrap();
        let report = upgrade(&[web()], Some(line("1.21")), line("2.0"), None).unwrap();
        let printed = text(&report, PLAIN);
        assert!(include_str!("../../../docs/reference/commands/inventory.md").contains(printed.trim()), "{printed}");
    }
}
