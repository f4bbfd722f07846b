//! The log configuration that the app's containers have, for the mesh's containers.

use serde_json::Value as Json;

use super::InjectError;
use audit_read::{
    definition::{Container, TaskDefinition},
    document::{Node, Step, Value},
    input::parse_all,
};

/// The log configuration of the first essential container that has one, otherwise of the first other one, as the file
/// spells it: with its intrinsic functions. None of a log router: the router waits for the proxy as every app does, so that
/// the proxy cannot wait for the router. Nor of the router's own container, which logs for itself.
///
/// # Errors
/// The file does not parse.
pub fn log_configuration(definition: &TaskDefinition) -> Result<Option<Json>, InjectError> {
    let (_, documents) = parse_all(&definition.file).map_err(|error| InjectError::Notation(error.to_string()))?;
    let key = Step::Key(definition.dialect.spell("logConfiguration"));
    let of = |container: &Container| {
        let mut steps = container.place.route.as_ref()?.steps();
        steps.push(key.clone());
        let json = json(at(&documents, &steps)?)?;
        let driver = json.get(definition.dialect.spell("logDriver")).and_then(Json::as_str);
        (driver != Some("awsfirelens")).then_some(json)
    };
    let apps = definition.containers.items.iter().filter(|container| container.fire_lens.is_absent());
    let (essential, others): (Vec<&Container>, Vec<&Container>) =
        apps.partition(|container| container.is_essential() == Some(true));
    Ok(essential.into_iter().chain(others).find_map(of))
}

fn at<'n>(documents: &'n [Node], steps: &[Step]) -> Option<&'n Node> {
    let (document, steps) = match steps {
        [Step::Document(index), steps @ ..] => (*index, steps),
        steps => (0, steps),
    };
    let root = documents.get(document)?;
    steps.iter().try_fold(root, |node, step| match step {
        Step::Key(key) => node.get(key),
        Step::Index(index) => node.items().get(*index),
        Step::Embedded | Step::Document(_) => None,
    })
}

/// The value as JSON; `None` if a part of it is known only at deployment.
fn json(node: &Node) -> Option<Json> {
    Some(match &node.value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Number(number) => serde_json::from_str(number).ok()?,
        Value::Text(_) => Json::String(node.text()?.to_owned()),
        Value::List(items) => Json::Array(items.iter().map(json).collect::<Option<_>>()?),
        Value::Map(entries) => {
            let entries = entries.iter().map(|entry| Some((entry.key.clone(), json(&entry.node)?)));
            Json::Object(entries.collect::<Option<_>>()?)
        }
        Value::Unknown => return None,
    })
}
