//! The upstreams of services: whether Consul has them, lets the service call them, and speaks their protocol.

use std::collections::BTreeSet;

use audit_read::app_mesh::Resources;

use super::{super::prelude::*, Upstream, service, upstreams};
use crate::{
    live_mesh::{Call, Denial, LiveMesh, ServicePlace},
    rule::TaskFindings,
    rules::upstreams::{is_misspelt, plain},
    spelling::nearest,
};

pub(in crate::rules) static CONSUL_LIVE_UPSTREAM: Rule =
    Rule::of_tasks(page!("consul-live-upstream"), Applies::ConsulWithMesh, check_upstream);

fn check_upstream(subjects: &[Subject<'_>], _: &Resources, findings: &mut TaskFindings<'_>) {
    let Some(mesh) = subjects.iter().find_map(|subject| subject.mesh) else { return };
    let after = AfterDeployment::of(subjects, mesh);
    for subject in subjects {
        let Some(consul) = &subject.consul else { continue };
        for upstream in upstreams(consul, &mesh.home) {
            if let Some(draft) = after.missing(&upstream) {
                findings(subject, draft);
            }
        }
    }
}

/// The services of the input: they are deployed with the upstreams.
struct AfterDeployment<'m> {
    mesh: &'m LiveMesh,
    services: BTreeSet<ServicePlace>,
    /// Whether the names of all services of the input are known.
    is_complete: bool,
}

impl<'m> AfterDeployment<'m> {
    fn of(subjects: &[Subject<'_>], mesh: &'m LiveMesh) -> Self {
        let mut after = Self { mesh, services: BTreeSet::new(), is_complete: true };
        for subject in subjects {
            let Some(consul) = subject.consul.as_ref().filter(|consul| !consul.is_gateway) else { continue };
            match service(consul, subject.definition, &mesh.home) {
                Some(service) => drop(after.services.insert(service)),
                None => after.is_complete = false,
            }
        }
        after
    }

    /// Whether a service is in Consul, or will be with the input; `None` if that is not known.
    fn has(&self, service: &ServicePlace) -> Option<bool> {
        if self.services.contains(service) {
            return Some(true);
        }
        self.mesh.has(service)
    }

    fn missing(&self, upstream: &Upstream<'_>) -> Option<Draft> {
        let (service, span) = (&upstream.service, upstream.name.place.span);
        let live = self.mesh.upstreams.get(service)?;
        let is_missing = |target: &ServicePlace| self.has(target) == Some(false);
        if live.targets.is_empty() || !live.targets.iter().all(is_missing) {
            return None;
        }
        let shown = service.shown();
        // A name that a config entry leads elsewhere is meant.
        let leads_to = live.targets.first().filter(|target| *target != service);
        if leads_to.is_none() {
            let is_near_here = |it: &ServicePlace| it.tenancy == service.tenancy && is_near(service, &it.name);
            if self.services.iter().any(is_near_here) {
                // consul-upstream-misspelt reports it.
                return None;
            }
            if let Some(meant) = meant(self.mesh, service) {
                let message = format!("Consul has no service {shown}; {meant} is one");
                return Some(Draft::new(span, message, format!("write {meant}, if it is meant")));
            }
        }
        if !self.is_complete {
            return None;
        }
        let (message, help) = match leads_to {
            None => {
                let nearest = self.nearest(service).map(|name| format!("; the nearest is {name}")).unwrap_or_default();
                (
                    format!("Consul has no service {shown}{nearest}"),
                    format!("deploy {shown} first, or correct the name"),
                )
            }
            Some(target) => (
                format!("Consul leads {shown} to {}, and has no service of that name", target.shown()),
                format!("deploy {} first, or correct the config entry of {shown}", target.shown()),
            ),
        };
        Some(Draft::new(span, message, help).severity(Severity::Warning))
    }

    /// The service of Consul or of the input whose name is the nearest.
    fn nearest(&self, service: &ServicePlace) -> Option<&str> {
        let live = self.mesh.services.get(&service.tenancy).into_iter().flatten();
        let own = self.services.iter().filter(|own| own.tenancy == service.tenancy).map(|own| &own.name);
        nearest(&service.name, live.chain(own).map(String::as_str))
    }

    /// Whether it is certain that neither Consul nor the input has a service.
    fn lacks(&self, service: &ServicePlace) -> bool {
        self.is_complete && self.has(service) == Some(false)
    }
}

/// Whether a name is the service's in other letters, or a misspelling of it.
fn is_near(service: &ServicePlace, name: &str) -> bool {
    let (own, other) = (plain(&service.name), plain(name));
    name != service.name && (own == other || is_misspelt(&own, &other))
}

/// The service of Consul that a name was meant to be.
fn meant<'m>(mesh: &'m LiveMesh, service: &ServicePlace) -> Option<&'m str> {
    let names = mesh.services.get(&service.tenancy)?;
    names.iter().map(String::as_str).find(|name| is_near(service, name)).filter(|_| !names.contains(&service.name))
}

pub(in crate::rules) static CONSUL_LIVE_INTENTION: Rule =
    Rule::of_tasks(page!("consul-live-intention"), Applies::ConsulWithMesh, check_intention);

fn check_intention(subjects: &[Subject<'_>], _: &Resources, findings: &mut TaskFindings<'_>) {
    let Some(mesh) = subjects.iter().find_map(|subject| subject.mesh) else { return };
    let after = AfterDeployment::of(subjects, mesh);
    for subject in subjects {
        for draft in denied(subject, &after) {
            findings(subject, draft);
        }
    }
}

/// The upstreams of a task that Consul denies.
fn denied(subject: &Subject<'_>, after: &AfterDeployment<'_>) -> Vec<Draft> {
    let mesh = after.mesh;
    let Some(consul) = &subject.consul else { return Vec::new() };
    let Some(source) = service(consul, subject.definition, &mesh.home) else { return Vec::new() };
    let mut drafts = Vec::new();
    for upstream in upstreams(consul, &mesh.home) {
        let call = Call { source: source.clone(), upstream: upstream.service.clone() };
        let Some(Denial { target, reason }) = mesh.denials.get(&call) else { continue };
        // consul-live-upstream reports the name, which may be misspelt: an intention for it would last.
        if meant(mesh, &upstream.service).is_some() || after.lacks(target) {
            continue;
        }
        let (source, target) = (source.shown(), target.shown());
        let message = format!("Consul denies calls from {source} to {target}: {reason}");
        let help =
            format!("allow them before the deployment, for example: consul intention create -allow {source} {target}");
        drafts.push(Draft::new(upstream.name.place.span, message, help));
    }
    drafts
}

pub(in crate::rules) static CONSUL_LIVE_PROTOCOL: Rule =
    Rule::of_task(page!("consul-live-protocol"), Applies::ConsulWithMesh, check_protocol);

fn check_protocol(subject: &Subject<'_>, findings: &mut Findings) {
    let (Some(consul), Some(mesh)) = (&subject.consul, subject.mesh) else { return };
    for upstream in upstreams(consul, &mesh.home) {
        let own = upstream.node.get("config").and_then(|config| config.get("protocol"));
        let Some((node, own)) = own.and_then(|node| Some((node, node.text()?))) else { continue };
        let Some(live) = mesh.upstreams.get(&upstream.service) else { continue };
        // Consul has the same default protocol for every name that it does not know.
        let is_unknown = mesh.has(&upstream.service) == Some(false) && live.targets.iter().eq([&upstream.service]);
        if own.is_empty() || own.eq_ignore_ascii_case(&live.protocol) || is_unknown {
            continue;
        }
        let (name, theirs) = (upstream.service.shown(), &live.protocol);
        let message = format!("the upstream {name} has the protocol {own}, but {name} has {theirs} in Consul");
        let help =
            format!("remove it: proxies then use {theirs}, or change the protocol in service-defaults of {name}");
        findings.add(Draft::new(node.place.span, message, help));
    }
}
