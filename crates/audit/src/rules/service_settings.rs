//! Settings of the ECS services that run a task definition.

use super::{keys::misspelt_key, prelude::*, values::refused};
use audit_read::definition::{
    Dialect, Network, ServiceSettings, ServiceUse, TaskDefinition,
    api::{Departure, Fault},
};

pub(super) static ECS_SERVICE: Rule = Rule::of_task(page!("ecs-service"), Applies::EveryTask, check_service);

/// The bytes of a setting, what is wrong with it, and how to correct it.
type Defect = (document::Span, String, String);

fn check_service(subject: &Subject<'_>, findings: &mut Findings) {
    for service in &subject.definition.services {
        let Some(settings) = &service.settings else { continue };
        let defects = [
            name(service),
            network(subject.definition, service, settings),
            needless_network(subject, settings),
            launch_type(subject.definition, service),
            two_launch_types(service),
            public_ip(service, settings),
            daemon(service, settings),
            percentages(service, settings),
            role(subject.definition, service, settings),
            platform_version(service, settings),
        ];
        let placements = placements(subject.definition, service, settings);
        let others = placements.into_iter().chain(targets(subject.definition, service));
        findings.extend(
            settings.departures.iter().filter_map(|departure| departed(subject.definition.dialect, service, departure)),
        );
        for (span, wrong, help) in defects.into_iter().flatten().chain(others) {
            let message = format!("the service {} {wrong}", service.name);
            findings.add(Draft::new(span, message, help).in_file(&service.file));
        }
    }
}

fn name(service: &ServiceUse) -> Option<Defect> {
    let name = service.service_name.text()?;
    let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_wrong = name.chars().count() > 255 || !name.chars().all(is_valid);
    let help = "use at most 255 letters, digits, hyphens and underscores".to_owned();
    is_wrong.then(|| (service.service_name.span(), format!("has the invalid name {name:?}"), help))
}

/// With `awsvpc`, each task needs a network. A task set may have it instead of the service, and a service without its cluster
/// may be an excerpt.
fn network(definition: &TaskDefinition, service: &ServiceUse, settings: &ServiceSettings) -> Option<Defect> {
    let is_awsvpc = definition.network_mode.text() == Some("awsvpc");
    let has_task_sets = !service.controller.is_absent() && service.controller.text() != Some("ECS");
    let is_excerpt = settings.cluster.is_absent() || definition.module.is_some();
    if !is_awsvpc || has_task_sets || is_excerpt {
        return None;
    }
    let help = "add networkConfiguration with the subnets of its tasks".to_owned();
    let without =
        |what: &str| Some((service.place.span, format!("runs tasks with awsvpc, but has no {what}"), help.clone()));
    match &settings.network.value {
        Maybe::Absent => without("networkConfiguration"),
        Maybe::Known(network) if network.subnets.is_certainly_empty() => without("subnets"),
        Maybe::Known(_) | Maybe::Unknown => None,
    }
}

/// Tasks with another network mode have no network of their own. The mode of a mesh has rules of its own.
fn needless_network(subject: &Subject<'_>, settings: &ServiceSettings) -> Option<Defect> {
    let mode = subject.definition.network_mode.text().filter(|mode| ["bridge", "host", "none"].contains(mode))?;
    let has_mesh = subject.consul.is_some() || subject.app_mesh.is_some();
    settings.network.known().filter(|_| !has_mesh)?;
    let wrong = format!("has networkConfiguration, but its tasks have the network mode {mode}");
    Some((settings.network.span(), wrong, "remove it, or set networkMode to awsvpc".to_owned()))
}

fn launch_type(definition: &TaskDefinition, service: &ServiceUse) -> Option<Defect> {
    let kind = service.launch_type.text().filter(|kind| ["EC2", "FARGATE", "EXTERNAL"].contains(kind))?;
    let suitable = definition.requires_compatibilities.texts().filter(|all| !all.is_empty())?;
    let wrong = format!("launches on {kind}, but requiresCompatibilities of its definition is {}", suitable.join(", "));
    let help = format!("launch it on {}, or add {kind} to requiresCompatibilities", suitable.join(" or "));
    (!suitable.contains(&kind)).then(|| (service.launch_type.span(), wrong, help))
}

fn two_launch_types(service: &ServiceUse) -> Option<Defect> {
    let has_both = service.launch_type.known().is_some() && !service.capacity_providers.items.is_empty();
    let wrong = "has a launch type and a strategy of capacity providers".to_owned();
    has_both.then(|| (service.launch_type.span(), wrong, "remove one of the two".to_owned()))
}

fn public_ip(service: &ServiceUse, settings: &ServiceSettings) -> Option<Defect> {
    let Network { public_ip, .. } = settings.network.known()?;
    let is_on_ec2 = public_ip.text() == Some("ENABLED") && service.launch_type.text() == Some("EC2");
    let wrong = "launches on EC2, where tasks get no public address".to_owned();
    let help = "disable assignPublicIp, and let the subnets reach the internet by NAT".to_owned();
    is_on_ec2.then(|| (public_ip.span(), wrong, help))
}

fn daemon(service: &ServiceUse, settings: &ServiceSettings) -> Option<Defect> {
    let is_daemon = settings.scheduling.text() == Some("DAEMON");
    let (wrong, help) = match (service.launch_type.text(), service.controller.text()) {
        (Some("FARGATE"), _) => (
            "is a DAEMON on Fargate, which has no instances".to_owned(),
            "set schedulingStrategy to REPLICA, or launch it on EC2".to_owned(),
        ),
        (_, Some(controller @ ("CODE_DEPLOY" | "EXTERNAL"))) => (
            format!("is a DAEMON, which the deployment controller {controller} does not support"),
            "set schedulingStrategy to REPLICA".to_owned(),
        ),
        _ => return None,
    };
    is_daemon.then(|| (settings.scheduling.span(), wrong, help))
}

/// A rolling deployment must be able to start or to stop a task.
fn percentages(service: &ServiceUse, settings: &ServiceSettings) -> Option<Defect> {
    let is_rolling = service.strategy.or(Text::known("ROLLING"))?.whole() == Some("ROLLING")
        && service.controller.or(Text::known("ECS"))?.whole() == Some("ECS")
        && settings.scheduling.or(Text::known("REPLICA"))?.whole() == Some("REPLICA");
    let (minimum, maximum) = (settings.minimum_percent.or(100)?, settings.maximum_percent.or(200)?);
    let wrong = format!("keeps {minimum} % of its tasks and runs at most {maximum} %: no deployment can replace one");
    let help = "raise maximumPercent to 200, or lower minimumHealthyPercent".to_owned();
    let is_stuck = is_rolling && (minimum >= 100 && maximum <= 100 || minimum > maximum);
    let span = if settings.maximum_percent.is_absent() { &settings.minimum_percent } else { &settings.maximum_percent };
    is_stuck.then(|| (span.span(), wrong, help))
}

/// With `awsvpc`, each task has an address of its own, and is a target of the type `ip`.
fn targets(definition: &TaskDefinition, service: &ServiceUse) -> Vec<Defect> {
    let wanted = match definition.network_mode.text() {
        Some("awsvpc") => "ip",
        Some("bridge" | "host") => "instance",
        _ => return Vec::new(),
    };
    let mode = definition.network_mode.text().unwrap_or_default();
    let types = service.load_balancers.items.iter().filter_map(|it| Some((it.place.span, it.target_type.text()?)));
    let wrong = types.filter(|(_, kind)| ["ip", "instance"].contains(kind) && *kind != wanted);
    let defect = |(span, kind): (document::Span, &str)| {
        let wrong = format!("has a target group of the type {kind}, which does not fit tasks with {mode}");
        (span, wrong, format!("set the target type of the target group to {wanted}"))
    };
    wrong.map(defect).collect()
}

/// With `awsvpc`, ECS uses its service-linked role; another role is for load balancers alone.
fn role(definition: &TaskDefinition, service: &ServiceUse, settings: &ServiceSettings) -> Option<Defect> {
    let is_set = settings.role.known().is_some();
    let wrong = if definition.network_mode.text() == Some("awsvpc") {
        "has a role, but its tasks have awsvpc: ECS uses its service-linked role"
    } else if service.load_balancers.is_certainly_empty() {
        "has a role, but no load balancer that needs it"
    } else {
        return None;
    };
    is_set.then(|| (settings.role.span(), wrong.to_owned(), "remove the role".to_owned()))
}

fn platform_version(service: &ServiceUse, settings: &ServiceSettings) -> Option<Defect> {
    let is_set = settings.platform_version.known().is_some();
    let kind = service.launch_type.text().filter(|kind| ["EC2", "EXTERNAL"].contains(kind) && is_set)?;
    let wrong = format!("launches on {kind} and has a platform version, which is for Fargate alone");
    Some((settings.platform_version.span(), wrong, "remove the platform version".to_owned()))
}

/// Fargate has no instances to choose from.
fn placements(definition: &TaskDefinition, service: &ServiceUse, settings: &ServiceSettings) -> Vec<Defect> {
    let is_fargate = |field: &Field<Text>| matches!(field.text(), Some("FARGATE" | "FARGATE_SPOT"));
    let is_on_fargate = is_fargate(&service.launch_type) || service.capacity_providers.items.iter().any(is_fargate);
    let is_for_fargate = || definition.requires_compatibilities.texts().is_some_and(|all| all == ["FARGATE"]);
    if !is_on_fargate && !is_for_fargate() {
        return Vec::new();
    }
    let defect = |(key, place): &(&str, document::Place)| {
        let key = definition.dialect.spell(key);
        let wrong = format!("has {key} on Fargate, which has no instances to choose from");
        (place.span, wrong, format!("remove {key}"))
    };
    settings.placements.iter().map(defect).collect()
}

/// What departs from the API of `CreateService`. A key that is like no other may be one that ECS got later.
fn departed(dialect: Dialect, service: &ServiceUse, departure: &Departure) -> Option<Draft> {
    let name = || format!("{} of the service {}", departure.path, service.name);
    let draft = match &departure.fault {
        Fault::Missing => {
            Draft::new(departure.span, format!("{} is missing", name()), format!("set {}", departure.path))
        }
        Fault::UnknownKey { key, instead_of, given } => {
            let meant = instead_of.or_else(|| misspelt_key(key, departure.shape, given))?;
            let message = format!("ECS does not know the key {}", name());
            Draft::new(departure.span, message, format!("did you mean {}?", dialect.spell(meant)))
        }
        Fault::Refused(value, accepts, place) => refused("ECS", value, accepts, place, &name)?.fix(None),
        Fault::NotOnFargate(_) | Fault::SeveralOf(_) => return None,
    };
    Some(draft.in_file(&service.file))
}
