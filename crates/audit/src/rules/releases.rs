//! Releases: their support, the pairs that go together, and defects that an image alone shows.

use super::prelude::*;
use crate::{
    subject::{Release, Software, image_of, line_of, release_of, releases_of},
    versions::{
        Defect, Need, Program, consul_of, defects_of, has_ended, lines_of, newest_of, newest_partner, supports,
        supports_envoy, table,
    },
};

pub(super) static CONSUL_RELEASE_DEFECT: Rule =
    Rule::of_task(page!("consul-release-defect"), Applies::ConsulAndController, check_release_defect);

fn check_release_defect(subject: &Subject<'_>, findings: &mut Findings) {
    let mut drafts: Vec<((Program, Release), Draft)> = Vec::new();
    for container in subject.containers_of_consul() {
        let Some(found) = releases_of(container) else { continue };
        if let Some((_, draft)) = drafts.iter_mut().find(|(known, _)| *known == found) {
            draft.add_note_elsewhere(container.image.span(), "this image as well");
        } else if let Some(draft) = draft(subject, container, found.0, found.1) {
            drafts.push((found, draft));
        }
    }
    findings.extend(drafts.into_iter().map(|(_, draft)| draft));
}

/// The defects of a release in one finding: one update corrects all of them.
fn draft(subject: &Subject<'_>, container: &Container, program: Program, release: Release) -> Option<Draft> {
    let is_reported = |defect: &&Defect| {
        defect.rule.as_deref() == Some(CONSUL_RELEASE_DEFECT.id)
            && defect.is_of_controller == subject.controller.is_some()
            && defect.needs.is_none_or(|feature| !is_off(subject, container, feature))
    };
    let defects: Vec<&Defect> = defects_of(program, release).into_iter().filter(is_reported).collect();
    let last = defects.iter().max_by_key(|defect| &defect.fixed_in)?;
    let what: Vec<&str> = defects.iter().map(|defect| defect.what.as_str()).collect();
    let number =
        if defects.len() == 1 { "a known defect".to_owned() } else { format!("{} known defects", defects.len()) };
    let is_withdrawn = defects.iter().any(|defect| defect.is_withdrawn);
    let state = if is_withdrawn { "is withdrawn".to_owned() } else { format!("has {number}") };
    let message = format!("{program} {release} {state}");
    let draft = Draft::new(container.image.span(), message, action(subject, program, last)).of(container);
    let draft = draft.effect(what.join("; "));
    let draft = draft.corrected_in(last.fixed_in.filter(|_| program == Program::ConsulEcs));
    // The mesh gateway may be in another input.
    let is_unseen = |defect: &&Defect| defect.needs == Some(Need::MeshGateway) && !subject.is_beside_mesh_gateway;
    Some(if defects.iter().all(is_unseen) { draft.severity(Severity::Info) } else { draft })
}

/// What to do about a defect. Where the release that corrects it does not go with the other program of the task, it names one
/// that does.
fn action(subject: &Subject<'_>, program: Program, defect: &Defect) -> String {
    let Defect { action, fixed_in: Some(fixed), .. } = defect else { return defect.action.clone() };
    let Some(consul) = &subject.consul else { return action.clone() };
    let is_split = |consul_ecs: Release, dataplane: Release| {
        supports((Program::ConsulEcs, consul_ecs), (Program::Dataplane, dataplane)) == Some(false)
    };
    let line_of = |container, wanted| line_of(container).filter(|(found, _)| *found == wanted).map(|(_, line)| line);
    match program {
        Program::Dataplane => {
            let ours = consul.consul_ecs_containers().find_map(|container| line_of(container, Program::ConsulEcs));
            let ours = ours.filter(|ours| is_split(*ours, fixed.in_line()));
            match ours.and_then(|ours| Some((ours, newest_partner(ours).filter(|newest| newest >= fixed)?))) {
                Some((ours, newest)) => format!("use {program} {newest}, which goes with consul-ecs {ours}"),
                None => action.clone(),
            }
        }
        Program::ConsulEcs => {
            let theirs = consul.dataplane.and_then(|dataplane| line_of(dataplane, Program::Dataplane));
            let theirs = theirs.filter(|theirs| is_split(fixed.in_line(), *theirs));
            match theirs.and_then(|_| newest_partner(fixed.in_line())) {
                Some(newest) => format!("{action}, together with {} {newest}", Program::Dataplane),
                None => action.clone(),
            }
        }
        Program::Consul => action.clone(),
    }
}

/// Whether the definition certainly does not use a feature.
fn is_off(subject: &Subject<'_>, container: &Container, feature: Need) -> bool {
    let configuration = subject.consul_ecs().and_then(|consul_ecs| consul_ecs.configuration);
    match feature {
        Need::Partitions => subject.controller.as_ref().is_some_and(|controller| {
            let switch = "-partitions-enabled";
            let may_be_it = |word: &Field<Text>| match word.known() {
                Some(text) => {
                    text.whole().map_or_else(|| switch.starts_with(text.head()), |word| word.contains(switch))
                }
                None => true,
            };
            controller.container.command.lacks(may_be_it)
        }),
        // Containers with a health check that is not synced have a rule of their own, whose fix syncs it.
        Need::SyncedContainers => {
            let synced = configuration.and_then(|configuration| configuration.list("healthSyncContainers"));
            let apps = subject.consul.iter().flat_map(|consul| &consul.apps);
            synced.is_some_and(<[_]>::is_empty) && apps.into_iter().all(|app| app.health_check.is_absent())
        }
        Need::MeshGateway => false,
        Need::Fips => container.image.known().is_some_and(|image| !image.mentions("fips")),
    }
}

pub(super) static CONSUL_RELEASE_PAIR: Rule =
    Rule::of_task(page!("consul-release-pair"), Applies::Consul, check_release_pair);

fn check_release_pair(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.has_images_of_its_generation()) else { return };
    for (partner, program) in [(consul.dataplane, Program::Dataplane), (consul.client, Program::Consul)] {
        findings.extend(partner.and_then(|partner| of_consul_ecs(consul, partner, program)));
    }
    findings.extend(of_envoy(consul));
}

/// consul-ecs and the container with `program`.
fn of_consul_ecs(consul: &ConsulTask<'_>, partner: &Container, program: Program) -> Option<Draft> {
    let (holder, ours) = consul.consul_ecs_containers().find_map(|container| {
        let (program, line) = line_of(container)?;
        (program == Program::ConsulEcs).then_some((container, line))
    })?;
    let (_, theirs) = line_of(partner).filter(|(found, _)| *found == program)?;
    let fits = |line: Release| supports((Program::ConsulEcs, ours), (program, line)) == Some(true);
    if supports((Program::ConsulEcs, ours), (program, theirs))? {
        return None;
    }
    let choices = lines_of(program).into_iter().filter(|line| fits(*line));
    let message = format!("{program} {theirs} does not go with consul-ecs {ours}");
    let help = match (help(&program.to_string(), choices), newest_pair(program)) {
        (help, Some((newest, _))) if newest == ours => help,
        (help, Some((newest, partner))) => {
            format!("{help}, or update to the newest pair: consul-ecs {newest} and {program} {partner}")
        }
        (help, None) => format!("{help}, or update both"),
    };
    let draft = Draft::new(partner.image.span(), message, help);
    Some(draft.of(partner).note(holder.image.span(), "consul-ecs"))
}

/// The newest line of consul-ecs and the newest line of `program` that goes with it.
fn newest_pair(program: Program) -> Option<(Release, Release)> {
    let newest = *lines_of(Program::ConsulEcs).last()?;
    let fits = |line: &Release| supports((Program::ConsulEcs, newest), (program, *line)) == Some(true);
    // A client agent has no place in a task of the newest line.
    let partner = lines_of(program).into_iter().filter(|_| program == Program::Dataplane).rfind(fits)?;
    Some((newest, partner))
}

/// Envoy and the Consul of the client agent.
fn of_envoy(consul: &ConsulTask<'_>) -> Option<Draft> {
    let (client, proxy) = (consul.client?, consul.sidecar_proxy?);
    let image = image_of(proxy).filter(|image| image.software() == Some(Software::Envoy))?;
    let envoy = image.version()?.in_line();
    let (_, line) = line_of(client).filter(|(program, _)| *program == Program::Consul)?;
    if supports_envoy(line, envoy)? {
        return None;
    }
    let row = table().consul.iter().find(|row| row.line == line)?;
    let message = format!("Envoy {envoy} does not go with Consul {line}");
    let draft = Draft::new(proxy.image.span(), message, help("Envoy", row.envoy.iter().copied()) + ", or update both");
    Some(draft.of(proxy).note(client.image.span(), "Consul"))
}

fn help(program: &str, choices: impl Iterator<Item = Release>) -> String {
    let choices: Vec<String> = choices.map(|line| line.to_string()).collect();
    format!("use one of {program} {}", choices.join(", "))
}

pub(super) static CONSUL_END_OF_SUPPORT: Rule =
    Rule::of_task(page!("consul-end-of-support"), Applies::ConsulAndController, check_end_of_support);

fn check_end_of_support(subject: &Subject<'_>, findings: &mut Findings) {
    let mut ended = subject.containers_of_consul().into_iter().filter_map(|container| {
        let (program, line) = line_of(container)?;
        has_ended(program, line)?.then_some((container, program, line))
    });
    let Some((container, program, line)) = ended.next() else { return };
    let day = &table().as_of;
    let message = match program {
        Program::Consul => format!("the support of Consul {line} has ended (as of {day})"),
        _ => format!("{program} {line} goes with {}, whose support has ended (as of {day})", servers(program, line)),
    };
    let help = "plan the update with the team that runs Consul: ecs-mesh inventory --target-consul VERSION reads the account, and \
                says what blocks it and which releases go with it";
    let draft = Draft::new(container.image.span(), message, help).of(container);
    findings.add(ended.fold(draft, |mut draft, (other, ..)| {
        draft.add_note_elsewhere(other.image.span(), "this image as well");
        draft
    }));
}

fn servers(program: Program, line: Release) -> String {
    let lines = consul_of(program, line).unwrap_or_default();
    match lines.as_slice() {
        [first, _, .., last] => format!("Consul {first} to {last}"),
        lines => lines.iter().map(|line| format!("Consul {line}")).collect::<Vec<_>>().join(" and "),
    }
}

pub(super) static CONSUL_FIPS_TAG: Rule =
    Rule::of_task(page!("consul-fips-tag"), Applies::ConsulAndController, check_fips_tag);

const OLD: &str = "-fips1402";
const NEW: &str = "-fips1403";

/// The beginnings of the references to HashiCorp's own images.
const OF_HASHICORP: [&str; 3] = ["hashicorp/", "docker.io/hashicorp/", "public.ecr.aws/hashicorp/"];

fn hashicorp_s_image(container: &Container) -> Option<&str> {
    container.image.text().filter(|image| OF_HASHICORP.iter().any(|start| image.starts_with(start)))
}

fn check_fips_tag(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    findings.extend(consul_ecs.containers.into_iter().filter_map(fips_draft));
}

fn fips_draft(container: &Container) -> Option<Draft> {
    let (_, release) = release_of(container).filter(|(program, _)| *program == Program::ConsulEcs)?;
    let image = hashicorp_s_image(container)?;
    let is_renamed =
        defects_of(Program::ConsulEcs, release).iter().any(|defect| defect.rule.as_deref() == Some(CONSUL_FIPS_TAG.id));
    let (wrong, right) = if is_renamed { (OLD, NEW) } else { (NEW, OLD) };
    // A digest decides which image it is.
    if !image.ends_with(wrong) {
        return None;
    }
    let message = format!("the FIPS image of consul-ecs {release} has a tag that ends in {right}, not in {wrong}");
    let fix = Fix::set(&container.image.place, image.replace(wrong, right));
    Some(Draft::new(container.image.span(), message, format!("replace {wrong} by {right}")).of(container).fix(fix))
}

pub(super) static CONSUL_IMAGE_TAG: Rule =
    Rule::of_task(page!("consul-image-tag"), Applies::ConsulAndController, check_image_tag);

fn check_image_tag(subject: &Subject<'_>, findings: &mut Findings) {
    for container in subject.containers_of_consul() {
        findings.extend(moving_tag(subject, container));
        let Some(image) = hashicorp_s_image(container).filter(|image| !image.contains('@')) else { continue };
        let Some((repository, tag)) = image.rsplit_once(":v") else { continue };
        if Release::in_tag(tag).is_none() {
            continue;
        }
        let message = format!("{repository} has no tag v{tag}");
        let fix = Fix::set(&container.image.place, format!("{repository}:{tag}"));
        findings.add(Draft::new(container.image.span(), message, format!("write {tag}")).of(container).fix(fix));
    }
}

/// An image without a release: its next task may run another one.
fn moving_tag(subject: &Subject<'_>, container: &Container) -> Option<Draft> {
    let reference = container.image.text().filter(|reference| !reference.contains('@'))?;
    let image = image_of(container)?;
    let is_proxy =
        subject.consul.as_ref().and_then(|consul| consul.dataplane).is_some_and(|it| std::ptr::eq(it, container));
    let program = match image.software()? {
        Software::ConsulEcs if !is_proxy => Program::ConsulEcs,
        Software::Dataplane if is_proxy => Program::Dataplane,
        // Another rule reports the image of another program.
        _ => return None,
    };
    let what = match image.tag.as_deref() {
        None => "has no tag, which means latest",
        Some("latest") => "has the tag latest",
        Some(_) => return None,
    };
    let consul_ecs = subject.consul.as_ref().and_then(ConsulTask::version).filter(|_| program == Program::Dataplane);
    let newest = match consul_ecs.and_then(|version| newest_partner(version.in_line())) {
        Some(partner) => partner,
        None => newest_of(program, *lines_of(program).last()?)?,
    };
    let message = format!("the image {reference} of {} {what}: it is another release one day", container.label());
    let help = format!("pin a release: {newest} is the newest known (as of {})", table().as_of);
    let draft = Draft::new(container.image.span(), message, help).of(container).severity(Severity::Info);
    Some(draft.effect(MOVING))
}

const MOVING: &str = "a task that starts later may get another release, which does not fit the other containers";

pub(super) static CONSUL_RELEASE_UNKNOWN: Rule =
    Rule::of_task(page!("consul-release-unknown"), Applies::ConsulAndController, check_release_unknown);

fn check_release_unknown(subject: &Subject<'_>, findings: &mut Findings) {
    let mut drafts: Vec<((Program, Release), Draft)> = Vec::new();
    for container in subject.containers_of_consul() {
        let Some((program, release)) = release_of(container) else { continue };
        let newest = lines_of(program).last().copied();
        let Some(newest) = newest.filter(|newest| release.in_line() > *newest) else { continue };
        let day = &table().as_of;
        let message = format!("{program} {release} is newer than {newest}, the newest known line (as of {day})");
        let draft = Draft::new(container.image.span(), message, "update ecs-mesh");
        if drafts.iter().all(|(known, _)| *known != (program, release)) {
            drafts.push(((program, release), draft.of(container)));
        }
    }
    findings.extend(drafts.into_iter().map(|(_, draft)| draft));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::audit;
    use audit_read::{Material, input::read_source};
    use document::SourceFile;

    #[test]
    fn the_tags_of_a_mirror_are_its_owner_s() {
        for (repository, reported) in [
            ("hashicorp/consul-ecs", true),
            ("docker.io/hashicorp/consul-ecs", true),
            ("public.ecr.aws/hashicorp/consul-ecs", true),
            ("123456789012.dkr.ecr.us-east-1.amazonaws.com/hashicorp/consul-ecs", false),
            ("registry.example.com/consul-ecs", false),
        ] {
            let text = format!(
                r#"{{"family": "web", "tags": [{{"key": "consul.hashicorp.com/mesh", "value": "true"}}],
                "containerDefinitions": [{{"name": "consul-ecs-mesh-init", "image": "{repository}:0.10.1-fips1402"}}]}}"#
            );
            let mut material = Material::default();
            read_source(Arc::new(SourceFile::new("task.json", text)), true, &mut material).unwrap();
            let is_reported = audit(&material).iter().any(|finding| finding.rule.id == CONSUL_FIPS_TAG.id);
            assert_eq!(is_reported, reported, "{repository}");
        }
    }
}
