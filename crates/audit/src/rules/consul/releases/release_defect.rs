use semver::Version;

use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Subject, release_of},
    versions::{Defect, Program, defects_of},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-release-defect",
    summary: "the releases of the mesh's programs have no known defects",
    severity: Severity::Warning,
    applies: Applies::ConsulAndController,
    is_fixable: false,
    effect: "the task does not start, gets requests that it cannot answer, or burdens Consul, or the controller fails at its work; the finding says which",
    explanation: "\
Some releases of consul-ecs, Consul Dataplane and Consul have defects that later ones correct. The page `docs/support.md` \
lists them with their sources. Defects that depend on the configuration have rules of their own. The rule needs an \
image whose tag names a single release, such as `0.9.4`, `1.21.2-ent` or `0.10.1-fips1403`; with `latest`, `0.9`, a \
digest alone, or an image with another name, it reports nothing.",
    sources: &[
        "https://github.com/hashicorp/consul-ecs/blob/main/CHANGELOG.md",
        "https://github.com/hashicorp/consul-dataplane/blob/main/CHANGELOG.md",
        "https://developer.hashicorp.com/consul/docs/upgrade/version-specific",
    ],
    example: Some(consul_ecs(r#""public.ecr.aws/hashicorp/consul-ecs:0.9.1""#)),
    check: Check::Task(check),
};

const fn consul_ecs(fails: &'static str) -> Example {
    Example {
        base: Base::Dataplane,
        given: &[
            ("containerDefinitions[consul-dataplane].image", r#""hashicorp/consul-dataplane:1.9.3""#),
            ("containerDefinitions[consul-ecs-health-sync].image", r#""public.ecr.aws/hashicorp/consul-ecs""#),
        ],
        at: "containerDefinitions[consul-ecs-mesh-init].image",
        fails: Some(fails),
        repaired: Some(r#""public.ecr.aws/hashicorp/consul-ecs:0.10.1""#),
    }
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let is_controller = subject.controller.is_some();
    let mut drafts: Vec<((Program, Version), Draft)> = Vec::new();
    for container in subject.containers_of_consul() {
        let Some(found) = release_of(container) else { continue };
        if let Some((_, draft)) = drafts.iter_mut().find(|(known, _)| *known == found) {
            draft.add_note_elsewhere(container.image.span(), "this image as well");
        } else if let Some(draft) = draft(container, found.0, &found.1, is_controller) {
            drafts.push((found, draft));
        }
    }
    findings.extend(drafts.into_iter().map(|(_, draft)| draft));
}

/// The defects of a release in one finding: one update corrects all of them.
fn draft(container: &Container, program: Program, release: &Version, is_controller: bool) -> Option<Draft> {
    let is_reported =
        |defect: &&Defect| defect.rule.as_deref() == Some(RULE.id) && defect.is_of_controller == is_controller;
    let defects: Vec<&Defect> = defects_of(program, release).into_iter().filter(is_reported).collect();
    let last = defects.iter().max_by_key(|defect| &defect.fixed_in)?;
    let what: Vec<&str> = defects.iter().map(|defect| defect.what.as_str()).collect();
    let message = format!("{program} {release}: {}", what.join("; "));
    Some(Draft::new(container.image.span(), message, last.action.clone()).of(container))
}
