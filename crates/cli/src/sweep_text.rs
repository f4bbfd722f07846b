//! The plan and the summary of a sweep, for people.

use std::fmt::Write;

use serde_json::Value;

use crate::{
    planned_action::{deletes, described},
    sheet::{Cell, Medium, Sheet, Tone, wrapped},
    sweep_summary::{ClusterSummary, Summary},
};

/// What a sweep would do.
pub(super) fn plan(summary: &Summary, medium: Medium) -> String {
    let mut out = String::new();
    for cluster in summary.clusters.iter().filter(|cluster| !cluster.planned.is_empty()) {
        let planned =
            actions(&cluster.planned, ["action", "on", "because"], |planned| described(planned)[2].clone(), medium);
        let _ = writeln!(out, "{}{planned}", heading(cluster, medium));
    }
    if out.is_empty() {
        let _ = writeln!(out, "Nothing to do in {}", clusters(summary));
    }
    for cluster in &summary.clusters {
        let text = not_now(cluster, medium) + &held_back(cluster, medium) + &skipped(cluster, medium);
        if !text.is_empty() {
            let _ = write!(out, "\n{}{text}", heading(cluster, medium));
        }
    }
    out
}

/// What waits, and what was refused.
fn not_now(cluster: &ClusterSummary, medium: Medium) -> String {
    let text = |field: &'static str| move |action: &Value| action[field].as_str().map(str::to_owned);
    let until = |action: &Value| {
        text("until")(action).map_or_else(|| text("waitsFor")(action), |at| Some(format!("until {at}")))
    };
    let waiting = actions(&cluster.waiting, ["waiting", "on", "for"], |it| until(it).unwrap_or_default(), medium);
    let reason = |it: &Value| text("reason")(it).unwrap_or_default();
    waiting + &actions(&cluster.blocked, ["blocked", "on", "because"], reason, medium)
}

/// A sheet of actions, with a remark on each; empty if there are none.
fn actions(all: &[Value], columns: [&'static str; 3], remark: impl Fn(&Value) -> String, medium: Medium) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut sheet = Sheet::new(&columns);
    for action in all {
        let [what, object, _] = described(action);
        let tone = if deletes(action) { Tone::Bad } else { Tone::Plain };
        sheet.add(vec![Cell::new(what, tone), Cell::plain(object), Cell::plain(remark(action))]);
    }
    sheet.text(medium)
}

/// What a sweep has done.
pub(super) fn done(summary: &Summary, medium: Medium) -> String {
    let mut sheet =
        Sheet::new(&["cluster", "created", "hidden", "deleted", "drained", "repaired", "corrected", "left"]);
    for cluster in &summary.clusters {
        let number = |count: usize| Cell::plain(count.to_string());
        let left = if cluster.left == 0 { Tone::Plain } else { Tone::Bad };
        sheet.add(vec![
            Cell::new(cluster.name(), Tone::Strong),
            number(cluster.created.values().sum()),
            number(cluster.hidden),
            number(cluster.deleted.values().sum()),
            number(cluster.drained),
            number(cluster.repaired),
            number(cluster.corrected),
            Cell::new(cluster.left.to_string(), left),
        ]);
    }
    let mut out = sheet.text(medium);
    for cluster in &summary.clusters {
        let text = not_now(cluster, medium) + &held_back(cluster, medium) + &skipped(cluster, medium);
        if !text.is_empty() {
            let _ = write!(out, "\n{}{text}", heading(cluster, medium));
        }
    }
    out
}

fn heading(cluster: &ClusterSummary, medium: Medium) -> String {
    let status = if cluster.status == "active" { String::new() } else { format!(" ({})", cluster.status) };
    wrapped(&Cell::new(format!("Cluster {}{status}", cluster.name()), Tone::Strong), medium) + "\n"
}

fn held_back(cluster: &ClusterSummary, medium: Medium) -> String {
    let held = |reason: &String| format!("Held back without --force: {reason}");
    let text = cluster.guard.as_ref().map(held);
    text.map(|text| wrapped(&Cell::new(text, Tone::Pending), medium) + "\n").unwrap_or_default()
}

fn skipped(cluster: &ClusterSummary, medium: Medium) -> String {
    if cluster.skipped.is_empty() {
        return String::new();
    }
    let mut sheet = Sheet::new(&["skipped", "because"]);
    for skipped in &cluster.skipped {
        sheet.add(vec![Cell::plain(&skipped.what), Cell::plain(&skipped.why)]);
    }
    sheet.text(medium)
}

fn clusters(summary: &Summary) -> String {
    match summary.clusters.as_slice() {
        [one] => format!("cluster {}", one.name()),
        several => format!("{} clusters", several.len()),
    }
}
