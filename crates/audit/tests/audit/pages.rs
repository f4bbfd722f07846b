//! The tables of docs/reference/compatibility.md show the table of releases. `UPDATE_DOCS=1` writes them.

use std::{env, fmt::Write as _, fs, path::Path};

use audit::versions::{Program, Support, bundled_envoy, has_ended, lines_of, newest_of, supports, table};

use mesh::release::Release;

const MARK: &str = "<!-- The rest is written by `make pages`";

#[test]
fn the_support_page_has_the_tables_of_the_releases() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/compatibility.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(MARK).expect("the mark");
    let (mark, _) = rest.split_once('\n').expect("a line");
    let fresh = format!("{before}{MARK}{mark}\n\n{}", tables());
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &fresh).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap();
    assert!(published == fresh, "docs/reference/compatibility.md is stale: run make pages");
}

/// The numbers of the sources, in the order of their first use. A source is a link below the tables, so that its address stands once.
#[derive(Default)]
struct Sources(Vec<&'static str>);

impl Sources {
    fn numbers(&mut self, sources: &'static [String]) -> String {
        let numbers: Vec<String> = sources.iter().map(|source| format!("[{}]", self.number(source))).collect();
        numbers.join(", ")
    }

    fn number(&mut self, source: &'static str) -> usize {
        let known = self.0.iter().position(|known| *known == source);
        known.unwrap_or_else(|| {
            self.0.push(source);
            self.0.len() - 1
        }) + 1
    }

    fn addresses(&self) -> String {
        let mut out = String::new();
        for (index, source) in self.0.iter().enumerate() {
            writeln!(out, "[{}]: {source}", index + 1).unwrap();
        }
        out
    }
}

fn tables() -> String {
    let mut sources = Sources::default();
    let tables = [what_goes_together(&mut sources), demanded_before(), known_defects(&mut sources)];
    [&tables[..], &[sources.addresses()]].concat().join("\n")
}

fn what_goes_together(known: &mut Sources) -> String {
    let mut out = format!(
        "## What goes together\n\nAs of {}. The end of support is that for the edition with the longest support. Of Community \
         Edition, HashiCorp supports only the newest release.\n\n| Consul | support | consul-ecs | Consul Dataplane | Envoy | sources |\n\
         | --- | --- | --- | --- | --- | --- |\n",
        table().as_of
    );
    for row in table().consul.iter().rev() {
        let consul_ecs = lines_of(Program::ConsulEcs)
            .into_iter()
            .filter(|line| supports((Program::ConsulEcs, *line), (Program::Consul, row.line)) == Some(true));
        let support = match (&row.supported_until, has_ended(Program::Consul, row.line)) {
            (Support::Day(day), Some(true)) => format!("ended on {day}"),
            (Support::Day(day), _) => format!("until {day}"),
            (Support::Line(line), Some(true)) => format!("ended with {line}"),
            (Support::Line(line), _) => format!("until {line}"),
        };
        let cells = [listed(consul_ecs), listed(row.dataplane.iter().copied()), listed(row.envoy.iter().copied())];
        writeln!(out, "| {} | {support} | {} | {} |", row.line, cells.join(" | "), known.numbers(&row.sources))
            .unwrap();
    }
    out.push_str(
        "\nThe newest releases that the sources name, and the Envoy in the images of Consul Dataplane:\n\n\
         | program | line | newest release | its Envoy | sources |\n| --- | --- | --- | --- | --- |\n",
    );
    for program in [Program::Consul, Program::ConsulEcs, Program::Dataplane] {
        let newest = lines_of(program).into_iter().rev().filter_map(|line| Some((line, newest_of(program, line)?)));
        for (line, newest) in newest {
            let envoy = bundled_envoy(newest).filter(|_| program == Program::Dataplane);
            let envoy = envoy.map_or_else(|| "–".to_owned(), |envoy| envoy.to_string());
            let sources = known.numbers(sources_of(program, line));
            writeln!(out, "| {program} | {line} | {newest} | {envoy} | {sources} |").unwrap();
        }
    }
    out
}

fn sources_of(program: Program, wanted: Release) -> &'static [String] {
    let table = table();
    match program {
        Program::Consul => &table.consul.iter().find(|row| row.line == wanted).unwrap().sources,
        Program::ConsulEcs => &table.consul_ecs.iter().find(|row| row.line == wanted).unwrap().sources,
        Program::Dataplane => &table.dataplane.iter().find(|row| row.line == wanted).unwrap().sources,
    }
}

fn demanded_before() -> String {
    let mut out =
        "## What HashiCorp demands before\n\nBefore the servers are updated to a line, or past it. The sources are in the table above.\n\n"
            .to_owned();
    for row in table().consul.iter().rev() {
        for demand in row.before.iter().chain(&row.before_of_mesh_entry) {
            writeln!(out, "- **{}**: {demand}", row.line).unwrap();
        }
    }
    out
}

fn known_defects(known: &mut Sources) -> String {
    let mut out = "## Known defects\n\nA rule of `ecs-mesh check` finds the defects that a task definition shows.\n\n\
                   | program | releases | what happens | what to do | corrected in | rule | sources |\n\
                   | --- | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for defect in &table().defects {
        let fixed = defect.fixed_in.as_ref().map_or_else(|| "–".to_owned(), ToString::to_string);
        let rule = defect.rule.as_ref().map_or_else(|| "–".to_owned(), |rule| format!("[{rule}](rules/{rule}.md)"));
        let cells = [&defect.what, &defect.action, &fixed, &rule, &known.numbers(&defect.sources)];
        let cells: Vec<&str> = cells.iter().map(|cell| cell.as_str()).collect();
        writeln!(out, "| {} | {} | {} |", defect.program, defect.releases, cells.join(" | ")).unwrap();
    }
    out
}

fn listed(lines: impl Iterator<Item = Release>) -> String {
    let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
    if lines.is_empty() { "–".to_owned() } else { lines.join(", ") }
}
