use super::schema::{Fault, problems};
use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-config-ignored",
    summary: "consul-ecs reads every field of the configuration",
    severity: Severity::Warning,
    applies: Applies::ConsulAndController,
    is_fixable: false,
    effect: "the field is silently ignored, and the default is used instead",
    explanation: "\
In most places, consul-ecs refuses unknown keys. Directly in `proxy`, in `consulServers.defaults`, `.http` and \
`.grpc`, and in `meshGateway`, it ignores them: with a misspelled `publicListenerPort`, the proxy listens on the \
default port 20000.",
    sources: &["https://developer.hashicorp.com/consul/docs/reference/ecs"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "config.proxy.local_service_address",
        fails: Some(r#""127.0.0.1""#),
        repaired: None,
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs() else { return };
    for problem in problems(&consul_ecs) {
        let Fault::Unknown { is_refused: false, nearest } = problem.fault else { continue };
        let message = format!("consul-ecs ignores {}", problem.path);
        let help = nearest.map_or_else(|| "remove it".to_owned(), |nearest| format!("write {nearest}"));
        let draft = Draft::new(problem.span, message, help);
        findings.add(consul_ecs.of_holder(draft));
    }
}
