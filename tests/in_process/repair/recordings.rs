//! The recordings of what consul-ecs registered: `tests/recordings/consul-ecs`.

use std::{fs, path::Path};

use mesh::consul_ecs::Registrar;
use serde_json::{Value, json};

use super::mesh_of_tasks::FakeTask;

/// The releases of consul-ecs, and what registers in each.
pub(super) const RELEASES: [(&str, Registrar); 4] = [
    ("0.7.3", Registrar::ControlPlane),
    ("0.8.1", Registrar::MeshInit),
    ("0.9.0", Registrar::MeshInit),
    ("0.10.0", Registrar::MeshInit),
];

/// The start of one task.
pub(super) struct Recording {
    pub(super) case: String,
    registrar: Registrar,
    release: &'static str,
    number: usize,
    json: Value,
}

impl Recording {
    /// The recordings of a release in which something was registered, in the order of their names.
    pub(super) fn of(release: &'static str, registrar: Registrar) -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/consul-ecs").join(release);
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let recordings = files.into_iter().enumerate().map(|(number, path)| {
            let json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let case = path.file_stem().unwrap().to_string_lossy().into_owned();
            Self { case, registrar, release, number, json }
        });
        recordings.filter(|recording| !recording.registered().is_empty()).collect()
    }

    /// The bodies of the registrations, without what they share with an absent field.
    pub(super) fn registered(&self) -> Vec<Value> {
        let requests = self.json["requests"].as_array().unwrap().iter();
        let writes = requests
            .filter(|request| request["path"] == "/v1/catalog/register" && request["body"]["Service"] != Value::Null);
        writes.map(|request| request["body"].clone()).collect()
    }

    /// The task: it runs, and all of its containers are healthy. Each recording has a definition of its own.
    pub(super) fn task(&self) -> FakeTask {
        let metadata = &self.json["metadata"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (program, name) = match self.registrar {
            Registrar::ControlPlane => ("control-plane", "consul-ecs-control-plane"),
            Registrar::MeshInit => ("mesh-init", "consul-ecs-mesh-init"),
        };
        let mut environment =
            vec![json!({ "name": "CONSUL_ECS_CONFIG_JSON", "value": self.json["config"].to_string() })];
        let variables = self.json["environment"].as_object().unwrap();
        environment.extend(variables.iter().map(|(name, value)| json!({ "name": name, "value": value })));
        FakeTask {
            arn: text(&metadata["TaskARN"]),
            definition: format!("{}:{}", metadata["Family"].as_str().unwrap(), self.number + 1),
            address: text(&metadata["Containers"][0]["Networks"][0]["IPv4Addresses"][0]),
            zone: text(&metadata["AvailabilityZone"]),
            registrar: json!({
                "name": name,
                "image": format!("hashicorp/consul-ecs:{}", self.release),
                "command": [program],
                "environment": environment,
            }),
            is_registered_by_mesh_init: self.registrar == Registrar::MeshInit,
            service: None,
            ..FakeTask::new(self.number)
        }
    }
}
