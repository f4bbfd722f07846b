//! What Fargate does not support: properties, and sizes of tasks.

use super::{
    keys::{container_of, is_network_mode_of_mesh, named, of},
    prelude::*,
    values::meant,
};
use audit_read::definition::api::{Departure, FARGATE_SIZES, Fault, mebibytes, units};

pub(super) static ECS_FARGATE_PROPERTIES: Rule =
    Rule::of_task(page!("ecs-fargate-properties"), Applies::EveryTask, check_fargate_properties);

fn check_fargate_properties(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    if !definition.runs_on_fargate() {
        return;
    }
    let has_mesh = subject.consul.is_some() || subject.proxy_configuration().is_some();
    for departure in &definition.departures {
        let Fault::NotOnFargate(supported) = &departure.fault else { continue };
        let container = container_of(subject, departure);
        let mesh_init = subject.consul.as_ref().and_then(|consul| consul.mesh_init);
        let is_mesh_init = mesh_init.zip(container).is_some_and(|(mesh_init, it)| std::ptr::eq(mesh_init, it));
        // The rules of the mesh judge the capabilities of mesh-init.
        let is_judged_elsewhere =
            is_network_mode_of_mesh(subject, departure) || is_mesh_init && departure.is_in_capabilities();
        if is_judged_elsewhere || is_misspelt(subject, departure, supported) {
            continue;
        }
        let name = named(&departure.path, container);
        let (message, help) = match supported {
            [] => {
                (format!("Fargate does not support {name}"), "remove it, or run the task on EC2 instances".to_owned())
            }
            [only] => (format!("Fargate does not support this value of {name}"), format!("write {only}")),
            words => {
                (format!("Fargate does not support this value of {name}"), format!("use one of {}", words.join(", ")))
            }
        };
        findings.add(of(container, Draft::new(departure.span, message, help)));
    }
    if definition.network_mode.is_absent() && !has_mesh {
        let message = "no network mode is set, which means bridge, and Fargate has awsvpc only";
        findings.add(Draft::new(definition.network_mode.span(), message, "set networkMode to awsvpc"));
    }
}

/// Whether the value is a misspelt one that Fargate supports: `ecs-value` corrects it.
fn is_misspelt(subject: &Subject<'_>, departure: &Departure, supported: &[&str]) -> bool {
    subject.definition.departures.iter().filter(|other| other.span == departure.span).any(|other| match &other.fault {
        Fault::Refused(value, accepts, _) => meant(value, accepts).is_some_and(|meant| supported.contains(&meant)),
        _ => false,
    })
}

pub(super) static ECS_FARGATE_SIZE: Rule =
    Rule::once_per_task(page!("ecs-fargate-size"), Applies::EveryTask, check_fargate_size);

fn check_fargate_size(subject: &Subject<'_>) -> Option<Draft> {
    let definition = subject.definition;
    let is_fargate = |item: &Field<Text>| item.text() == Some("FARGATE");
    if !definition.requires_compatibilities.items.iter().any(is_fargate) {
        return None;
    }
    for (name, field) in [("cpu", &definition.cpu), ("memory", &definition.memory)] {
        // HashiCorp's modules get the size from their callers.
        if field.is_absent() && definition.module.is_none() {
            let message = format!("the task has no {name}, which Fargate requires");
            return Some(Draft::new(field.span(), message, format!("set {name} of the task definition")));
        }
    }
    let reserved: u64 = definition.containers.items.iter().filter_map(|container| container.cpu.known()).sum();
    if let Some(cpu) = definition.cpu.text().and_then(units).filter(|cpu| *cpu < reserved) {
        let message = format!("the containers reserve {reserved} CPU units, and the task has {cpu}");
        return Some(Draft::new(definition.cpu.span(), message, "reserve less, or raise cpu of the task"));
    }
    let (cpu, memory) = (units(definition.cpu.text()?), mebibytes(definition.memory.text()?));
    let Some(cpu) = cpu else {
        let help = "write CPU units, such as 256, or CPUs with the unit vCPU";
        return Some(Draft::new(definition.cpu.span(), "cpu of the task is no number of CPUs", help));
    };
    let Some(memory) = memory else {
        let help = "write mebibytes, such as 512, or gigabytes with the unit GB";
        return Some(Draft::new(definition.memory.span(), "memory of the task is no size", help));
    };
    match FARGATE_SIZES.iter().find(|size| size.cpu == cpu) {
        // Larger sizes may come.
        None if cpu > FARGATE_SIZES.iter().map(|size| size.cpu).max()? => None,
        None => {
            let sizes: Vec<String> = FARGATE_SIZES.iter().map(|size| size.cpu.to_string()).collect();
            let message = format!("Fargate has no tasks with {cpu} CPU units");
            Some(Draft::new(definition.cpu.span(), message, format!("use one of {}", sizes.join(", "))))
        }
        Some(size) if size.has(memory) => None,
        Some(size) => {
            let (least, most) = (size.memory.start(), size.memory.end());
            let message = format!("Fargate has no tasks with {cpu} CPU units and {memory} MiB");
            let help = format!("with {cpu} CPU units, use {least} to {most} MiB in steps of {}", size.step);
            Some(Draft::new(definition.memory.span(), message, help).note(definition.cpu.span(), "its CPU units"))
        }
    }
}
