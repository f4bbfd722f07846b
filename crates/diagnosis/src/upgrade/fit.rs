//! Whether the releases of a revision go with a line of Consul.

use audit::{
    subject::version_in,
    versions::{FIRST_WITH_DATAPLANE, Line, Program},
};
use semver::Version;

use super::{release::Release, servers::Servers};
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

/// The releases of a revision in Consul's mesh, or of a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Releases {
    pub(super) kind: Kind,
    /// Whether its image of consul-ecs is a FIPS image.
    pub(super) is_fips: bool,
    programs: Vec<Release>,
    /// The line of Consul of its client agent, if it has one and its tag names a release.
    agent: Option<Line>,
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
        let agent = images.consul.as_deref().and_then(version_in).map(|version| Line::of(&version));
        Some(Self { kind, is_fips, programs, agent: agent.filter(|_| kind == Kind::ClientAgent) })
    }

    /// These releases of tasks; without Consul Dataplane, of tasks with a client agent.
    pub(super) fn with<'a>(programs: impl Iterator<Item = (Program, &'a Version)>) -> Self {
        let programs: Vec<Release> = programs.map(|(program, version)| Release::of_version(program, version)).collect();
        let has_dataplane = programs.iter().any(|release| release.program == Program::Dataplane);
        let kind = if has_dataplane { Kind::Dataplane } else { Kind::ClientAgent };
        Self { kind, is_fips: false, programs, agent: None }
    }

    /// Whether it is the ACL controller, which tasks with a client agent need.
    pub(super) fn is_acl_controller(&self) -> bool {
        self.kind == Kind::Controller
            && self.programs.iter().any(|release| release.line().is_some_and(|line| line < FIRST_WITH_DATAPLANE))
    }

    /// Whether it is not known what they are, or what one of them goes with.
    pub(super) fn has_unknown(&self) -> bool {
        self.kind == Kind::Unknown || self.programs.iter().any(Release::is_unknown)
    }

    /// Whether one certainly does not go with the servers.
    pub(super) fn conflicts_with(&self, servers: &Servers) -> bool {
        self.programs.iter().any(|release| release.conflicts_with(servers.of(release.program)))
    }

    /// The tasks after an update to `target`; `None` if each release that is older goes with the servers. No program goes back to
    /// an older release.
    pub(super) fn updated(&self, servers: &Servers, target: &Self) -> Option<Self> {
        let moves = self.kind != target.kind;
        let is_blocked = |release: &Release| release.conflicts_with(servers.of(release.program));
        let blocked =
            self.programs.iter().any(|release| is_blocked(release) && (moves || !target.is_older_than(release)));
        blocked.then(|| {
            let kept = |theirs: &Release| self.newer_than(target).find(|own| own.program == theirs.program).cloned();
            let programs = target.programs.iter().map(|theirs| kept(theirs).unwrap_or_else(|| theirs.clone()));
            let agent = self.agent.filter(|_| !moves);
            Self { kind: target.kind, is_fips: self.is_fips, programs: programs.collect(), agent }
        })
    }

    /// The programs that have another release than before.
    pub(super) fn changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = Program> + 'a {
        self.programs.iter().filter(|release| !before.programs.contains(release)).map(|release| release.program)
    }

    /// The controller after an update to this release; `None` if its line is not older.
    pub(super) fn controller_updated(&self, version: &Version) -> Option<Self> {
        let is_older = self.programs.iter().any(|release| release.line().is_some_and(|own| own < Line::of(version)));
        let programs = vec![Release::of_version(Program::ConsulEcs, version)];
        is_older.then(|| Self { programs, ..self.clone() })
    }

    /// Whether it has a client agent that is certainly older than these servers.
    pub(super) fn lags_behind(&self, consul: Line) -> bool {
        self.agent.is_some_and(|agent| agent < consul)
    }

    /// Whether it has a client agent of an unknown release.
    pub(super) fn has_unknown_agent(&self) -> bool {
        self.kind == Kind::ClientAgent && self.agent.is_none()
    }

    /// Updates its client agent.
    pub(super) fn update_agent(&mut self, consul: Line) {
        self.agent = Some(consul);
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
        theirs.is_some_and(|theirs| release.is_newer_than(theirs))
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
                Some(lines) => not.push(release.why_not(consul, &lines)),
                None => unknown.push(release.unknown()),
            }
        }
        if let Some(agent) = self.agent.filter(|agent| *agent != consul) {
            not.push(format!("its client agent runs Consul {agent}"));
        }
        match (not.is_empty(), unknown.is_empty()) {
            (true, true) => Fit::Goes,
            (true, false) => Fit::Unknown(unknown),
            (false, _) => Fit::Not(not.into_iter().chain(unknown).collect()),
        }
    }
}
