//! What the auditor wants to know of a mesh as questions to Consul, and Consul's answers as what the auditor judges by. A part that
//! could not be read is left out, and a problem says so.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use audit::live_mesh::{Call, Denial, LiveMesh, LiveUpstream, MethodPlace, Questions, ServicePlace};
use mesh::{release::Release, tenancy::Tenancy};
use observe::{
    CallError, ChainServices, ConsulError, Datacenter, DiscoveryChain, Intention, IntentionAction, Live, LiveMeshError,
    LiveMeshQuestions, LiveMeshReading, ServiceAt, TokenOwner,
};

use crate::{
    path::{in_words, is_http},
    unread::of_call,
};

/// The questions to Consul.
pub fn live_mesh_questions(asked: &Questions, home: &Tenancy) -> LiveMeshQuestions {
    LiveMeshQuestions {
        home: home.clone(),
        upstreams: asked.upstreams.iter().map(at).collect(),
        methods: asked.methods.iter().map(|method| (method.tenancy.clone(), method.name.clone())).collect(),
    }
}

/// What Consul has, and what could not be read, each problem once.
pub fn live_mesh(asked: &Questions, home: &Tenancy, reading: &LiveMeshReading) -> (LiveMesh, Vec<String>) {
    let chain = |(service, chain): (&ServiceAt, &Live<DiscoveryChain>)| {
        let chain = chain.as_ref().ok()?;
        Some((place(service), upstream(service, chain)))
    };
    let names = |(tenancy, names): (&Tenancy, &Live<Vec<String>>)| {
        Some((tenancy.clone(), names.as_ref().ok()?.iter().cloned().collect::<BTreeSet<String>>()))
    };
    let denied = asked.calls.iter().filter_map(|call| Some((call.clone(), denial(call, reading)?)));
    let methods = reading.methods.iter().filter_map(|((tenancy, name), method)| {
        let place = MethodPlace { name: name.clone(), tenancy: tenancy.clone() };
        Some((place, method.as_ref().ok()?.clone()))
    });
    let mesh = LiveMesh {
        home: home.clone(),
        upstreams: reading.chains.iter().filter_map(chain).collect(),
        services: reading.names.iter().filter_map(names).collect(),
        denials: denied.collect(),
        methods: methods.collect(),
        servers: reading.datacenter.as_ref().ok().and_then(|(_, version)| Release::line_of(version).ok()),
    };
    (mesh, problems(reading))
}

fn at(service: &ServicePlace) -> ServiceAt {
    ServiceAt { name: service.name.clone(), tenancy: service.tenancy.clone(), datacenter: None, peer: None }
}

fn place(service: &ServiceAt) -> ServicePlace {
    ServicePlace { name: service.name.clone(), tenancy: service.tenancy.clone() }
}

fn upstream(asked: &ServiceAt, chain: &DiscoveryChain) -> LiveUpstream {
    let services = ChainServices::of(asked, chain);
    let targets = if services.leads_elsewhere { BTreeSet::new() } else { services.all.iter().map(place).collect() };
    LiveUpstream { protocol: chain.protocol.clone(), targets }
}

/// Why Consul denies a call, if it certainly denies it wherever it goes.
fn denial(call: &Call, reading: &LiveMeshReading) -> Option<Denial> {
    let asked = at(&call.upstream);
    let chain = reading.chains.get(&asked)?.as_ref().ok()?;
    let services = ChainServices::of(&asked, chain);
    if services.leads_elsewhere {
        return None;
    }
    let datacenter = reading.datacenter.as_ref().ok().map(|(datacenter, _)| datacenter);
    let mut first = None;
    for service in &services.first {
        let intentions = reading.intentions.get(service)?.as_ref().ok()?;
        let reason = reason(intentions, &call.source, is_http(&chain.protocol), datacenter)?;
        first.get_or_insert(Denial { target: place(service), reason });
    }
    first
}

/// Why the first intention that is about a source denies all of its calls, or the default policy without one. Whether the others are
/// allowed depends on the request.
fn reason(
    intentions: &[Intention],
    source: &ServicePlace,
    is_http: bool,
    datacenter: Option<&Datacenter>,
) -> Option<String> {
    let Some(intention) = intentions.iter().find(|intention| intention.is_from(&source.name, &source.tenancy)) else {
        let denies = datacenter.is_some_and(|datacenter| !datacenter.allows_calls_by_default);
        return denies.then(|| "no intention is about them, and the default policy denies them".to_owned());
    };
    let words = in_words(intention);
    if intention.permissions.is_empty() {
        return (intention.action == Some(IntentionAction::Deny)).then(|| format!("{words} denies them"));
    }
    let why = "has permissions for requests, which deny every connection of a service that is not HTTP";
    (!is_http).then(|| format!("{words} {why}"))
}

/// What could not be read, each cause once, with what is not checked for it.
fn problems(reading: &LiveMeshReading) -> Vec<String> {
    let LiveMeshReading { datacenter, chains, intentions, names, methods } = reading;
    let of_services = chains.values().filter_map(|it| it.as_ref().err());
    let of_services = of_services.chain(names.values().filter_map(|it| it.as_ref().err()));
    let of_services = of_services.chain(intentions.values().filter_map(|it| it.as_ref().err()));
    let of_methods = methods.values().filter_map(|it| it.as_ref().err());
    let errors = of_services.map(|error| (error, UPSTREAMS));
    let errors = errors.chain(datacenter.as_ref().err().map(|error| (error, SERVERS)));
    let errors = errors.chain(of_methods.map(|error| (error, LOGINS)));
    let mut causes: Vec<(String, Vec<&str>)> = Vec::new();
    for (error, unchecked) in errors {
        let cause = cause(error);
        match causes.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, known)) if known.contains(&unchecked) => {}
            Some((_, known)) => known.push(unchecked),
            None => causes.push((cause, vec![unchecked])),
        }
    }
    let sentence =
        |(cause, unchecked): (String, Vec<&str>)| format!("{cause}, so {} are not checked", listed(&unchecked));
    let is_unknown = datacenter.as_ref().is_ok_and(|(_, version)| Release::line_of(version).is_err());
    causes.into_iter().map(sentence).chain(is_unknown.then(|| UNKNOWN_VERSION.to_owned())).collect()
}

/// What is not checked without services, without the datacenter and its server, and without auth methods.
const UPSTREAMS: &str = "upstreams";
const SERVERS: &str = "releases and calls that no intention is about";
const LOGINS: &str = "logins";
const UNKNOWN_VERSION: &str =
    "the version in Consul's answer to /v1/agent/self cannot be read, so releases are not compared";

/// Some of the three in a sentence: `upstreams, logins, and releases and calls that no intention is about`.
fn listed(unchecked: &[&str]) -> String {
    let (long, mut short): (Vec<&str>, Vec<&str>) = unchecked.iter().copied().partition(|part| *part == SERVERS);
    let Some(last) = long.first().copied().or_else(|| short.pop()) else { return String::new() };
    match short.as_slice() {
        [] => last.to_owned(),
        [one] => format!("{one} and {last}"),
        several => format!("{}, and {last}", several.join(", ")),
    }
}

/// Why something could not be read.
fn cause(error: &LiveMeshError) -> String {
    let unread = "Consul could not be read";
    match error {
        LiveMeshError::Lacks(permission) => format!("{} lacks {permission}", TokenOwner::Command),
        LiveMeshError::Call(CallError::OutOfTime(_)) => "Consul did not answer in time".to_owned(),
        LiveMeshError::Call(CallError::Consul(ConsulError::Malformed { reason, .. })) => {
            format!("{unread} at CONSUL_HTTP_ADDR: {reason}")
        }
        LiveMeshError::Call(CallError::Consul(ConsulError::Throttled { .. })) => {
            format!("{unread}: it throttled the request")
        }
        LiveMeshError::Call(error) => of_call(error),
    }
}
