//! A fake Consul that stores the objects of the bootstrap.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::{Map, Value, json};

use test_harness::recorder::{Answer, RecordedRequest, Recorder};

pub(crate) const ANONYMOUS: &str = "00000000-0000-0000-0000-000000000002";

type Objects = BTreeMap<String, Map<String, Value>>;

/// The fake: objects by kind and name (`acl/policy/p`).
#[derive(Clone)]
pub(crate) struct Fake {
    objects: Arc<Mutex<Objects>>,
    index: Arc<AtomicUsize>,
    primary: &'static str,
}

impl Fake {
    /// A Consul without objects, in datacenter `dc1`.
    pub(crate) fn new() -> Self {
        let fake = Self { objects: Arc::default(), index: Arc::default(), primary: "dc1" };
        fake.put(&format!("acl/token/{ANONYMOUS}"), json!({ "AccessorID": ANONYMOUS, "Policies": null }));
        fake
    }

    /// The same, in a secondary datacenter.
    pub(crate) fn secondary() -> Self {
        Self { primary: "dc0", ..Self::new() }
    }

    pub(crate) async fn start(&self) -> Recorder {
        let fake = self.clone();
        Recorder::start(move |seen, _| fake.answer(seen)).await
    }

    /// Adds an object of another owner.
    pub(crate) fn put(&self, key: &str, object: Value) {
        let object = serde_json::from_value(object).unwrap();
        self.objects.lock().unwrap().insert(key.to_owned(), object);
    }

    /// Removes an object, as somebody else does.
    pub(crate) fn remove(&self, key: &str) {
        self.objects.lock().unwrap().remove(key);
    }

    pub(crate) fn get(&self, key: &str) -> Value {
        self.objects.lock().unwrap().get(key).cloned().map_or(Value::Null, Value::Object)
    }

    pub(crate) fn all(&self, kind: &str) -> Vec<Value> {
        let objects = self.objects.lock().unwrap();
        let prefix = format!("{kind}/");
        let of_kind = objects.iter().filter(|(key, _)| key.starts_with(&prefix));
        of_kind.map(|(_, object)| Value::Object(object.clone())).collect()
    }

    fn answer(&self, seen: &RecordedRequest) -> Answer {
        let path = seen.uri.split('?').next().unwrap().trim_start_matches("/v1/");
        match (seen.method.as_str(), path) {
            ("GET", "acl/token/self") => Answer::ok("{}"),
            ("GET", "agent/self") => {
                let config = json!({ "Datacenter": "dc1" });
                Answer::ok(
                    json!({ "Config": config, "DebugConfig": { "PrimaryDatacenter": self.primary } }).to_string(),
                )
            }
            ("GET", "acl/binding-rules") => {
                self.list("acl/binding-rule", |rule| seen.uri.contains(rule["AuthMethod"].as_str().unwrap()))
            }
            ("GET", "catalog/nodes") => self.list("node", |node| {
                let name = node["Node"].as_str().unwrap().rsplit('/').next().unwrap();
                seen.uri.contains(&format!("cluster%2F{name}%24%22"))
            }),
            ("GET", "namespaces") => self.list("namespace", |_| true),
            ("GET", path) => match self.get(&path.replace("/name/", "/")) {
                Value::Null => Answer::status(404, ""),
                object => Answer::ok(object.to_string()),
            },
            ("PUT", "catalog/register") => self.write("node", "Node", seen),
            ("PUT", "acl/binding-rule") => self.write("acl/binding-rule", "ID", seen),
            ("PUT", path) => {
                let kind = ["acl/policy", "acl/role", "acl/auth-method", "acl/token", "partition", "namespace"]
                    .into_iter()
                    .find(|kind| path.starts_with(kind));
                self.write(kind.unwrap_or_else(|| panic!("{path}")), "Name", seen)
            }
            ("DELETE", path) => {
                self.objects.lock().unwrap().remove(path);
                Answer::ok("true")
            }
            _ => Answer::status(405, ""),
        }
    }

    fn list(&self, kind: &str, is_meant: impl Fn(&Value) -> bool) -> Answer {
        let listed: Vec<Value> = self.all(kind).into_iter().filter(is_meant).collect();
        Answer::ok(Value::from(listed).to_string())
    }

    fn write(&self, kind: &str, name: &str, seen: &RecordedRequest) -> Answer {
        let mut object: Map<String, Value> = serde_json::from_str(&seen.body).unwrap();
        let mut objects = self.objects.lock().unwrap();
        let index = self.index.fetch_add(1, Ordering::SeqCst);
        object.entry("ID").or_insert_with(|| json!(format!("id-{index}")));
        object.entry("CreateIndex").or_insert_with(|| json!(index));
        let name = object.get(name).or_else(|| object.get("AccessorID")).unwrap().as_str().unwrap();
        let key = format!("{kind}/{name}");
        let creates = seen.uri.split('?').next().unwrap() == format!("/v1/{kind}");
        if creates && matches!(kind, "acl/policy" | "acl/role") && objects.contains_key(&key) {
            return Answer::status(500, format!("Invalid Object: one with Name {name:?} already exists"));
        }
        let answer = Value::Object(object.clone()).to_string();
        objects.insert(key, object);
        Answer::ok(answer)
    }
}
