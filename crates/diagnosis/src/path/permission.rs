//! Whether intentions allow the call. The first in order of precedence that is about both services decides; without one, the
//! default policy does.

use std::collections::BTreeMap;

use observe::{Answer, Intention, IntentionAction, IntentionPermission, Matched, ServiceAt};

use super::{
    chain::Taken,
    evidence::{AGENT_READ, HttpRequest, PathEvidence, SERVICE_READ, named, not_read, read_entry},
    name::is_http,
    report::{PathLine, Place},
};
use crate::doctor::word;

const PLACE: Place = Place::Permission;
/// The extension with which a proxy asks another service before it lets a request through.
const EXT_AUTHZ: &str = "builtin/ext-authz";

pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    if let Some(peer) = &evidence.destination.service.peer {
        let (name, source) = (&evidence.destination.service.name, &evidence.source.service.name);
        let what =
            format!("the intentions about {name} are in the cluster of peer {peer}: one there has to allow {source}");
        return vec![PathLine::in_no_api(PLACE, what)];
    }
    if evidence.is_nowhere() {
        return vec![PathLine::not_needed(PLACE, "there is no service of this name to call")];
    }
    let Ok(chain) = &evidence.destination.chain else {
        return vec![PathLine::unread(
            PLACE,
            "the discovery chain could not be read, so it is not known who is called",
        )];
    };
    let mut services: BTreeMap<ServiceAt, (Taken, bool)> = BTreeMap::new();
    for leg in evidence.legs() {
        let is_http = is_http(evidence.registered_protocol(&leg).unwrap_or(&chain.protocol));
        let service = evidence.service_of(leg.target).everywhere();
        let (taken, _) = services.entry(service).or_insert((leg.taken, is_http));
        if leg.taken == Taken::Surely {
            *taken = Taken::Surely;
        }
    }
    let call = |(service, (taken, is_http)): (ServiceAt, (Taken, bool))| {
        let intentions = evidence.destination.intentions.get(&service)?;
        Some(Call { evidence, service, taken, is_http }.judge(intentions))
    };
    services.into_iter().filter_map(call).chain(external_authorization(evidence)).collect()
}

/// Another service that decides too, by an extension of the proxies at either end.
fn external_authorization(evidence: &PathEvidence<'_>) -> Option<PathLine> {
    let (source, destination) = (&evidence.source.service.name, &evidence.destination.service.name);
    let entries = [(source, &evidence.source.limits), (destination, &evidence.destination.limits)];
    let of_services = entries.iter().filter_map(|(name, limits)| {
        let limits = limits.as_ref().ok()?.as_ref()?;
        Some(("service-defaults", name.as_str(), &limits.envoy_extensions))
    });
    let of_all = evidence.mesh.proxy_defaults.as_ref().ok().and_then(Option::as_ref);
    let of_all = of_all.map(|defaults| ("proxy-defaults", "global", &defaults.envoy_extensions));
    let mut entries = of_services.chain(of_all);
    let (kind, name, _) = entries.find(|(_, _, extensions)| extensions.iter().any(|it| it.name == EXT_AUTHZ))?;
    let what = format!("the extension {EXT_AUTHZ} in the {kind} of {name} lets another service decide too");
    Some(PathLine::possible(PLACE, what).with_command(read_entry(kind, name)))
}

/// A call to one of the services that the name means.
struct Call<'a> {
    evidence: &'a PathEvidence<'a>,
    service: ServiceAt,
    taken: Taken,
    is_http: bool,
}

impl Call<'_> {
    fn judge(&self, intentions: &Answer<Vec<Intention>>) -> PathLine {
        let source = &self.evidence.source.service;
        let intentions = match intentions {
            Ok(intentions) => intentions,
            Err(error) => return not_read(PLACE, error, SERVICE_READ),
        };
        match intentions.iter().find(|intention| intention.is_from(&source.name, &source.tenancy)) {
            None => self.by_default("no intention is about it"),
            Some(intention) if !intention.permissions.is_empty() => self.by_permissions(intention),
            Some(intention) if intention.action == Some(IntentionAction::Allow) => {
                allowed(format!("{} allows it", in_words(intention)), intention.needs_jwt())
            }
            Some(intention) => self
                .denied(&format!("{} denies it", in_words(intention)))
                .with_command(self.allow(intention.is_exact())),
        }
    }

    fn between(&self) -> String {
        format!("{} → {}", named(&self.evidence.source.service), named(&self.service))
    }

    /// What no intention decides.
    fn by_default(&self, why: &str) -> PathLine {
        match &self.evidence.mesh.datacenter {
            Ok(datacenter) if datacenter.allows_calls_by_default => {
                PathLine::ok(PLACE, format!("{}: {why}, and the default policy allows it", self.between()))
            }
            Ok(_) => self.denied(&format!("{why}, and the default policy denies it")).with_command(self.allow(false)),
            Err(error) => not_read(PLACE, error, AGENT_READ),
        }
    }

    fn by_permissions(&self, intention: &Intention) -> PathLine {
        let words = in_words(intention);
        if !self.is_http {
            let what = format!(
                "{words} has permissions for requests, which deny every connection of a service that is not HTTP"
            );
            return self
                .denied(&what)
                .changed_by("Set the protocol of the service to http, or allow it without permissions")
                .with_command(read_entry("service-defaults", &self.service.name));
        }
        let Some(request) = self.evidence.request else {
            let what = format!("{}: {words} decides by request. Pass --http METHOD PATH", self.between());
            return PathLine::possible(PLACE, what);
        };
        let asked = format!("{} {}", request.method, request.path);
        let Some((permission, matched)) = first(&intention.permissions, request) else {
            return self.by_default(&format!("no permission of {words} is for {asked}"));
        };
        match (matched, permission.action) {
            (Matched::Perhaps, _) => PathLine::possible(
                PLACE,
                format!("{}: {words} decides {asked} by a regular expression or a header", self.between()),
            ),
            (_, IntentionAction::Allow) => {
                allowed(format!("{words} allows {asked}"), permission.needs_jwt() || intention.needs_jwt())
            }
            (_, IntentionAction::Deny) => self
                .denied(&format!("{words} denies {asked} by a permission"))
                .changed_by(format!(
                    "Allow it by a permission before that one in the service-intentions of {}",
                    intention.destination_name
                ))
                .with_command(read_entry("service-intentions", &intention.destination_name)),
        }
    }

    /// A fault, if the call is surely made.
    fn denied(&self, why: &str) -> PathLine {
        let what = format!("{}: {why}", self.between());
        match self.taken {
            Taken::Surely => PathLine::fault(PLACE, what),
            Taken::Perhaps => PathLine::possible(PLACE, what),
        }
    }

    /// The command that allows the call; `replaces` an intention between the same two services.
    fn allow(&self, replaces: bool) -> String {
        let replace = if replaces { " -replace" } else { "" };
        let (source, service) = (named(&self.evidence.source.service), named(&self.service));
        format!("consul intention create -allow{replace} {} {}", word(&source), word(&service))
    }
}

/// The first permission that is for a request, or may be.
fn first<'a>(
    permissions: &'a [IntentionPermission],
    request: &HttpRequest,
) -> Option<(&'a IntentionPermission, Matched)> {
    permissions.iter().find_map(|permission| {
        let matched = match &permission.http {
            Some(http) => http.matches(&request.method, &request.path),
            None => Matched::Yes,
        };
        (matched != Matched::No).then_some((permission, matched))
    })
}

fn allowed(what: String, needs_jwt: bool) -> PathLine {
    if needs_jwt {
        return PathLine::possible(PLACE, format!("{what}, with a valid JSON web token"));
    }
    PathLine::ok(PLACE, what)
}

/// An intention, in words.
pub(crate) fn in_words(intention: &Intention) -> String {
    let named = |partition: &str, namespace: &str, name: &str| {
        let parts = [partition, namespace].into_iter().filter(|part| !["", "default"].contains(part)).chain([name]);
        parts.collect::<Vec<&str>>().join("/")
    };
    let source = named(&intention.source_partition, &intention.source_namespace, &intention.source_name);
    let destination =
        named(&intention.destination_partition, &intention.destination_namespace, &intention.destination_name);
    let peer =
        if intention.source_peer.is_empty() { String::new() } else { format!(" of peer {}", intention.source_peer) };
    format!("intention {source}{peer} → {destination}")
}
