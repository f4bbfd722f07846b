//! The bodies against those that consul-ecs sent.

use std::{collections::BTreeSet, fs, path::Path};

use mesh::{
    consul_ecs::{MeshConfig, Registrar, TaskPlace, registrations},
    names::InvalidField,
    tenancy::Tenancy,
};

use super::*;

/// The releases of consul-ecs, and what registers in each.
const RELEASES: [(&str, Registrar); 4] = [
    ("0.7.3", Registrar::ControlPlane),
    ("0.8.1", Registrar::MeshInit),
    ("0.9.0", Registrar::MeshInit),
    ("0.10.0", Registrar::MeshInit),
];

/// The recordings without a registration: the release, the case, how the program ended, and the field about which this
/// code has an error; `None` if it registers the task.
const REGISTERED_NOTHING: [(&str, &str, u64, Option<&str>); 11] = [
    ("0.7.3", "gateway-api", 1, Some("gateway.kind")),
    ("0.7.3", "gateway-terminating", 1, Some("gateway.kind")),
    ("0.7.3", "network-resilience", 1, Some("service.networkResilienceConfig")),
    ("0.7.3", "no-proxy-key", 2, Some("proxy")),
    ("0.7.3", "transparent-proxy", 1, Some("transparentProxy")),
    ("0.7.3", "transparent-proxy-and-dns", 1, Some("transparentProxy")),
    // Which release of `mesh-init` is at work is not known, and later ones know the field.
    ("0.8.1", "network-resilience", 1, None),
    ("0.8.1", "no-proxy-key", 2, Some("proxy")),
    ("0.9.0", "network-resilience", 1, None),
    ("0.9.0", "no-proxy-key", 2, Some("proxy")),
    ("0.10.0", "no-proxy-key", 2, Some("proxy")),
];

/// The start of one task.
struct Recording {
    case: String,
    json: Value,
}

impl Recording {
    /// The recordings of a release.
    fn all(release: &str) -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/recordings/consul-ecs").join(release);
        let files = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let recordings = files.map(|file| {
            let path = file.unwrap().path();
            let case = path.file_stem().unwrap().to_str().unwrap().to_owned();
            Self { case, json: serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap() }
        });
        recordings.collect()
    }

    /// The bodies of the registrations, without the writes of checks that follow.
    fn registered(&self) -> Vec<&Value> {
        let requests = self.json["requests"].as_array().unwrap().iter();
        let writes = requests.filter(|request| {
            request["method"] == "PUT"
                && request["path"] == "/v1/catalog/register"
                && request["body"]["Service"] != Value::Null
        });
        writes.map(|request| &request["body"]).collect()
    }

    fn place(&self) -> TaskPlace {
        let metadata = &self.json["metadata"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        TaskPlace {
            arn: text(&metadata["TaskARN"]).parse().unwrap(),
            cluster: text(&metadata["Cluster"]).parse().unwrap(),
            family: text(&metadata["Family"]).parse().unwrap(),
            address: text(&metadata["Containers"][0]["Networks"][0]["IPv4Addresses"][0]).parse().unwrap(),
            zone: Some(text(&metadata["AvailabilityZone"])),
            region: self.json["environment"].get("AWS_REGION").map(text),
        }
    }

    /// The bodies that this code sends.
    fn computed(&self, registrar: Registrar) -> Result<Vec<Value>, InvalidField> {
        let config = MeshConfig::parse(&self.json["config"].to_string(), registrar)?;
        let registrations = registrations(&config, &self.place(), &config.tenancy(false)?)?;
        Ok(registrations.iter().map(registration_body).collect())
    }
}

/// Whether Consul reads the value as if it were absent.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        // "0s" is a duration.
        Value::String(text) => text.is_empty() || text == "0s",
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_zero),
    }
}

/// The fields in which the two differ. A field that is zero in one of them may be absent in the other, but for what is
/// stored as it is.
fn differences(path: &str, recorded: &Value, computed: &Value) -> Vec<String> {
    let (is_stored_as_is, both) = (path.ends_with("/Meta") || path.ends_with("/Config"), (recorded, computed));
    match both {
        (Value::Object(recorded), Value::Object(computed)) if !is_stored_as_is => {
            let keys: BTreeSet<&String> = recorded.keys().chain(computed.keys()).collect();
            let of = |fields: &Map<String, Value>, key: &str| fields.get(key).cloned().unwrap_or_default();
            let below = |key: &String| differences(&format!("{path}/{key}"), &of(recorded, key), &of(computed, key));
            keys.into_iter().flat_map(below).collect()
        }
        (Value::Array(recorded), Value::Array(computed)) if recorded.len() == computed.len() => {
            let pairs = recorded.iter().zip(computed).enumerate();
            pairs
                .flat_map(|(i, (recorded, computed))| differences(&format!("{path}/{i}"), recorded, computed))
                .collect()
        }
        (recorded, computed) if recorded == computed || !is_stored_as_is && is_zero(recorded) && is_zero(computed) => {
            Vec::new()
        }
        (recorded, computed) => vec![format!("{path}: {recorded} was recorded, {computed} is computed")],
    }
}

/// The body with what Consul fills in: the node of a check is that of the request, the service's name that of its
/// service: <https://developer.hashicorp.com/consul/api-docs/catalog#register-entity>
fn filled_in(recorded: &Value) -> Value {
    let mut filled = recorded.clone();
    for check in filled["Checks"].as_array_mut().unwrap() {
        assert_eq!((&check["Node"], &check["ServiceName"]), (&json!(""), &json!("")));
        check["Node"] = recorded["Node"].clone();
        check["ServiceName"] = recorded["Service"]["Service"].clone();
    }
    filled
}

#[test]
fn registrations_are_those_of_consul_ecs() {
    let mut compared = 0;
    for (release, registrar) in RELEASES {
        for recording in Recording::all(release) {
            let name = format!("{release}/{}", recording.case);
            let recorded = recording.registered();
            if recorded.is_empty() {
                assert!(REGISTERED_NOTHING.iter().any(|row| (row.0, row.1) == (release, &recording.case)), "{name}");
                continue;
            }
            let computed = recording.computed(registrar).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(computed.len(), recorded.len(), "{name}");
            for (recorded, computed) in recorded.into_iter().zip(&computed) {
                assert_eq!(differences(&name, &filled_in(recorded), computed), Vec::<String>::new());
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 61, "recordings with a registration");
}

#[test]
fn what_consul_ecs_refuses_is_not_registered() {
    for (release, case, exit, field) in REGISTERED_NOTHING {
        let recordings = Recording::all(release);
        let recording = recordings.iter().find(|recording| recording.case == case).expect(case);
        assert_eq!(
            (recording.json["exit"].as_u64(), recording.registered().len()),
            (Some(exit), 0),
            "{release}/{case}"
        );
        let (_, registrar) = RELEASES.into_iter().find(|of| of.0 == release).unwrap();
        let error = recording.computed(registrar).err().map(|error| error.field().to_owned());
        assert_eq!(error, field.map(|path| format!("CONSUL_ECS_CONFIG_JSON: {path}")), "{release}/{case}");
    }
}

#[test]
fn differences_are_found() {
    let recorded = json!({"Port": 0, "Weights": {"Passing": 0}, "Tags": null, "Meta": {"a": ""}, "List": [1]});
    let same = json!({"Tags": [], "Meta": {"a": ""}, "List": [1]});
    assert_eq!(differences("", &recorded, &same), Vec::<String>::new());
    for other in [
        json!({"Port": 1, "Meta": {"a": ""}, "List": [1]}),
        json!({"Meta": {}, "List": [1]}),
        json!({"Meta": {"a": ""}, "List": [1, 2]}),
        json!({"Meta": {"a": ""}, "List": [1], "More": true}),
    ] {
        assert_eq!(differences("", &recorded, &other).len(), 1, "{other}");
    }
}

/// What no recording has: every field of an upstream and of the sidecar, and Consul Enterprise.
#[test]
fn fields_without_a_recording() {
    let config = r#"{"service":{"name":"web","port":80},"proxy":{"localServiceAddress":"127.0.0.3","upstreams":[{
        "destinationName":"stock","destinationNamespace":"n","destinationPartition":"p","destinationPeer":"peer",
        "localBindPort":9092}]}}"#;
    let recording = Recording::all("0.10.0").into_iter().find(|of| of.case == "service-minimal").unwrap();
    let tenancy = Tenancy::default_namespace_of("eu".parse().unwrap());
    let config = MeshConfig::parse(config, Registrar::MeshInit).unwrap();
    let bodies: Vec<Value> =
        registrations(&config, &recording.place(), &tenancy).unwrap().iter().map(registration_body).collect();
    for body in &bodies {
        assert_eq!((&body["Partition"], body.get("Namespace")), (&json!("eu"), None));
        for object in [&body["Service"], &body["Checks"][0]] {
            assert_eq!((&object["Partition"], &object["Namespace"]), (&json!("eu"), &json!("default")));
        }
    }
    let proxy = &bodies[1]["Service"]["Proxy"];
    assert_eq!(proxy["LocalServiceAddress"], "127.0.0.3");
    let upstream = json!({"DestinationNamespace": "n", "DestinationPartition": "p", "DestinationPeer": "peer",
        "DestinationName": "stock", "LocalBindPort": 9092});
    assert_eq!(proxy["Upstreams"], json!([upstream]));
}
