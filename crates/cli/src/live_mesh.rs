//! What a running mesh has of the names in task definitions, for `check --mesh`.

use std::{env, time::Duration};

use audit::{
    live_mesh::{LiveMesh, questions},
    rule::Rule,
};
use audit_read::Material;
use diagnosis::{live_mesh, live_mesh_questions};
use document::InputProblem;
use observe::read_live_mesh;

use crate::{account::runtime, consul_variables::ConsulVariables, output::Progress, streams::Failure};

/// The limit on reading Consul. A pipeline waits for it, and the GitHub Action checks three times. The reader reserves its last four
/// seconds.
const LONGEST_READING: Duration = Duration::from_secs(14);
/// What stands for Consul in reports, in place of a file.
const PLACE: &str = "--mesh";
const NOTHING_TO_COMPARE: &str =
    "no task definition is known to be in Consul's mesh, so Consul was not asked and nothing was compared";

/// What was read for `--mesh`.
#[derive(Default)]
pub(super) struct ReadMesh {
    /// `None` if it was not asked.
    pub(super) mesh: Option<LiveMesh>,
    /// What could not be read.
    pub(super) problems: Vec<InputProblem>,
    /// That nothing was compared.
    pub(super) notes: Vec<InputProblem>,
}

fn about_mesh(reason: impl Into<String>) -> InputProblem {
    InputProblem { file: PLACE.to_owned(), position: None, reason: reason.into() }
}

/// Reads what the Consul of the usual variables has of these definitions. It is not asked if none of them is in the mesh.
/// `is_applied` says whether a rule applies.
pub(super) fn read(
    material: &Material,
    is_applied: impl Fn(&Rule) -> bool,
    progress: &Progress,
) -> Result<ReadMesh, Failure> {
    let variables = ConsulVariables::read(|name| env::var(name).ok())?;
    let (consul, home) = (variables.client()?, &variables.tenancy);
    let asked = questions(material, home).for_rules(is_applied);
    if asked.is_empty() {
        return Ok(ReadMesh { notes: vec![about_mesh(NOTHING_TO_COMPARE)], ..ReadMesh::default() });
    }
    progress.say("reading Consul");
    let questions = live_mesh_questions(&asked, home);
    let read = read_live_mesh(&consul, &questions, LONGEST_READING);
    let reading = runtime()?.block_on(progress.during(Box::pin(read)));
    let (mesh, problems) = live_mesh(&asked, home, &reading);
    let problems = problems.into_iter().map(about_mesh).collect();
    Ok(ReadMesh { mesh: Some(mesh), problems, notes: Vec::new() })
}
