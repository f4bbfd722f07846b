//! The outlier detection that a definition brings and Consul does not use: `mesh-init` of consul-ecs 0.9.4 and newer writes it to the
//! config entry `service-defaults` only while that has none, so that a later change of the definition has no effect.
//! Source: `tests/recordings/consul-ecs/0.10.0/network-resilience.json`.

use std::collections::{BTreeMap, BTreeSet};

use mesh::{consul_ecs::CONFIG_VARIABLE, identity::MeshService};
use observe::{InspectedCluster, InspectionError, OutlierDetection};
use serde_json::Value;

use crate::unread::unread;

/// The duration that means none, which Consul leaves out.
const INTERVAL: &str = "interval";

/// What Consul does not use of what the revisions of some services bring, or that this is unknown: one sentence for each revision.
pub(crate) fn notes(cluster: &InspectedCluster, is_its: impl Fn(&MeshService) -> bool) -> Vec<String> {
    let brought = cluster.brought_outlier_detection().filter(|(service, ..)| is_its(service));
    let notes = brought.filter_map(|(service, definition, settings)| {
        let revision = definition.arn.short_name();
        Some(match cluster.outlier_detection.get(service)? {
            Err(error) => {
                let why = unread(&InspectionError::from(error.clone()));
                format!("whether Consul uses the outlier detection of {revision} is unknown: {why}")
            }
            Ok(None) => format!(
                "{revision} brings outlier detection, and the config entry service-defaults of {} has none, so no proxy ejects \
                 failing instances. mesh-init writes it when the next task starts",
                service.name
            ),
            Ok(Some(used)) => {
                let differences = differences(settings, used);
                if differences.is_empty() {
                    return None;
                }
                format!(
                    "{revision} brings outlier detection that Consul does not use: {}. mesh-init writes what {CONFIG_VARIABLE} says \
                     only while the config entry service-defaults of {} has none. Change the entry with consul config write",
                    differences.join(", "),
                    service.name
                )
            }
        })
    });
    notes.collect::<BTreeSet<String>>().into_iter().collect()
}

/// For example `maxEjectionPercent 50 (Consul has 10)`. Consul has the names of the configuration with a capital letter.
fn differences(brought: &BTreeMap<String, i64>, used: &OutlierDetection) -> Vec<String> {
    let differs = |(name, value): (&String, &i64)| {
        let (first, rest) = name.split_at_checked(1)?;
        let in_consul = used.get(&format!("{}{rest}", first.to_ascii_uppercase()));
        let known = in_consul.map(Value::as_i64);
        match known {
            None if name == INTERVAL && *value == 0 => None,
            None => Some(format!("{name} {value} (Consul has none)")),
            // Another notation says nothing of the value.
            Some(None) => None,
            Some(Some(known)) => (known != *value).then(|| format!("{name} {value} (Consul has {known})")),
        }
    };
    brought.iter().filter_map(differs).collect()
}
