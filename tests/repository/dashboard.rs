//! The dashboard and the alarms of the template, the metrics that the functions count, and the runbook agree.

use std::collections::BTreeSet;

use document::{Node, parse_yaml};
use serde_json::Value;
use telemetry::{Metric, NAMESPACE, STACK, all};

use crate::resolved;

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
        .filter(|section| ["**Look**", "**Do**", "**Ends**"].iter().all(|part| section.contains(part)))
        .filter_map(|section| section.split('`').nth(1))
        .collect();
    assert_eq!(sections, alarms);
}

/// The longest text of an alarm, and the length of the longest names in it:
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html>
const LONGEST_TEXT: usize = 1_024;
const LONGEST_NAMES: [(&str, usize); 7] = [
    ("AuditLogGroup", 76),
    ("ReconcileFunction", 64),
    ("ReconcileLogGroup", 76),
    ("RunbookUrl", 200),
    ("TaskEventsFunction", 64),
    ("TaskEventsLogGroup", 76),
    ("TaskEventsQueue", 140),
];

/// The texts of the alarms.
fn alarm_texts(stack: &resolved::Stack) -> Vec<(&'static str, String)> {
    let text =
        |alarm: &Node| stack.value(alarm.get("Properties")?.get("AlarmDescription")?)?.as_str().map(str::to_owned);
    resolved::resources("AWS::CloudWatch::Alarm")
        .map(|(name, alarm)| (name, text(alarm).unwrap_or_else(|| panic!("{name} has no text"))))
        .collect()
}

/// The anchor of a heading on GitHub and on the site.
fn anchor(heading: &str) -> String {
    heading.to_lowercase().replace(' ', "-")
}

#[test]
fn the_text_of_an_alarm_has_the_row_and_the_address_of_its_section() {
    let texts = alarm_texts(&resolved::Stack::new(&[("RunbookUrl", "https://page")]));
    assert!(texts.len() > 12, "{}", texts.len());
    for (name, text) in texts {
        let mark = format!("\n\n`{name}`: ");
        let section = RUNBOOK.split("\n## ").find(|section| section.contains(&mark));
        let heading = section.and_then(|section| section.lines().next()).unwrap_or_else(|| panic!("{name}"));
        let line = |start: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(start));
            value.unwrap_or_else(|| panic!("{name} does not say {start:?}:\n{text}"))
        };
        assert_eq!(line("Page: "), format!("https://page#{}", anchor(heading)), "{name}");
        assert!(
            line("First: ").starts_with("aws ") && line("First: ").contains(" --region us-east-1 "),
            "{name}: {text}"
        );
        let [traffic, wait] = ["Traffic: ", "Can wait: "].map(|start| line(start).trim_end_matches('.'));
        let row = format!("\n| [{heading}](#{}) | {traffic} | {wait} | `", anchor(heading));
        assert!(RUNBOOK.contains(&row), "the table has no row {row}");
    }
}

/// `force` without clusters forces all of them, and takes an unknown one for deleted.
#[test]
fn no_alarm_has_a_command_that_changes_something() {
    for (name, text) in alarm_texts(&resolved::Stack::new(&[])) {
        let command = text.lines().find_map(|line| line.strip_prefix("First: ")).unwrap();
        let reads =
            [" get-", " list-", " logs tail ", r#" --payload '{"check": true}' "#, r#" --payload '{"dryRun": true}' "#];
        assert!(reads.iter().any(|read| command.contains(read)), "{name}: {command}");
    }
}

#[test]
fn the_text_of_an_alarm_fits_with_the_longest_names() {
    let names = LONGEST_NAMES.map(|(name, length)| (name, "n".repeat(length)));
    let names = names.each_ref().map(|(name, value)| (*name, value.as_str()));
    for (name, text) in alarm_texts(&resolved::Stack::new(&names)) {
        assert!(text.len() <= LONGEST_TEXT, "{name}: {}", text.len());
    }
}

#[test]
fn no_runbook_needs_more_than_the_aws_cli() {
    for page in [
        RUNBOOK,
        include_str!("../../docs/how-to/repair-by-hand.md"),
        include_str!("../../docs/how-to/task-not-in-mesh.md"),
    ] {
        assert!(!page.contains("cargo "), "{}", page.lines().next().unwrap_or_default());
    }
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
