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
    applies: Applies::Consul,
    effect: "ECS finds no such image (CannotPullContainerError), and the task never starts",
    explanation: "\
The FIPS images of consul-ecs have tags that end in `-fips1402` up to 0.10.0, and in `-fips1403` from 0.10.1 on, where \
they use another cryptographic module. An update of the number alone results in a tag that does not exist.",
    sources: &["https://developer.hashicorp.com/consul/docs/release-notes/consul-ecs/v0_10_x"],
    examples: &[Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init].image",
        fails: Some(r#""public.ecr.aws/hashicorp/consul-ecs:0.10.1-fips1402""#),
        repaired: Some(r#""public.ecr.aws/hashicorp/consul-ecs:0.10.1-fips1403""#),
    }],
    check: Check::Task(check),
};

const OLD: &str = "-fips1402";
const NEW: &str = "-fips1403";

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    findings.extend(consul.consul_ecs_containers().filter_map(draft));
}

fn draft(container: &Container) -> Option<Draft> {
    let (_, release) = release_of(container).filter(|(program, _)| *program == Program::ConsulEcs)?;
    let image = container.image.text()?;
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
