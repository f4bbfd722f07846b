//! The network mode of tasks, and the host ports of containers.

use super::prelude::*;
use audit_read::definition::TaskDefinition;

pub(super) static CONSUL_NETWORK_MODE: Rule = Rule {
    id: "consul-network-mode",
    summary: "the network mode is awsvpc",
    is_fixable: true,
    effect: "the containers of the task do not share 127.0.0.1, so that neither the app nor the health checks reach the proxy",
    explanation: "\
Consul on ECS supports the network mode `awsvpc` only. It gives each task a separate network interface: the address \
that is registered in Consul, and a loopback interface that the app and its proxy share. In `bridge` mode, which is \
the default on EC2, each container has a separate loopback interface, and the app cannot reach its upstreams; in \
`host` mode, two tasks on one instance need the same ports for their proxies.",
    sources: &[pages::CONSUL_TECH_SPECS, pages::ECS_NETWORKING],
    example: Some(Base::Dataplane.wrong("networkMode", r#""bridge""#)),
    ..Rule::of_task(Applies::Consul, check_consul_network_mode)
};

fn check_consul_network_mode(subject: &Subject<'_>, findings: &mut Findings) {
    if let Some(draft) = other_network_mode(subject.definition) {
        findings.add(draft);
    }
}

pub(super) static APPMESH_NETWORK_MODE: Rule = Rule {
    id: "appmesh-network-mode",
    summary: "the network mode is awsvpc",
    is_fixable: true,
    effect: "ECS refuses the definition: a proxy configuration works in awsvpc mode only",
    explanation: "\
App Mesh redirects the traffic of a task in the network namespace that its containers share. Only with `awsvpc` does a task have a separate namespace and address. A virtual gateway redirects nothing and may run in other modes.",
    sources: &[pages::ECS_PROXY_CONFIGURATION, pages::ECS_NETWORKING],
    example: Some(Base::AppMesh.wrong("networkMode", r#""bridge""#)),
    ..Rule::of_task(Applies::AppMesh, check_app_mesh_network_mode)
};

fn check_app_mesh_network_mode(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.app_mesh.as_ref().and_then(|mesh| mesh.proxy).is_none() {
        return;
    }
    if let Some(draft) = other_network_mode(subject.definition) {
        findings.add(draft);
    }
}

pub(super) static ECS_HOST_PORT: Rule = Rule {
    id: "ecs-host-port",
    summary: "in the network modes awsvpc and host, host ports equal container ports",
    is_fixable: true,
    effect: "ECS refuses to register the definition",
    explanation: "\
In `bridge` mode, `hostPort` is the port of the instance that is forwarded to the container's port. In `awsvpc` mode, \
the task has a separate network interface, and in `host` mode, its containers use that of the instance: ports are not \
translated. In these modes, `hostPort` is absent or equal to `containerPort`.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_PortMapping.html"],
    example: Some(
        Base::AppMesh
            .wrong("containerDefinitions[orders].portMappings", r#"[{ "containerPort": 9080, "hostPort": 80 }]"#),
    ),
    ..Rule::of_task(Applies::EveryTask, check_host_port)
};

fn check_host_port(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(mode @ ("awsvpc" | "host")) = subject.definition.network_mode.text() else { return };
    for container in &subject.definition.containers.items {
        for mapping in &container.port_mappings.items {
            let (Some(port), Some(host)) = (mapping.container_port.known(), mapping.host_port.known()) else {
                continue;
            };
            // Zero counts as absent.
            if *host == 0 || host == port {
                continue;
            }
            let message =
                format!("{} maps its port {port} to {host}, which the mode {mode} does not support", container.label());
            let draft = Draft::new(mapping.host_port.span(), message, "remove hostPort").of(container);
            findings.add(draft.fix(Fix::remove(&mapping.host_port.place)));
        }
    }
}

/// The draft for a definition that certainly has another network mode.
fn other_network_mode(definition: &TaskDefinition) -> Option<Draft> {
    let mode = &definition.network_mode;
    let message = match (mode.text(), mode.is_absent()) {
        (Some("awsvpc"), _) | (None, false) => return None,
        (Some(other), _) => format!("the network mode is {other}"),
        (None, true) => "no network mode is set, which means bridge".to_owned(),
    };
    let is_enough = definition.suits_awsvpc();
    let help = if is_enough {
        "set networkMode to awsvpc"
    } else {
        "set networkMode to awsvpc, and remove links and host ports that differ from the container's"
    };
    let fix = Fix::set(&mode.place, "awsvpc").filter(|_| is_enough);
    Some(Draft::new(mode.span(), message, help).fix(fix))
}
