//! How long a request may take, if a person asks about one: the proxies at both ends end it after Envoy's time unless entries say
//! otherwise.

use serde_json::json;

use super::{
    evidence::{PathEvidence, read_entry, write_entry},
    name::is_http,
    report::{PathLine, Place},
};

/// How long Envoy waits for an answer unless Consul says otherwise:
/// <https://developer.hashicorp.com/consul/docs/reference/config-entry/service-router#routes-destination-requesttimeout>
pub(super) const DEFAULT: &str = "15s";
/// What the printed commands set.
const LONGER: (&str, u32) = ("60s", 60_000);

/// The ends at which a request is cut off by default.
pub(super) fn judge(evidence: &PathEvidence<'_>) -> Vec<PathLine> {
    let (Some(request), Ok(chain)) = (evidence.request, &evidence.destination.chain) else { return Vec::new() };
    if !is_http(&chain.protocol) || evidence.destination.service.peer.is_some() {
        return Vec::new();
    }
    let name = &evidence.destination.service.name;
    let is_default_at_caller = evidence.legs().iter().any(|leg| leg.timeout().is_none());
    let is_default_at_service = has_default_at_service(evidence);
    let (router, defaults) = (
        format!("RequestTimeout in the service-router of {name}"),
        format!("LocalRequestTimeoutMs in the service-defaults of {name}"),
    );
    let unset: Vec<String> = [(is_default_at_caller, router), (is_default_at_service, defaults)]
        .into_iter()
        .filter_map(|(is_unset, entry)| is_unset.then_some(entry))
        .collect();
    if unset.is_empty() {
        return Vec::new();
    }
    let what = format!(
        "{} {} that takes longer than {DEFAULT} ends with status 504, unless the app answers sooner: {} is not set",
        request.method,
        request.path,
        unset.join(" and ")
    );
    let (text, milliseconds) = LONGER;
    let has_router = chain.nodes.values().any(|node| !node.routes.is_empty());
    let router = if has_router {
        read_entry("service-router", name)
    } else {
        let route = json!({ "Destination": { "RequestTimeout": text } });
        write_entry(&json!({ "Kind": "service-router", "Name": name, "Routes": [route] }))
    };
    let defaults = match &evidence.destination.limits {
        Ok(None) => {
            write_entry(&json!({ "Kind": "service-defaults", "Name": name, "LocalRequestTimeoutMs": milliseconds }))
        }
        _ => read_entry("service-defaults", name),
    };
    let commands = [(is_default_at_caller, router), (is_default_at_service, defaults)];
    let commands = commands.into_iter().filter_map(|(is_unset, command)| is_unset.then_some(command));
    vec![PathLine::possible(Place::Limits, what).with_commands(commands)]
}

/// Whether neither the proxies of the service nor a config entry say how long a request may take.
fn has_default_at_service(evidence: &PathEvidence<'_>) -> bool {
    let of_entry = evidence.destination.limits.as_ref().ok().and_then(Option::as_ref);
    let of_all = evidence.mesh.proxy_defaults.as_ref().ok().and_then(Option::as_ref);
    let by_entry = of_entry.map_or(0, |limits| limits.local_request_timeout_ms) != 0
        || of_all.is_some_and(|defaults| defaults.local_request_timeout_ms().is_some());
    let mut proxies = evidence.destination.proxies.values().flatten().flatten().peekable();
    let by_proxies = proxies.peek().is_some() && proxies.all(|proxy| proxy.local_request_timeout_ms.is_some());
    !by_entry && !by_proxies
}
