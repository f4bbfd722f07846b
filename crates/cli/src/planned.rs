//! What a running mesh has of the names in task definitions, for `check --mesh`.

use std::{env, time::Duration};

use audit::live_mesh::{LiveMesh, questions};
use audit_read::Material;
use diagnosis::{live_mesh, planned_questions};
use document::InputProblem;
use observe::read_planned;

use crate::{account::runtime, consul_variables::ConsulVariables, output::Progress, streams::Failure};

/// The limit on reading Consul, of which the last four seconds are reserved: it ends after ten. A pipeline waits for it, and the GitHub
/// Action checks three times.
const LONGEST_READING: Duration = Duration::from_secs(14);
/// What stands for Consul in reports, in place of a file.
const PLACE: &str = "--mesh";
/// The rules about logins: without them, Consul's auth methods are not read.
const RULES_ABOUT_LOGINS: [&str; 2] = ["consul-live-login", "consul-live-identity"];

/// Reads what the Consul of the usual variables has of these definitions, and what could not be read; nothing if none of them is in
/// the mesh. `is_applied` says whether the rule of an ID applies.
pub(super) fn read(
    material: &Material,
    is_applied: impl Fn(&str) -> bool,
    progress: &Progress,
) -> Result<(Option<LiveMesh>, Vec<InputProblem>), Failure> {
    let variables = ConsulVariables::read(|name| env::var(name).ok())?;
    let (consul, home) = (variables.client()?, &variables.tenancy);
    let mut asked = questions(material, home);
    if asked.is_empty() {
        return Ok((None, Vec::new()));
    }
    if !RULES_ABOUT_LOGINS.into_iter().any(is_applied) {
        asked.methods.clear();
    }
    progress.say("reading Consul");
    let planned = planned_questions(&asked, home);
    let read = read_planned(&consul, &planned, LONGEST_READING);
    let reading = runtime()?.block_on(progress.during(Box::pin(read)));
    let (mesh, problems) = live_mesh(&asked, home, &reading);
    let problem = |reason| InputProblem { file: PLACE.to_owned(), position: None, reason };
    Ok((Some(mesh), problems.into_iter().map(problem).collect()))
}
