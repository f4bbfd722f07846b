//! What a repair writes is what consul-ecs wrote, but for the statuses of the checks.

use std::collections::{BTreeMap, BTreeSet};

use report::SweepOutcome;
use serde_json::{Map, Value};

use super::{
    mesh_of_tasks::Mesh,
    recordings::{RELEASES, Recording},
};

/// Whether Consul reads the value as if it were absent.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty() || text == "0s",
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_zero),
    }
}

/// The value without the fields that may as well be absent. `Meta` and `Config` are stored as they are.
fn significant(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !is_zero(value));
            let kept = kept.map(|(key, value)| {
                let is_stored_as_it_is = ["Meta", "Config"].contains(&key.as_str());
                (key.clone(), if is_stored_as_it_is { value.clone() } else { significant(value) })
            });
            Value::Object(kept.collect::<BTreeMap<_, _>>().into_iter().collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(significant).collect(),
        scalar => scalar.clone(),
    }
}

/// A registration as it can be compared: without the health, and with what Consul fills in.
fn comparable(registration: &Value) -> Value {
    let mut registration = registration.clone();
    for check in registration["Checks"].as_array_mut().unwrap() {
        let check = check.as_object_mut().unwrap();
        for differing in ["Status", "Output", "Node", "ServiceName"] {
            check.remove(differing);
        }
    }
    significant(&registration)
}

fn by_id(registrations: &[Value]) -> BTreeMap<String, Value> {
    let id = |registration: &Value| registration["Service"]["ID"].as_str().unwrap().to_owned();
    registrations.iter().map(|registration| (id(registration), comparable(registration))).collect()
}

#[tokio::test]
async fn repair_writes_what_every_release_of_consul_ecs_wrote() {
    for (release, registrar) in RELEASES {
        // Given the running tasks of all recordings of a release, and a Consul that has forgotten them
        let recordings = Recording::of(release, registrar);
        assert!(recordings.len() >= 12, "{release}: {} recordings", recordings.len());
        let mesh = Mesh::forgotten(recordings.iter().map(Recording::task).collect()).await;
        // When a sweep repairs them
        let report = mesh.sweep().await;
        assert_eq!(report.outcome, SweepOutcome::Done, "{release}: {report:?}");
        assert_eq!(report.clusters[0].repaired, recordings.len(), "{release}: {report:?}");
        // Then it has written what the programs wrote
        let written = by_id(&mesh.registered());
        for recording in &recordings {
            for (id, recorded) in by_id(&recording.registered()) {
                assert_eq!(written.get(&id), Some(&recorded), "{release}/{}", recording.case);
            }
        }
        let recorded: usize = recordings.iter().map(|recording| recording.registered().len()).sum();
        assert_eq!(written.len(), recorded, "{release}");
        // And with the health that ECS reports
        let statuses: BTreeSet<String> = mesh
            .registered()
            .iter()
            .flat_map(|body| body["Checks"].as_array().unwrap().clone())
            .map(|check| check["Status"].to_string())
            .collect();
        assert_eq!(statuses, BTreeSet::from([r#""passing""#.to_owned()]), "{release}");
        // And the next sweep finds nothing
        let report = mesh.sweep().await;
        assert_eq!((report.clusters[0].repaired, mesh.registered()), (0, Vec::new()), "{release}: {report:?}");
    }
}
