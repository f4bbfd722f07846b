//! For tests: correct definitions, and changes of them.

use serde_json::Value;

use mesh::consul_ecs::CONFIG_VARIABLE;

/// A correct definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Base {
    /// A service with a Consul client agent.
    Client,
    /// A mesh gateway with a Consul client agent.
    ClientGateway,
    /// A service with Consul Dataplane and the control-plane container of consul-ecs 0.7.
    ControlPlane,
    /// A service with Consul Dataplane.
    Dataplane,
    /// A mesh gateway with Consul Dataplane.
    MeshGateway,
    /// An API gateway with Consul Dataplane.
    ApiGateway,
    /// A terminating gateway with Consul Dataplane.
    TerminatingGateway,
    /// The controller of consul-ecs.
    Controller,
    /// A service with App Mesh's Envoy.
    AppMesh,
    /// A virtual gateway of App Mesh.
    AppMeshGateway,
    /// Exported resources of App Mesh: a list of what `aws appmesh describe-…` prints.
    AppMeshResources,
    /// A task that is in no mesh.
    Plain,
}

impl Base {
    /// All of them.
    pub(crate) const ALL: [Self; 12] = [
        Self::Client,
        Self::ClientGateway,
        Self::ControlPlane,
        Self::Dataplane,
        Self::MeshGateway,
        Self::ApiGateway,
        Self::TerminatingGateway,
        Self::Controller,
        Self::AppMesh,
        Self::AppMeshGateway,
        Self::AppMeshResources,
        Self::Plain,
    ];

    /// The definition as JSON.
    pub(crate) fn json(self) -> &'static str {
        match self {
            Self::Client => include_str!("bases/client.json"),
            Self::ClientGateway => include_str!("bases/client-gateway.json"),
            Self::ControlPlane => include_str!("bases/control-plane.json"),
            Self::Dataplane => include_str!("bases/dataplane.json"),
            Self::MeshGateway => include_str!("bases/mesh-gateway.json"),
            Self::ApiGateway => include_str!("bases/api-gateway.json"),
            Self::TerminatingGateway => include_str!("bases/terminating-gateway.json"),
            Self::Controller => include_str!("bases/controller.json"),
            Self::AppMesh => include_str!("bases/app-mesh.json"),
            Self::AppMeshGateway => include_str!("bases/app-mesh-gateway.json"),
            Self::AppMeshResources => include_str!("bases/app-mesh-resources.json"),
            Self::Plain => include_str!("bases/plain.json"),
        }
    }

    /// The definition with other values at these paths: JSON, or `None` for no value. `None` if a path or the JSON is wrong.
    ///
    /// Paths are as in ECS's JSON, with the name of a list's item in brackets:
    /// `containerDefinitions[consul-dataplane].user`. `config` is the configuration of consul-ecs in every container that
    /// has it: `config.proxy.publicListenerPort`; `config@consul-ecs-health-sync` is one container's.
    pub(crate) fn with<'c>(self, changes: impl IntoIterator<Item = (&'c str, Option<&'c str>)>) -> Option<Value> {
        let mut definition: Value = serde_json::from_str(self.json()).ok()?;
        for (path, json) in changes {
            let value = json.map(serde_json::from_str::<Value>).transpose().ok()?;
            put(&mut definition, path, value.as_ref())?;
        }
        Some(definition)
    }
}

/// Puts `value` at `path`, or removes the value there. Returns the earlier value, or null; `None` if the path is wrong.
fn put(definition: &mut Value, path: &str, value: Option<&Value>) -> Option<Value> {
    let in_configuration =
        path.strip_prefix("config").filter(|rest| rest.is_empty() || rest.starts_with(['.', '@', '[']));
    match in_configuration {
        Some(rest) => put_in_configuration(definition, rest, value),
        None => put_at(definition, &steps(path), value),
    }
}

/// Changes the configuration of one container, or of every one that has it.
fn put_in_configuration(definition: &mut Value, path: &str, value: Option<&Value>) -> Option<Value> {
    let (container, path) = match path.strip_prefix('@') {
        Some(rest) => rest.split_once('.').map_or((Some(rest), ""), |(name, path)| (Some(name), path)),
        None => (None, path.trim_start_matches('.')),
    };
    let mut before = Value::Null;
    for candidate in definition.get_mut("containerDefinitions")?.as_array_mut()? {
        let is_wanted = container.is_none_or(|name| candidate.get("name").and_then(Value::as_str) == Some(name));
        let Some(variables) = candidate.get_mut("environment").and_then(Value::as_array_mut).filter(|_| is_wanted)
        else {
            continue;
        };
        for variable in variables {
            if variable.get("name").and_then(Value::as_str) == Some(CONFIG_VARIABLE) {
                let text = variable.get_mut("value")?;
                let mut json: Value = serde_json::from_str(text.as_str()?).ok()?;
                before = put_at(&mut json, &steps(path), value)?;
                *text = Value::String(json.to_string());
            }
        }
    }
    Some(before)
}

/// `a[b].c` is `a`, `[b]`, `c`. Names in brackets may contain dots.
fn steps(path: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let end = match rest.strip_prefix('[') {
            Some(inner) => inner.find(']').map_or(rest.len(), |end| end + 2),
            None => rest.find(['.', '[']).unwrap_or(rest.len()),
        };
        let (step, after) = rest.split_at(end);
        steps.push(step);
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    steps
}

fn put_at(here: &mut Value, steps: &[&str], value: Option<&Value>) -> Option<Value> {
    let Some((first, rest)) = steps.split_first() else {
        return Some(std::mem::replace(here, value?.clone()));
    };
    if let Some(name) = first.strip_prefix('[').and_then(|step| step.strip_suffix(']')) {
        return put_in_list(here, name, rest, value);
    }
    let map = here.as_object_mut()?;
    match (rest, value) {
        ([], None) => Some(map.remove(*first).unwrap_or_default()),
        ([], Some(value)) => Some(map.insert((*first).to_owned(), value.clone()).unwrap_or_default()),
        (rest, value) => {
            put_at(map.entry(*first).or_insert_with(|| Value::Object(serde_json::Map::new())), rest, value)
        }
    }
}

fn put_in_list(here: &mut Value, name: &str, rest: &[&str], value: Option<&Value>) -> Option<Value> {
    let items = here.as_array_mut()?;
    let index = items.iter().position(|item| is_named(item, name)).or_else(|| name.parse().ok());
    match (index, rest, value) {
        (Some(index), [], None) if index < items.len() => Some(items.remove(index)),
        (None, [], value) => {
            items.extend(value.cloned());
            Some(Value::Null)
        }
        (Some(index), rest, value) => put_at(items.get_mut(index)?, rest, value),
        (None, ..) => None,
    }
}

/// Whether an item of a list is called `name`: a container, a variable, a tag, a dependency, a mount, an export of App
/// Mesh.
fn is_named(item: &Value, name: &str) -> bool {
    let keys = ["name", "key", "containerName", "sourceVolume"];
    let export = item.as_object().and_then(|map| map.values().next().filter(|_| map.len() == 1));
    let exported =
        ["meshName", "virtualNodeName", "routeName", "virtualRouterName", "virtualServiceName", "virtualGatewayName"];
    keys.iter().any(|key| item.get(key).and_then(Value::as_str) == Some(name))
        || export.is_some_and(|inner| {
            let kind = item.as_object().and_then(|map| map.keys().next()).map_or("", String::as_str);
            exported.iter().any(|key| {
                key.strip_suffix("Name") == Some(kind)
                    && inner.get(key).and_then(Value::as_str).is_some_and(|found| format!("{kind} {found}") == name)
            })
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_leads_through_lists_by_name() {
        let mut value = json!({ "a": [{ "name": "x.y", "b": 1 }, { "key": "z", "b": 2 }] });
        put(&mut value, "a[x.y].b", Some(&json!(7))).unwrap();
        put(&mut value, "a[z]", None).unwrap();
        put(&mut value, "c.d", Some(&json!(true))).unwrap();
        assert_eq!(value, json!({ "a": [{ "name": "x.y", "b": 7 }], "c": { "d": true } }));
        assert_eq!(put(&mut value, "a[missing].b", Some(&json!(1))), None);
    }

    #[test]
    fn an_export_is_found_by_kind_and_name() {
        let mut value: Value = serde_json::from_str(Base::AppMeshResources.json()).unwrap();
        put(&mut value, "[virtualNode stock].virtualNode.spec.backends", Some(&json!([1]))).unwrap();
        assert_eq!(value[2]["virtualNode"]["spec"]["backends"], json!([1]));
    }

    #[test]
    fn the_configuration_changes_in_every_container_or_in_one() {
        let mut value: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
        put(&mut value, "config.service.port", Some(&json!(1))).unwrap();
        put(&mut value, "config@consul-ecs-health-sync.service.port", Some(&json!(2))).unwrap();
        let port = |container: usize| {
            let text = value["containerDefinitions"][container]["environment"][0]["value"].as_str().unwrap();
            serde_json::from_str::<Value>(text).unwrap()["service"]["port"].clone()
        };
        assert_eq!((port(1), port(3)), (json!(1), json!(2)));
    }
}
