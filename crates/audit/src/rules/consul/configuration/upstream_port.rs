use crate::{
    document::{Node, Value},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Generation, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-upstream-port",
    summary: "every upstream has a port that nothing else in the task listens on",
    severity: Severity::Error,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "Envoy cannot open the listener, or the app cannot open its own, and requests to the upstream fail",
    explanation: "\
The app reaches an upstream at `127.0.0.1` and the upstream's `localBindPort`. All containers of a task share one \
network interface and one loopback interface, so that this port must differ from those of the other upstreams, of the \
app's containers, of the proxy's public listener (20000 by default) and readiness check (22000 by default), of Envoy's \
administration interface (19000), of the control plane of consul-ecs 0.7 (10000) and of the client agent.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/reference/ecs",
        "https://developer.hashicorp.com/consul/docs/connect/ecs",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "config.proxy.upstreams",
        fails: Some(
            r#"[{ "destinationName": "orders", "localBindPort": 1234 }, { "destinationName": "stock", "localBindPort": 1234 }]"#,
        ),
        repaired: Some(
            r#"[{ "destinationName": "orders", "localBindPort": 1234 }, { "destinationName": "stock", "localBindPort": 1235 }]"#,
        ),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.is_service()) else { return };
    let Some(upstreams) = consul.configuration.json().and_then(|json| json.get("proxy")?.get("upstreams")) else {
        return;
    };
    let taken = taken(consul);
    let mut seen: Vec<(&Node, Option<&str>, u64)> = Vec::new();
    for upstream in upstreams.items() {
        let Some((node, port)) = local_port(upstream) else { continue };
        let address = match upstream.get("localBindAddress") {
            Some(address) => address.text(),
            None => Some("127.0.0.1"),
        };
        let earlier = seen.iter().find(|(_, other, number)| *number == port && address.is_some() && *other == address);
        let other = taken.iter().find(|(number, _)| *number == port).map(|(_, user)| user.clone());
        let clash = earlier.map(|_| "another upstream".to_owned()).or(other);
        if let Some(user) = clash {
            let name = upstream.get("destinationName").and_then(Node::text);
            let name = name.map_or_else(|| "an upstream".to_owned(), |name| format!("the upstream {name}"));
            let message = format!("port {port} of {name} is also used by {user}");
            let draft = Draft::new(node.place.span, message, "give the upstream another port");
            findings.add(match earlier {
                Some((first, ..)) => draft.note(first.place.span, "the other upstream"),
                None => draft,
            });
        }
        seen.push((node, address, port));
    }
}

fn local_port(upstream: &Node) -> Option<(&Node, u64)> {
    let node = upstream.get("localBindPort")?;
    match &node.value {
        Value::Number(number) => Some((node, number.parse().ok()?)),
        _ => None,
    }
}

/// The ports on which something certainly listens, and their users.
fn taken(consul: &ConsulTask<'_>) -> Vec<(u64, String)> {
    let mut taken = Vec::new();
    for app in &consul.apps {
        let tcp = app.port_mappings.items.iter().filter(|mapping| mapping.protocol.text() != Some("udp"));
        taken.extend(tcp.filter_map(|mapping| Some((*mapping.container_port.known()?, app.label()))));
    }
    taken.extend(consul.own_ports().into_iter().map(|(port, user)| (port, user.to_owned())));
    if consul.generation == Generation::Client {
        let agent = [8301, 8500, 8502, 8600];
        taken.extend(consul.client.iter().flat_map(|client| agent.map(|port| (port, client.label()))));
    }
    taken
}
