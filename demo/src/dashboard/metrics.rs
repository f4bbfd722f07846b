//! Metrics in CloudWatch's embedded format, and statistics of them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::body::{MetricLine, Source};

/// The period of the statistics, in milliseconds: the demo takes half a minute.
const PERIOD: i64 = 1_000;

/// The values that were written, with their times in milliseconds.
#[derive(Default)]
pub(super) struct Recorded(Vec<(i64, Value)>);

impl Recorded {
    /// Reads the lines of a log that are in the embedded format.
    pub(super) fn read(&mut self, lines: &[String]) {
        lines.iter().filter_map(|line| serde_json::from_str(line).ok()).for_each(|line| self.add(line));
    }

    /// Adds a document, if it is in the embedded format.
    pub(super) fn add(&mut self, document: Value) {
        let time = document.get("_aws").and_then(|aws| aws["Timestamp"].as_i64());
        self.0.extend(time.map(|time| (time, document)));
    }

    /// The number of periods.
    pub(super) fn periods(&self) -> i64 {
        let last = self.0.iter().map(|(time, _)| self.period_of(*time)).max();
        last.map_or(1, |last| last + 1)
    }

    /// The value in each period that has one.
    pub(super) fn line(&self, source: &Source) -> BTreeMap<i64, f64> {
        match source {
            Source::Metric(metric) => self.metric(metric),
            Source::Quotient(above, below) => {
                let below = self.metric(below);
                let quotient = |(period, above): (i64, f64)| Some((period, above / below.get(&period)?));
                self.metric(above).into_iter().filter_map(quotient).collect()
            }
            Source::OfAws => BTreeMap::new(),
        }
    }

    fn metric(&self, metric: &MetricLine) -> BTreeMap<i64, f64> {
        let mut values: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for (time, document) in &self.0 {
            let is_of = |(name, value): &(String, String)| document[name] == value.as_str();
            if has_dimensions(document, metric) && metric.dimensions.iter().all(is_of) {
                values.entry(self.period_of(*time)).or_default().extend(numbers(&document[&metric.name]));
            }
        }
        values.retain(|_, values| !values.is_empty());
        values.into_iter().map(|(period, values)| (period, statistic(values, &metric.stat))).collect()
    }

    fn period_of(&self, time: i64) -> i64 {
        let first = self.0.iter().map(|(time, _)| *time).min().unwrap_or(time);
        (time - first) / PERIOD
    }
}

fn has_dimensions(document: &Value, metric: &MetricLine) -> bool {
    let declared = document["_aws"]["CloudWatchMetrics"][0]["Dimensions"][0].as_array();
    declared.is_some_and(|declared| declared.len() == metric.dimensions.len())
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(all) => all.iter().filter_map(Value::as_f64).collect(),
        one => one.as_f64().into_iter().collect(),
    }
}

fn statistic(mut values: Vec<f64>, stat: &str) -> f64 {
    values.sort_by(f64::total_cmp);
    let sum: f64 = values.iter().sum();
    let last = values.len() - 1;
    match stat {
        "Sum" => sum,
        "Average" => sum / values.iter().map(|_| 1.0).sum::<f64>(),
        "Maximum" => values[last],
        percentile => {
            let share: usize = percentile.trim_start_matches('p').parse().expect("a percentile");
            values[(values.len() * share).div_ceil(100).saturating_sub(1).min(last)]
        }
    }
}
