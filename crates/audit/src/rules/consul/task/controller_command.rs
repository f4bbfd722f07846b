use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{ControllerKind, Subject, is_consul_ecs, names, subcommand},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-controller-command",
    summary: "consul-ecs-controller runs controller",
    severity: Severity::Error,
    applies: Applies::Controller,
    is_fixable: true,
    effect: "the container ends, and nothing prepares Consul for the logins of tasks, or deletes the tokens of stopped ones",
    explanation: "\
The controller of consul-ecs is its subcommand `controller`, up to 0.6 `acl-controller` with flags. The rule looks at \
containers named `consul-ecs-controller` or `consul-acl-controller`, as HashiCorp's Terraform modules name them, and at those \
with a section `controller` in their configuration, if they have the image of consul-ecs.",
    sources: &[
        "https://github.com/hashicorp/terraform-aws-consul-ecs/blob/main/modules/controller/main.tf",
        "https://developer.hashicorp.com/consul/docs/ecs/upgrade-to-dataplanes",
    ],
    example: Some(Example {
        base: Base::Controller,
        given: &[],
        at: "containerDefinitions[consul-ecs-controller].command",
        fails: Some(r#"["mesh-init"]"#),
        repaired: Some(r#"["controller"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(controller) = subject.controller.as_ref().filter(|controller| controller.kind.is_none()) else { return };
    let container = controller.container;
    // The entry point of another image is not known.
    if !is_consul_ecs(container) {
        return;
    }
    let message = match subcommand(container) {
        Maybe::Known(_) => format!("{} runs {}", container.label(), container.command.shown_program()),
        Maybe::Absent => format!("{} has no command", container.label()),
        Maybe::Unknown => return,
    };
    let place = &container.command.place;
    let draft = if container.name.text() == Some(names::ACL_CONTROLLER) {
        Draft::new(place.span, message, "set its command to acl-controller with its flags")
    } else {
        let fix = Fix::set(place, vec![ControllerKind::Controller.command()]);
        Draft::new(place.span, message, "set its command to [\"controller\"]").fix(fix)
    };
    findings.add(draft.of(container));
}
