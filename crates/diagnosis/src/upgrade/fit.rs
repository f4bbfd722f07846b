//! Whether a revision goes with a line of Consul.

use audit::{
    subject::Image,
    versions::{Line, Program, consul_of, table},
};

use crate::inventory::{Generation, InventoryRow};

/// Whether a revision goes with a line of Consul.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fit {
    Goes,
    /// It does not, because of these.
    Not(Vec<String>),
    /// It is not known, because of these.
    Unknown(Vec<String>),
}

/// The releases of a revision in Consul's mesh, and their lines; `None` is a tag without a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Releases(Vec<(Program, String, Option<Line>)>);

impl Releases {
    /// Those of a row; `None` if it is not in Consul's mesh.
    pub(super) fn of(row: &InventoryRow) -> Option<Self> {
        let images = &row.images;
        let named = |program, tag: &Option<String>| {
            let tag = tag.clone().unwrap_or_else(|| "unknown".to_owned());
            let image = Image { name: String::new(), tag: Some(tag.clone()) };
            (program, tag, image.version().map(|version| Line::of(&version)))
        };
        let consul_ecs = named(Program::ConsulEcs, &images.consul_ecs);
        match row.generation {
            Generation::ClientAgent => Some(Self(vec![consul_ecs])),
            Generation::Dataplane => Some(Self(vec![consul_ecs, named(Program::Dataplane, &images.consul_dataplane)])),
            Generation::Unknown => Some(Self(vec![named(Program::ConsulEcs, &None)])),
            Generation::AppMesh | Generation::None => None,
        }
    }

    /// These lines of consul-ecs and Consul Dataplane.
    pub(super) fn with(consul_ecs: Line, dataplane: Line) -> Self {
        let of = |program, line: Line| (program, line.to_string(), Some(line));
        Self(vec![of(Program::ConsulEcs, consul_ecs), of(Program::Dataplane, dataplane)])
    }

    /// Whether a release of it is newer than the one that it would be updated to.
    pub(super) fn are_newer_than(&self, other: &Self) -> bool {
        let newer = |(program, _, line): &(Program, String, Option<Line>)| {
            let theirs = other.0.iter().find(|(of, ..)| of == program);
            theirs.is_some_and(|(_, _, theirs)| line > theirs)
        };
        self.0.iter().any(newer)
    }

    /// Whether it has no Consul Dataplane, but a client agent.
    pub(super) fn has_client_agent(&self) -> bool {
        self.0.iter().all(|(program, ..)| *program != Program::Dataplane)
    }

    /// Whether it goes with a line of Consul.
    pub(super) fn fit(&self, consul: Line) -> Fit {
        let (mut not, mut unknown) = (Vec::new(), Vec::new());
        for (program, tag, line) in &self.0 {
            let Some(line) = line else {
                unknown.push(format!("the tag {tag} of {program} names no release"));
                continue;
            };
            match consul_of(*program, *line) {
                None => unknown.push(format!("{program} {tag} is not in the table of {}", table().as_of)),
                Some(lines) if lines.contains(&consul) => {}
                Some(lines) => not.push(format!("{program} {tag} goes with Consul {}", range(&lines))),
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
fn range(lines: &[Line]) -> String {
    if lines.is_empty() {
        return "of no line in the table".to_owned();
    }
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
