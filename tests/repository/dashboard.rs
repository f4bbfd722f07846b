//! The dashboard and the alarms of the template, the metrics that the functions count, and the runbook agree.

use std::collections::BTreeSet;

use document::{Node, parse_yaml};
use serde_json::Value;
use telemetry::{Metric, NAMESPACE, STACK, all};

const TEMPLATE: &str = include_str!("../../template.yaml");
const RUNBOOK: &str = include_str!("../../docs/how-to/alarms.md");
const PICTURE: &str = include_str!("../../docs/images/dashboard.svg");

fn text<'a>(node: &'a Node, keys: &[&str]) -> Option<&'a str> {
    keys.iter().try_fold(node, |node, key| node.get(key))?.text()
}

/// The body of the dashboard, with references in place of names.
fn body() -> Value {
    let template = parse_yaml(TEMPLATE).unwrap();
    let body = ["Resources", "Dashboard", "Properties", "DashboardBody", "Fn::Sub"]
        .iter()
        .try_fold(&template, |node, key| node.get(key))
        .expect("a body");
    let body = body.items().first().and_then(Node::text).expect("a text");
    serde_json::from_str(&body.replace("${AuditAlarms}", ", \"${AuditErrorsAlarm.Arn}\", \"${AuditDroppedAlarm.Arn}\""))
        .expect("JSON")
}

/// The rows of all widgets with metrics.
fn rows() -> Vec<Vec<String>> {
    let body = body();
    let widgets = body["widgets"].as_array().unwrap().iter().filter(|widget| widget["type"] == "metric");
    let rows = widgets.flat_map(|widget| widget["properties"]["metrics"].as_array().unwrap().clone());
    let texts = |row: Value| row.as_array().unwrap().iter().filter_map(Value::as_str).map(str::to_owned).collect();
    rows.map(texts).collect()
}

/// Whether the row is one of the metric's: its dimensions, with values that are counted.
fn is_of(metric: &Metric, row: &[String]) -> bool {
    let [namespace, name, dimensions @ ..] = row else { return false };
    let (pairs, []) = dimensions.as_chunks::<2>() else { return false };
    let [[stack, of_stack], further @ ..] = pairs else { return false };
    let is_known = |[name, value]: &[String; 2]| {
        metric.dimensions.iter().any(|(known, values)| known == name && values.contains(&value.as_str()))
    };
    namespace == NAMESPACE
        && name == metric.name
        && (stack.as_str(), of_stack.as_str()) == (STACK, "${AWS::StackName}")
        && further.len() == metric.dimensions.len()
        && further.iter().all(is_known)
}

#[test]
fn widgets_show_metrics_that_are_counted() {
    for row in rows().iter().filter(|row| row.first().is_some_and(|namespace| !namespace.starts_with("AWS/"))) {
        assert!(all().iter().any(|metric| is_of(metric, row)), "{row:?}");
    }
}

#[test]
fn every_metric_is_on_the_dashboard() {
    let rows = rows();
    for metric in all() {
        assert!(rows.iter().any(|row| is_of(&metric, row)), "{}", metric.name);
    }
}

#[test]
fn alarms_read_metrics_that_are_counted() {
    let template = parse_yaml(TEMPLATE).unwrap();
    let resources = template.get("Resources").unwrap().entries();
    let own = resources.iter().filter(|it| {
        text(&it.node, &["Type"]) == Some("AWS::CloudWatch::Alarm")
            && text(&it.node, &["Properties", "Namespace"]) == Some(NAMESPACE)
    });
    let mut alarms = 0;
    for alarm in own {
        alarms += 1;
        let properties = alarm.node.get("Properties").unwrap();
        let mut row = vec![NAMESPACE.to_owned(), text(properties, &["MetricName"]).unwrap().to_owned()];
        for dimension in properties.get("Dimensions").unwrap().items() {
            let value = text(dimension, &["Value"]).map(str::to_owned);
            let reference = || text(dimension, &["Value", "Ref"]).map(|name| format!("${{{name}}}"));
            row.push(text(dimension, &["Name"]).unwrap().to_owned());
            row.push(value.or_else(reference).unwrap());
        }
        assert!(all().iter().any(|metric| is_of(metric, &row)), "{}: {row:?}", alarm.key);
    }
    assert!(alarms >= 5, "guard, message chain, repeated repairs, slow reaction, errors of Consul: {alarms}");
}

#[test]
fn every_alarm_is_on_the_dashboard_and_has_a_section_in_the_runbook() {
    let template = parse_yaml(TEMPLATE).unwrap();
    let resources = template.get("Resources").unwrap().entries();
    let alarms: BTreeSet<&str> = resources
        .iter()
        .filter(|it| text(&it.node, &["Type"]) == Some("AWS::CloudWatch::Alarm"))
        .map(|it| it.key.as_str())
        .collect();
    assert!(!alarms.is_empty());
    let body = body();
    let shown: BTreeSet<String> = body["widgets"][0]["properties"]["alarms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arn| arn.as_str().unwrap().trim_start_matches("${").trim_end_matches(".Arn}").to_owned())
        .collect();
    assert_eq!(shown.iter().map(String::as_str).collect::<BTreeSet<_>>(), alarms);
    let sections: BTreeSet<&str> = RUNBOOK
        .split("\n## ")
        .filter(|section| ["**Harm**", "**Look**", "**Do**", "**Ends**"].iter().all(|part| section.contains(part)))
        .filter_map(|section| section.split('`').nth(1))
        .collect();
    assert_eq!(sections, alarms);
}

/// The texts in the picture.
fn drawn() -> BTreeSet<String> {
    let texts = PICTURE.split("<text").skip(1).filter_map(|rest| rest.split_once('>')?.1.split("</text>").next());
    texts.map(|text| text.trim().to_owned()).collect()
}

#[test]
fn the_picture_has_every_widget_and_line() {
    let drawn = drawn();
    for widget in body()["widgets"].as_array().unwrap().iter().filter(|widget| widget["type"] == "metric") {
        let title = widget["properties"]["title"].as_str().unwrap();
        assert!(drawn.contains(title), "{title}: draw it anew with: make dashboard");
        for row in widget["properties"]["metrics"].as_array().unwrap() {
            let Some(label) = row.as_array().unwrap().last().and_then(|options| options["label"].as_str()) else {
                continue;
            };
            let is_drawn = drawn.contains(label) || drawn.contains(&format!("{label} (by AWS)"));
            assert!(is_drawn, "{title}: {label}: draw it anew with: make dashboard");
        }
    }
}
