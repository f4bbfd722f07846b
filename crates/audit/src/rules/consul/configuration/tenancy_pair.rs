use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-tenancy-pair",
    summary: "the configuration names both a partition and a namespace, or neither",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "the task's token and its registration are in different namespaces or partitions, and the servers refuse the proxy",
    explanation: "\
With Consul Enterprise, a service is in a namespace of an admin partition. The controllers read both from the task's \
tags, or use `default` for both if there are no such tags; they and the Terraform module report an error if only one of the two is set. The Community Edition has neither.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/enterprise",
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "config.service.partition",
        fails: Some(r#""blue""#),
        repaired: None,
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    let configuration = &consul.configuration;
    let section = if consul.is_gateway { "gateway" } else { "service" };
    let (partition, namespace) = (format!("{section}.partition"), format!("{section}.namespace"));
    let (there, missing) = match (configuration.name_at(&partition), configuration.name_at(&namespace)) {
        (Maybe::Known(_), Maybe::Absent) => (partition, namespace),
        (Maybe::Absent, Maybe::Known(_)) => (namespace, partition),
        _ => return,
    };
    let message = format!("{there} is set, but {missing} is not");
    let help = format!("set {missing} as well, or neither");
    findings.add(Draft::new(configuration.place_of(&there).span, message, help));
}
