use crate::{
    definition::{Container, Maybe, PortMapping, Text},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Subject, workloads},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "appmesh-app-port-mapping",
    summary: "AppPorts are the TCP ports of the app containers",
    severity: Severity::Warning,
    applies: Applies::AppMesh,
    is_fixable: false,
    effect: "connections to a port that is missing in AppPorts bypass Envoy, and those to a port without an app fail",
    explanation: "\
`AppPorts` and the `portMappings` of the app containers contain the same ports: those on which the app listens. A port \
only in the mappings is reachable without the mesh, its TLS and its metrics. A port only in `AppPorts` is usually an \
earlier port of the app. If an app container has no mappings, its ports are unknown, and additional ports in \
`AppPorts` are not reported.",
    sources: &[
        "https://docs.aws.amazon.com/app-mesh/latest/userguide/getting-started-ecs.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ProxyConfiguration.html",
    ],
    example: Some(Example {
        base: Base::AppMesh,
        given: &[],
        at: "proxyConfiguration.properties[AppPorts].value",
        fails: Some(r#""9081""#),
        repaired: Some(r#""9080""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mesh) = subject.app_mesh.as_ref() else { return };
    let Some(proxy) = mesh.proxy else { return };
    let (Maybe::Known(property), Some(listed)) = (proxy.property("AppPorts"), proxy.ports("AppPorts")) else { return };
    let mapped: Vec<u64> = workloads(&mesh.apps).into_iter().flat_map(tcp_ports).collect();
    let all_mapped: Vec<u64> = mesh.apps.iter().flat_map(|app| tcp_ports(app)).collect();
    if listed.is_empty() || mapped.is_empty() {
        return;
    }
    let unlisted = mapped.iter().filter(|port| !listed.iter().any(|other| u64::from(*other) == **port));
    let unlisted: Vec<String> = unlisted.map(u64::to_string).collect();
    let are_ports_known = subject.definition.containers.is_complete && mesh.apps.iter().all(|app| has_known_ports(app));
    let unmapped = listed.iter().filter(|port| are_ports_known && !all_mapped.contains(&u64::from(**port)));
    let unmapped: Vec<String> = unmapped.map(u16::to_string).collect();
    let message = match (unlisted.as_slice(), unmapped.as_slice()) {
        ([], []) => return,
        (ports, []) => format!("AppPorts lacks {}, on which the app listens", ports.join(", ")),
        ([], ports) => format!("AppPorts has {}, which no container maps", ports.join(", ")),
        (lacks, has) => {
            format!("AppPorts has {} and lacks {}, on which the app listens", has.join(", "), lacks.join(", "))
        }
    };
    let ports: Vec<String> = mapped.iter().map(u64::to_string).collect();
    let help = format!("set AppPorts to {}, or correct the portMappings", ports.join(","));
    findings.add(Draft::new(property.value.span(), message, help));
}

fn is_tcp(mapping: &PortMapping) -> bool {
    mapping.protocol.or(Text("tcp".to_owned())).is_some_and(|protocol| protocol.0 == "tcp")
}

fn tcp_ports(app: &Container) -> impl Iterator<Item = u64> {
    app.port_mappings.items.iter().filter(|mapping| is_tcp(mapping)).filter_map(|it| it.container_port.known().copied())
}

/// Whether all ports of a container are known. A container without port mappings may listen on any port.
fn has_known_ports(app: &Container) -> bool {
    let mappings = &app.port_mappings;
    let is_known = |it: &PortMapping| it.container_port.known().is_some() && !it.protocol.is_unknown();
    mappings.is_complete && !mappings.items.is_empty() && mappings.items.iter().all(is_known)
}
