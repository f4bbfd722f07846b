//! What is known of the releases of Consul, consul-ecs and Consul Dataplane: which go together, until when they are
//! supported, and their defects. The facts and their sources are in `versions.toml`.
//!
//! ```
//! use audit::versions::{Program, defects_of, has_ended, supports};
//!
//! let defects = defects_of(Program::ConsulEcs, "0.9.1".parse()?);
//! assert!(defects.iter().any(|defect| defect.id == "ecs-critical-overwritten"));
//!
//! let consul_ecs = (Program::ConsulEcs, "0.10".parse()?);
//! assert_eq!(supports(consul_ecs, (Program::Dataplane, "2.0".parse()?)), Some(true));
//! assert_eq!(supports(consul_ecs, (Program::Dataplane, "1.3".parse()?)), Some(false));
//! assert_eq!(has_ended(Program::Consul, "1.20".parse()?), Some(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod table;
#[cfg(test)]
mod tests;

use mesh::release::Release;

use self::table::matches;
pub use self::table::{Bundled, Consul, ConsulEcs, Dataplane, Defect, Need, Program, Support, Table, table};

/// The lines of a program that the table has, from the oldest to the newest.
pub fn lines_of(program: Program) -> Vec<Release> {
    match program {
        Program::Consul => table().consul.iter().map(|row| row.line).collect(),
        Program::ConsulEcs => table().consul_ecs.iter().map(|row| row.line).collect(),
        Program::Dataplane => table().dataplane.iter().map(|row| row.line).collect(),
    }
}

/// The lines of Consul that a line of a program goes with; Consul goes with itself. `None` if the table has no such line.
pub fn consul_of(program: Program, line: Release) -> Option<Vec<Release>> {
    match program {
        Program::Consul => consul(line).map(|row| vec![row.line]),
        Program::ConsulEcs => consul_ecs(line).map(|row| row.consul.clone()),
        Program::Dataplane => dataplane(line).map(|row| {
            let servers = table().consul.iter().filter(|consul| consul.dataplane.contains(&row.line));
            servers.map(|consul| consul.line).collect()
        }),
    }
}

/// Whether two lines go together: whether a line of Consul goes with both. `None` if the table does not have both.
pub fn supports(one: (Program, Release), other: (Program, Release)) -> Option<bool> {
    let (one, other) = (consul_of(one.0, one.1)?, consul_of(other.0, other.1)?);
    Some(one.iter().any(|line| other.contains(line)))
}

/// The lines of Envoy that a line of Consul supports; none if the table does not have it.
pub fn envoy_of(consul_line: Release) -> &'static [Release] {
    consul(consul_line).map_or(&[], |row| &row.envoy)
}

/// Whether a line of Consul supports a line of Envoy. `None` if the table does not have the line of Consul, or none of its
/// lines of Envoy.
pub fn supports_envoy(consul_line: Release, envoy: Release) -> Option<bool> {
    consul(consul_line).filter(|row| !row.envoy.is_empty()).map(|row| row.envoy.contains(&envoy))
}

/// The line of Envoy in the image of a release of Consul Dataplane, if it is known.
pub fn bundled_envoy(release: Release) -> Option<Release> {
    let row = dataplane(release.in_line())?;
    row.envoy.iter().find(|bundled| matches(&bundled.releases, release)).map(|bundled| bundled.line)
}

/// Whether the support of a line had ended on the day of the table: Consul's own, or the support of every
/// line of Consul that the line goes with. `None` if the table has no such line.
pub fn has_ended(program: Program, line: Release) -> Option<bool> {
    let servers = consul_of(program, line)?;
    Some(servers.iter().filter_map(|line| consul(*line)).all(|row| match &row.supported_until {
        Support::Day(day) => *day <= table().as_of,
        Support::Line(line) => consul(*line).is_some(),
    }))
}

/// The known defects of a release; of a line, those that all of its releases have.
pub fn defects_of(program: Program, release: Release) -> Vec<&'static Defect> {
    let releases = match (release.patch, newest_of(program, release)) {
        (Some(_), _) => vec![release],
        (None, Some(Release { major, minor, patch: Some(newest) })) => {
            (0..=newest).map(|patch| Release::new(major, minor, patch)).collect()
        }
        (None, _) => return Vec::new(),
    };
    let is_one = |defect: &&Defect| defect.program == program && releases.iter().all(|one| defect.is_in(*one));
    table().defects.iter().filter(is_one).collect()
}

/// The newest release of a line. `None` if the table has no such line, or none of its releases.
pub fn newest_of(program: Program, line: Release) -> Option<Release> {
    match program {
        Program::Consul => consul(line)?.newest,
        Program::ConsulEcs => consul_ecs(line).map(|row| row.newest),
        Program::Dataplane => dataplane(line).map(|row| row.newest),
    }
}

/// The first line of Consul Dataplane with the flag `-config-file`, with which consul-ecs starts it. Source:
/// <https://github.com/hashicorp/consul-dataplane/pull/164>
const FIRST_WITH_CONFIG_FILE: Release = Release::line(1, 3);

/// The newest release of some lines of a program that goes with all of these lines of Consul.
pub fn newest_for(program: Program, consul: &[Release], among: impl Fn(Release) -> bool) -> Option<Release> {
    let fits = |line: &Release| {
        let goes_with = consul_of(program, *line).unwrap_or_default();
        among(*line) && consul.iter().all(|line| goes_with.contains(line))
    };
    newest_of(program, lines_of(program).into_iter().rev().find(fits)?)
}

/// The newest releases of some lines of consul-ecs and of Consul Dataplane that go with all of these lines of Consul, and with
/// each other.
pub fn newest_pair_for(consul: &[Release], among: impl Fn(Release) -> bool) -> Option<(Release, Release)> {
    let consul_ecs = newest_for(Program::ConsulEcs, consul, among)?;
    Some((consul_ecs, newest_for(Program::Dataplane, consul, |line| line >= FIRST_WITH_CONFIG_FILE)?))
}

/// What HashiCorp demands before Consul's servers are updated to a line, if the table has something.
pub fn before(line: Release) -> Option<&'static str> {
    consul(line)?.before.as_deref()
}

/// What HashiCorp demands of the config entry `mesh` before Consul's servers are updated to a line, if the table has something.
pub fn before_of_mesh_entry(line: Release) -> Option<&'static str> {
    consul(line)?.before_of_mesh_entry.as_deref()
}

/// The newest release of Consul Dataplane that goes with a line of consul-ecs.
pub fn newest_partner(consul_ecs: Release) -> Option<Release> {
    let fits =
        |row: &&Dataplane| supports((Program::ConsulEcs, consul_ecs), (Program::Dataplane, row.line)) == Some(true);
    table().dataplane.iter().rfind(fits).map(|row| row.newest)
}

fn consul(line: Release) -> Option<&'static Consul> {
    table().consul.iter().find(|row| row.line == line)
}

fn consul_ecs(line: Release) -> Option<&'static ConsulEcs> {
    table().consul_ecs.iter().find(|row| row.line == line)
}

fn dataplane(line: Release) -> Option<&'static Dataplane> {
    table().dataplane.iter().find(|row| row.line == line)
}
