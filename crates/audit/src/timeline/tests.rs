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
fn wait_that_nothing_limits_is_named() {
    let limited = |limit: Value| {
        let proxy = json!({ "name": "proxy", "image": "x", "startTimeout": limit });
        let app =
            json!({ "name": "app", "image": "x", "dependsOn": [{ "containerName": "proxy", "condition": "HEALTHY" }] });
        timeline(&json!({ "family": "f", "containerDefinitions": [app, proxy] }))
    };
    assert_eq!(limited(Value::Null).unlimited, ["app waits for proxy"]);
    assert!(limited(Value::Null).text().contains("app waits for proxy: without startTimeout"));
    assert!(limited(Value::Null).mermaid().contains("unlimited["));
    assert_eq!(limited(json!(60)).unlimited, [""; 0]);
    // A container that has to end, or that only has to start, keeps no other waiting for its health
    let started = timeline(&json!({ "family": "f", "containerDefinitions": [
        { "name": "app", "image": "x", "dependsOn": [{ "containerName": "proxy", "condition": "START" }] },
        { "name": "proxy", "image": "x" },
    ] }));
    assert_eq!(started.unlimited, [""; 0]);
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
    assert_eq!(starts(&waiting(&[("a", &["missing"])])), [never("missing is not in the definition")]);
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
    assert!(at("consul-client gets TERM") < at("web exits"));
    assert!(at("web exits") < at("sidecar-proxy gets TERM: ends its connections"));
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

/// As recorded in `testing/simulation/src/recordings/health-sync-life.json`.
#[test]
fn health_sync_deregisters_the_service_after_the_dataplane_has_exited() {
    for (release, at_term) in [
        ("0.10.1", "sets its checks critical, waits for the proxy"),
        ("0.9.2", "sets its checks critical, waits for the proxy"),
        ("0.9.1", "sets its checks critical, may set them passing again"),
        ("0.8.1", "sets its checks critical, may set them passing again"),
    ] {
        let text = timeline(&serde_json::from_str(&Base::Dataplane.json().replace("0.10.1", release)).unwrap()).text();
        let expected = format!(
            "  T0   web gets TERM: finishes its requests
       consul-ecs-health-sync gets TERM: {at_term}
  T1   web exits
       consul-dataplane gets TERM: ends its connections
  T2   consul-dataplane exits
  T3   consul-ecs-health-sync deregisters, logs out and exits
"
        );
        assert!(text.contains(&expected), "{release}: {text}");
    }
    // Without a login, there is no token to log out.
    let text = Base::Dataplane.json().replace("\\\"consulLogin\\\":{\\\"enabled\\\":true},", "");
    let timeline = timeline(&serde_json::from_str(&text).unwrap());
    assert!(timeline.text().contains("  T3   consul-ecs-health-sync deregisters and exits\n"), "{}", timeline.text());
    assert!(timeline.svg().contains(">deregisters</text>"));
}

#[test]
fn the_control_plane_gets_term_after_the_dataplane() {
    let text = base(Base::ControlPlane).text();
    assert!(text.contains("consul-ecs-control-plane gets TERM: sets its checks critical\n"), "{text}");
    assert!(text.contains("  T3   consul-ecs-control-plane deregisters"), "{text}");
}

#[test]
fn health_sync_of_the_client_generation_exits_at_once() {
    let text = base(Base::Client).text();
    assert!(
        text.contains("  T1   web exits\n")
            && text.contains("consul-ecs-health-sync sets its checks critical and exits\n")
    );
    let exits = |name: &str| text.find(&format!("{name} exits")).unwrap_or_else(|| panic!("{name}: {text}"));
    assert!(text.find("sets its checks critical and exits").unwrap() < exits("sidecar-proxy"));
}

#[test]
fn an_essential_mesh_init_stops_the_task() {
    let mut definition: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    definition["containerDefinitions"][1]["essential"] = json!(true);
    let found = timeline(&definition);
    let text = found.text();
    assert!(text.contains("consul-ecs-mesh-init has ended, and ECS stops the task: it is essential\n"), "{text}");
    let never = "consul-dataplane: ECS stops the task when the essential container consul-ecs-mesh-init ends\n";
    assert!(text.contains(never) && text.contains("web: consul-dataplane never starts\n"), "{text}");
    assert!(found.svg().contains(">ends, and ECS stops the task</text>"), "{}", found.svg());
    // Also if nothing waits for its end.
    for container in definition["containerDefinitions"].as_array_mut().unwrap() {
        container["dependsOn"] = json!([]);
    }
    let text = timeline(&definition).text();
    assert!(
        text.contains("  T1   consul-ecs-mesh-init has ended, and ECS stops the task: it is essential\n"),
        "{text}"
    );
    assert!(!text.contains("consul-ecs-mesh-init gets TERM"), "{text}");
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
