//! Whether a request from one service reaches another: a line for each place that it passes, and one sentence.
//!
//! ```text
//!  SourceReading, DestinationReading,  ─▶ PathEvidence ─▶ one module for each place ─▶ lines ─▶ ServicePath
//!  NetworkReading, MeshReading,                                                         the first fault decides
//!  Inspection, tokens
//! ```

mod border;
mod callers;
mod chain;
mod destination_tasks;
mod ends;
mod evidence;
mod limits;
mod load_balancer;
mod name;
mod network;
mod permission;
mod proxy_output;
mod report;
mod source_tasks;
#[cfg(test)]
mod tests;
mod timeouts;
mod trust;
mod url;
mod way_out;

use self::evidence::named;
pub use self::{
    callers::{callers, unknown_destination},
    ends::{DestinationPlace, destination_named, destinations, nearest_service, services_named},
    evidence::{HttpRequest, PathEvidence},
    load_balancer::target_groups,
    report::{Caller, Passage, PathEnd, PathLine, PathReport, Place, PlaceVerdict, ServicePath},
};
pub(crate) use self::{name::is_http, permission::in_words, trust::renewal_margin};

/// What is found at a place.
type Judge = fn(&PathEvidence<'_>) -> Vec<PathLine>;

/// The places, in the order of the request. The first fault decides the sentence.
const PLACES: [Judge; 10] = [
    source_tasks::judge,
    way_out::judge,
    url::judge,
    name::judge,
    permission::judge,
    network::judge,
    limits::judge,
    border::judge,
    destination_tasks::judge,
    trust::judge,
];

/// Whether a request from one service reaches another.
pub fn path(evidence: &PathEvidence<'_>) -> ServicePath {
    let lines: Vec<PathLine> = PLACES.iter().flat_map(|judge| judge(evidence)).collect();
    let (source, destination) = (&evidence.source.service, &evidence.destination.service);
    let (passage, conclusion) = conclude(&format!("from {} to {}", named(source), named(destination)), &lines);
    ServicePath {
        source: source.into(),
        destination: destination.into(),
        request: evidence.request.map(|request| format!("{} {}", request.method, request.path)),
        lines,
        passage,
        conclusion,
    }
}

fn conclude(between: &str, lines: &[PathLine]) -> (Passage, String) {
    let mut faults = lines.iter().filter(|line| line.verdict == PlaceVerdict::Fault);
    if let Some(first) = faults.next() {
        let change = first.change.as_ref().map(|change| format!(". {change}")).unwrap_or_default();
        let more = faults.count();
        let more = if more == 0 { String::new() } else { format!(". Later faults: {more}, listed above") };
        return (Passage::Blocked, format!("Requests {between} fail: {}{change}{more}", first.what));
    }
    let of = |is_it: &dyn Fn(&PathLine) -> bool| {
        let mut places: Vec<&str> = lines.iter().filter(|line| is_it(line)).map(|line| line.place.as_str()).collect();
        places.dedup();
        places.join(", ")
    };
    let unread = of(&|line| line.is_unread);
    if !unread.is_empty() {
        return (Passage::Unknown, format!("No fault was found on requests {between}, but not read in full: {unread}"));
    }
    let possible = of(&|line| line.verdict == PlaceVerdict::Possible);
    let but = if possible.is_empty() { String::new() } else { format!(". Possible: {possible}") };
    (Passage::Open, format!("Nothing that was read stops requests {between}{but}"))
}
