//! Task definitions against what a running mesh has of the things that they name, before the deployment.
//!
//! The rules are silent without a [`LiveMesh`], and about each part of it that could not be read.

mod login;
mod release;
mod upstreams;

use audit_read::definition::{Maybe, TaskDefinition};
use document::Node;
use mesh::tenancy::Tenancy;

pub(super) use self::{
    login::{CONSUL_LIVE_IDENTITY, CONSUL_LIVE_LOGIN},
    release::CONSUL_LIVE_RELEASE,
    upstreams::{CONSUL_LIVE_INTENTION, CONSUL_LIVE_PROTOCOL, CONSUL_LIVE_UPSTREAM},
};
use super::upstreams::{destination, may_be_a_service, upstreams as upstreams_of_task};
use crate::{
    live_mesh::{Call, MethodPlace, Questions, ServicePlace},
    rule::Rule,
    subject::{ConsulTask, Subject},
};

/// The rules that judge auth methods.
pub(crate) static RULES_ABOUT_METHODS: [&Rule; 2] = [&CONSUL_LIVE_LOGIN, &CONSUL_LIVE_IDENTITY];

/// What the rules want to know of a mesh.
pub(crate) fn questions(subjects: &[Subject<'_>], home: &Tenancy) -> Questions {
    let mut questions = Questions::default();
    for subject in subjects {
        let Some(consul) = &subject.consul else { continue };
        questions.has_tasks = true;
        for upstream in upstreams(consul, home) {
            let source = service(consul, subject.definition, home);
            questions.calls.extend(source.map(|source| Call { source, upstream: upstream.service.clone() }));
            questions.upstreams.insert(upstream.service);
        }
        questions.methods.extend(method(consul, home));
    }
    questions
}

/// An upstream that a service of the datacenter answers.
struct Upstream<'d> {
    node: &'d Node,
    /// The value with its name.
    name: &'d Node,
    service: ServicePlace,
}

/// The upstreams of a service, except prepared queries, upstreams in a datacenter that the configuration names, and upstreams of
/// peers: other clusters answer them.
fn upstreams<'d>(consul: &ConsulTask<'d>, home: &Tenancy) -> Vec<Upstream<'d>> {
    let Some(own) = tenancy(consul, home) else { return Vec::new() };
    let [own_partition, own_namespace] = own.place();
    let upstream = |node: &'d Node| {
        let (name, text) = destination(node)?;
        let named = |key: &str| node.get(key).map_or(Some(""), Node::text);
        let is_here = named("datacenter") == Some("") && named("destinationPeer") == Some("");
        let or = |named: &'d str, own: &str| if named.is_empty() { own.to_owned() } else { named.to_owned() };
        let partition = or(named("destinationPartition")?, own_partition);
        let namespace = or(named("destinationNamespace")?, own_namespace);
        let service = ServicePlace { name: text.to_owned(), tenancy: in_place([&partition, &namespace], home)? };
        (is_here && !text.is_empty() && may_be_a_service(text)).then_some(Upstream { node, name, service })
    };
    upstreams_of_task(consul).iter().filter_map(upstream).collect()
}

/// Whether Consul has a service of this name where the task registers its own.
pub(super) fn is_live(subject: &Subject<'_>, name: &str) -> bool {
    let (Some(consul), Some(mesh)) = (&subject.consul, subject.mesh) else { return false };
    let place = tenancy(consul, &mesh.home).map(|tenancy| ServicePlace { name: name.to_owned(), tenancy });
    place.and_then(|place| mesh.has(&place)) == Some(true)
}

/// The service that a task registers, if that is certain.
fn service(consul: &ConsulTask<'_>, definition: &TaskDefinition, home: &Tenancy) -> Option<ServicePlace> {
    let name = consul.service_name(definition).filter(|_| consul.is_service())?;
    Some(ServicePlace { name, tenancy: tenancy(consul, home)? })
}

/// The auth method that a task logs in at, if that is certain and in this datacenter.
fn method(consul: &ConsulTask<'_>, home: &Tenancy) -> Option<MethodPlace> {
    let is_here = matches!(consul.configuration.name_at("consulLogin.datacenter"), Maybe::Absent);
    let name = consul.login_method().filter(|_| is_here && consul.logs_in() == Some(true))?;
    Some(MethodPlace { name: name.to_owned(), tenancy: tenancy(consul, home)?.home() })
}

/// Where a task registers; `home` if it names no partition and no namespace.
fn tenancy(consul: &ConsulTask<'_>, home: &Tenancy) -> Option<Tenancy> {
    let section = if consul.is_gateway { "gateway" } else { "service" };
    let [partition, namespace] = ["partition", "namespace"].map(|key| format!("{section}.{key}"));
    match (consul.configuration.name_at(&partition), consul.configuration.name_at(&namespace)) {
        (Maybe::Absent, Maybe::Absent) => Some(home.clone()),
        (Maybe::Unknown, _) | (_, Maybe::Unknown) => None,
        (partition, namespace) => {
            let or_default =
                |name: Maybe<&str>| if let Maybe::Known(name) = name { name.to_owned() } else { "default".to_owned() };
            in_place([&or_default(partition), &or_default(namespace)], home)
        }
    }
}

/// A partition and a namespace; `None` if a name is invalid, which other rules report.
fn in_place(place: [&str; 2], home: &Tenancy) -> Option<Tenancy> {
    // Community Edition refuses requests that name the default ones.
    if place == home.place() {
        return Some(home.clone());
    }
    let [partition, namespace] = place;
    Tenancy::from_names(Some(partition), Some(namespace), ("partition", "namespace")).ok()?
}
