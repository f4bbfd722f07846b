//! What the auditor wants to know of a mesh as questions to Consul, and Consul's answers as what the auditor judges by. A part that
//! could not be read is left out, and a problem says so.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use audit::live_mesh::{Call, Denial, LiveMesh, LiveUpstream, MethodPlace, Questions, ServicePlace};
use mesh::{permissions::Permission, release::Release, tenancy::Tenancy};
use observe::{
    ChainServices, Datacenter, DiscoveryChain, Intention, IntentionAction, Planned, PlannedError, PlannedQuestions,
    PlannedReading, READ_AGENTS, READ_LOGINS, ServiceAt,
};

use crate::{
    path::{in_words, is_http},
    unread::of_call,
};

/// The questions to Consul.
pub fn planned_questions(asked: &Questions, home: &Tenancy) -> PlannedQuestions {
    PlannedQuestions {
        home: home.clone(),
        upstreams: asked.upstreams.iter().map(at).collect(),
        methods: asked.methods.iter().map(|method| (method.tenancy.clone(), method.name.clone())).collect(),
    }
}

/// What Consul has, and what could not be read, each problem once.
pub fn live_mesh(asked: &Questions, home: &Tenancy, reading: &PlannedReading) -> (LiveMesh, Vec<String>) {
    let chain = |(service, chain): (&ServiceAt, &Planned<DiscoveryChain>)| {
        let chain = chain.as_ref().ok()?;
        Some((place(service), upstream(service, chain)))
    };
    let names = |(tenancy, names): (&Tenancy, &Planned<Vec<String>>)| {
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
fn denial(call: &Call, reading: &PlannedReading) -> Option<Denial> {
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

/// What could not be read.
fn problems(reading: &PlannedReading) -> Vec<String> {
    let PlannedReading { datacenter, chains, intentions, names, methods } = reading;
    let errors = chains.values().filter_map(|it| it.as_ref().err());
    let errors = errors.chain(names.values().filter_map(|it| it.as_ref().err()));
    let errors = errors.chain(intentions.values().filter_map(|it| it.as_ref().err()));
    let errors = errors.chain(datacenter.as_ref().err());
    let errors = errors.chain(methods.values().filter_map(|it| it.as_ref().err()));
    let mut said = BTreeSet::new();
    errors.map(in_full).filter(|problem| said.insert(problem.clone())).collect()
}

fn in_full(error: &PlannedError) -> String {
    match error {
        PlannedError::Lacks(permission) => format!(
            "the token in CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE lacks {permission}, so {} not checked",
            unchecked(permission)
        ),
        PlannedError::Call(error) => of_call(error),
    }
}

/// What is not checked without a permission, with its verb.
fn unchecked(permission: &Permission) -> &'static str {
    if *permission == READ_AGENTS {
        "the releases and calls that no intention is about are"
    } else if *permission == READ_LOGINS {
        "logins are"
    } else {
        "upstreams are"
    }
}
