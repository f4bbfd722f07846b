use serde_json::json;

use super::transparent_proxy_launch_type::outside_of_ec2;
use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-transparent-proxy-privileges",
    summary: "with transparent proxy, mesh-init is root and has NET_ADMIN",
    severity: Severity::Error,
    applies: Applies::ConsulDataplane,
    is_fixable: true,
    effect: "mesh-init cannot write the iptables rules and fails, so that the task never starts",
    explanation: "\
For transparent proxy, mesh-init changes the `iptables` rules of the task, and with Consul DNS its `/etc/resolv.conf`. \
The image's own user may do neither: the container has to run as user `0` with the capability `NET_ADMIN`.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/tech-specs",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_KernelCapabilities.html",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[
            ("requiresCompatibilities", r#"["EC2"]"#),
            ("config.transparentProxy.enabled", "true"),
            ("containerDefinitions[consul-ecs-mesh-init].linuxParameters.capabilities", r#"{ "add": ["NET_ADMIN"] }"#),
            ("containerDefinitions[consul-ecs-mesh-init].user", r#""0""#),
        ],
        at: "containerDefinitions[consul-ecs-mesh-init].user",
        fails: None,
        repaired: Some(r#""0""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_transparent() == Some(true)) else { return };
    let Some(mesh_init) = consul.mesh_init else { return };
    // Without transparent proxy, it needs no privileges; it has to be turned off where it does not work.
    let is_possible = outside_of_ec2(subject.definition).is_none();
    let user = &mesh_init.user;
    let is_root = user.text().map(|user| matches!(user.split(':').next(), Some("0" | "root")));
    if is_root == Some(false) || user.is_absent() {
        let message = format!("{} has to be root for transparent proxy", mesh_init.label());
        let draft = Draft::new(user.span(), message, "set its user to \"0\"");
        let fix = Fix::set(&user.place, "0").filter(|_| is_possible);
        findings.add(draft.of(mesh_init).fix(fix));
    }
    if lacks_net_admin(mesh_init) {
        let capabilities = &mesh_init.added_capabilities;
        let message = format!("{} lacks the capability NET_ADMIN for transparent proxy", mesh_init.label());
        let draft = Draft::new(capabilities.place.span, message, "add NET_ADMIN to linuxParameters.capabilities.add");
        let fix = Fix::append(capabilities, json!("NET_ADMIN")).filter(|_| is_possible && capabilities.is_present);
        findings.add(draft.of(mesh_init).fix(fix));
    }
}

fn lacks_net_admin(mesh_init: &Container) -> bool {
    let grants = |text: Option<&str>| matches!(text, None | Some("NET_ADMIN" | "ALL"));
    mesh_init.privileged.or(false) == Some(false) && mesh_init.added_capabilities.lacks(|item| grants(item.text()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Material, audit, input::read_source, source::SourceFile};

    #[test]
    fn no_privileges_are_added_where_transparent_proxy_does_not_work() {
        let example = Example {
            base: Base::Dataplane,
            given: &[("config.transparentProxy", "null")],
            at: "requiresCompatibilities",
            fails: Some(r#"["FARGATE"]"#),
            repaired: Some(r#"["EC2"]"#),
        };
        let fixes = |definition: serde_json::Value| {
            let mut material = Material::default();
            let file = Arc::new(SourceFile::new("task.json", definition.to_string()));
            read_source(file, true, &mut material).unwrap();
            let found = audit(&material).into_iter().filter(|finding| finding.rule.id == RULE.id);
            found.map(|finding| finding.fix.is_some()).collect::<Vec<_>>()
        };
        assert_eq!(fixes(example.broken().unwrap()), [false, false]);
        assert_eq!(
            fixes(example.repaired().unwrap()),
            [true, false],
            "without capabilities, there is nothing to add to"
        );
    }
}
