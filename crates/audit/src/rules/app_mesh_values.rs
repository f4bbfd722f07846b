//! Keys and values in the resources of App Mesh. Source:
//! <https://docs.aws.amazon.com/app-mesh/latest/APIReference/API_Types.html>

use super::{prelude::*, values::refused};
use crate::{rule::ResourceFindings, spelling::nearest};
use audit_read::{
    app_mesh::{Presence, Resource, ResourceKind, Resources},
    definition::{
        Dialect,
        api::{Accepts, Departure, Fault},
    },
};
use document::{HOLE, Node, Span};
use std::sync::Arc;

pub(super) static APPMESH_VALUE: Rule = Rule::of_resources(page!("appmesh-value", in APP_MESH), check_values);

/// The protocols of listeners and routes.
const PROTOCOLS: [&str; 4] = ["http", "http2", "grpc", "tcp"];

/// The bytes of a value, what is wrong with it, and how to correct it.
type Defect = (Span, String, String);

fn check_values(resources: &Resources, _: &[Subject<'_>], findings: &mut ResourceFindings<'_>) {
    for resource in ResourceKind::ALL.iter().flat_map(|kind| resources.of(*kind)) {
        for departure in &resource.departures {
            if let Some(draft) = draft(resource, departure) {
                findings(resource, draft);
            }
        }
        if let Some(other) = namesake(resources, resource) {
            let message = format!("two resources are {} in one mesh", resource.label());
            let draft = Draft::new(resource.span, message, "rename one of the two");
            findings(resource, draft.note(other.span, "the other one"));
        }
        for (span, wrong, help) in of_listeners(resource).into_iter().chain(of_match(resource)) {
            findings(resource, Draft::new(span, format!("{} {wrong}", resource.label()), help));
        }
    }
}

/// An earlier resource of the same file with the same kind, mesh and name.
fn namesake<'r>(resources: &'r Resources, resource: &Resource) -> Option<&'r Resource> {
    let (mesh, name) = (resource.mesh.whole()?, resource.name.whole()?);
    let owner = |resource: &Resource| resource.owner.as_ref().map(|owner| owner.whole().map(str::to_owned));
    let is_it = |other: &&Resource| {
        let is_declared = [resource, *other].iter().all(|it| it.presence == Presence::Declared);
        let is_namesake = other.is_called(mesh, name) && have_one_mesh_owner(resource, other);
        is_declared && is_namesake && Arc::ptr_eq(&other.file, &resource.file)
    };
    let mut earlier = resources.of(resource.kind).take_while(|other| !std::ptr::eq(*other, resource)).filter(is_it);
    // The router or gateway of a route is known.
    let own = owner(resource).unwrap_or_else(|| Some(String::new()))?;
    earlier.find(|other| owner(other).is_none_or(|owner| owner.as_deref() == Some(&own)))
}

/// Whether the meshes of two resources certainly are in one account. Shared meshes of several accounts may have one name.
fn have_one_mesh_owner(one: &Resource, other: &Resource) -> bool {
    match [one, other].map(|resource| resource.node.get("meshOwner")) {
        [None, None] => true,
        [Some(one), Some(other)] => one.text().is_some() && one.text() == other.text(),
        _ => false,
    }
}

fn draft(resource: &Resource, departure: &Departure) -> Option<Draft> {
    let name = || format!("{} of {}", departure.path, resource.label());
    let (message, help) = match &departure.fault {
        Fault::Missing if is_off(resource, departure) => return None,
        Fault::Missing => (format!("{} is missing", name()), format!("set {}", departure.path)),
        Fault::UnknownKey { key, instead_of, given } => {
            let free = departure.shape.names().filter(|name| !given.contains(name));
            let meant = instead_of.or_else(|| nearest(key, free));
            let twin = || nearest(key, given.iter().copied());
            // Terraform names some blocks as its provider likes.
            if resource.dialect == Dialect::TerraformAppMesh && meant.or_else(twin).is_none() {
                return None;
            }
            let help = meant.map_or_else(
                || "remove it".to_owned(),
                |meant| format!("did you mean {}?", resource.dialect.spell(meant)),
            );
            (format!("App Mesh does not know the key {}", name()), help)
        }
        Fault::SeveralOf(keys) => {
            (format!("{} has {}, and takes one of them", name(), keys.join(" and ")), "keep one of them".to_owned())
        }
        Fault::Refused(value, Accepts::OneOf(words) | Accepts::EachOf(words), _) => {
            (format!("{} is {value}, which App Mesh refuses", name()), format!("write {}", words.join(" or ")))
        }
        Fault::Refused(value, accepts, place) => return refused("App Mesh", value, accepts, place, &name),
        Fault::NotOnFargate(_) => return None,
    };
    Some(Draft::new(departure.span, message, help))
}

/// Whether a listener needs no certificate, because its TLS is off.
fn is_off(resource: &Resource, departure: &Departure) -> bool {
    let listeners = resource.spec("listeners").map(Node::items).unwrap_or_default();
    let mut settings = listeners.iter().filter_map(|listener| listener.get("tls"));
    departure.key.is_some_and(|key| key.name == "certificate")
        && settings.any(|tls| tls.place.span == departure.span && has_no_tls(tls))
}

fn has_no_tls(tls: &Node) -> bool {
    tls.get("mode").and_then(Node::text).is_some_and(|mode| mode == "DISABLED" || mode.contains(HOLE))
}

/// A listener has the timeouts and connection pools of its own protocol.
fn of_listeners(resource: &Resource) -> Vec<Defect> {
    let listeners = resource.spec("listeners").map(Node::items).unwrap_or_default();
    let of_listener = |listener: &Node| -> Vec<Defect> {
        let protocol = listener.get("portMapping").and_then(|mapping| mapping.get("protocol"));
        // The default of a parameter may differ from what the deployment passes.
        let is_literal = |node: &Node, text: &str| {
            let Span { start, end } = node.place.span;
            resource.file.text.get(start..end).is_some_and(|written| written.contains(text))
        };
        let literal = protocol.and_then(|node| node.text().filter(|text| is_literal(node, text)));
        let Some(protocol) = literal.filter(|protocol| PROTOCOLS.contains(protocol)) else { return Vec::new() };
        let others = ["timeout", "connectionPool"].into_iter().flat_map(|key| {
            let entries = listener.get(key).map(Node::entries).unwrap_or_default();
            let is_other = |name: &str| PROTOCOLS.contains(&name) && name != protocol;
            entries.iter().filter(move |entry| is_other(&entry.key)).map(move |entry| (key, entry))
        });
        let defect = |(key, entry): (&str, &document::Entry)| -> Defect {
            let wrong = format!("has a {key} for {} in a listener for {protocol}", entry.key);
            (entry.key_span, wrong, format!("write {protocol}"))
        };
        others.map(defect).collect()
    };
    listeners.iter().flat_map(of_listener).collect()
}

/// A prefix of paths begins with a slash. The prefix of a gRPC route, which Terraform's provider has, is no path.
fn of_match(resource: &Resource) -> Option<Defect> {
    let (_, route) = resource.route().filter(|(protocol, _)| *protocol != "grpc")?;
    let prefix = route.get("match")?.get("prefix")?;
    let text = prefix.text().filter(|text| !text.starts_with(['/', HOLE]))?;
    Some((prefix.place.span, format!("matches the prefix {text:?}"), "begin it with /".to_owned()))
}
