//! The releases of the mesh's containers against the release of the servers.

use super::super::prelude::*;
use crate::{
    subject::{Release, line_of},
    versions::{Program, lines_of, supports},
};

pub(in crate::rules) static CONSUL_LIVE_RELEASE: Rule =
    Rule::of_task(page!("consul-live-release"), Applies::ConsulWithMesh, check_release);

fn check_release(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(servers) = subject.mesh.and_then(|mesh| mesh.servers) else { return };
    let mut drafts: Vec<((Program, Release), Draft)> = Vec::new();
    for container in subject.containers_of_consul() {
        // A client agent of a line goes with servers of other lines as well: the table does not have them.
        let Some(found) = line_of(container).filter(|(program, _)| *program != Program::Consul) else { continue };
        if let Some((_, draft)) = drafts.iter_mut().find(|(known, _)| *known == found) {
            draft.add_note_elsewhere(container.image.span(), "this image as well");
        } else if supports(found, (Program::Consul, servers)) == Some(false) {
            drafts.push((found, draft(container, found, servers)));
        }
    }
    findings.extend(drafts.into_iter().map(|(_, draft)| draft));
}

fn draft(container: &Container, (program, line): (Program, Release), servers: Release) -> Draft {
    let fits = |line: &Release| supports((program, *line), (Program::Consul, servers)) == Some(true);
    let choices: Vec<String> = lines_of(program).iter().filter(|line| fits(line)).map(Release::to_string).collect();
    let message = format!("{program} {line} does not go with Consul {servers}, which the servers run");
    let help = match choices.as_slice() {
        [] => format!("no release of {program} is known to go with these servers: update them"),
        choices => format!("use one of {program} {}, or update the servers", choices.join(", ")),
    };
    Draft::new(container.image.span(), message, help).of(container)
}
