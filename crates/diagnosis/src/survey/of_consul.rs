//! What Consul itself says: services that nobody may call, and certificates that end.

use std::collections::{BTreeMap, BTreeSet};

use audit::severity::Severity;
use jiff::{SignedDuration, Timestamp};
use mesh::tenancy::{Tenancy, TenancyName};
use observe::{DatacenterReading, Inspection, Intention, IntentionAction};

use super::{
    SurveyEvidence,
    report::{SurveyFinding, SurveyObject},
};
use crate::status::{ServiceStatus, StatusReport};

/// Consul warns from then on: <https://developer.hashicorp.com/consul/docs/monitor/telemetry/certificate-expiration>
const WARNING: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Consul calls it critical from then on.
const CRITICAL: SignedDuration = SignedDuration::from_hours(7 * 24);

pub(super) fn findings(evidence: &SurveyEvidence<'_>, status: &StatusReport, now: Timestamp) -> Vec<SurveyFinding> {
    let gateways = gateways(evidence.inspection);
    let services = status.services.iter().filter(|it| it.desired_tasks.is_some() || it.running_tasks > 0);
    let services = services.filter(|it| !gateways.contains(it.service.as_str()));
    certificates(evidence.datacenter, now).into_iter().chain(not_callable(evidence.datacenter, services)).collect()
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
        1 => "1 service may be called by nobody".to_owned(),
        count => format!("{count} services may be called by nobody"),
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
        if lets_in(intention) {
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

/// The certificates of Consul's authority and of the server that end soon. Consul renews those of services itself.
fn certificates(read: &DatacenterReading, now: Timestamp) -> Option<SurveyFinding> {
    let left = ends(read, now);
    let soon: Vec<&(String, SignedDuration)> = left.iter().filter(|(_, left)| *left < WARNING).collect();
    let shortest = soon.iter().map(|(_, left)| *left).min()?;
    let object = |(name, left): &(String, SignedDuration)| SurveyObject {
        name: name.clone(),
        why: if left.is_negative() {
            "it has expired".to_owned()
        } else {
            format!("it expires in {} days", left.as_hours() / 24)
        },
        ..SurveyObject::default()
    };
    let severity = if shortest < CRITICAL { Severity::Error } else { Severity::Warning };
    let title = match soon.len() {
        1 => "1 certificate of Consul expires within 30 days".to_owned(),
        count => format!("{count} certificates of Consul expire within 30 days"),
    };
    let cost = "After that, proxies refuse each other's certificates, and no call through the mesh succeeds.";
    let objects = soon.into_iter().map(object).collect();
    let command = "curl --silent \"$CONSUL_HTTP_ADDR/v1/connect/ca/roots\"".to_owned();
    Some(SurveyFinding::new("certificates", severity, title, cost, objects).with_commands([command]))
}

/// How long each certificate is still valid: by the server's own list, or before Consul 2.0 by the roots.
fn ends(read: &DatacenterReading, now: Timestamp) -> Vec<(String, SignedDuration)> {
    if let Ok(Some(certificates)) = &read.certificates {
        let own = certificates.iter().filter(|it| it.kind != "leaf");
        return own.map(|it| (it.name.clone(), SignedDuration::from_secs(it.seconds_remaining))).collect();
    }
    let roots = read.roots.iter().flatten().filter(|root| root.is_active);
    roots.map(|root| (root.name.clone(), root.not_after.duration_since(now))).collect()
}
