//! Timelines of correct and wrong task definitions.

use serde_json::{Value, json};

use super::{Starting, Timeline};
use crate::{example::Base, rules::tests};

fn timeline(definition: &Value) -> Timeline {
    Timeline::of(&tests::definition(&definition.to_string()))
}

/// Containers that wait for others to be healthy: name and dependencies.
fn waiting(containers: &[(&str, &[&str])]) -> Timeline {
    let containers: Vec<Value> = containers
        .iter()
        .map(|(name, waits)| {
            let waits: Vec<Value> =
                waits.iter().map(|on| json!({ "containerName": on, "condition": "HEALTHY" })).collect();
            json!({ "name": name, "image": "x", "dependsOn": waits })
        })
        .collect();
    timeline(&json!({ "family": "f", "containerDefinitions": containers }))
}

fn starts(timeline: &Timeline) -> Vec<Starting> {
    timeline.lanes.iter().map(|lane| lane.starts.clone()).collect()
}

fn never(reason: &str) -> Starting {
    Starting::Never(reason.to_owned())
}

fn base(base: Base) -> Timeline {
    timeline(&serde_json::from_str(base.json()).unwrap())
}

#[test]
fn a_container_starts_after_its_last_dependency() {
    let timeline = waiting(&[("c", &["a", "b"]), ("a", &[]), ("b", &["a"])]);
    assert_eq!(starts(&timeline), [Starting::At(2), Starting::At(0), Starting::At(1)]);
}

#[test]
fn cyclic_dependencies_never_start() {
    let timeline = waiting(&[("a", &["b"]), ("b", &["a"]), ("c", &["b"]), ("d", &["d"]), ("e", &[])]);
    assert_eq!(
        starts(&timeline),
        [
            never("it and b wait for each other"),
            never("it and a wait for each other"),
            never("b never starts"),
            never("it waits for itself"),
            Starting::At(0),
        ]
    );
}

#[test]
fn a_missing_dependency_prevents_the_start() {
    assert_eq!(starts(&waiting(&[("a", &["missing"])])), [never("missing is not there")]);
}

#[test]
fn long_chains_of_dependencies_are_computed() {
    let names: Vec<String> = (0..3_000).map(|index| format!("c{index}")).collect();
    let containers: Vec<Value> = (0..names.len())
        .map(|index| {
            let waits: Vec<Value> = index
                .checked_sub(1)
                .map(|before| json!({ "containerName": names[before], "condition": "START" }))
                .into_iter()
                .collect();
            json!({ "name": names[index], "image": "x", "dependsOn": waits })
        })
        .collect();
    let timeline = timeline(&json!({ "family": "f", "containerDefinitions": containers }));
    assert_eq!(starts(&timeline).last(), Some(&Starting::At(2_999)));
    assert!(timeline.svg().ends_with("</svg>\n"));
}

#[test]
fn timelines_of_all_bases() {
    for base_of in Base::ALL.into_iter().filter(|base| *base != Base::AppMeshResources) {
        let name = format!("timeline_{base_of:?}").to_lowercase();
        insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name, base(base_of).text());
        });
    }
}

#[test]
fn consul_s_proxy_gets_term_after_its_app() {
    let text = base(Base::Client).text();
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    assert!(at("consul-client gets TERM") < at("web has exited"));
    assert!(at("web has exited") < at("sidecar-proxy gets TERM: ends its connections"));
    assert!(at("sidecar-proxy exits") < at("the task is STOPPED") && at("the task is STOPPED") < at("gets KILL"));
}

#[test]
fn consul_s_proxy_outlives_an_independent_app() {
    let mut definition: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    definition["containerDefinitions"][0]["dependsOn"] = json!([]);
    let timeline = timeline(&definition);
    let text = timeline.text();
    assert!(text.contains("consul-dataplane gets TERM: ignores TERM, serves the app"), "{text}");
    assert_eq!(timeline.lanes[2].stops, Some((0, 1)));
}

#[test]
fn without_a_mesh_dependencies_stop_last() {
    let timeline = waiting(&[("app", &["proxy"]), ("proxy", &[])]);
    let stops: Vec<_> = timeline.lanes.iter().map(|lane| lane.stops).collect();
    assert_eq!(stops, [Some((0, 1)), Some((1, 2))]);
}

#[test]
fn names_are_escaped_in_drawings() {
    let timeline = waiting(&[("\"><script>&]", &[])]);
    assert!(timeline.svg().contains("&quot;&gt;&lt;script&gt;&amp;]"));
    assert!(!timeline.svg().contains("<script"));
    assert!(timeline.mermaid().contains("#34;#62;#60;script#62;#38;#93;"), "{}", timeline.mermaid());
}

#[test]
fn an_empty_definition_has_an_empty_timeline() {
    let timeline = waiting(&[]);
    assert!(timeline.svg().contains("</svg>") && timeline.text().contains("stop"));
    assert!(timeline.mermaid().starts_with("flowchart"));
}
