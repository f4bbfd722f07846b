//! Whether the releases of a revision go with a line of Consul.

use audit::{
    subject::version_in,
    versions::{Line, Program, bundled_envoy, consul_of, envoy_of, table},
};

use crate::{
    inventory::{Generation, InventoryRow},
    versions::{UNKNOWN, UNTAGGED},
};

/// Why a revision does not go with a line of Consul, or may not; one sentence for each program. Empty if it does.
#[derive(Debug, Default)]
pub(super) struct Fit {
    pub(super) blocking: Vec<String>,
    pub(super) unknown: Vec<String>,
}

impl Fit {
    /// `None` if the revision is neither in Consul's mesh nor a controller: the only program of consul-ecs outside of it.
    pub(super) fn of(row: &InventoryRow, consul: Line) -> Option<Self> {
        let (images, mut fit) = (&row.images, Self::default());
        match row.generation {
            Generation::Unknown => {
                fit.unknown.push("its containers are not known, nor whether it is in the mesh".to_owned());
                return Some(fit);
            }
            Generation::AppMesh => return None,
            Generation::None if images.consul_ecs.is_none() => return None,
            Generation::ClientAgent | Generation::Dataplane | Generation::None => {}
        }
        fit.judge(Program::ConsulEcs, images.consul_ecs.as_deref(), consul);
        if row.generation == Generation::Dataplane {
            fit.judge(Program::Dataplane, images.consul_dataplane.as_deref(), consul);
        }
        if row.generation == Generation::ClientAgent
            && let Some(agent) = images.consul.as_deref().and_then(version_in).map(|version| Line::of(&version))
            && agent != consul
        {
            fit.blocking.push(format!("its client agent runs Consul {agent}"));
        }
        Some(fit)
    }

    fn judge(&mut self, program: Program, tag: Option<&str>, consul: Line) {
        let tag = tag.unwrap_or(UNKNOWN);
        let Some(version) = version_in(tag) else { return self.unknown.push(no_release(program, tag)) };
        let Some(lines) = consul_of(program, Line::of(&version)) else {
            return self.unknown.push(format!("{program} {tag} is not in the table of {}", table().as_of));
        };
        // Servers refuse an Envoy that is too old: https://github.com/hashicorp/consul-dataplane/issues/1245
        let envoy = bundled_envoy(&version).filter(|_| program == Program::Dataplane);
        let oldest = |line: Line| envoy_of(line).first().copied();
        let accepts = |line: &Line| lines.contains(line) && envoy.is_none_or(|envoy| Some(envoy) >= oldest(*line));
        if accepts(&consul) {
            return;
        }
        self.blocking.push(match (envoy, oldest(consul)) {
            (Some(envoy), Some(oldest)) if lines.contains(&consul) => {
                format!("{program} {tag} contains Envoy {envoy}, and Consul {consul} starts at Envoy {oldest}")
            }
            _ => {
                let lines: Vec<String> = lines.iter().filter(|line| accepts(line)).map(Line::to_string).collect();
                format!("{program} {tag} goes with Consul {}", lines.join(", "))
            }
        });
    }
}

fn no_release(program: Program, tag: &str) -> String {
    match tag {
        UNTAGGED => format!("the image of {program} has no tag"),
        UNKNOWN => format!("the image of {program} is not known"),
        _ => format!("the tag {tag} of {program} names no release"),
    }
}
