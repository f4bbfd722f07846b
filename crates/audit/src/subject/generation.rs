//! The generations of Consul's mesh on ECS.

use semver::Version;

use crate::versions::{FIRST_WITH_DATAPLANE, FIRST_WITHOUT_CONTROL_PLANE, Line};

/// The containers that connect a task to Consul's mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// A Consul client agent and Envoy (consul-ecs up to 0.6).
    Client,
    /// Consul Dataplane and a control-plane container (consul-ecs 0.7).
    ControlPlane,
    /// Consul Dataplane and mesh-init (consul-ecs 0.8 and newer).
    Dataplane,
}

impl Generation {
    /// Whether this version of consul-ecs belongs to this generation.
    pub fn fits(self, version: &Version) -> bool {
        let line = Line::of(version);
        match self {
            Self::Client => line < FIRST_WITH_DATAPLANE,
            Self::ControlPlane => (FIRST_WITH_DATAPLANE..FIRST_WITHOUT_CONTROL_PLANE).contains(&line),
            Self::Dataplane => line >= FIRST_WITHOUT_CONTROL_PLANE,
        }
    }

    /// As users read it.
    pub fn releases(self) -> &'static str {
        match self {
            Self::Client => "0.6 and older",
            Self::ControlPlane => "0.7",
            Self::Dataplane => "0.8 and newer",
        }
    }
}
