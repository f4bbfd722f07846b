//! Rules never guess: a correct definition with any of its values unknown has no finding.

use audit::{example::Base, finding::Finding};
use serde_json::{Value, json};

use crate::{
    reading::{findings_in, shown},
    template::template,
};

/// A way to a value: keys and indices.
type Way = Vec<String>;

/// Those that are task definitions.
fn bases() -> impl Iterator<Item = (Base, Value)> {
    let definitions = Base::ALL.into_iter().filter(|base| *base != Base::AppMeshResources);
    definitions.map(|base| (base, serde_json::from_str(base.json()).unwrap()))
}

/// The ways to every value, inner and outer.
fn ways(value: &Value, here: &Way, out: &mut Vec<Way>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (step, value) in inner {
        let way: Way = here.iter().cloned().chain([step]).collect();
        ways(value, &way, out);
        out.push(way);
    }
}

fn all_ways(value: &Value) -> Vec<Way> {
    let mut out = Vec::new();
    ways(value, &Way::new(), &mut out);
    out
}

fn at<'v>(value: &'v mut Value, way: &Way) -> &'v mut Value {
    way.iter().fold(value, |value, step| match value {
        Value::Array(items) => &mut items[step.parse::<usize>().unwrap()],
        other => &mut other[step.as_str()],
    })
}

fn replaced(definition: &Value, way: &Way, new: Value) -> Value {
    let mut definition = definition.clone();
    *at(&mut definition, way) = new;
    definition
}

fn found(definition: &Value) -> Vec<Finding> {
    findings_in("template.json", &serde_json::to_string_pretty(&template(definition)).unwrap())
}

/// The bases with each of their values made unknown in the ways of `unknowns`, where anything is found.
fn surprises(unknowns: impl Fn(&Value) -> Vec<Value>) -> (usize, Vec<String>) {
    let (mut count, mut surprises) = (0, Vec::new());
    for (base, definition) in bases() {
        for way in all_ways(&definition) {
            let value = at(&mut definition.clone(), &way).clone();
            for unknown in unknowns(&value) {
                count += 1;
                if way.last().is_some_and(|key| key == "properties") && unknown.get("Fn::If").is_some() {
                    continue;
                }
                let found = found(&replaced(&definition, &way, unknown.clone()));
                if !found.is_empty() {
                    let (way, found) = (way.join("."), shown(&found));
                    surprises.push(format!("{base:?} {way} = {:.100}\n  {found:#?}", unknown.to_string()));
                }
            }
        }
    }
    (count, surprises)
}

fn assert_silence((count, surprises): (usize, Vec<String>), at_least: usize) {
    assert!(surprises.is_empty(), "{} of {count}:\n{}", surprises.len(), surprises.join("\n"));
    assert!(count >= at_least, "only {count}");
}

#[test]
fn the_templates_of_all_bases_are_clean() {
    for (base, definition) in bases() {
        assert_eq!(shown(&found(&definition)), [""; 0], "{base:?}");
    }
}

#[test]
fn a_value_that_is_a_parameter_is_not_judged() {
    assert_silence(surprises(|_| vec![json!({ "Ref": "Given" })]), 1_000);
}

#[test]
fn a_value_that_may_be_there_or_not_is_not_judged() {
    let maybe = |value: &Value| vec![json!({ "Fn::If": ["IsGiven", value, { "Ref": "AWS::NoValue" }] })];
    assert_silence(surprises(maybe), 1_000);
}

#[test]
fn a_text_of_which_a_part_is_known_is_not_judged_by_it_alone() {
    let parts = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        let cuts = [0, 1, text.len() / 2, text.len()].into_iter().filter(|cut| text.is_char_boundary(*cut));
        let joined = |cut: usize| {
            let (before, after) = text.split_at(cut);
            json!({ "Fn::Join": ["", [before, { "Ref": "Given" }, after]] })
        };
        cuts.filter(|_| !text.is_empty()).map(joined).collect()
    };
    assert_silence(surprises(parts), 2_000);
}

/// The ways to the configurations of a definition's containers.
fn configurations(definition: &Value) -> Vec<Way> {
    let is_configuration = |way: &Way| {
        let value = at(&mut definition.clone(), way).clone();
        value.as_str().is_some_and(|text| text.starts_with("{\"bootstrapDir\""))
    };
    all_ways(definition).into_iter().filter(is_configuration).collect()
}

#[test]
fn a_value_in_the_configuration_that_is_a_parameter_is_not_judged() {
    let (mut count, mut surprises) = (0, Vec::new());
    for (base, definition) in bases() {
        let all = configurations(&definition);
        let Some(first) = all.first() else { continue };
        let configuration: Value = serde_json::from_str(at(&mut definition.clone(), first).as_str().unwrap()).unwrap();
        for way in all_ways(&configuration) {
            // As a value of its own, and where it is a text, as all or the end of it.
            let text = at(&mut configuration.clone(), &way).as_str().map(str::to_owned);
            let mut texts = vec![replaced(&configuration, &way, json!("<>")).to_string().replace("\"<>\"", "${Given}")];
            if let Some(text) = text {
                texts.push(replaced(&configuration, &way, json!("${Given}")).to_string());
                texts.push(replaced(&configuration, &way, json!(format!("{text}${{Given}}"))).to_string());
            }
            for text in texts {
                for places in [&all[..], &all[..1], &all[all.len() - 1..]] {
                    count += 1;
                    let sub = json!({ "Fn::Sub": text });
                    let unknown =
                        places.iter().fold(definition.clone(), |unknown, place| replaced(&unknown, place, sub.clone()));
                    let found = found(&unknown);
                    if !found.is_empty() {
                        surprises.push(format!(
                            "{base:?} {} in {}\n  {:#?}",
                            way.join("."),
                            places.len(),
                            shown(&found)
                        ));
                    }
                }
            }
        }
    }
    assert_silence((count, surprises), 600);
}
