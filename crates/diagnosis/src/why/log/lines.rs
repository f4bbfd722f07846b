//! Lines that belong together: `awslogs` makes an event of each line, and one message may have several.

use observe::LogEvent;

/// How hclog begins the lines of a value with several: <https://github.com/hashicorp/go-hclog/blob/main/intlogger.go>
const VALUE: &str = "| ";

/// The events, each with the indented ones that continue it: the values of hclog, stack traces. A log whose lines are all indented
/// stays as it is.
pub(super) fn joined(events: &[LogEvent]) -> Vec<LogEvent> {
    let mut lines: Vec<LogEvent> = Vec::new();
    for event in events {
        if let Some(last) = lines.last_mut().filter(|last| is_indented(&event.text) && !is_indented(&last.text)) {
            last.text.extend(parts(&event.text).flat_map(|part| [" ", part]));
            continue;
        }
        let indent = if is_indented(&event.text) { " " } else { "" };
        let text = parts(&event.text).collect::<Vec<_>>().join(" ");
        lines.push(LogEvent { at: event.at, text: format!("{indent}{text}") });
    }
    lines
}

/// Whether a line continues another one.
fn is_indented(text: &str) -> bool {
    text.starts_with([' ', '\t'])
}

/// The lines of an event, without their indentation.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.lines().map(str::trim).map(|line| line.strip_prefix(VALUE).unwrap_or(line).trim_start());
    parts.filter(|line| !line.is_empty())
}
