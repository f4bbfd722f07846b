//! What Consul itself says: services without a permitted caller, and certificates that expire.

use std::collections::{BTreeMap, BTreeSet};

use audit::severity::Severity;
use jiff::{SignedDuration, Timestamp};
use mesh::tenancy::{Tenancy, TenancyName};
use observe::{CaRoot, DatacenterReading, ExpiringCertificate, Inspection, Intention, IntentionAction};

use super::{
    SurveyEvidence,
    report::{SurveyFinding, SurveyObject},
};
use crate::{
    path::renewal_margin,
    status::{ServiceStatus, StatusReport},
};

/// Consul warns from then on: <https://developer.hashicorp.com/consul/docs/monitor/telemetry/certificate-expiration>
const WARNING: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Consul calls it critical from then on.
const CRITICAL: SignedDuration = SignedDuration::from_hours(7 * 24);

pub(super) fn findings(evidence: &SurveyEvidence<'_>, status: &StatusReport, now: Timestamp) -> Vec<SurveyFinding> {
    let gateways = gateways(evidence.inspection);
    let services = status.services.iter().filter(|it| it.desired_tasks.is_some() || it.running_tasks > 0);
    let services = services.filter(|it| !gateways.contains(it.service.as_str()));
    certificates(evidence.datacenter, now).chain(not_callable(evidence.datacenter, services)).collect()
}

/// The services that are gateways: no intention is about calls to them.
fn gateways(inspection: &Inspection) -> BTreeSet<&str> {
    let members = inspection.clusters.iter().flat_map(|cluster| &cluster.tasks).map(|member| &member.identity);
    let services = inspection.clusters.iter().flat_map(|cluster| &cluster.services).map(|service| &service.identity);
    members.chain(services).filter(|it| it.gateway.is_some()).map(|it| it.service.name.as_str()).collect()
}

/// The services that no intention lets anyone call.
fn not_callable<'a>(
    read: &DatacenterReading,
    services: impl Iterator<Item = &'a ServiceStatus>,
) -> Option<SurveyFinding> {
    let (Ok(intentions), Ok(settings)) = (&read.intentions, &read.settings) else { return None };
    let mut closed: BTreeMap<(&str, [&str; 2]), &ServiceStatus> = BTreeMap::new();
    for service in services {
        let place = [&service.partition, &service.namespace].map(|name| name.as_deref().unwrap_or("default"));
        let tenancy = tenancy_of(service);
        let about: Vec<&Intention> = intentions.iter().filter(|it| it.is_to(&service.service, &tenancy)).collect();
        if !is_callable(about, settings.allows_calls_by_default) {
            closed.insert((service.service.as_str(), place), service);
        }
    }
    let object = |service: &&ServiceStatus| SurveyObject {
        cluster: Some(service.cluster_name().to_owned()),
        name: service.service.clone(),
        why: "no intention allows a source, and the default is to deny".to_owned(),
        ..SurveyObject::default()
    };
    let objects: Vec<SurveyObject> = closed.values().map(object).collect();
    let title = match objects.len() {
        0 => return None,
        1 => "No intention lets anyone call 1 service".to_owned(),
        count => format!("No intention lets anyone call {count} services"),
    };
    let cost = "Every call to it through the mesh is refused. That is right for a service that only calls others.";
    let names: BTreeSet<&str> = closed.keys().map(|(name, _)| *name).collect();
    let commands = names.into_iter().map(|name| format!("ecs-mesh path --to {name}"));
    Some(SurveyFinding::new("not-callable", Severity::Warning, title, cost, objects).with_commands(commands))
}

fn tenancy_of(service: &ServiceStatus) -> Tenancy {
    let name = |name: &Option<String>| name.as_ref().and_then(|name| name.parse::<TenancyName>().ok());
    match (name(&service.partition), name(&service.namespace)) {
        (Some(partition), Some(namespace)) => Tenancy::Enterprise { partition, namespace },
        _ => Tenancy::Community,
    }
}

/// Whether some service may call, by the intentions about the called one: the first about a source decides, and intentions that name
/// the called service come before others.
fn is_callable(mut about: Vec<&Intention>, allows_by_default: bool) -> bool {
    about.sort_by_key(|it| !it.names_destination());
    let mut others_may = allows_by_default;
    let mut decided: BTreeSet<[&str; 4]> = BTreeSet::new();
    for intention in about {
        let from = |name| {
            let Intention { source_namespace, source_partition, source_peer, .. } = intention;
            [name, source_namespace.as_str(), source_partition.as_str(), source_peer.as_str()]
        };
        if decided.contains(&from("*")) || !decided.insert(from(intention.source_name.as_str())) {
            continue;
        }
        // What no permission is about, the default decides.
        if lets_in(intention) || (allows_by_default && !intention.permissions.is_empty()) {
            return true;
        }
        // It decides about every source of this datacenter that no intention before it is about.
        others_may &= !(intention.names_no_source() && intention.source_peer.is_empty());
    }
    others_may
}

fn lets_in(intention: &Intention) -> bool {
    let is_allow = |action| action == IntentionAction::Allow;
    intention.action.is_some_and(is_allow) || intention.permissions.iter().any(|it| is_allow(it.action))
}

/// A certificate, and how long it is valid.
struct Ending {
    name: String,
    is_of_authority: bool,
    left: SignedDuration,
}

/// The certificates of Consul's authority and of the server that end soon. Consul itself renews the certificates of services.
fn certificates(read: &DatacenterReading, now: Timestamp) -> impl Iterator<Item = SurveyFinding> {
    let soon: Vec<Ending> = endings(read, now).into_iter().filter(|ending| ending.left < WARNING).collect();
    let of_authority = (
        "ca-certificates",
        [
            "A certificate of Consul's authority has expired",
            "A certificate of Consul's authority expires within 30 days",
        ],
        "After that, proxies refuse each other's certificates, and no call through the mesh succeeds.",
        "curl --silent \"$CONSUL_HTTP_ADDR/v1/connect/ca/roots\"",
    );
    let of_server = (
        "server-certificates",
        ["A certificate of Consul's servers has expired", "A certificate of Consul's servers expires within 30 days"],
        "After that, who verifies the servers can no longer call them: proxies, consul-ecs and commands.",
        "openssl s_client -connect HOST:8501 -showcerts </dev/null",
    );
    [(of_authority, true), (of_server, false)].into_iter().filter_map(
        move |((id, [expired, expires], cost, command), authority)| {
            let of_kind = || soon.iter().filter(|ending| ending.is_of_authority == authority);
            let shortest = of_kind().map(|ending| ending.left).min()?;
            let severity = if shortest < CRITICAL { Severity::Error } else { Severity::Warning };
            let title = if shortest.is_negative() { expired } else { expires };
            let objects = of_kind().map(Ending::object).collect();
            Some(SurveyFinding::new(id, severity, title, cost, objects).with_commands([command.to_owned()]))
        },
    )
}

impl Ending {
    fn object(&self) -> SurveyObject {
        let why = match self.left.as_hours() / 24 {
            _ if self.left.is_negative() => "it has expired".to_owned(),
            0 => "it expires within a day".to_owned(),
            1 => "it expires in 1 day".to_owned(),
            days => format!("it expires in {days} days"),
        };
        SurveyObject { name: self.name.clone(), why, ..SurveyObject::default() }
    }
}

/// The intermediate certificate under a root, if Consul should have renewed it.
fn overdue_under(root: &CaRoot, now: Timestamp) -> Option<Ending> {
    let validity = root.intermediate.as_ref()?.as_ref().ok()?;
    let left = validity.not_after.duration_since(now);
    let name = format!("the intermediate certificate under {}", root.name);
    let is_overdue = left.is_negative() || left.unsigned_abs() < renewal_margin(validity);
    is_overdue.then_some(Ending { name, is_of_authority: true, left })
}

/// How late a server may be with its list: it measures once an hour.
const LATE: SignedDuration = SignedDuration::from_hours(2);

/// The active roots, and what else the server that answers lists. A follower may list nothing of the authority: the leader measures
/// that. Before Consul 2.0, no server has a list.
fn endings(read: &DatacenterReading, now: Timestamp) -> Vec<Ending> {
    let roots = read.roots.iter().flatten().filter(|root| root.is_active);
    let ending = |root: &CaRoot| Ending {
        name: root.name.clone(),
        is_of_authority: true,
        left: root.not_after.duration_since(now),
    };
    let mut endings: Vec<Ending> =
        roots.clone().map(ending).chain(roots.filter_map(|it| overdue_under(it, now))).collect();
    let own = read.certificates.iter().flatten().flatten().filter(|it| it.kind != "leaf");
    let ending = |it: &ExpiringCertificate| Ending {
        name: it.name.clone(),
        is_of_authority: it.kind == "ca",
        left: SignedDuration::from_secs(it.seconds_remaining),
    };
    let is_same = |a: &Ending, b: &Ending| a.is_of_authority && b.is_of_authority && (a.left - b.left).abs() < LATE;
    for listed in own.map(ending) {
        if !endings.iter().any(|known| is_same(known, &listed)) {
            endings.push(listed);
        }
    }
    endings
}
