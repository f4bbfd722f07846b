//! Single values that ECS refuses, in every task definition.

use std::collections::HashMap;

use super::{
    keys::{container_of, is_network_mode_of_mesh, named, of},
    prelude::*,
};
use crate::spelling::{misspelt, nearest};
use audit_read::definition::{
    PortMapping, Ulimit, Volume,
    api::{Accepts, Departure, Fault, OnFargate, mebibytes},
};
use document::{Place, Span};

pub(super) static ECS_VALUE: Rule = Rule::of_task(page!("ecs-value"), Applies::EveryTask, check_value);

fn check_value(subject: &Subject<'_>, findings: &mut Findings) {
    for departure in &subject.definition.departures {
        let container = container_of(subject, departure);
        let name = || named(&departure.path, container);
        let draft = match &departure.fault {
            Fault::Missing => {
                let help = format!("set {}", departure.path);
                Some(Draft::new(departure.span, format!("{} is missing", name()), help))
            }
            Fault::Refused(value, accepts, place) if !is_network_mode_of_mesh(subject, departure) => {
                let draft = refused("ECS", value, accepts, place, &name);
                let is_sure = is_refused_on_fargate(subject, departure, meant(value, accepts));
                draft.map(|draft| if is_sure { draft.severity(Severity::Error) } else { draft })
            }
            Fault::Refused(..) | Fault::UnknownKey { .. } | Fault::NotOnFargate(_) | Fault::SeveralOf(_) => None,
        };
        findings.extend(draft.map(|draft| of(container, draft)));
    }
    repeated(subject, findings);
    findings.extend(subject.definition.volumes.items.iter().filter_map(unencrypted));
    findings.extend(subject.definition.volumes.items.iter().filter_map(two_directories));
    for container in &subject.definition.containers.items {
        findings.extend(reservation(container));
        findings.extend(above_the_task(subject, container));
        findings.extend(container.port_mappings.items.iter().filter_map(|mapping| not_one_port(container, mapping)));
        findings.extend(container.ulimits.items.iter().filter_map(|limit| inverted(subject, container, limit)));
    }
}

/// Whether Fargate supports the word that is meant, and so not the misspelt one, which ECS might have got later.
fn is_refused_on_fargate(subject: &Subject<'_>, departure: &Departure, meant: Option<&str>) -> bool {
    let supported = departure.key.map(|key| key.on_fargate);
    let is_supported = |meant| matches!(supported, Some(OnFargate::Only(words)) if words.contains(&meant));
    meant.is_some_and(is_supported) && subject.definition.runs_on_fargate()
}

/// The word of ECS's that a refused value most likely means.
pub(super) fn meant(value: &str, accepts: &Accepts) -> Option<&'static str> {
    match accepts {
        Accepts::OneOf(words) | Accepts::EachOf(words) => nearest(value, words.iter().copied()),
        Accepts::Known(words) | Accepts::EachKnown(words) => misspelt(value, words.iter().copied()),
        _ => None,
    }
}

/// What `who` refuses at a place.
pub(super) fn refused(
    who: &str,
    value: &str,
    accepts: &Accepts,
    place: &Place,
    name: &dyn Fn() -> String,
) -> Option<Draft> {
    let (help, severity, meant) = match accepts {
        Accepts::OneOf(words) | Accepts::EachOf(words) => of_words(value, words)?,
        Accepts::Known(_) | Accepts::EachKnown(_) => {
            let meant = meant(value, accepts)?;
            (format!("did you mean {meant}?"), Severity::Warning, Some(meant))
        }
        _ => (what_to_write(accepts)?, Severity::Error, None),
    };
    let message = match shown(value, accepts, meant) {
        Some(value) => format!("{} is {value}, which {who} refuses", name()),
        None => format!("{who} refuses the value of {}", name()),
    };
    let fix = meant.and_then(|meant| Fix::set(place, meant));
    Some(Draft::new(place.span, message, help).severity(severity).fix(fix))
}

/// What to write instead of a refused value, if no word is near it.
fn what_to_write(accepts: &Accepts) -> Option<String> {
    let text = match accepts {
        Accepts::Whole(least, u64::MAX) => return Some(format!("choose {least} or more")),
        Accepts::Whole(least, most) => return Some(format!("choose a value from {least} to {most}")),
        Accepts::Begins(starts) => return Some(format!("begin it with {}", starts.join(" or "))),
        Accepts::Counted(least, most, _) => return Some(format!("write {least} to {most} items")),
        Accepts::Written(least, most) => return Some(format!("write {least} to {most} characters")),
        Accepts::Name => "use at most 255 letters, digits, hyphens and underscores",
        Accepts::PortName => "use at most 64 lower-case letters, digits, hyphens and underscores",
        Accepts::PortRange => "write the first and the last port: 8000-8010",
        Accepts::Image => "write a repository in lower case with a tag: example/web:1.4.2",
        Accepts::Path | Accepts::PathOrNone => "write the complete path, with / at its beginning",
        Accepts::VariableFile => "write the ARN of an object in S3 whose name ends with .env",
        Accepts::Region => "write it as in eu-west-1",
        Accepts::Size => "write a number with k, m or g: 25m",
        Accepts::Items(_) => "add an item",
        Accepts::Flag => "write true or false",
        Accepts::Map(_) | Accepts::Union(_) | Accepts::Options | Accepts::OptionsOf(_) | Accepts::LogOptions => {
            "write a map"
        }
        Accepts::Maps(_) | Accepts::Texts => "write a list",
        Accepts::Any | Accepts::OneOf(_) | Accepts::EachOf(_) | Accepts::Known(_) | Accepts::EachKnown(_) => {
            return None;
        }
    };
    Some(text.to_owned())
}

/// What to write instead of an unknown word. ECS may get more words later.
fn of_words(value: &str, words: &[&'static str]) -> Option<(String, Severity, Option<&'static str>)> {
    match nearest(value, words.iter().copied()) {
        // ECS accepts TCP and UDP as well.
        Some("tcp" | "udp") if value.eq_ignore_ascii_case("tcp") || value.eq_ignore_ascii_case("udp") => None,
        Some(meant) if value.eq_ignore_ascii_case(meant) => {
            Some((format!("write {meant}"), Severity::Warning, Some(meant)))
        }
        Some(meant) => Some((format!("did you mean {meant}?"), Severity::Error, Some(meant))),
        None => Some((format!("use one of {}", words.join(", ")), Severity::Warning, None)),
    }
}

/// A value as users read it, unless it may be a secret in the wrong place: a word that nearly is one of ECS's, a number,
/// or what is no value of the file.
fn shown<'v>(value: &'v str, accepts: &Accepts, meant: Option<&str>) -> Option<&'v str> {
    let is_number =
        || (1..=20).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_digit() || b"-.".contains(&b));
    let is_harmless = match accepts {
        Accepts::Whole(..) | Accepts::PortRange => is_number(),
        // What is no value of the file: `an empty list`, `a string`.
        Accepts::Items(_) | Accepts::Counted(..) | Accepts::Map(_) | Accepts::Union(_) | Accepts::Maps(_) => true,
        _ => meant.is_some(),
    };
    is_harmless.then_some(value)
}

/// More memory reserved than allowed.
fn reservation(container: &Container) -> Option<Draft> {
    let (limit, reserved) = (container.memory.known()?, container.memory_reservation.known()?);
    let label = container.label();
    (reserved > limit).then(|| {
        let message = format!("memoryReservation of {label} is {reserved}, more than its memory of {limit}");
        Draft::new(container.memory_reservation.span(), message, "reserve at most what memory allows").of(container)
    })
}

/// A container with more memory than the task.
fn above_the_task(subject: &Subject<'_>, container: &Container) -> Option<Draft> {
    let task = mebibytes(subject.definition.memory.text()?)?;
    let fields = [("memory", &container.memory), ("memoryReservation", &container.memory_reservation)];
    fields.into_iter().find_map(|(key, field)| {
        let memory = field.known().filter(|memory| **memory > task)?;
        let message = format!("{key} of {} is {memory}, more than the {task} of the task", container.label());
        let draft = Draft::new(field.span(), message, "lower it, or raise memory of the task").of(container);
        Some(draft.note(subject.definition.memory.span(), "the memory of the task"))
    })
}

/// A mapping without a port of the container, or with a port and a range.
fn not_one_port(container: &Container, mapping: &PortMapping) -> Option<Draft> {
    if mapping.container_port.is_absent() && mapping.container_port_range.is_absent() && !mapping.host_port.is_absent()
    {
        let message = format!("a port mapping of {} has a hostPort, but no containerPort", container.label());
        return Some(Draft::new(mapping.host_port.span(), message, "write the port as containerPort").of(container));
    }
    let (port, range) = (mapping.container_port.known()?, mapping.container_port_range.text()?);
    let message = format!("a port mapping of {} has the port {port} and the range {range}", container.label());
    let help = "leave one of the two, and write another mapping for the other";
    Some(Draft::new(mapping.container_port_range.span(), message, help).of(container))
}

/// Names and paths that ECS or Docker accepts once: volumes, and the paths of a container's mounts.
fn repeated(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    twice(definition.volumes.items.iter().map(|volume| &volume.name), "two volumes have the name", None, findings);
    for container in &definition.containers.items {
        let paths = container.mount_points.items.iter().map(|mount| &mount.container_path);
        twice(paths, "two mounts have the path", Some(container), findings);
    }
}

fn twice<'d>(
    fields: impl Iterator<Item = &'d Field<Text>>,
    what: &str,
    container: Option<&Container>,
    findings: &mut Findings,
) {
    let mut first: HashMap<&str, Span> = HashMap::new();
    for field in fields {
        let Some(text) = field.text() else { continue };
        if let Some(earlier) = first.insert(text, field.span()) {
            let draft = Draft::new(field.span(), format!("{what} {text}"), "remove one of the two, or rename it");
            findings.add(of(container, draft.note(earlier, "the other one")));
        }
    }
}

/// A file system that only encrypted connections reach, without encryption.
fn unencrypted(volume: &Volume) -> Option<Draft> {
    let efs = volume.efs.known()?;
    let needs = efs.iam.text() == Some("ENABLED") || efs.access_point.known().is_some();
    let is_off = efs.transit_encryption.is_absent() || efs.transit_encryption.text() == Some("DISABLED");
    (needs && is_off).then(|| {
        let name = volume.name.text().unwrap_or("of EFS");
        let message = format!("the volume {name} has an access point or IAM, but no transitEncryption");
        Draft::new(efs.transit_encryption.span(), message, "set transitEncryption to ENABLED")
    })
}

/// A directory in addition to the one of the access point.
fn two_directories(volume: &Volume) -> Option<Draft> {
    let efs = volume.efs.known()?;
    efs.access_point.known()?;
    let root = efs.root_directory.text().filter(|root| !root.is_empty() && *root != "/")?;
    let message = format!("the volume {} has an access point and the directory {root}", volume.name.text()?);
    Some(Draft::new(efs.root_directory.span(), message, "remove rootDirectory: the access point has its own"))
}

/// A soft limit above the hard one. The limits of the mesh's own containers have rules of their own.
fn inverted(subject: &Subject<'_>, container: &Container, limit: &Ulimit) -> Option<Draft> {
    let (soft, hard) = (limit.soft.known()?, limit.hard.known()?);
    if soft <= hard || subject.is_of_the_mesh(container) {
        return None;
    }
    let name = limit.name.text().unwrap_or("a ulimit");
    let message = format!("the softLimit of {name} of {} is above its hardLimit", container.label());
    Some(Draft::new(limit.soft.span(), message, "set softLimit to hardLimit at most").of(container))
}
