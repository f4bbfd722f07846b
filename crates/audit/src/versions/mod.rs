//! What is known of the releases of Consul, consul-ecs and Consul Dataplane: which go together, until when they are
//! supported, and their defects. The facts and their sources are in `versions.toml`.
//!
//! ```
//! use audit::versions::{Program, defects_of, has_ended, supports};
//!
//! let defects = defects_of(Program::ConsulEcs, &"0.9.1".parse()?);
//! assert!(defects.iter().any(|defect| defect.id == "ecs-critical-overwritten"));
//!
//! let consul_ecs = (Program::ConsulEcs, "0.10".parse()?);
//! assert_eq!(supports(consul_ecs, (Program::Dataplane, "2.0".parse()?)), Some(true));
//! assert_eq!(supports(consul_ecs, (Program::Dataplane, "1.3".parse()?)), Some(false));
//! assert_eq!(has_ended(Program::Consul, "1.20".parse()?), Some(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod line;
mod table;
#[cfg(test)]
mod tests;

use std::ops::RangeBounds;

use semver::Version;

pub use self::{
    line::{InvalidLine, InvalidVersion, Line},
    table::{Bundled, Consul, ConsulEcs, Dataplane, Defect, Program, Support, Table, table},
};

/// The lines of a program that the table has, from the oldest to the newest.
pub fn lines_of(program: Program) -> Vec<Line> {
    match program {
        Program::Consul => table().consul.iter().map(|row| row.line).collect(),
        Program::ConsulEcs => table().consul_ecs.iter().map(|row| row.line).collect(),
        Program::Dataplane => table().dataplane.iter().map(|row| row.line).collect(),
    }
}

/// The lines of Consul that a line of a program goes with; Consul goes with itself. `None` if the table has no such line.
pub fn consul_of(program: Program, line: Line) -> Option<Vec<Line>> {
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
pub fn supports(one: (Program, Line), other: (Program, Line)) -> Option<bool> {
    let (one, other) = (consul_of(one.0, one.1)?, consul_of(other.0, other.1)?);
    Some(one.iter().any(|line| other.contains(line)))
}

/// The lines of Envoy that a line of Consul supports; none if the table does not have it.
pub fn envoy_of(consul_line: Line) -> &'static [Line] {
    consul(consul_line).map_or(&[], |row| &row.envoy)
}

/// Whether a line of Consul supports a line of Envoy. `None` if the table does not have the line of Consul.
pub fn supports_envoy(consul_line: Line, envoy: Line) -> Option<bool> {
    consul(consul_line).map(|row| row.envoy.contains(&envoy))
}

/// The line of Envoy in the image of a release of Consul Dataplane, if it is known.
pub fn bundled_envoy(release: &Version) -> Option<Line> {
    let row = dataplane(Line::of(release))?;
    row.envoy.iter().find(|bundled| bundled.releases.matches(release)).map(|bundled| bundled.line)
}

/// Whether the support of a line had ended on the day of the table: that of Consul itself, or that of every line of
/// Consul that the line goes with. `None` if the table has no such line.
pub fn has_ended(program: Program, line: Line) -> Option<bool> {
    let servers = consul_of(program, line)?;
    Some(servers.iter().filter_map(|line| consul(*line)).all(|row| match &row.supported_until {
        Support::Day(day) => *day <= table().as_of,
        Support::Release(line) => consul(*line).is_some(),
    }))
}

/// The known defects of a release.
pub fn defects_of(program: Program, release: &Version) -> Vec<&'static Defect> {
    let is_one = |defect: &&Defect| defect.program == program && defect.releases.matches(release);
    table().defects.iter().filter(is_one).collect()
}

/// The newest release of a line. `None` if the table has no such line, or for Consul.
pub fn newest_of(program: Program, line: Line) -> Option<&'static Version> {
    match program {
        Program::Consul => None,
        Program::ConsulEcs => consul_ecs(line).map(|row| &row.newest),
        Program::Dataplane => dataplane(line).map(|row| &row.newest),
    }
}

/// The first line of consul-ecs whose tasks have Consul Dataplane; those of older lines have a client agent. Source:
/// <https://developer.hashicorp.com/consul/docs/ecs/upgrade-to-dataplanes>
pub const FIRST_WITH_DATAPLANE: Line = Line::new(0, 7);

/// The first line of consul-ecs with Consul Dataplane whose tasks have the containers mesh-init and health-sync; those of 0.7 have
/// control-plane in their place. Sources: <https://github.com/hashicorp/consul-ecs/blob/v0.7.3/CHANGELOG.md>,
/// <https://github.com/hashicorp/consul-ecs/pull/211>
pub const FIRST_WITHOUT_CONTROL_PLANE: Line = Line::new(0, 8);

/// The first line of Consul Dataplane with the flag `-config-file`, with which consul-ecs starts it. Source:
/// <https://github.com/hashicorp/consul-dataplane/pull/164>
const FIRST_WITH_CONFIG_FILE: Line = Line::new(1, 3);

/// The newest release of some lines of a program that goes with all of these lines of Consul.
pub fn newest_for(program: Program, consul: &[Line], among: impl RangeBounds<Line>) -> Option<&'static Version> {
    let fits = |line: &Line| {
        let goes_with = consul_of(program, *line).unwrap_or_default();
        among.contains(line) && consul.iter().all(|line| goes_with.contains(line))
    };
    newest_of(program, lines_of(program).into_iter().rev().find(fits)?)
}

/// The newest releases of consul-ecs, from this line on, and of Consul Dataplane that go with all of these lines of Consul, and
/// with each other.
pub fn newest_pair_for(consul: &[Line], first: Line) -> Option<(&'static Version, &'static Version)> {
    let consul_ecs = newest_for(Program::ConsulEcs, consul, first..)?;
    Some((consul_ecs, newest_for(Program::Dataplane, consul, FIRST_WITH_CONFIG_FILE..)?))
}

/// What HashiCorp demands before Consul's servers are updated to a line, if the table has something.
pub fn before(line: Line) -> Option<&'static str> {
    consul(line)?.before.as_deref()
}

/// The newest release of Consul Dataplane that goes with a line of consul-ecs.
pub fn newest_partner(consul_ecs: Line) -> Option<&'static Version> {
    let fits =
        |row: &&Dataplane| supports((Program::ConsulEcs, consul_ecs), (Program::Dataplane, row.line)) == Some(true);
    table().dataplane.iter().rfind(fits).map(|row| &row.newest)
}

fn consul(line: Line) -> Option<&'static Consul> {
    table().consul.iter().find(|row| row.line == line)
}

fn consul_ecs(line: Line) -> Option<&'static ConsulEcs> {
    table().consul_ecs.iter().find(|row| row.line == line)
}

fn dataplane(line: Line) -> Option<&'static Dataplane> {
    table().dataplane.iter().find(|row| row.line == line)
}
