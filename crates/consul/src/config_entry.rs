//! Config entries: <https://developer.hashicorp.com/consul/api-docs/config>

use mesh::tenancy::Tenancy;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    bootstrap::Fields,
    error::{ConsulError, if_found},
    http::HttpConsul,
    request::Request,
};

/// The name of the config entry `mesh`: each partition has one.
const MESH: &str = "mesh";
/// The value of `TLSMinVersion` that demands TLS 1.3.
const TLS_1_3: &str = "TLSv1_3";
/// What Consul adds to an entry that it answers, and refuses in one that is written, or ignores.
const ADDED: [&str; 3] = ["CreateIndex", "ModifyIndex", "Hash"];

/// The config entry `mesh`: <https://developer.hashicorp.com/consul/docs/reference/config-entry/mesh>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshEntry(Fields);

/// A direction of the connections between proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Incoming,
    Outgoing,
}

impl Direction {
    /// Its section in `TLS`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Incoming => "Incoming",
            Self::Outgoing => "Outgoing",
        }
    }
}

impl MeshEntry {
    /// Whether transparent proxies refuse what is not in the mesh.
    pub fn has_mesh_destinations_only(&self) -> bool {
        let transparent = self.0.get("TransparentProxy");
        transparent.and_then(|it| it.get("MeshDestinationsOnly")) == Some(&Value::Bool(true))
    }

    /// The directions that demand TLS 1.3 and name no groups for the exchange of keys, so that the servers choose them.
    pub fn directions_without_groups(&self) -> Vec<Direction> {
        let leaves_groups_open = |direction: &Direction| {
            let Some(tls) = self.tls(*direction) else { return false };
            let names_groups = |groups: &Value| groups.as_array().is_some_and(|groups| !groups.is_empty());
            tls.get("TLSMinVersion").and_then(Value::as_str) == Some(TLS_1_3)
                && !tls.get("ECDHCurves").is_some_and(names_groups)
        };
        [Direction::Incoming, Direction::Outgoing].into_iter().filter(leaves_groups_open).collect()
    }

    /// The entry as it is written, with these groups in each of [`Self::directions_without_groups`]. Servers before 2.1 refuse it.
    pub fn with_groups(&self, groups: &[&str]) -> Value {
        self.written("ECDHCurves", &json!(groups))
    }

    /// The entry as it is written, with this minimum in place of TLS 1.3 in each of [`Self::directions_without_groups`].
    pub fn with_minimum(&self, version: &str) -> Value {
        self.written("TLSMinVersion", &json!(version))
    }

    fn written(&self, field: &str, value: &Value) -> Value {
        let mut fields = self.0.clone();
        fields.retain(|name, _| !ADDED.contains(&name.as_str()));
        for direction in self.directions_without_groups() {
            let tls = fields.get_mut("TLS").and_then(|tls| tls.get_mut(direction.as_str()));
            if let Some(Value::Object(tls)) = tls {
                tls.insert(field.to_owned(), value.clone());
            }
        }
        Value::Object(fields)
    }

    /// The lowest TLS version that proxies take and the highest that they offer, if no connection can have both.
    pub fn contradicting_versions(&self) -> Option<(&str, &str)> {
        let version = |direction: Direction, bound: &str| {
            let version = self.tls(direction)?.get(bound)?.as_str()?;
            Some(version).filter(|version| version.starts_with("TLSv1_"))
        };
        let lowest = version(Direction::Incoming, "TLSMinVersion")?;
        let highest = version(Direction::Outgoing, "TLSMaxVersion")?;
        (lowest > highest).then_some((lowest, highest))
    }

    /// The groups for the exchange of keys that proxies take and those that they offer, if no connection can have both.
    pub fn contradicting_groups(&self) -> Option<(Vec<&str>, Vec<&str>)> {
        let groups = |direction: Direction| {
            let groups = self.tls(direction)?.get("ECDHCurves")?.as_array()?;
            Some(groups.iter().filter_map(Value::as_str).collect::<Vec<&str>>()).filter(|groups| !groups.is_empty())
        };
        let (taken, offered) = (groups(Direction::Incoming)?, groups(Direction::Outgoing)?);
        (!taken.iter().any(|group| offered.contains(group))).then_some((taken, offered))
    }

    /// What it demands of the connections between proxies, for example `Incoming.TLSMinVersion TLSv1_3`. `TLS_AUTO` demands nothing.
    pub fn tls_settings(&self) -> Vec<String> {
        let in_direction = |direction: Direction| {
            let fields = self.tls(direction).into_iter().flatten();
            fields.filter_map(move |(name, value)| {
                let value = match value {
                    Value::String(text) if text != "TLS_AUTO" => text.clone(),
                    Value::Array(texts) if !texts.is_empty() => {
                        texts.iter().filter_map(Value::as_str).collect::<Vec<&str>>().join(" or ")
                    }
                    _ => return None,
                };
                Some(format!("{}.{name} {value}", direction.as_str()))
            })
        };
        [Direction::Incoming, Direction::Outgoing].into_iter().flat_map(in_direction).collect()
    }

    fn tls(&self, direction: Direction) -> Option<&Fields> {
        self.0.get("TLS")?.get(direction.as_str())?.as_object()
    }

    /// Its partition (Enterprise).
    pub fn partition(&self) -> Option<&str> {
        self.0.get("Partition")?.as_str()
    }

    /// The index of its last change, with which a write fails if the entry has changed since.
    pub fn modify_index(&self) -> u64 {
        self.0.get("ModifyIndex").and_then(Value::as_u64).unwrap_or_default()
    }
}

impl From<Fields> for MeshEntry {
    fn from(fields: Fields) -> Self {
        Self(fields)
    }
}

impl HttpConsul {
    /// The config entry `mesh` of the tenancy's partition, which any token may read; `None` if Consul certainly has none.
    pub async fn mesh_entry(&self, tenancy: &Tenancy) -> Result<Option<MeshEntry>, ConsulError> {
        let request = Request::get("the config entry mesh", &["config", MESH, MESH]).in_partition_of(tenancy);
        Ok(self.entry::<Fields>(&request).await?.map(MeshEntry))
    }

    /// A config entry. A Consul that does not know the kind has none.
    pub(crate) async fn entry<T: DeserializeOwned>(&self, request: &Request) -> Result<Option<T>, ConsulError> {
        match self.json(request).await {
            Err(ConsulError::Refused { reason, .. }) if reason.contains("invalid config entry kind") => Ok(None),
            answer => if_found(answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(fields: Value) -> MeshEntry {
        MeshEntry(serde_json::from_value(fields).unwrap())
    }

    #[test]
    fn direction_without_groups_demands_tls_1_3_and_names_none() {
        let strict = json!({ "TLSMinVersion": "TLSv1_3" });
        let named = json!({ "TLSMinVersion": "TLSv1_3", "ECDHCurves": ["X25519"] });
        for (tls, expected) in [
            (json!({ "Incoming": strict, "Outgoing": strict }), &[Direction::Incoming, Direction::Outgoing][..]),
            (json!({ "Incoming": named, "Outgoing": strict }), &[Direction::Outgoing]),
            (json!({ "Incoming": { "TLSMinVersion": "TLSv1_3", "ECDHCurves": [] } }), &[Direction::Incoming]),
            (json!({ "Incoming": { "TLSMinVersion": "TLSv1_2" }, "Outgoing": named }), &[]),
            (Value::Null, &[]),
        ] {
            assert_eq!(entry(json!({ "Kind": "mesh", "TLS": tls })).directions_without_groups(), expected, "{tls}");
        }
    }

    #[test]
    fn written_entry_keeps_everything_else() {
        let before = entry(json!({
            "Kind": "mesh", "Partition": "team", "CreateIndex": 7, "ModifyIndex": 12, "Hash": 99,
            "TransparentProxy": { "MeshDestinationsOnly": true },
            "TLS": { "Incoming": { "TLSMinVersion": "TLSv1_3", "CipherSuites": [] }, "Outgoing": { "TLSMinVersion": "TLSv1_2" } },
        }));
        let written = json!({
            "Kind": "mesh", "Partition": "team", "TransparentProxy": { "MeshDestinationsOnly": true },
            "TLS": {
                "Incoming": { "TLSMinVersion": "TLSv1_3", "CipherSuites": [], "ECDHCurves": ["X25519"] },
                "Outgoing": { "TLSMinVersion": "TLSv1_2" },
            },
        });
        assert_eq!(before.with_groups(&["X25519"]), written);
        assert_eq!(
            before.with_minimum("TLSv1_2")["TLS"]["Incoming"],
            json!({ "TLSMinVersion": "TLSv1_2", "CipherSuites": [] })
        );
        assert_eq!(before.modify_index(), 12);
    }

    #[test]
    fn mesh_destinations_only_is_read() {
        let only = |value: Value| {
            entry(json!({ "TransparentProxy": { "MeshDestinationsOnly": value } })).has_mesh_destinations_only()
        };
        assert!(only(json!(true)));
        assert!(!only(json!(false)) && !only(Value::Null) && !entry(json!({})).has_mesh_destinations_only());
    }
}
