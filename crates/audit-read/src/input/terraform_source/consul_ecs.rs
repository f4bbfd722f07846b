//! Calls of `HashiCorp`'s modules for Consul on ECS: `consul_ecs/*.tf` say which task definition the modules make of their
//! inputs. Source: <https://github.com/hashicorp/terraform-aws-consul-ecs>
//!
//! A value has the place of the input that it is from. What a module makes by itself has the place of the call's name.

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use super::{
    blocks::Reader,
    directory::Directory,
    functions::Function,
    module::{Input, Location, Module},
    syntax::{native_body, parse_native},
    values::{closed, entry, map, node, text, unknown},
};
use crate::{
    document::{Entry, HOLE, Node, Place, Span, Value},
    input::InputProblem,
};

/// The modules that make a task definition: `controller` from 0.7 on, `acl-controller` before.
const MODULES: [&str; 4] = ["mesh-task", "gateway-task", "controller", "acl-controller"];

const RELEASE: &str = include_str!("consul_ecs/release.tf");
const TASK: &str = include_str!("consul_ecs/task.tf");
const CLIENT: &str = include_str!("consul_ecs/client.tf");
const DATAPLANE: &str = include_str!("consul_ecs/dataplane.tf");
const SERVERS: &str = include_str!("consul_ecs/servers.tf");
const CONTROLLER: &str = include_str!("consul_ecs/controller.tf");
const SERVICE: &str = include_str!("consul_ecs/service.tf");

/// A module in one of its versions.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConsulEcs {
    name: &'static str,
    release: Release,
}

impl ConsulEcs {
    /// The files that say what the module makes.
    fn files(self) -> &'static [&'static str] {
        match (self.name, self.release.minor) {
            ("mesh-task", 7..) => &[RELEASE, TASK, DATAPLANE, SERVERS],
            ("mesh-task", _) => &[RELEASE, TASK, CLIENT],
            ("gateway-task", 7..) => &[RELEASE, TASK, DATAPLANE, SERVERS, SERVICE],
            ("gateway-task", _) => &[RELEASE, TASK, CLIENT, SERVICE],
            _ => &[RELEASE, CONTROLLER, SERVERS, SERVICE],
        }
    }

    /// The module with the inputs of a call.
    ///
    /// # Errors
    /// One of our files is not in Terraform's language.
    pub(super) fn module<'w>(self, reader: &Reader<'_, 'w>) -> Result<Module<'w>, InputProblem> {
        let at = reader.block.name_span();
        let file = reader.module.directory.file(reader.block.file);
        let mut directory = Directory { files: vec![Arc::clone(&file)], ..Directory::default() };
        for own in self.files() {
            let body = parse_native(own).map_err(|error| InputProblem::unreadable(&file, &error))?;
            directory.declare(native_body(&body, 0).placed(at));
        }
        let given = reader.arguments().map(|attribute| entry(attribute.name.clone(), reader.value(attribute)));
        let (given, cause) = reader.module.world.with_cause(|| given.collect::<Vec<_>>());
        let Release { minor, patch } = self.release;
        let patch = |unknown: &str| patch.map_or_else(|| unknown.to_owned(), |patch| patch.to_string());
        let inputs = [
            ("module", text(self.name, at)),
            ("minor", node(Value::Number(minor.to_string()), at)),
            ("patch", node(self.release.patch.map_or(Value::Null, |patch| Value::Number(patch.to_string())), at)),
            ("version", text(format!("0.{minor}.{}", patch(&HOLE.to_string())), at)),
            ("unknown", unknown(at)),
            ("input", map(given, at)),
        ];
        let input = |(name, value): (&str, Node)| {
            let cause = cause.clone().filter(|_| name == "input");
            (name.to_owned(), Input { value, cause })
        };
        let inputs: BTreeMap<String, Input> = inputs.into_iter().map(input).collect();
        let mut module =
            reader.module.called(reader.block, reader.instance, Rc::new(directory), Location::default(), inputs);
        module.made_at = Some(at);
        Ok(module)
    }
}

/// The functions that our files need in addition to Terraform's.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("extended", Function::Two(extended)),
    ("without_empty", Function::One(|value, at| Some(without_empty(value, at)))),
];

/// A container of the user with the entries that the module adds, which have the place of the container's name. Edits
/// reach only the user's values.
fn extended(container: &Node, more: &Node, at: Span) -> Option<Node> {
    let container = closed(container.clone());
    let mut entries = match container.value {
        Value::Map(entries) => entries,
        Value::Unknown => return Some(container),
        _ => return None,
    };
    let name =
        entries.iter().find(|entry| entry.key == "name").map_or(container.place.span, |name| name.node.place.span);
    for Entry { key, node, .. } in more.entries().iter().filter(|more| !matches!(more.node.value, Value::Null)) {
        let mut node = node.clone();
        moved(&mut node, at, name);
        if let Some(own) = entries.iter().position(|entry| entry.key == *key) {
            node.place = entries.remove(own).node.place;
        }
        entries.push(entry(key.clone(), node));
    }
    Some(Node { value: Value::Map(entries), place: container.place })
}

/// Changes the place of everything at `from`.
fn moved(value: &mut Node, from: Span, to: Span) {
    if value.place.span == from {
        value.place = Place::fixed(to);
    }
    if let Value::Map(entries) = &mut value.value {
        entries.iter_mut().filter(|entry| entry.key_span == from).for_each(|entry| entry.key_span = to);
    }
    value.children_mut().into_iter().for_each(|child| moved(child, from, to));
}

/// A map without null, empty strings and empty collections.
fn without_empty(value: &Node, at: Span) -> Node {
    let Value::Map(entries) = &value.value else { return value.clone() };
    let is_empty = |entry: &&Entry| match &entry.node.value {
        Value::Null => true,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        _ => false,
    };
    map(entries.iter().filter(|entry| !is_empty(entry)).cloned().collect(), at)
}

/// The minor versions of the modules that are known. 0.10 has the inputs of 0.9.4; its images are newer. Source:
/// <https://github.com/hashicorp/terraform-aws-consul-ecs/pull/415>
const MINORS: std::ops::RangeInclusive<u64> = 2..=10;

/// More patches than any minor version has.
const PATCHES: std::ops::Range<u64> = 0..10;

/// A version of the modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Release {
    minor: u64,
    /// `None` if a version constraint leaves it open.
    patch: Option<u64>,
}

/// The module and version of a call; `None` if it is another module.
///
/// # Errors
/// The version is not known: why.
pub(super) fn called(source: &str, version: Option<&str>) -> Option<Result<ConsulEcs, String>> {
    let (path, query) = source.split_once('?').unwrap_or((source, ""));
    let (package, module) = path.split_once("//modules/").or_else(|| {
        // An address with a scheme has two more slashes.
        let (scheme, rest) = path.split_once("://")?;
        let (package, module) = rest.split_once("//modules/")?;
        (!scheme.is_empty()).then_some((package, module))
    })?;
    let package = package.trim_end_matches(".git");
    let is_registry = package == "hashicorp/consul-ecs/aws" || package.ends_with("/hashicorp/consul-ecs/aws");
    let is_git = ["github.com/hashicorp/terraform-aws-consul-ecs", "github.com:hashicorp/terraform-aws-consul-ecs"]
        .iter()
        .any(|repository| package.ends_with(repository));
    if !is_registry && !is_git {
        return None;
    }
    let name = *MODULES.iter().find(|name| **name == module.trim_end_matches('/'))?;
    let wanted = if is_git { query.split('&').find_map(|part| part.strip_prefix("ref=")) } else { version };
    let release = match (is_git, wanted) {
        (true, Some(tag)) => exact(tag),
        (_, None) => newest(|_, _| true),
        (false, Some(constraint)) => constrained(constraint),
    };
    let unknown = || {
        let (first, last) = (MINORS.start(), MINORS.end());
        format!("of its versions, 0.{first} to 0.{last} are known, but not {}", wanted.unwrap_or_default())
    };
    Some(release.map(|release| ConsulEcs { name, release }).ok_or_else(unknown))
}

/// `0.9.0` or `v0.9.0`.
fn exact(text: &str) -> Option<Release> {
    let (minor, patch) = parts(text.trim_start_matches('v'))?;
    MINORS.contains(&minor).then_some(Release { minor, patch: Some(patch?) })
}

/// The minor and patch of a version of major 0.
fn parts(text: &str) -> Option<(u64, Option<u64>)> {
    let text = text.split(['-', '+']).next()?;
    let mut numbers = text.trim().split('.').map(str::parse::<u64>);
    if numbers.next()?.ok()? != 0 {
        return None;
    }
    let minor = numbers.next()?.ok()?;
    Some((minor, numbers.next().transpose().ok()?))
}

/// The newest version that meets all constraints. Source:
/// <https://developer.hashicorp.com/terraform/language/expressions/version-constraints>
fn constrained(text: &str) -> Option<Release> {
    let constraints = text.split(',').map(constraint).collect::<Option<Vec<_>>>()?;
    newest(|minor, patch| constraints.iter().all(|constraint| constraint.admits(minor, patch)))
}

struct Constraint {
    operator: String,
    minor: u64,
    patch: Option<u64>,
}

fn constraint(text: &str) -> Option<Constraint> {
    let text = text.trim();
    let digits = text.find(|c: char| c.is_ascii_digit())?;
    let (operator, version) = text.split_at(digits);
    let (minor, patch) = parts(version)?;
    Some(Constraint { operator: operator.trim().trim_end_matches('v').trim().to_owned(), minor, patch })
}

impl Constraint {
    fn admits(&self, minor: u64, patch: u64) -> bool {
        let own = (self.minor, self.patch.unwrap_or(0));
        match self.operator.as_str() {
            "" | "=" => (minor, patch) == own,
            "!=" => (minor, patch) != own,
            ">" => (minor, patch) > own,
            ">=" => (minor, patch) >= own,
            "<" => (minor, patch) < own,
            "<=" => (minor, patch) <= own,
            "~>" => (minor, patch) >= own && (self.patch.is_none() || minor == self.minor),
            _ => false,
        }
    }
}

/// The newest minor version with an admitted patch. The patch is known only if no other is admitted.
fn newest(admits: impl Fn(u64, u64) -> bool) -> Option<Release> {
    MINORS.rev().find_map(|minor| {
        let patches: Vec<u64> = PATCHES.filter(|patch| admits(minor, *patch)).collect();
        match patches.as_slice() {
            [] => None,
            [only] => Some(Release { minor, patch: Some(*only) }),
            _ => Some(Release { minor, patch: None }),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(source: &str, version: Option<&str>) -> Option<(u64, Option<u64>)> {
        let release = called(source, version)?.ok()?.release;
        Some((release.minor, release.patch))
    }

    #[test]
    fn all_spellings_of_a_source_are_known() {
        let registry = "hashicorp/consul-ecs/aws//modules/mesh-task";
        assert_eq!(release(registry, Some("0.9.0")), Some((9, Some(0))));
        assert_eq!(release(registry, Some("= 0.7.1")), Some((7, Some(1))));
        assert_eq!(release(registry, None), Some((10, None)));
        for source in [
            "github.com/hashicorp/terraform-aws-consul-ecs//modules/mesh-task?ref=v0.8.1",
            "git::https://github.com/hashicorp/terraform-aws-consul-ecs.git//modules/mesh-task?ref=v0.8.1&depth=1",
            "git@github.com:hashicorp/terraform-aws-consul-ecs.git//modules/mesh-task?ref=0.8.1",
        ] {
            assert_eq!(release(source, None), Some((8, Some(1))), "{source}");
        }
        assert_eq!(
            release("registry.terraform.io/hashicorp/consul-ecs/aws//modules/mesh-task", Some("0.6.0")),
            Some((6, Some(0)))
        );
        assert!(called("hashicorp/consul-ecs/aws//modules/dev-server", Some("0.9.0")).is_none());
        assert!(called("example/consul-ecs/aws//modules/mesh-task", Some("0.9.0")).is_none());
        assert!(called("terraform-aws-modules/ecs/aws//modules/service", None).is_none());
    }

    #[test]
    fn constraints_select_the_newest_version() {
        let select = |constraint| release("hashicorp/consul-ecs/aws//modules/gateway-task", Some(constraint));
        assert_eq!(select("~> 0.7.0"), Some((7, None)));
        assert_eq!(select("~> 0.7"), Some((10, None)));
        assert_eq!(select("~> 0.10"), Some((10, None)));
        assert_eq!(select("0.10.1"), Some((10, Some(1))));
        assert_eq!(select("~> 0.9.0"), Some((9, None)));
        assert_eq!(select(">= 0.5, < 0.7"), Some((6, None)));
        assert_eq!(select("> 0.5.8, < 0.6"), Some((5, Some(9))));
        assert_eq!(select("1.0.0"), None);
        assert_eq!(select("~> 0.11"), None);
        assert_eq!(select("latest"), None);
    }
}
