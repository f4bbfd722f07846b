//! `ecs-mesh compare`

use clap::Args;
use diagnosis::{CompareReport, KindReport, StillToDo, clusters_of, compare};
use jiff::Timestamp;
use observe::Wanted;

use crate::{
    account::{AwsArguments, runtime, selected},
    clients::{Clients, known},
    history::HistoryArguments,
    installation::{Installation, PrefixArguments},
    output::{OutputArguments, Progress},
    sheet::{Cell, Medium, NOTHING_TO_SAY, Sheet, Tone, ago, wrapped},
    streams::{Exit, Failure, Streams},
};

/// Compare what a stack in Mode=observe would have done with what another controller did
#[derive(Debug, Args)]
#[command(after_help = "It only reads: the log of the stack's functions, then ECS and Consul (CONSUL_HTTP_ADDR, \
                  CONSUL_HTTP_TOKEN, …) in the clusters that the log names. It shows what remains to do.\n\n\
                  Exit codes: 0 nothing remains to do, 1 something remains, 2 something could not be read, or the log \
                  has no lines of Mode=observe.\n\n\
                  Examples:\n  ecs-mesh compare\n  ecs-mesh compare --since 7d --stack ecs-mesh-observer\n  \
                  ecs-mesh compare --output json")]
pub(super) struct Arguments {
    #[command(flatten)]
    prefix: PrefixArguments,
    #[command(flatten)]
    history: HistoryArguments,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    aws: AwsArguments,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let progress = Progress::new()?;
        let report = Box::pin(progress.during(read(arguments, &progress))).await?;
        arguments.output.show(&report, text, streams)?;
        streams.problems(&report.problems);
        Ok(exit(&report))
    })
}

/// Reads the history first: what is done meanwhile counts as done.
async fn read(arguments: &Arguments, progress: &Progress) -> Result<CompareReport, Failure> {
    let clients = Clients::new(&arguments.aws).await?;
    let since = arguments.history.since(Timestamp::now());
    progress.say("reading the log of the functions");
    let history = arguments.history.read(&clients.sdk, Wanted::Observed, since).await;
    progress.say("listing clusters");
    let mut clusters = selected(&clients.ecs, &[]).await?;
    let named = clusters_of(&history);
    clusters.retain(|cluster| named.contains(cluster.as_str()));
    let installation = Installation::read(&clients.sdk, arguments.history.stack(), &arguments.prefix).await?;
    let (observed, tokens) = clients.read(&installation, &clusters, progress).await;
    let mut report = compare(&history, since, &observed, known(&tokens), Timestamp::now());
    report.problems.extend(installation.problem);
    report.problems.extend(tokens.err().filter(|problem| !report.problems.contains(problem)));
    Ok(report)
}

fn exit(report: &CompareReport) -> Exit {
    if !report.problems.is_empty() || report.is_empty() {
        Exit::Unusable
    } else if report.still_to_do.is_empty() {
        Exit::Clean
    } else {
        Exit::Findings
    }
}

/// The text of a report. Its last line is the conclusion.
fn text(report: &CompareReport, medium: Medium) -> String {
    let mut out = String::new();
    if !report.kinds.is_empty() {
        let mut sheet =
            Sheet::new(&["would have done", "planned", "done by others", "slowest took", "unknown", "left"]);
        for kind in &report.kinds {
            sheet.add(kind_row(kind));
        }
        out.push_str(&sheet.text(medium));
        out.push('\n');
    }
    if !report.still_to_do.is_empty() {
        let mut sheet = Sheet::new(&["still to do", "cluster", "seen since", "last seen", "on"]);
        for left in &report.still_to_do {
            sheet.add(left_row(left, report.read_at));
        }
        out.push_str(&sheet.text(medium));
        out.push('\n');
    }
    let tone = if report.still_to_do.is_empty() && !report.is_empty() { Tone::Good } else { Tone::Pending };
    out + &wrapped(&Cell::new(report.conclusion.as_str(), tone), medium)
}

fn kind_row(kind: &KindReport) -> Vec<Cell> {
    let slowest = kind.slowest.map_or_else(
        || NOTHING_TO_SAY.to_owned(),
        |slowest| format!("{} to {}", span(slowest.at_least_seconds), span(slowest.at_most_seconds)),
    );
    let left = if kind.still_to_do == 0 { Tone::Good } else { Tone::Pending };
    vec![
        Cell::new(kind.kind.as_str(), Tone::Strong),
        Cell::plain(kind.planned.to_string()),
        Cell::plain(kind.done_by_others.to_string()),
        Cell::plain(slowest),
        Cell::plain(if kind.unknown == 0 { NOTHING_TO_SAY.to_owned() } else { kind.unknown.to_string() }),
        Cell::new(
            if kind.still_to_do == 0 { "nothing".to_owned() } else { format!("{} still to do", kind.still_to_do) },
            left,
        ),
    ]
}

fn left_row(left: &StillToDo, now: Timestamp) -> Vec<Cell> {
    let cluster = left.cluster.as_deref().and_then(|cluster| cluster.rsplit('/').next()).unwrap_or(NOTHING_TO_SAY);
    vec![
        Cell::new(left.kind.as_str(), Tone::Strong),
        Cell::plain(cluster),
        Cell::plain(ago(left.first_seen, now)),
        Cell::plain(ago(left.last_seen, now)),
        Cell::plain(left.subject.as_str()),
    ]
}

/// A number of seconds in its largest unit.
fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use diagnosis::{Slowest, WorkKind};
    use jiff::SignedDuration;

    use super::*;

    fn report() -> CompareReport {
        let now: Timestamp = "2026-11-23T12:00:00Z".parse().unwrap();
        let left = StillToDo {
            kind: WorkKind::InstancesDeregistered,
            subject: "web-0123456789abcdef0123456789abcdef".to_owned(),
            cluster: Some("arn:aws:ecs:us-east-1:123456789012:cluster/prod".to_owned()),
            first_seen: now - SignedDuration::from_hours(3),
            last_seen: now - SignedDuration::from_mins(2),
        };
        CompareReport {
            read_at: now,
            since: now - SignedDuration::from_hours(24),
            sweeps: 288,
            kinds: vec![KindReport {
                kind: WorkKind::InstancesDeregistered,
                planned: 41,
                done_by_others: 40,
                still_to_do: 1,
                unknown: 0,
                slowest: Some(Slowest { at_least_seconds: 7, at_most_seconds: 301 }),
            }],
            still_to_do: vec![left],
            conclusion: "This controller would have made 41 changes; 1 remains".to_owned(),
            problems: Vec::new(),
        }
    }

    #[test]
    fn comparison_is_two_tables_and_a_sentence() {
        let expected = "\
            would have done       planned  done by others  slowest took  unknown  left\n\
            deregister instances  41       40              7 s to 5 min  –        1 still to do\n\n\
            still to do           cluster  seen since  last seen  on\n\
            deregister instances  prod     3 h ago     2 min ago  web-0123456789abcdef0123456789abcdef\n\n\
            This controller would have made 41 changes; 1 remains\n";
        assert_eq!(text(&report(), Medium { width: None, in_colour: false }), expected);
    }

    #[test]
    fn narrow_terminal_gets_lines_that_fit() {
        for width in [40, 60, 120] {
            let text = text(&report(), Medium { width: Some(width), in_colour: false });
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{text}");
        }
    }
}
