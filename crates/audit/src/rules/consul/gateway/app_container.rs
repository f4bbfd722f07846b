use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Subject, is_observer},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-gateway-app",
    summary: "no app runs in a gateway's task",
    severity: Severity::Warning,
    applies: Applies::ConsulGateway,
    is_fixable: false,
    effect: "the app is not registered in Consul and not reachable through the mesh, and the gateway stops when the app stops",
    explanation: "\
A gateway's task registers the gateway and nothing else. An app in it has no service, no proxy and no upstreams. Move \
it to its own task definition. Helpers such as log routers are allowed: this rule checks essential containers that \
listen on a port.",
    sources: &["https://developer.hashicorp.com/consul/docs/ecs/architecture"],
    example: Some(app(Base::MeshGateway)),
    check: Check::Task(check),
};

const fn app(base: Base) -> Example {
    Example {
        base,
        given: &[(
            "containerDefinitions[web]",
            r#"{
                "name": "web", "image": "example/web:1.4.2", "essential": false,
                "portMappings": [{ "containerPort": 9090, "protocol": "tcp" }],
                "dependsOn": [
                    { "containerName": "consul-ecs-mesh-init", "condition": "SUCCESS" }
                ]
            }"#,
        )],
        at: "containerDefinitions[web].essential",
        fails: Some("true"),
        repaired: Some("false"),
    }
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    // A container of unknown name may be the proxy.
    let is_app = |app: &&&Container| app.name.text().is_some() && !is_observer(app);
    for app in consul.apps.iter().filter(is_app) {
        let port = app.port_mappings.items.iter().find_map(|mapping| mapping.container_port.known());
        if let Some(port) = port.filter(|_| app.is_essential() == Some(true)) {
            let message = format!("{} listens on {port} in a gateway's task", app.label());
            let help = "move it to its own task definition, or set essential to false if it is a helper";
            findings.add(Draft::new(app.span(), message, help).of(app));
        }
    }
}
