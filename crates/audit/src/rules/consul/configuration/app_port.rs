use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-app-port",
    summary: "no app listens on a port of the mesh's own containers",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "the container that starts second cannot open the port: the proxy is never ready, or the app fails",
    explanation: "\
All containers of a task share one network interface, so that two of them cannot listen on the same port. The proxy \
has its public listener (`proxy.publicListenerPort`, 20000 by default), Envoy's administration interface (19000) and, \
with Consul Dataplane, its readiness check (`proxy.healthCheckPort`, 22000 by default). The control plane of \
consul-ecs 0.7 answers health checks on 10000. The rule `consul-client-ports` checks the ports of a Consul client \
agent.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-networking-awsvpc.html",
    ],
    example: Some(app(Base::Client, "20000")),
    check: Check::Task(check),
};

const fn app(base: Base, port: &'static str) -> Example {
    let given: &[(&str, &str)] =
        &[("containerDefinitions[web].portMappings", r#"[{ "containerPort": 9090 }, { "containerPort": 9091 }]"#)];
    let at = "containerDefinitions[web].portMappings[1].containerPort";
    Example { base, given, at, fails: Some(port), repaired: Some("9091") }
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_service()) else { return };
    let own = consul.own_ports();
    for app in &consul.apps {
        for mapping in &app.port_mappings.items {
            let Some(port) = mapping.tcp_port() else { continue };
            if let Some((_, user)) = own.iter().find(|(own, _)| *own == port) {
                let message = format!("{} listens on port {port}, which is also used by {user}", app.label());
                let help =
                    "let the app listen on another port, or move the mesh's port where the configuration has one";
                findings.add(Draft::new(mapping.container_port.span(), message, help).of(app));
            }
        }
    }
}
