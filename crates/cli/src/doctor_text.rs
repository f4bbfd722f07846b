//! The checks of an installation, for people.

use std::fmt::Write;

use diagnosis::doctor::{Check, CheckOutcome, DoctorReport};

use crate::{
    by_hand::counted,
    sheet::{Cell, Medium, Sheet, Tone, wrapped},
};

const OUTCOMES: [CheckOutcome; 4] =
    [CheckOutcome::Ok, CheckOutcome::Warning, CheckOutcome::Failed, CheckOutcome::Unknown];

/// The checks, the commands that mend what is not ok, and how many there are of each kind.
pub(super) fn text(report: &DoctorReport, medium: Medium) -> String {
    // One column for both, so that a narrow terminal has both above the sentence.
    let mut sheet = Sheet::new(&["result   check", "seen"]);
    for check in &report.checks {
        let (name, tone) = shown(check.outcome);
        sheet.add(vec![Cell::new(format!("{name:<7}  {}", check.check), tone), Cell::plain(&check.seen)]);
    }
    let mut out = sheet.text(medium);
    let mended = report.checks.iter().filter(|check| check.outcome != CheckOutcome::Ok && !check.mend.is_empty());
    out.extend(mended.map(|check| commands(check, medium)));
    // Writing to a `String` cannot fail.
    let _ = write!(out, "\n{}", wrapped(&Cell::plain(summary(report)), medium));
    out
}

/// The commands of a check, each as it can be pasted: they are not wrapped.
fn commands(check: &Check, medium: Medium) -> String {
    let (name, tone) = shown(check.outcome);
    let mut out = format!("\n{}", wrapped(&Cell::new(format!("{}: {name}", check.check), tone), medium));
    for line in check.mend.iter().flat_map(|command| command.lines()) {
        let _ = writeln!(out, "  {line}");
    }
    out
}

fn shown(outcome: CheckOutcome) -> (&'static str, Tone) {
    match outcome {
        CheckOutcome::Ok => ("ok", Tone::Good),
        CheckOutcome::Warning => ("warning", Tone::Pending),
        CheckOutcome::Failed => ("failed", Tone::Bad),
        CheckOutcome::Unknown => ("unknown", Tone::Pending),
    }
}

fn summary(report: &DoctorReport) -> String {
    let kinds = OUTCOMES.map(|outcome| (report.count(outcome), shown(outcome).0));
    let kinds = kinds.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}"));
    format!("{}: {}", counted(report.checks.len(), "check", "checks"), kinds.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> DoctorReport {
        let check = |check, outcome, seen: &str, mend: &[&str]| Check {
            check,
            outcome,
            seen: seen.to_owned(),
            mend: mend.iter().map(|&command| command.to_owned()).collect(),
        };
        let long = "aws lambda update-event-source-mapping --uuid 0123-4567 --enabled --region us-east-1";
        DoctorReport {
            read_at: "2026-11-23T12:00:00Z".parse().unwrap(),
            checks: vec![
                check("stack", CheckOutcome::Ok, "mesh is CREATE_COMPLETE", &[]),
                check("queue", CheckOutcome::Failed, "about 3 messages wait", &[long]),
            ],
        }
    }

    #[test]
    fn command_is_not_wrapped() {
        let text = text(&report(), Medium { width: Some(40), in_colour: false });
        let commands =
            "\nqueue: failed\n  aws lambda update-event-source-mapping --uuid 0123-4567 --enabled --region us-east-1\n";
        assert!(text.contains(commands), "{text}");
        assert!(text.ends_with("\n2 checks: 1 ok, 1 failed\n"), "{text}");
    }

    #[test]
    fn pipe_gets_one_line_for_each_check() {
        let text = text(&report(), Medium { width: None, in_colour: false });
        let start =
            "result   check  seen\nok       stack  mesh is CREATE_COMPLETE\nfailed   queue  about 3 messages wait\n";
        assert!(text.starts_with(start), "{text}");
    }
}
