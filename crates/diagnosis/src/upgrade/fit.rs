//! Whether the releases of a revision go with a line of Consul.

use audit::{
    subject::version_in,
    versions::{Line, Program, consul_of, table},
};

use crate::inventory::{Generation, InventoryRow};

/// Whether the releases of a revision go with a line of Consul.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fit {
    Goes,
    /// They do not, because of these.
    Not(Vec<String>),
    /// It is not known, because of these.
    Unknown(Vec<String>),
}

/// A program, its tag, and its line; `None` is a tag that names no release.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Release {
    program: Program,
    tag: String,
    line: Option<Line>,
}

impl Release {
    fn of_line(program: Program, line: Line) -> Self {
        Self { program, tag: line.to_string(), line: Some(line) }
    }

    /// The lines of Consul that it goes with, if the table has it.
    fn consul(&self) -> Option<Vec<Line>> {
        consul_of(self.program, self.line?)
    }

    /// Whether it certainly does not go with one of these.
    fn conflicts_with(&self, consul: &[Line]) -> bool {
        self.consul().is_some_and(|lines| consul.iter().any(|line| !lines.contains(line)))
    }
}

/// The releases of a revision in Consul's mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Releases(Vec<Release>);

impl Releases {
    /// Those of a row; `None` if it is not in Consul's mesh.
    pub(super) fn of(row: &InventoryRow) -> Option<Self> {
        let images = &row.images;
        let named = |program, tag: &Option<String>| {
            let tag = tag.clone().unwrap_or_else(|| "unknown".to_owned());
            let line = version_in(&tag).map(|version| Line::of(&version));
            Release { program, tag, line }
        };
        let consul_ecs = named(Program::ConsulEcs, &images.consul_ecs);
        match row.generation {
            Generation::ClientAgent => Some(Self(vec![consul_ecs])),
            Generation::Dataplane => Some(Self(vec![consul_ecs, named(Program::Dataplane, &images.consul_dataplane)])),
            Generation::Unknown => Some(Self(vec![named(Program::ConsulEcs, &None)])),
            Generation::AppMesh | Generation::None => None,
        }
    }

    /// These lines of consul-ecs and Consul Dataplane; without the latter, of tasks with a client agent.
    pub(super) fn with(consul_ecs: Line, dataplane: Option<Line>) -> Self {
        let dataplane = dataplane.map(|line| Release::of_line(Program::Dataplane, line));
        Self([Release::of_line(Program::ConsulEcs, consul_ecs)].into_iter().chain(dataplane).collect())
    }

    /// Whether its tasks have a client agent instead of Consul Dataplane.
    pub(super) fn has_client_agent(&self) -> bool {
        !self.0.iter().any(|release| release.program == Program::Dataplane)
    }

    /// The releases after an update to `target`; `None` if each release that is older goes with these lines of Consul. No
    /// program goes back to an older release.
    pub(super) fn updated(&self, consul: &[Line], target: &Self) -> Option<Self> {
        let is_newer = |release: &&Release| {
            let theirs = target.0.iter().find(|other| other.program == release.program);
            theirs.is_some_and(|theirs| release.line > theirs.line)
        };
        let moves = self.has_client_agent() && !target.has_client_agent();
        let blocked = self.0.iter().any(|release| release.conflicts_with(consul) && (moves || !is_newer(&release)));
        if !blocked {
            return None;
        }
        let newer = |theirs: &Release| {
            let own = self.0.iter().find(|release| release.program == theirs.program).filter(is_newer);
            own.unwrap_or(theirs).clone()
        };
        Some(Self(target.0.iter().map(newer).collect()))
    }

    /// Whether they go with a line of Consul.
    pub(super) fn fit(&self, consul: Line) -> Fit {
        let (mut not, mut unknown) = (Vec::new(), Vec::new());
        for release @ Release { program, tag, line } in &self.0 {
            match release.consul() {
                Some(lines) if lines.contains(&consul) => {}
                Some(lines) => not.push(format!("{program} {tag} goes with Consul {}", words(&lines))),
                None if line.is_some() => {
                    unknown.push(format!("{program} {tag} is not in the table of {}", table().as_of));
                }
                None => unknown.push(format!("the release of {program} is not known (tag {tag})")),
            }
        }
        match (not.is_empty(), unknown.is_empty()) {
            (true, true) => Fit::Goes,
            (true, false) => Fit::Unknown(unknown),
            (false, _) => Fit::Not(not.into_iter().chain(unknown).collect()),
        }
    }
}

/// Lines, in words: `1.20, 1.21, 1.22`.
fn words(lines: &[Line]) -> String {
    if lines.is_empty() {
        return "of no line in the table".to_owned();
    }
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
