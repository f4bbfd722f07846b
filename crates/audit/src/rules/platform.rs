//! Where ECS can run a task: its network mode, its operating system, its hosts.

use super::prelude::*;
use audit_read::definition::TaskDefinition;

pub(super) static ECS_AWSVPC_PROPERTIES: Rule =
    Rule::of_task(page!("ecs-awsvpc-properties"), Applies::EveryTask, check_awsvpc_properties);

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

pub(super) static CONSUL_TASK_PLATFORM: Rule =
    Rule::of_task(page!("consul-task-platform"), Applies::Consul, check_task_platform);

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
