//! The targets that requests may go to, by the discovery chain.

use observe::{
    ChainNode, ChainResolver, ChainTarget, ConnectProxy, DestinationReading, DiscoveryChain, HttpMatch, Matched,
    ServiceAt,
};

use super::evidence::{HttpRequest, PathEvidence};

/// Which requests take a branch of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// All that were asked about, or a percentage of them.
    Surely,
    /// Some: it depends on the method and the path, or on a header.
    Perhaps,
}

/// A target that requests may go to.
#[derive(Debug, Clone)]
pub(super) struct Leg<'a> {
    pub(super) id: &'a str,
    pub(super) target: &'a ChainTarget,
    pub(super) resolver: &'a ChainResolver,
    pub(super) taken: Taken,
    /// How requests come here, as a part of a sentence; empty if all do.
    pub(super) by: String,
    /// How long a request may take, if a route says so.
    route_timeout: Option<&'a str>,
}

impl<'a> Leg<'a> {
    /// Whether it gets requests only because no instance of the first target passes.
    pub(super) fn is_failover(&self) -> bool {
        self.id != self.resolver.target
    }

    /// How long a request may take, if a route or the resolver says so.
    pub(super) fn timeout(&self) -> Option<&'a str> {
        self.route_timeout.or_else(|| self.resolver.request_timeout())
    }
}

impl<'a> PathEvidence<'a> {
    /// The ways of the request, or of every request, to targets, and to those that take over; none if the chain could not be read.
    pub(super) fn legs(&self) -> Vec<Leg<'a>> {
        let Ok(chain) = &self.destination.chain else { return Vec::new() };
        let mut walk = Walk { chain, request: self.request, legs: Vec::new() };
        walk.node(&chain.start_node, &Branch { taken: Taken::Surely, by: String::new(), timeout: None, depth: 0 });
        let failovers: Vec<Leg<'a>> = walk.legs.iter().filter_map(|leg| self.failover_of(leg, chain)).collect();
        walk.legs.into_iter().chain(failovers).collect()
    }

    /// The target that gets the requests of a leg now, because no instance of the first one passes.
    fn failover_of(&self, leg: &Leg<'a>, chain: &'a DiscoveryChain) -> Option<Leg<'a>> {
        let passes = |id: &str| {
            let proxies = self.destination.proxies.get(id).and_then(|proxies| proxies.as_ref().ok());
            proxies.map(|proxies| proxies.iter().any(ConnectProxy::is_passing))
        };
        if passes(leg.id) != Some(false) {
            return None;
        }
        let id = leg.resolver.failover().iter().find(|id| passes(id) == Some(true))?;
        let (id, target) = chain.targets.get_key_value(id)?;
        Some(Leg { id, target, ..leg.clone() })
    }

    /// The targets of these ways, each once: by the way that is surely taken, if there is one.
    pub(super) fn targets(&self) -> Vec<Leg<'a>> {
        let mut targets: Vec<Leg<'a>> = Vec::new();
        for leg in self.legs() {
            match targets.iter_mut().find(|known| known.id == leg.id) {
                Some(known) if known.taken == Taken::Perhaps => *known = leg,
                Some(_) => {}
                None => targets.push(leg),
            }
        }
        targets
    }

    /// The service of a target. Its datacenter is named only if it is another one.
    pub(super) fn service_of(&self, target: &ChainTarget) -> ServiceAt {
        let DestinationReading { service: asked, chain, .. } = self.destination;
        self.origin().service_of(asked, chain.as_ref().ok(), target)
    }
}

/// How requests come to a node.
struct Branch<'a> {
    taken: Taken,
    by: String,
    timeout: Option<&'a str>,
    /// The number of nodes before this one: Consul compiles no circle, and none is followed.
    depth: usize,
}

struct Walk<'a, 'r> {
    chain: &'a DiscoveryChain,
    request: Option<&'r HttpRequest>,
    legs: Vec<Leg<'a>>,
}

impl<'a> Walk<'a, '_> {
    fn node(&mut self, id: &'a str, branch: &Branch<'a>) {
        let Some(node) = self.chain.nodes.get(id).filter(|_| branch.depth < self.chain.nodes.len()) else { return };
        let depth = branch.depth + 1;
        let ChainNode { routes, splits, resolver } = node;
        for route in routes {
            let matched = route.definition.http().map_or(Matched::Yes, |http| self.matched(http));
            if matched == Matched::No {
                continue;
            }
            let is_for_all = route.definition.http().is_none_or(HttpMatch::is_for_all);
            let taken = if matched == Matched::Yes { branch.taken } else { Taken::Perhaps };
            let by = if is_for_all { String::new() } else { described(route.definition.http()) };
            self.node(&route.next_node, &Branch { taken, by, timeout: route.definition.request_timeout(), depth });
            if matched == Matched::Yes {
                break;
            }
        }
        for split in splits.iter().filter(|split| split.weight > 0.0) {
            let by = format!("{} % of the requests", split.weight);
            self.node(&split.next_node, &Branch { taken: branch.taken, by, timeout: branch.timeout, depth });
        }
        let Some(resolver) = resolver else { return };
        if let Some((id, target)) = self.chain.targets.get_key_value(&resolver.target) {
            let (taken, by, route_timeout) = (branch.taken, branch.by.clone(), branch.timeout);
            self.legs.push(Leg { id, target, resolver, taken, by, route_timeout });
        }
    }

    /// Whether a route is taken. Without a request, only a route for all requests surely is.
    fn matched(&self, http: &HttpMatch) -> Matched {
        match self.request {
            Some(request) => http.matches(&request.method, &request.path),
            None if http.is_for_all() => Matched::Yes,
            None => Matched::Perhaps,
        }
    }
}

/// The requests of a route, as a part of a sentence.
fn described(http: Option<&HttpMatch>) -> String {
    let Some(http) = http else { return String::new() };
    let paths = [(&http.path_exact, ""), (&http.path_prefix, "…"), (&http.path_regex, " (regular expression)")];
    let path = paths.into_iter().find(|(path, _)| !path.is_empty()).map(|(path, more)| format!(" {path}{more}"));
    format!("requests {}{}", http.methods.join(" or "), path.unwrap_or_default()).replace("  ", " ")
}
