//! A timeline as text.

use std::fmt::Write;

use super::model::{Event, Timeline};

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
        self.write_steps(&mut out, "stop", &self.stop);
        if !self.is_complete {
            out.push_str("\n  There may be more containers, which are known only at deployment.\n");
        }
        out
    }

    fn write_steps(&self, out: &mut String, title: &str, steps: &[Vec<Event>]) {
        let _ = writeln!(out, "\n  {title}");
        for (step, events) in steps.iter().enumerate() {
            for (nth, event) in events.iter().enumerate() {
                let label = if nth == 0 { format!("T{step}") } else { String::new() };
                let _ = writeln!(out, "  {label:<4} {} {}", self.name_of(event), event.what);
            }
        }
    }
}
