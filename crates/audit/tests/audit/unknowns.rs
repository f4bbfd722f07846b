//! A correct definition has no findings if any of its values is unknown.

use audit::finding::Finding;
use serde_json::{Value, json};

use crate::{
    example::Base,
    reading::{findings_in, ids, shown},
    template::template,
};

/// The path to a value: keys and indices.
type ValuePath = Vec<String>;

/// All bases; beside the resources of App Mesh, the definition that represents one of them.
fn bases() -> impl Iterator<Item = (Base, Value)> {
    Base::ALL.into_iter().map(|base| {
        let mut value: Value = serde_json::from_str(base.json()).unwrap();
        if let Value::Array(resources) = &mut value {
            resources.push(serde_json::from_str(Base::AppMesh.json()).unwrap());
        }
        (base, value)
    })
}

/// The paths to all values.
fn paths(value: &Value, here: &ValuePath, out: &mut Vec<ValuePath>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (step, value) in inner {
        let path: ValuePath = here.iter().cloned().chain([step]).collect();
        paths(value, &path, out);
        out.push(path);
    }
}

fn all_paths(value: &Value) -> Vec<ValuePath> {
    let mut out = Vec::new();
    paths(value, &ValuePath::new(), &mut out);
    // Without one of its resources, the mesh would have defects.
    out.retain(|path| path.len() > 2 || !value.is_array());
    out
}

fn at<'v>(value: &'v mut Value, path: &ValuePath) -> &'v mut Value {
    path.iter().fold(value, |value, step| match value {
        Value::Array(items) => &mut items[step.parse::<usize>().unwrap()],
        other => &mut other[step.as_str()],
    })
}

fn replaced(definition: &Value, path: &ValuePath, new: Value) -> Value {
    let mut definition = definition.clone();
    *at(&mut definition, path) = new;
    definition
}

fn found(definition: &Value) -> Vec<Finding> {
    findings_in("template.json", &serde_json::to_string_pretty(&template(definition)).unwrap())
}

/// The bases with one of their values replaced by one of `unknowns`, if that causes findings.
fn unexpected(unknowns: impl Fn(&Value) -> Vec<Value>) -> (usize, Vec<String>) {
    let (mut count, mut unexpected) = (0, Vec::new());
    for (base, definition) in bases() {
        for path in all_paths(&definition) {
            let value = at(&mut definition.clone(), &path).clone();
            for unknown in unknowns(&value) {
                count += 1;
                if path.last().is_some_and(|key| key == "properties") && unknown.get("Fn::If").is_some() {
                    continue;
                }
                let found = found(&replaced(&definition, &path, unknown.clone()));
                if !found.is_empty() {
                    let (path, found) = (path.join("."), shown(&found));
                    unexpected.push(format!("{base:?} {path} = {:.100}\n  {found:#?}", unknown.to_string()));
                }
            }
        }
    }
    (count, unexpected)
}

fn assert_silence((count, unexpected): (usize, Vec<String>), at_least: usize) {
    assert!(unexpected.is_empty(), "{} of {count}:\n{}", unexpected.len(), unexpected.join("\n"));
    assert!(count >= at_least, "only {count}");
}

#[test]
fn the_templates_of_all_bases_have_no_findings() {
    for (base, definition) in bases() {
        assert_eq!(shown(&found(&definition)), [""; 0], "{base:?}");
    }
}

#[test]
fn parameters_have_no_findings() {
    assert_silence(unexpected(|_| vec![json!({ "Ref": "Given" })]), 1_000);
}

#[test]
fn optional_values_have_no_findings() {
    let maybe = |value: &Value| vec![json!({ "Fn::If": ["IsGiven", value, { "Ref": "AWS::NoValue" }] })];
    assert_silence(unexpected(maybe), 1_000);
}

#[test]
fn partially_known_texts_have_no_findings() {
    let parts = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        let cuts = [0, 1, text.len() / 2, text.len()].into_iter().filter(|cut| text.is_char_boundary(*cut));
        let joined = |cut: usize| {
            let (before, after) = text.split_at(cut);
            json!({ "Fn::Join": ["", [before, { "Ref": "Given" }, after]] })
        };
        cuts.filter(|_| !text.is_empty()).map(joined).collect()
    };
    assert_silence(unexpected(parts), 2_000);
}

/// The paths to the configurations of a definition's containers.
fn configurations(definition: &Value) -> Vec<ValuePath> {
    let is_configuration = |path: &ValuePath| {
        let value = at(&mut definition.clone(), path).clone();
        value.as_str().is_some_and(|text| text.starts_with("{\"bootstrapDir\""))
    };
    all_paths(definition).into_iter().filter(is_configuration).collect()
}

#[test]
fn parameters_in_the_configuration_have_no_findings() {
    let (mut count, mut unexpected) = (0, Vec::new());
    for (base, definition) in bases() {
        let all = configurations(&definition);
        let Some(first) = all.first() else { continue };
        let configuration: Value = serde_json::from_str(at(&mut definition.clone(), first).as_str().unwrap()).unwrap();
        for path in all_paths(&configuration) {
            // As a complete value, and in strings, as all of it or its end.
            let text = at(&mut configuration.clone(), &path).as_str().map(str::to_owned);
            let mut texts =
                vec![replaced(&configuration, &path, json!("<>")).to_string().replace("\"<>\"", "${Given}")];
            if let Some(text) = text {
                texts.push(replaced(&configuration, &path, json!("${Given}")).to_string());
                texts.push(replaced(&configuration, &path, json!(format!("{text}${{Given}}"))).to_string());
            }
            for text in texts {
                for places in [&all[..], &all[..1], &all[all.len() - 1..]] {
                    count += 1;
                    let sub = json!({ "Fn::Sub": text });
                    let unknown =
                        places.iter().fold(definition.clone(), |unknown, place| replaced(&unknown, place, sub.clone()));
                    let found = found(&unknown);
                    if !found.is_empty() {
                        unexpected.push(format!(
                            "{base:?} {} in {}\n  {:#?}",
                            path.join("."),
                            places.len(),
                            shown(&found)
                        ));
                    }
                }
            }
        }
    }
    assert_silence((count, unexpected), 600);
}

#[test]
fn the_known_parts_of_a_string_are_judged() {
    let joined = |kind: &str| json!({ "Fn::Join": ["/", ["mesh", { "Ref": "Given" }, kind, { "Ref": "Given" }]] });
    for (resource, has_proxy, expected) in [
        (json!({ "Fn::Sub": "mesh/${Given}/virtualNode/${Given}" }), false, &["appmesh-proxy-configuration"][..]),
        (json!({ "Fn::Sub": "mesh/${Given}/virtualNode/${Given}" }), true, &[]),
        (json!({ "Fn::Sub": "mesh/${Given}/virtualNod/${Given}" }), true, &["appmesh-envoy-resource"]),
        (json!({ "Fn::Sub": "arn:aws:appmesh:${Given}:mesh/a/virtualNod/b" }), true, &["appmesh-envoy-resource"]),
        (json!({ "Fn::Sub": "mesh/${Given}/x" }), true, &[]),
        (joined("virtualnode"), true, &["appmesh-envoy-resource"]),
        (joined("virtualGateway"), true, &["appmesh-gateway-mixed"]),
    ] {
        let mut definition: Value = serde_json::from_str(Base::AppMesh.json()).unwrap();
        if !has_proxy {
            definition.as_object_mut().unwrap().remove("proxyConfiguration");
        }
        let named = |list: &Value, name: &str| {
            list.as_array().unwrap().iter().position(|one| one["name"] == name).unwrap().to_string()
        };
        let containers = ["containerDefinitions".to_owned(), named(&definition["containerDefinitions"], "envoy")];
        let variables: ValuePath = [&containers[..], &["environment".to_owned()]].concat();
        let variable = named(at(&mut definition, &variables), "APPMESH_RESOURCE_ARN");
        let value = [variables, vec![variable, "value".to_owned()]].concat();
        let definition = replaced(&definition, &value, resource.clone());
        assert_eq!(ids(&found(&definition)), expected, "{resource}");
    }
}
