//! The metrics that the functions count, and docs/reference/metrics.md, agree.

use std::collections::BTreeSet;

use telemetry::{Metric, all};

const PAGE: &str = include_str!("../../docs/reference/metrics.md");

/// The rows of the page's table.
fn rows() -> Vec<[String; 4]> {
    let (_, table) = PAGE.split_once("| metric | further dimensions |").expect("the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    rows.map(|row| cells(row).try_into().unwrap()).collect()
}

fn unit(metric: &Metric) -> String {
    format!("{:?}", metric.unit)
}

/// How often CloudWatch bills a metric: for each combination of its dimensions.
fn billed(metric: &Metric) -> usize {
    metric.dimensions.iter().map(|(_, values)| values.len()).product()
}

#[test]
fn the_page_lists_every_metric_with_its_unit_and_its_dimensions() {
    let mut in_code: BTreeSet<(String, String)> =
        all().iter().map(|metric| (format!("`{}`", metric.name), unit(metric))).collect();
    for [name, dimensions, unit, _] in rows() {
        assert!(in_code.remove(&(name.clone(), unit.clone())), "{name} in {unit} is not counted, or twice on the page");
        let metric = all().into_iter().find(|metric| format!("`{}`", metric.name) == name).unwrap();
        for (dimension, _) in &metric.dimensions {
            assert!(dimensions.contains(&format!("`{dimension}`")), "{name}: {dimensions}");
        }
        assert_eq!(dimensions.is_empty(), metric.dimensions.is_empty(), "{name}");
    }
    assert_eq!(in_code, BTreeSet::new(), "not on the page");
    for (dimension, values) in all().iter().flat_map(|metric| &metric.dimensions) {
        for value in values {
            assert!(PAGE.contains(&format!("`{value}`")), "{dimension}: {value}");
        }
    }
}

#[test]
fn the_page_says_what_all_metrics_cost() {
    let billed: usize = all().iter().map(billed).sum();
    let cents = billed * 30;
    let text = format!("all {billed} together\nare {}.{:02} dollars", cents / 100, cents % 100);
    assert!(PAGE.contains(&text), "{text}");
}
