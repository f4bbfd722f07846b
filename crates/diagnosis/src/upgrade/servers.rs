//! The servers that tasks are to go with.

use audit::versions::{Line, Program};

/// The lines of Consul's servers that each program of tasks is to go with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Servers {
    consul_ecs: Vec<Line>,
    dataplane: Vec<Line>,
}

impl Servers {
    /// All programs with all of these.
    pub(super) fn all(consul: &[Line]) -> Self {
        Self { consul_ecs: consul.to_vec(), dataplane: consul.to_vec() }
    }

    /// consul-ecs with the first, Consul Dataplane with both.
    pub(super) fn dataplane_across(consul: Line, other: Line) -> Self {
        Self { consul_ecs: vec![consul], dataplane: vec![consul, other] }
    }

    /// Those that a program is to go with.
    pub(super) fn of(&self, program: Program) -> &[Line] {
        match program {
            Program::Dataplane => &self.dataplane,
            Program::ConsulEcs | Program::Consul => &self.consul_ecs,
        }
    }
}
