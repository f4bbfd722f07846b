//! The answer to `why`, for people: a timeline, and one sentence.

use diagnosis::{Condition, Event, WhyReport};

use crate::sheet::{Cell, Medium, Sheet, Tone, wrapped};

/// The text of a report. Its last line says what is wrong.
pub(super) fn text(report: &WhyReport, medium: Medium) -> String {
    let mut out = wrapped(&Cell::new(heading(report), Tone::Strong), medium) + "\n";
    if report.timeline.is_empty() {
        out.push_str("Nothing is known of it\n");
    } else {
        let mut sheet = Sheet::new(&["time (UTC)", "who", "what"]);
        for event in &report.timeline {
            let at = event.at.strftime("%m-%d %H:%M:%S").to_string();
            sheet.add(vec![Cell::new(at, Tone::Faint), Cell::plain(event.who.as_str()), Cell::plain(what(event))]);
        }
        out.push_str(&sheet.text(medium));
    }
    out + "\n" + &wrapped(&Cell::new(report.conclusion.as_str(), tone(report.condition)), medium)
}

fn heading(report: &WhyReport) -> String {
    let subject = &report.subject;
    let service = subject.service.as_ref().map(|service| format!("service {service}"));
    let task = subject.task.as_ref().map(|task| format!("task {task}"));
    let cluster = subject.cluster.as_deref().and_then(|cluster| cluster.rsplit('/').next());
    let cluster = cluster.map(|cluster| format!("cluster {cluster}"));
    let parts: Vec<String> = [task, service, cluster].into_iter().flatten().collect();
    let mut text = parts.join(", ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

fn what(event: &Event) -> String {
    if event.times == 1 {
        return event.what.clone();
    }
    format!("{} ({} times, last at {})", event.what, event.times, event.last_at.strftime("%m-%d %H:%M:%S"))
}

fn tone(condition: Condition) -> Tone {
    match condition {
        Condition::Healthy => Tone::Good,
        Condition::Ended => Tone::Plain,
        Condition::Starting | Condition::Unknown => Tone::Pending,
        Condition::Faulty => Tone::Bad,
    }
}
