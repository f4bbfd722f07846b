use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{Subject, release_of},
    versions::{Program, defects_of},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-fips-tag",
    summary: "the tag of a FIPS image of consul-ecs has the suffix of its release",
    severity: Severity::Error,
    applies: Applies::ConsulAndController,
    is_fixable: true,
    effect: "ECS finds no such image (CannotPullContainerError), and the task never starts",
    explanation: "\
The FIPS images of consul-ecs have tags that end in `-fips1402` up to 0.10.0, and in `-fips1403` from 0.10.1 on, where \
they use another cryptographic module. An update of the number alone results in a tag that does not exist. The rule looks at HashiCorp's repositories \
on Docker Hub and in Amazon ECR Public: in a mirror, tags are what its owner makes them.",
    sources: &["https://developer.hashicorp.com/consul/docs/release-notes/consul-ecs/v0_10_x"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init].image",
        fails: Some(r#""public.ecr.aws/hashicorp/consul-ecs:0.10.1-fips1402""#),
        repaired: Some(r#""public.ecr.aws/hashicorp/consul-ecs:0.10.1-fips1403""#),
    }),
    check: Check::Task(check),
};

const OLD: &str = "-fips1402";
const NEW: &str = "-fips1403";

/// The beginnings of the references to HashiCorp's own images.
const OF_HASHICORP: [&str; 3] = ["hashicorp/", "docker.io/hashicorp/", "public.ecr.aws/hashicorp/"];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    findings.extend(consul_ecs.containers.into_iter().filter_map(draft));
}

fn draft(container: &Container) -> Option<Draft> {
    let (_, release) = release_of(container).filter(|(program, _)| *program == Program::ConsulEcs)?;
    let image = container.image.text().filter(|image| OF_HASHICORP.iter().any(|start| image.starts_with(start)))?;
    let is_renamed =
        defects_of(Program::ConsulEcs, &release).iter().any(|defect| defect.rule.as_deref() == Some(RULE.id));
    let (wrong, right) = if is_renamed { (OLD, NEW) } else { (NEW, OLD) };
    // A digest decides which image it is.
    if !image.ends_with(wrong) {
        return None;
    }
    let message = format!("the FIPS image of consul-ecs {release} has a tag that ends in {right}, not in {wrong}");
    let fix = Fix::set(&container.image.place, image.replace(wrong, right));
    Some(Draft::new(container.image.span(), message, format!("replace {wrong} by {right}")).of(container).fix(fix))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Material, audit, input::read_source, source::SourceFile};

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
            let is_reported = audit(&material).iter().any(|finding| finding.rule.id == RULE.id);
            assert_eq!(is_reported, reported, "{repository}");
        }
    }
}
