use std::collections::BTreeSet;

use metrics_util::debugging::DebuggingRecorder;

use super::*;

#[test]
fn all_that_is_counted_is_in_the_list_and_nothing_else() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        for counted in Counted::ALL.iter().copied() {
            counted.add(1);
        }
        for kind in EventKind::ALL.iter().copied() {
            event(kind, true);
            event(kind, false);
        }
        for service in Service::ALL.iter().copied() {
            call(service, Duration::from_millis(7), true);
        }
        for function in Function::ALL.iter().copied() {
            cold_start(function);
        }
        findings(1, 2, 3);
        reaction(Duration::from_millis(5));
        sweep(Duration::from_secs(1));
    });
    let seen: BTreeSet<(String, Vec<(String, String)>)> = snapshotter
        .snapshot()
        .into_vec()
        .iter()
        .map(|(key, ..)| {
            let labels = key.key().labels().map(|label| (label.key().to_owned(), label.value().to_owned()));
            (key.key().name().to_owned(), labels.collect())
        })
        .collect();
    let listed: BTreeSet<_> = all().iter().flat_map(series).collect();
    assert_eq!(seen, listed);
}

/// The metric with each combination of its dimensions.
fn series(metric: &Metric) -> Vec<(String, Vec<(String, String)>)> {
    let mut labels: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for (name, values) in &metric.dimensions {
        let with = |known: &Vec<(String, String)>, value: &str| {
            let mut with = known.clone();
            with.push(((*name).to_owned(), value.to_owned()));
            with
        };
        labels =
            labels.iter().flat_map(|known| values.iter().map(|value| with(known, value)).collect::<Vec<_>>()).collect();
    }
    labels.into_iter().map(|labels| (metric.name.to_owned(), labels)).collect()
}
