//! What blocks an upgrade of Consul's servers, and which releases go with the target, by the table of [`audit::versions`].

#[cfg(test)]
mod tests;

use audit::versions::{
    Defect, Program, before, before_of_mesh_entry, bundled_envoy, consul_of, defects_of, envoy_of, lines_of,
    newest_pair_for, table,
};
use mesh::{consul_ecs::Feature, release::Release};
use observe::MeshEntryReading;
use serde::Serialize;

use crate::{
    hybrid_groups::OpenGroups,
    inventory::{InventoryRow, MeshGeneration, UNKNOWN, UNTAGGED},
    unread::of_consul,
};

/// What blocks an upgrade of Consul's servers, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UpgradeReport {
    /// The line of Consul to reach: `2.0`.
    pub target: String,
    /// The line that the servers have now, if it is known.
    pub from: Option<String>,
    /// The day of the table of releases.
    pub table_as_of: String,
    /// How many revisions of Consul's mesh there are.
    pub revisions: usize,
    /// The revisions that do not support the target, or run a release with a known defect.
    pub blockers: Vec<Blocker>,
    /// The revisions with an unknown release.
    pub unknown: Vec<Blocker>,
    /// The revisions that are ready for the target, and do not go with the line that the servers have now.
    pub ahead: Vec<Blocker>,
    /// The newest releases for the target; null if the table has none.
    pub newest: Option<NewestReleases>,
    /// What HashiCorp requires before the servers reach each line up to the target.
    pub notes: Vec<String>,
    /// The commands that do what the notes name, ready to paste.
    pub commands: Vec<String>,
}

/// A revision that blocks an upgrade, or may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Blocker {
    /// The revision.
    pub row: RowName,
    /// Why, one sentence for each program.
    pub reasons: Vec<String>,
}

/// A row of the inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RowName {
    /// The name of the cluster, or the file and the line.
    pub place: String,
    /// The ECS service; without one, the service in Consul.
    pub service: Option<String>,
    /// The revision, or the family.
    pub revision: String,
}

/// The newest pair of releases that supports these lines of Consul.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NewestReleases {
    /// The target; also the servers' line, if releases support both, so that tasks can be updated first.
    pub consul: Vec<String>,
    /// The release of consul-ecs.
    pub consul_ecs: String,
    /// The release of consul-dataplane.
    pub consul_dataplane: String,
}

/// Why an upgrade cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpgradeError {
    /// The table does not have the line.
    #[error("Consul {line} is not in the table of {} (known: {})", table().as_of, all_lines())]
    NotInTheTable { line: Release },
    /// The servers are newer than the target.
    #[error("Consul's servers run {from}, which is newer than {target}: a downgrade is not supported")]
    Downgrade {
        /// The line of the servers.
        from: Release,
        target: Release,
    },
}

fn all_lines() -> String {
    lines_of(Program::Consul).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Whether an upgrade to this line depends on the config entry `mesh`.
pub fn needs_mesh_entry(target: Release) -> bool {
    lines_of(Program::Consul).into_iter().any(|line| line <= target && before_of_mesh_entry(line).is_some())
}

/// What blocks an upgrade of Consul's servers to `target`. `from` is the line that they have now, if it is known. `mesh_entry` is the config
/// entry `mesh`, if Consul was asked.
///
/// # Errors
/// The table does not have one of the lines, or `from` is newer.
pub fn upgrade(
    rows: &[InventoryRow],
    from: Option<Release>,
    target: Release,
    mesh_entry: Option<&MeshEntryReading>,
) -> Result<UpgradeReport, UpgradeError> {
    let known = lines_of(Program::Consul);
    if let Some(line) = [Some(target), from].into_iter().flatten().find(|line| !known.contains(line)) {
        return Err(UpgradeError::NotInTheTable { line });
    }
    if let Some(from) = from.filter(|from| *from > target) {
        return Err(UpgradeError::Downgrade { from, target });
    }
    let (mut revisions, mut blockers, mut unknown, mut ahead) = (0, Vec::new(), Vec::new(), Vec::new());
    for (row, fit) in rows.iter().filter_map(|row| Some((row, Fit::of(row, target)?))) {
        revisions += 1;
        let (found, reasons) = if !fit.blocking.is_empty() {
            (&mut blockers, [fit.blocking, fit.unknown].concat())
        } else if !fit.unknown.is_empty() {
            (&mut unknown, fit.unknown)
        } else {
            let today = from.and_then(|from| Some((from, Fit::of(row, from)?)));
            (&mut ahead, today.map(|(from, fit)| outside(target, from, fit)).unwrap_or_default())
        };
        if !reasons.is_empty() {
            found.push(Blocker { row: RowName::of(row), reasons });
        }
    }
    let is_ahead = |line: &&Release| **line <= target && from.map_or(**line == target, |from| **line > from);
    let (mut notes, mut commands) = (Vec::new(), Vec::new());
    for line in known.iter().filter(is_ahead) {
        let of_entry = demand_of_mesh_entry(*line, mesh_entry, &mut commands);
        let demands = before(*line).map(str::to_owned).into_iter().chain(of_entry);
        notes.extend(demands.map(|demand| format!("Before Consul {line}: {demand}")));
    }
    Ok(UpgradeReport {
        target: target.to_string(),
        from: from.map(|line| line.to_string()),
        table_as_of: table().as_of.to_string(),
        revisions,
        blockers,
        unknown,
        ahead,
        newest: NewestReleases::of(from, target),
        notes,
        commands,
    })
}

/// Why a revision that is ready for the target does not go with the servers of today.
fn outside(target: Release, from: Release, today: Fit) -> Vec<String> {
    let reasons = today.blocking.into_iter();
    reasons.map(|reason| format!("ready for {target}, outside of the pairs of {from}: {reason}")).collect()
}

/// What has to be done to the config entry `mesh` before the servers reach a line; `None` if the entry needs nothing.
fn demand_of_mesh_entry(
    line: Release,
    mesh_entry: Option<&MeshEntryReading>,
    commands: &mut Vec<String>,
) -> Option<String> {
    let demand = before_of_mesh_entry(line)?;
    match mesh_entry {
        None => Some(demand.to_owned()),
        Some(Err(error)) => Some(format!("{demand}. Whether the entry demands it is unknown: {}", of_consul(error))),
        Some(Ok(entry)) => {
            let groups = OpenGroups::of(entry.as_ref()?)?;
            commands.extend(groups.commands());
            Some(groups.demand())
        }
    }
}

impl RowName {
    fn of(row: &InventoryRow) -> Self {
        Self {
            place: row.place().to_owned(),
            service: row.ecs_service.clone().or_else(|| row.service.clone()),
            revision: row.revision.clone(),
        }
    }
}

impl NewestReleases {
    fn of(from: Option<Release>, target: Release) -> Option<Self> {
        let both: Vec<Release> = from.filter(|from| *from != target).into_iter().chain([target]).collect();
        [both, vec![target]].into_iter().find_map(|consul| {
            let (consul_ecs, dataplane) = newest_pair_for(&consul, |line| Feature::Dataplane.is_in(line))?;
            Some(Self {
                consul: consul.iter().map(Release::to_string).collect(),
                consul_ecs: consul_ecs.to_string(),
                consul_dataplane: dataplane.to_string(),
            })
        })
    }
}

/// Why a revision does not go with a line of Consul, or may not; one sentence for each program. Empty if it does.
#[derive(Debug, Default)]
pub(super) struct Fit {
    pub(super) blocking: Vec<String>,
    pub(super) unknown: Vec<String>,
}

impl Fit {
    /// `None` if the revision is neither in Consul's mesh nor a controller: the only program of consul-ecs outside of it.
    pub(super) fn of(row: &InventoryRow, consul: Release) -> Option<Self> {
        let (images, mut fit) = (&row.images, Self::default());
        match row.generation {
            MeshGeneration::Unknown => {
                fit.unknown.push("its containers are unknown, so it may or may not be in the mesh".to_owned());
                return Some(fit);
            }
            MeshGeneration::AppMesh => return None,
            MeshGeneration::None if images.consul_ecs.is_none() => return None,
            MeshGeneration::ClientAgent | MeshGeneration::Dataplane | MeshGeneration::None => {}
        }
        fit.judge(Program::ConsulEcs, images.consul_ecs.as_deref(), consul);
        if row.generation == MeshGeneration::Dataplane {
            fit.judge(Program::Dataplane, images.consul_dataplane.as_deref(), consul);
        }
        if row.generation == MeshGeneration::ClientAgent
            && let Some(agent) = images.consul.as_deref().and_then(Release::in_tag).map(Release::in_line)
            && agent != consul
        {
            fit.blocking.push(format!("its client agent runs Consul {agent}"));
        }
        Some(fit)
    }

    fn judge(&mut self, program: Program, tag: Option<&str>, consul: Release) {
        let tag = tag.unwrap_or(UNKNOWN);
        let Some(version) = Release::in_tag(tag) else { return self.unknown.push(no_release(program, tag)) };
        let Some(lines) = consul_of(program, version.in_line()) else {
            return self.unknown.push(format!("{program} {tag} is not in the table of {}", table().as_of));
        };
        // Servers refuse an Envoy that is too old: https://github.com/hashicorp/consul-dataplane/issues/1245
        let envoy = bundled_envoy(version).filter(|_| program == Program::Dataplane);
        let oldest = |line: Release| envoy_of(line).first().copied();
        let accepts = |line: &Release| lines.contains(line) && envoy.is_none_or(|envoy| Some(envoy) >= oldest(*line));
        if accepts(&consul) {
            // The auditor's rule reports the defects of consul-ecs: which of them show depends on the definition.
            let defects = defects_of(program, version).into_iter().filter(|_| program == Program::Dataplane);
            return self.blocking.extend(defects.filter_map(|defect| defective(defect, tag)));
        }
        if !lines_of(program).into_iter().any(|line| consul_of(program, line).is_some_and(|all| all.contains(&consul)))
        {
            return self.unknown.push(format!("no source names a release of {program} for Consul {consul} yet"));
        }
        self.blocking.push(match (envoy, oldest(consul)) {
            (Some(envoy), Some(oldest)) if lines.contains(&consul) => {
                format!("{program} {tag} contains Envoy {envoy}, but Consul {consul} needs Envoy {oldest} or newer")
            }
            _ => {
                let lines: Vec<String> = lines.iter().filter(|line| accepts(line)).map(Release::to_string).collect();
                let lines = if lines.is_empty() {
                    "no known Consul".to_owned()
                } else {
                    format!("only Consul {}", lines.join(", "))
                };
                format!("{program} {tag} supports {lines}")
            }
        });
    }
}

/// What a known defect is and which release corrects it; `None` without such a release.
fn defective(defect: &Defect, tag: &str) -> Option<String> {
    defect.fixed_in.map(|_| format!("{} {tag}: {}; {}", defect.program, defect.what, defect.action))
}

fn no_release(program: Program, tag: &str) -> String {
    match tag {
        UNTAGGED => format!("the image of {program} has no tag: look up the tags of its digest in the registry"),
        UNKNOWN => format!("the image of {program} is unknown"),
        _ => format!("the tag {tag} of {program} names no release"),
    }
}
