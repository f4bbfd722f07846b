//! Calls of `HashiCorp`'s modules for Consul on ECS: `consul_ecs/*.tf` say which task definition the modules make of their
//! inputs. Source: <https://github.com/hashicorp/terraform-aws-consul-ecs>
//!
//! A value has the place of the input that it is from. What a module makes by itself has the place of the call's name.

use std::{collections::BTreeMap, sync::LazyLock};

use mesh::{
    consul_ecs::{Feature, Generation, NEWEST},
    release::Release,
};

use serde_json::{Map, Value as Json};

use crate::definition::{Argument, HashiCorpModule, Refusal};
use document::{Entry, HOLE, Node, Route, Span, Value, parse_json};
use terraform::{
    Attribute, Block, Body, Evaluation, Function, Input, Instance, Interest, Module, Source, UnknownCause,
    values::{closed, entry, map, node, text, unknown},
};

/// The modules that make a task definition: `controller` from 0.7 on, `acl-controller` before.
const MODULES: [&str; 4] = ["mesh-task", "gateway-task", "controller", "acl-controller"];

/// The modules whose default image of consul-ecs has another release than they, by their `variables.tf`.
const IMAGES: [(Release, Release); 2] =
    [(Release::new(0, 4, 2), Release::new(0, 4, 1)), (Release::new(0, 6, 1), Release::new(0, 6, 0))];

static RELEASE: LazyLock<Body> = LazyLock::new(|| parsed(include_str!("consul_ecs/release.tf")));
static TASK: LazyLock<Body> = LazyLock::new(|| parsed(include_str!("consul_ecs/task.tf")));
static CLIENT: LazyLock<Body> = LazyLock::new(|| parsed(include_str!("consul_ecs/client.tf")));
static DATAPLANE: LazyLock<Body> = LazyLock::new(|| parsed(include_str!("consul_ecs/dataplane.tf")));
static SERVERS: LazyLock<Body> = LazyLock::new(|| parsed(include_str!("consul_ecs/servers.tf")));
static CONTROLLER: LazyLock<Body> = LazyLock::new(|| parsed(include_str!("consul_ecs/controller.tf")));
static SERVICE: LazyLock<Body> = LazyLock::new(|| parsed(include_str!("consul_ecs/service.tf")));

#[expect(clippy::expect_used, reason = "the files are part of the program, and the tests of the modules parse them")]
fn parsed(text: &str) -> Body {
    Body::native(text).expect("a file of the modules is in Terraform's language")
}

/// A module in one of its versions.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConsulEcs {
    pub(super) name: &'static str,
    /// A line if a version constraint leaves the patch open.
    pub(super) release: Release,
    /// Whether the module is a fork, which may differ from `HashiCorp`'s.
    pub(super) is_fork: bool,
    /// Whether the call says which version it wants.
    pub(super) is_pinned: bool,
}

impl ConsulEcs {
    /// What says what the module makes.
    fn source(self) -> Source {
        Source { files: self.files(), functions: FUNCTIONS }
    }

    fn files(self) -> Vec<&'static Body> {
        match (self.name, Feature::Dataplane.is_in(self.release)) {
            ("mesh-task", true) => vec![&RELEASE, &TASK, &DATAPLANE, &SERVERS],
            ("mesh-task", false) => vec![&RELEASE, &TASK, &CLIENT],
            ("gateway-task", true) => vec![&RELEASE, &TASK, &DATAPLANE, &SERVERS, &SERVICE],
            ("gateway-task", false) => vec![&RELEASE, &TASK, &CLIENT, &SERVICE],
            _ => vec![&RELEASE, &CONTROLLER, &SERVERS, &SERVICE],
        }
    }

    /// The values of the files' variables. `cause`: why a part of what is `given` is unknown.
    fn inputs(self, given: Node, cause: Option<UnknownCause>, at: Span) -> BTreeMap<String, Input> {
        let release = self.release;
        let shown = |release: Release| match release.patch {
            Some(_) => release.to_string(),
            None => format!("{release}.{HOLE}"),
        };
        let image = IMAGES.iter().find(|(module, _)| *module == release).map_or(release, |(_, image)| *image);
        let has = |feature: &Feature| entry(format!("{feature:?}"), node(Value::Bool(feature.is_in(release)), at));
        let own = [
            ("module", text(self.name, at)),
            ("version", text(shown(release), at)),
            ("image", text(shown(image), at)),
            ("generation", text(format!("{:?}", Generation::of(release)), at)),
            ("has", map(Feature::ALL.iter().map(has).collect(), at)),
            ("unknown", unknown(at)),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), Input { value, cause: None }));
        own.into_iter().chain([("input".to_owned(), Input { value: given, cause })]).collect()
    }

    /// The module with the inputs of an instance of a call.
    pub(super) fn module<'w>(self, caller: &Module<'w>, call: &Block, instance: &Instance) -> Module<'w> {
        let at = call.name_span();
        let reader = caller.reader(call, instance);
        let given = reader.arguments().map(|attribute| entry(attribute.name.clone(), reader.value(attribute)));
        let (given, cause) = caller.with_cause(|| map(given.collect(), at));
        caller.in_place_of_called(call, instance, &self.source(), self.inputs(given, cause, at))
    }

    /// What is judged of an instance of a call, which `made` stands for.
    pub(super) fn made_by(
        self,
        (caller, call, instance): (&Module<'_>, &Block, &Instance),
        made: &Module<'_>,
    ) -> HashiCorpModule {
        let reader = caller.reader(call, instance);
        let argument = |attribute: &Attribute| {
            let value = reader.value(attribute);
            Argument {
                name: attribute.name.clone(),
                span: attribute.name_span,
                is_scalar: matches!(value.value, Value::Text(_) | Value::Number(_) | Value::Bool(_)),
                text: value.text().map(|text| (value.place.span, text.to_owned())),
            }
        };
        let span_of = |name: &str| call.body.attribute(name).map_or(call.name_span(), |attribute| attribute.name_span);
        // The files of the modules have this local value.
        let rows = made.local("refused");
        let rows = rows.iter().flat_map(Node::items);
        HashiCorpModule {
            name: self.name,
            release: self.release,
            is_fork: self.is_fork,
            is_pinned: self.is_pinned,
            call: call.name_span(),
            arguments: call.body.attributes.iter().map(argument).collect(),
            refused: rows.filter_map(|row| refusal(row, &span_of)).collect(),
        }
    }
}

/// A row of what a module refuses, if it is so.
fn refusal(row: &Node, span_of: &dyn Fn(&str) -> Span) -> Option<Refusal> {
    let text = |key: &str| row.get(key).and_then(Node::text).map(str::to_owned);
    let is_refused = matches!(row.get("is")?.value, Value::Bool(true));
    let (span, what, help) = (span_of(row.get("input")?.text()?), text("what")?, text("help")?);
    let is_ignored = row.get("is_ignored").is_some_and(|cell| matches!(cell.value, Value::Bool(true)));
    is_refused.then_some(Refusal { span, what, help, is_ignored })
}

/// The containers that the module `mesh-task` of a release makes of its inputs: the containers of the inputs, then its own.
/// What is unknown or empty is left out. `None` if the inputs are not the module's.
pub fn mesh_task(release: Release, inputs: &Json) -> Option<Vec<Map<String, Json>>> {
    let (called, at) = (ConsulEcs { name: "mesh-task", release, is_fork: false, is_pinned: true }, Span::default());
    let given = parse_json(&inputs.to_string(), &Route::default()).ok()?.placed(at);
    let evaluation = Evaluation::new(None, Interest::NONE);
    let module = Module::of_source(&evaluation, &called.source(), called.inputs(given, None, at));
    let containers = module.local("containers")?;
    let known = |container: &Node| if let Some(Json::Object(known)) = known(container) { Some(known) } else { None };
    containers.items().iter().map(known).collect()
}

/// A value as JSON without its parts that are unknown or empty, also in a string of JSON.
fn known(value: &Node) -> Option<Json> {
    let json = match &value.value {
        Value::Null | Value::Unknown => return None,
        Value::Text(text) if text.is_empty() || text.contains(HOLE) => return None,
        Value::Text(text) => match parse_json(text, &Route::default()) {
            Ok(embedded) if matches!(embedded.value, Value::Map(_)) => known(&embedded)?.to_string().into(),
            _ => value.json(),
        },
        Value::List(items) => items.iter().filter_map(known).collect(),
        Value::Map(entries) => {
            entries.iter().filter_map(|entry| Some((entry.key.clone(), known(&entry.node)?))).collect()
        }
        Value::Bool(_) | Value::Number(_) => value.json(),
    };
    let is_empty = json.as_array().is_some_and(Vec::is_empty) || json.as_object().is_some_and(Map::is_empty);
    (!is_empty).then_some(json)
}

/// The functions that our files need in addition to Terraform's.
const FUNCTIONS: &[(&str, Function)] = &[
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
        node.map_spans(&|span| if span == at { name } else { span });
        if let Some(own) = entries.iter().position(|entry| entry.key == *key) {
            node.place = entries.remove(own).node.place;
        }
        entries.push(entry(key.clone(), node));
    }
    Some(Node { value: Value::Map(entries), place: container.place })
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

/// The oldest line whose modules are known. 0.10 has the inputs of 0.9.4; its images are newer. Source:
/// <https://github.com/hashicorp/terraform-aws-consul-ecs/pull/415>
const OLDEST: Release = Release::line(0, 2);

/// More patches than any line has.
const PATCHES: std::ops::Range<u64> = 0..10;

/// The module and version of a call; `None` if it is another module.
///
/// # Errors
/// The version is not known: why.
pub(super) fn called(source: &str, version: Option<&str>) -> Option<Result<ConsulEcs, String>> {
    let (path, query) = source.split_once('?').unwrap_or((source, ""));
    let (package, module) = path.rsplit_once("//modules/")?;
    let package = package.trim_end_matches(".git");
    let is_registry = package == "hashicorp/consul-ecs/aws" || package.ends_with("/hashicorp/consul-ecs/aws");
    let is_git = ["github.com/hashicorp/terraform-aws-consul-ecs", "github.com:hashicorp/terraform-aws-consul-ecs"]
        .iter()
        .any(|repository| package.ends_with(repository));
    let is_fork = !is_registry && !is_git;
    if is_fork && !package.contains("consul") {
        return None;
    }
    let name = *MODULES.iter().find(|name| **name == module.trim_end_matches('/'))?;
    let tag = query.split('&').find_map(|part| part.strip_prefix("ref="));
    let release = match (tag, version) {
        (Some(tag), _) => Release::in_tag(tag)
            .filter(|release| release.patch.is_some() && (OLDEST..=NEWEST).contains(&release.in_line())),
        (None, Some(constraint)) => constrained(constraint),
        (None, None) if is_fork => None,
        (None, None) => newest(|_| true),
    };
    let unknown = || match tag.or(version) {
        Some(wanted) => format!("its version {wanted} is unknown (known: {OLDEST} to {NEWEST})"),
        None => "it is a fork of an unknown version of HashiCorp's module".to_owned(),
    };
    let is_pinned = tag.or(version).is_some();
    Some(release.map(|release| ConsulEcs { name, release, is_fork, is_pinned }).ok_or_else(unknown))
}

/// The newest version that meets all constraints. Source:
/// <https://developer.hashicorp.com/terraform/language/expressions/version-constraints>
fn constrained(text: &str) -> Option<Release> {
    let constraints = text.split(',').map(Constraint::parse).collect::<Option<Vec<_>>>()?;
    newest(|release| constraints.iter().all(|constraint| constraint.admits(release)))
}

struct Constraint<'t> {
    operator: &'t str,
    version: Release,
}

impl<'t> Constraint<'t> {
    fn parse(text: &'t str) -> Option<Self> {
        let (operator, version) = text.split_at(text.find(|c: char| c.is_ascii_digit())?);
        Some(Self { operator: operator.trim().trim_end_matches('v').trim(), version: Release::in_tag(version)? })
    }

    fn admits(&self, release: Release) -> bool {
        let own = Release { patch: self.version.patch.or(Some(0)), ..self.version };
        let is_line = self.version.patch.is_none();
        match self.operator {
            "" | "=" => release == own,
            "!=" => release != own,
            ">" => release > own,
            ">=" => release >= own,
            "<" => release < own,
            "<=" => release <= own,
            "~>" => release >= own && release.major == own.major && (is_line || release.minor == own.minor),
            _ => false,
        }
    }
}

/// The newest line with an admitted release, or that release if no other one of the line is admitted.
fn newest(admits: impl Fn(Release) -> bool) -> Option<Release> {
    (OLDEST.minor..=NEWEST.minor).rev().find_map(|minor| {
        let mut admitted = PATCHES.map(|patch| Release::new(0, minor, patch)).filter(|release| admits(*release));
        let first = admitted.next()?;
        Some(if admitted.next().is_some() { first.in_line() } else { first })
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
        assert_eq!(release(registry, None), Some((NEWEST.minor, None)));
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
        assert!(called("example/vpc/aws//modules/controller", Some("0.9.0")).is_none());
        assert!(called("terraform-aws-modules/ecs/aws//modules/service", None).is_none());
    }

    #[test]
    fn constraints_select_the_newest_version() {
        let select = |constraint: &str| release("hashicorp/consul-ecs/aws//modules/gateway-task", Some(constraint));
        assert_eq!(select("~> 0.7.0"), Some((7, None)));
        assert_eq!(select("~> 0.7"), Some((NEWEST.minor, None)));
        assert_eq!(select("< 1.0.0"), Some((NEWEST.minor, None)));
        assert_eq!(select(&format!("~> {NEWEST}")), Some((NEWEST.minor, None)));
        assert_eq!(select(&format!("{NEWEST}.1")), Some((NEWEST.minor, Some(1))));
        assert_eq!(select("~> 0.9.0"), Some((9, None)));
        assert_eq!(select(">= 0.5, < 0.7"), Some((6, None)));
        assert_eq!(select("> 0.5.8, < 0.6"), Some((5, Some(9))));
        assert_eq!(select("1.0.0"), None);
        assert_eq!(select(&format!("~> 0.{}", NEWEST.minor + 1)), None);
        assert_eq!(select("latest"), None);
    }
}
