//! Whether the releases of a revision go with a line of Consul.

use audit::{
    subject::version_in,
    versions::{FIRST_WITH_DATAPLANE, Line, Program, consul_of, table},
};

use crate::{
    inventory::{Generation, InventoryRow},
    versions::{UNKNOWN, UNTAGGED},
};

/// Whether the releases of a revision go with a line of Consul.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fit {
    Goes,
    /// They do not, because of these.
    Not(Vec<String>),
    /// It is not known, because of these.
    Unknown(Vec<String>),
}

/// What a revision is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Tasks with a client agent.
    ClientAgent,
    /// Tasks with Consul Dataplane.
    Dataplane,
    /// The controller of consul-ecs 0.7 or newer, or the ACL controller of an older one.
    Controller,
    /// Tasks whose containers are not known.
    Unknown,
}

/// A program, its tag, and its line; `None` is a tag that names no release.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Release {
    program: Program,
    tag: String,
    line: Option<Line>,
}

impl Release {
    fn of_tag(program: Program, tag: Option<&str>) -> Self {
        let tag = tag.unwrap_or(UNKNOWN).to_owned();
        let line = version_in(&tag).map(|version| Line::of(&version));
        Self { program, tag, line }
    }

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

    /// Why it is not known what it goes with.
    fn unknown(&self) -> String {
        let Self { program, tag, line } = self;
        match (line, tag.as_str()) {
            (Some(_), _) => format!("{program} {tag} is not in the table of {}", table().as_of),
            (None, UNTAGGED) => format!("the image of {program} has no tag"),
            (None, UNKNOWN) => format!("the image of {program} is not known"),
            (None, _) => format!("the tag {tag} of {program} names no release"),
        }
    }
}

/// The releases of a revision in Consul's mesh, or of a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Releases {
    pub(super) kind: Kind,
    /// Whether its image of consul-ecs is a FIPS image.
    pub(super) is_fips: bool,
    programs: Vec<Release>,
}

impl Releases {
    /// Those of a row; `None` if it is not in Consul's mesh, nor a controller: the only ones of consul-ecs outside of it.
    pub(super) fn of(row: &InventoryRow) -> Option<Self> {
        let images = &row.images;
        let consul_ecs = Release::of_tag(Program::ConsulEcs, images.consul_ecs.as_deref());
        let dataplane = Release::of_tag(Program::Dataplane, images.consul_dataplane.as_deref());
        let (kind, programs) = match row.generation {
            Generation::ClientAgent => (Kind::ClientAgent, vec![consul_ecs]),
            Generation::Dataplane => (Kind::Dataplane, vec![consul_ecs, dataplane]),
            Generation::Unknown => (Kind::Unknown, Vec::new()),
            Generation::None if images.consul_ecs.is_some() => (Kind::Controller, vec![consul_ecs]),
            Generation::AppMesh | Generation::None => return None,
        };
        let is_fips = images.consul_ecs.as_ref().is_some_and(|tag| tag.contains("fips"));
        Some(Self { kind, is_fips, programs })
    }

    /// These lines of consul-ecs and Consul Dataplane; without the latter, of tasks with a client agent.
    pub(super) fn with(consul_ecs: Line, dataplane: Option<Line>) -> Self {
        let kind = if dataplane.is_some() { Kind::Dataplane } else { Kind::ClientAgent };
        let dataplane = dataplane.map(|line| Release::of_line(Program::Dataplane, line));
        let programs = [Release::of_line(Program::ConsulEcs, consul_ecs)].into_iter().chain(dataplane).collect();
        Self { kind, is_fips: false, programs }
    }

    /// Whether it is the ACL controller, which tasks with a client agent need.
    pub(super) fn is_acl_controller(&self) -> bool {
        self.kind == Kind::Controller
            && self.programs.iter().any(|release| release.line.is_some_and(|line| line < FIRST_WITH_DATAPLANE))
    }

    /// Whether one certainly does not go with one of these.
    pub(super) fn conflicts_with(&self, consul: &[Line]) -> bool {
        self.programs.iter().any(|release| release.conflicts_with(consul))
    }

    /// The tasks after an update to `target`; `None` if each release that is older goes with these lines of Consul. No program
    /// goes back to an older release.
    pub(super) fn updated(&self, consul: &[Line], target: &Self) -> Option<Self> {
        let moves = self.kind != target.kind;
        let blocked = self
            .programs
            .iter()
            .any(|release| release.conflicts_with(consul) && (moves || !target.is_older_than(release)));
        blocked.then(|| {
            let kept = |theirs: &Release| self.newer_than(target).find(|own| own.program == theirs.program).cloned();
            let programs = target.programs.iter().map(|theirs| kept(theirs).unwrap_or_else(|| theirs.clone()));
            Self { kind: target.kind, is_fips: self.is_fips, programs: programs.collect() }
        })
    }

    /// The controller after an update to this line; `None` if it is not older.
    pub(super) fn controller_updated(&self, line: Line) -> Option<Self> {
        let is_older = self.programs.iter().any(|release| release.line.is_some_and(|own| own < line));
        let programs = vec![Release::of_line(Program::ConsulEcs, line)];
        is_older.then(|| Self { programs, ..self.clone() })
    }

    /// The releases that an update to `target` leaves because they are newer: `consul-dataplane 2.0.1`.
    pub(super) fn kept(&self, target: &Self) -> Vec<String> {
        self.newer_than(target).map(|release| format!("{} {}", release.program, release.tag)).collect()
    }

    fn newer_than<'a>(&'a self, target: &'a Self) -> impl Iterator<Item = &'a Release> {
        self.programs.iter().filter(|release| target.is_older_than(release))
    }

    fn is_older_than(&self, release: &Release) -> bool {
        let theirs = self.programs.iter().find(|other| other.program == release.program);
        theirs.is_some_and(|theirs| release.line > theirs.line)
    }

    /// Whether they go with a line of Consul.
    pub(super) fn fit(&self, consul: Line) -> Fit {
        if self.kind == Kind::Unknown {
            return Fit::Unknown(vec!["its containers are not known, nor whether it is in the mesh".to_owned()]);
        }
        let (mut not, mut unknown) = (Vec::new(), Vec::new());
        for release in &self.programs {
            match release.consul() {
                Some(lines) if lines.contains(&consul) => {}
                Some(lines) => {
                    not.push(format!("{} {} goes with Consul {}", release.program, release.tag, words(&lines)));
                }
                None => unknown.push(release.unknown()),
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
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
