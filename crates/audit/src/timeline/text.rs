//! A timeline as text, and as the text of a Mermaid flow chart: <https://mermaid.js.org/syntax/flowchart.html>

use std::fmt::Write;

use super::{Timeline, TimelineEvent};
use mesh::definition::LONGEST_START;

/// What an unlimited wait leads to.
fn unlimited() -> String {
    let hours = LONGEST_START.as_secs() / 3600;
    format!("without startTimeout, a container that never gets HEALTHY keeps the task PENDING for about {hours} hours")
}

impl Timeline {
    /// The timeline as lines of text.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n", self.name);
        self.write_steps(&mut out, "start", &self.start);
        let mut heading = "\n  never\n";
        for (lane, reason) in self.stuck() {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{heading}       {}: {reason}", lane.container);
            heading = "";
        }
        if !self.unlimited.is_empty() {
            let waits = self.unlimited.join(", ");
            let _ = writeln!(out, "\n  without a limit\n       {waits}: {}", unlimited());
        }
        self.write_steps(&mut out, "stop", &self.stop);
        if !self.is_complete {
            out.push_str("\n  More containers may exist that are known only at deployment.\n");
        }
        out
    }

    fn write_steps(&self, out: &mut String, title: &str, steps: &[Vec<TimelineEvent>]) {
        let _ = writeln!(out, "\n  {title}");
        for (step, events) in steps.iter().enumerate() {
            for (nth, event) in events.iter().enumerate() {
                let label = if nth == 0 { format!("T{step}") } else { String::new() };
                let _ = writeln!(out, "  {label:<4} {} {}", self.name_of(event), event.what);
            }
        }
    }
}

impl Timeline {
    /// The timeline as a Mermaid flow chart: the start and the stop, step by step.
    pub fn mermaid(&self) -> String {
        let mut out = "flowchart LR\n".to_owned();
        self.write_chart(&mut out, "start", &self.start);
        let stuck: Vec<String> = self
            .stuck()
            .map(|(lane, reason)| format!("<b>{}</b> never starts: {}", escape(&lane.container), escape(reason)))
            .collect();
        if !stuck.is_empty() {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "  never[\"{}\"]", stuck.join("<br/>"));
        }
        if !self.unlimited.is_empty() {
            let _ = writeln!(out, "  unlimited[\"{}: {}\"]", escape(&self.unlimited.join(", ")), escape(&unlimited()));
        }
        self.write_chart(&mut out, "stop", &self.stop);
        out
    }

    fn write_chart(&self, out: &mut String, title: &str, steps: &[Vec<TimelineEvent>]) {
        let _ = writeln!(out, "  subgraph {title}[\"{} of {}\"]\n    direction LR", capital(title), escape(&self.name));
        for (step, events) in steps.iter().enumerate() {
            let lines =
                events.iter().map(|event| format!("<b>{}</b> {}", escape(self.name_of(event)), escape(&event.what)));
            let lines: Vec<String> = [format!("T{step}")].into_iter().chain(lines).collect();
            let _ = writeln!(out, "    {title}{step}[\"{}\"]", lines.join("<br/>"));
        }
        for step in 1..steps.len() {
            let _ = writeln!(out, "    {title}{} --> {title}{step}", step - 1);
        }
        out.push_str("  end\n");
    }
}

fn capital(title: &str) -> &'static str {
    if title == "start" { "Start" } else { "Stop" }
}

/// Text in quotes may contain HTML: special characters become entities with `#`.
fn escape(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            c if c.is_alphanumeric() || " .,:/()-_".contains(c) => c.to_string(),
            c if c.is_control() => " ".to_owned(),
            c => format!("#{};", u32::from(c)),
        })
        .collect()
}
