//! The answer to `why`, for people: a timeline, and one sentence.

use diagnosis::{Condition, Event, WhyReport};

use crate::sheet::{Cell, Medium, Sheet, Tone, wrapped};

/// The width, in characters, below which a terminal is narrow.
const NARROW: u16 = 80;

/// The text of a report. Its last line says what is wrong.
pub(super) fn text(report: &WhyReport, medium: Medium) -> String {
    let mut out = wrapped(&Cell::new(heading(report), Tone::Strong), medium) + "\n";
    if report.timeline.is_empty() {
        out.push_str("Nothing is known of it\n");
    } else {
        let sheet = timeline(&report.timeline, medium);
        out.push_str(&sheet.text(medium));
    }
    out + "\n" + &wrapped(&Cell::new(report.conclusion.as_str(), tone(report.condition)), medium)
}

/// The timeline. On a narrow terminal, who did something stands beside when it was.
fn timeline(events: &[Event], medium: Medium) -> Sheet {
    let is_narrow = medium.width.is_some_and(|width| width < NARROW);
    let mut sheet = Sheet::new(if is_narrow { &["time (UTC)", "what"] } else { &["time (UTC)", "who", "what"] });
    for event in events {
        let (at, who) = (event.at.strftime("%m-%d %H:%M:%S"), event.who.as_str());
        sheet.add(if is_narrow {
            vec![Cell::new(format!("{at}  {who}"), Tone::Faint), Cell::plain(what(event))]
        } else {
            vec![Cell::new(at.to_string(), Tone::Faint), Cell::plain(who), Cell::plain(what(event))]
        });
    }
    sheet
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

#[cfg(test)]
mod tests {
    use diagnosis::{Cause, Subject, Who};
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    fn report() -> WhyReport {
        let at: Timestamp = "2026-11-23T11:40:02Z".parse().unwrap();
        let event = |minutes, who, what: &str, times| {
            let first = at - SignedDuration::from_mins(minutes);
            Event { at: first, who, what: what.to_owned(), times, last_at: at }
        };
        let task = "0123456789abcdef0123456789abcdef";
        WhyReport {
            read_at: at,
            since: at - SignedDuration::from_hours(24),
            subject: Subject {
                task: Some(task.to_owned()),
                service: Some("web".to_owned()),
                cluster: Some("arn:aws:ecs:us-east-1:123456789012:cluster/prod".to_owned()),
            },
            timeline: vec![
                event(
                    90,
                    Who::Ecs,
                    "created it for the service web: web:7, consul-ecs 0.9.0, consul-dataplane 1.6.2",
                    1,
                ),
                event(20, Who::Controller, "failed: its work (consul_unavailable): no leader", 3),
                event(0, Who::Consul, "now has no instance of it", 1),
            ],
            condition: Condition::Faulty,
            cause: Cause::LostFromTheCatalog,
            conclusion:
                "Consul has lost it: the next sweep registers it again, or ecs-mesh sweep --cluster prod does so now"
                    .to_owned(),
            problems: Vec::new(),
        }
    }

    fn shown(width: Option<u16>, in_colour: bool) -> String {
        text(&report(), Medium { width, in_colour })
    }

    #[test]
    fn last_line_on_a_pipe_is_the_conclusion() {
        let expected = "Task 0123456789abcdef0123456789abcdef, service web, cluster prod\n\n\
            time (UTC)      who         what\n\
            11-23 10:10:02  ECS         created it for the service web: web:7, consul-ecs 0.9.0, consul-dataplane 1.6.2\n\
            11-23 11:20:02  controller  failed: its work (consul_unavailable): no leader (3 times, last at 11-23 11:40:02)\n\
            11-23 11:40:02  Consul      now has no instance of it\n\n\
            Consul has lost it: the next sweep registers it again, or ecs-mesh sweep --cluster prod does so now\n";
        assert_eq!(shown(None, false), expected);
    }

    #[test]
    fn narrow_terminal_gets_lines_that_fit() {
        for width in [40, 60, 120] {
            let text = shown(Some(width), false);
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{text}");
        }
        assert!(shown(Some(60), true).contains('\u{1b}'));
    }
}
