//! Where ECS can run a task: its network mode, its operating system, its hosts.

use super::prelude::*;
use audit_read::definition::TaskDefinition;

pub(super) static ECS_AWSVPC_PROPERTIES: Rule = Rule {
    id: "ecs-awsvpc-properties",
    summary: "in the network mode awsvpc, no container has links, a hostname, extraHosts or DNS settings, or disables networking",
    effect: "ECS refuses to register the definition",
    explanation: "\
`links`, `hostname`, `extraHosts`, `dnsServers`, `dnsSearchDomains` and `disableNetworking` change the network of a single \
container, as in the network mode `bridge`. In `awsvpc` mode, all containers share the network interface of the task, and \
ECS refuses them. A container reaches the others of its task at `localhost`, a name in DNS stands for an entry of \
`extraHosts`, and the DHCP options of the VPC determine DNS servers and search domains.",
    sources: &[pages::ECS_CONTAINER, pages::ECS_AWSVPC],
    example: Some(Base::Dataplane.needless("containerDefinitions[web].hostname", r#""web""#)),
    ..Rule::of_task(Applies::EveryTask, check_awsvpc_properties)
};

fn check_awsvpc_properties(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.definition.network_mode.text() != Some("awsvpc") {
        return;
    }
    for container in &subject.definition.containers.items {
        for (property, span) in container.bridge_properties() {
            let message = format!("{} has {property}, which ECS refuses with awsvpc", container.label());
            let help = match property {
                "links" => "remove it: the containers of the task reach each other at localhost",
                "extraHosts" => "remove it, and use names that DNS resolves",
                "dnsServers" | "dnsSearchDomains" => "remove it: the DHCP options of the VPC determine them",
                "disableNetworking" => "remove it: the container shares the network of the task",
                _ => "remove it: the container has the host name of the task",
            };
            findings.add(Draft::new(span, message, help).of(container));
        }
    }
}

pub(super) static CONSUL_TASK_PLATFORM: Rule = Rule {
    id: "consul-task-platform",
    summary: "a task of the mesh runs on Linux, and on no external instance",
    effect: "ECS refuses the definition, or the images have no variant for the operating system, and the task never starts",
    explanation: "\
The images of consul-ecs, Consul Dataplane and Envoy are for Linux. On ECS Anywhere (`EXTERNAL`), tasks have no network \
mode `awsvpc`, which the mesh needs: each task has its own address and shares 127.0.0.1 with its proxy only there.",
    sources: &[
        pages::CONSUL_TECH_SPECS,
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/ecs-anywhere.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RuntimePlatform.html",
    ],
    example: Some(
        Base::Dataplane.needless("runtimePlatform", r#"{ "operatingSystemFamily": "WINDOWS_SERVER_2022_CORE" }"#),
    ),
    ..Rule::of_task(Applies::Consul, check_task_platform)
};

fn check_task_platform(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    if let Some(family) = windows(definition) {
        let message = format!("the task runs on {family}, and the images of the mesh are for Linux");
        let help = "run the task on Linux, or keep it outside of the mesh";
        findings.add(Draft::new(definition.operating_system.span(), message, help));
    }
    let external = definition.requires_compatibilities.items.iter().filter(|item| item.text() == Some("EXTERNAL"));
    for item in external {
        let message = "the task is for external instances, which have no network mode awsvpc";
        findings.add(Draft::new(item.span(), message, "remove EXTERNAL: run the task on Fargate or EC2"));
    }
}

/// The operating system, if it certainly is Windows.
pub(crate) fn windows(definition: &TaskDefinition) -> Option<&str> {
    definition.operating_system.text().filter(|family| family.starts_with("WINDOWS"))
}
