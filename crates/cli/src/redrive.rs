//! `ecs-mesh redrive`

use std::time::Duration;

use audit::report::counted;
use aws::{
    installation::AwsInstallation,
    queue::{DeadLetterQueue, DeadLetterQueues, FailedMessage, Redrive},
};
use clap::Args;
use diagnosis::summarize_message;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    account::{AwsArguments, runtime},
    installation::StackArguments,
    output::{self, Output, OutputArguments, Progress},
    sheet::{Cell, Medium, NOTHING_TO_SAY, Sheet, Tone, ago},
    streams::{Exit, Failure, Streams, confirm_unless},
};

const FAILED_EVENTS: &str = "FailedEventsQueue";
/// How often the progress is read.
const INTERVAL: Duration = Duration::from_secs(2);
/// How many reads SQS may take to list a redrive that it has started.
const MAX_UNLISTED: usize = 15;

/// Show the messages in the dead-letter queue, and return them to their source queue
#[derive(Debug, Args)]
#[command(
    after_help = "Fix the cause first: the log of the function `task-events` shows it. The function acknowledges \
                  messages whose work is already done.\n\n\
                  Exit codes: 0 nothing to return, or all returned, 1 messages remain, 2 the redrive failed, or AWS \
                  refused it.\n\n\
                  Examples:\n  ecs-mesh redrive --dry-run\n  ecs-mesh redrive\n  ecs-mesh redrive --stack mesh-eu --yes"
)]
pub(super) struct Arguments {
    /// Show the messages without returning any
    #[arg(long)]
    dry_run: bool,
    /// Skip the confirmation prompt
    #[arg(long, short, conflicts_with = "dry_run")]
    yes: bool,
    #[command(flatten)]
    stack: StackArguments,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    aws: AwsArguments,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    runtime()?.block_on(async {
        let sdk = arguments.aws.sdk().await?;
        let (installation, queues) = (AwsInstallation::new(&sdk), DeadLetterQueues::new(&sdk));
        let progress = Progress::new()?;
        progress.say("reading the dead-letter queue");
        let read = async {
            let url = installation.resource(&arguments.stack.stack, FAILED_EVENTS).await;
            let url = url.map_err(Failure::new)?;
            let queue = queues.queue(&url).await.map_err(Failure::new)?;
            let some =
                if queue.messages == 0 { Vec::new() } else { queues.sample(&url).await.map_err(Failure::new)? };
            Ok::<_, Failure>((queue, some))
        };
        let (queue, some) = progress.during(read).await?;
        let found = Found { queue, some };
        if arguments.output.output == Output::Text {
            streams.print(&found.text(streams.medium()))?;
        }
        let question = format!("Return {} to the queue?", found.count());
        let is_only_shown = found.queue.messages == 0 || arguments.dry_run;
        let moved = if is_only_shown || !confirm_unless(arguments.yes, &question, streams)? {
            None
        } else {
            Some(redrive(&queues, &found.queue, &progress).await?)
        };
        end(arguments, &found, moved.as_ref(), streams)
    })
}

fn end(
    arguments: &Arguments,
    found: &Found,
    moved: Option<&Redrive>,
    streams: &mut Streams<'_>,
) -> Result<Exit, Failure> {
    match (arguments.output.output, moved) {
        (Output::Json, _) => streams.print(&format!("{:#}\n", found.document(moved)))?,
        (Output::Text, Some(moved)) => streams.print(&format!("{} returned\n", messages(moved.moved)))?,
        (Output::Text, None) => {}
    }
    match moved {
        Some(moved) if moved.status == "COMPLETED" => Ok(Exit::Clean),
        Some(Redrive { status, failure, .. }) => {
            let why = failure.clone().unwrap_or_else(|| format!("its status is {status}"));
            Err(Failure::Message(format!("redrive did not finish: {why}")))
        }
        None if found.queue.messages == 0 => Ok(Exit::Clean),
        None => Ok(Exit::Findings),
    }
}

/// Starts the redrive, and waits until it has ended.
async fn redrive(queues: &DeadLetterQueues, queue: &DeadLetterQueue, progress: &Progress) -> Result<Redrive, Failure> {
    let newest = async || queues.newest_redrive(&queue.arn).await.map_err(Failure::new);
    let before = newest().await?.map(|earlier| earlier.started);
    queues.start_redrive(&queue.arn).await.map_err(Failure::new)?;
    let work = async {
        let mut unlisted = 0;
        loop {
            match newest().await?.filter(|moved| Some(moved.started) != before) {
                Some(moved) if moved.status != "RUNNING" => return Ok(moved),
                Some(moved) => progress.say(&format!("{} of {} messages returned", moved.moved, queue.messages)),
                None if unlisted == MAX_UNLISTED => {
                    let command = format!("aws sqs list-message-move-tasks --source-arn {}", queue.arn);
                    return Err(Failure::Message(format!(
                        "SQS accepted the redrive but reports no progress. Check with {command}"
                    )));
                }
                None => unlisted += 1,
            }
            tokio::time::sleep(INTERVAL).await;
        }
    };
    progress.during(work).await
}

fn messages(count: usize) -> String {
    counted(count, "message")
}

struct Found {
    queue: DeadLetterQueue,
    some: Vec<FailedMessage>,
}

impl Found {
    /// SQS counts only approximately.
    fn count(&self) -> String {
        format!("about {}", messages(self.queue.messages))
    }

    fn text(&self, medium: Medium) -> String {
        if self.queue.messages == 0 {
            return "The dead-letter queue is empty\n".to_owned();
        }
        let mut sheet = Sheet::new(&["sent", "message"]);
        let now = Timestamp::now();
        for message in &self.some {
            let sent = message.sent_at.map_or_else(|| NOTHING_TO_SAY.to_owned(), |at| ago(at, now));
            sheet.add(vec![Cell::plain(sent), Cell::new(summarize_message(&message.body), Tone::Plain)]);
        }
        let some = match self.some.len() {
            shown if shown < self.queue.messages => format!(" (showing {shown})"),
            _ => String::new(),
        };
        format!("The dead-letter queue has {}{some}:\n\n{}\n", self.count(), sheet.text(medium))
    }

    fn document(&self, moved: Option<&Redrive>) -> Value {
        let some = self.some.iter().map(|message| {
            let sent_at = message.sent_at.map(|at| at.to_string());
            json!({ "sentAt": sent_at, "says": summarize_message(&message.body) })
        });
        output::document(&json!({
            "queueArn": self.queue.arn,
            "messages": self.queue.messages,
            "some": some.collect::<Vec<Value>>(),
            "returned": moved.map(|moved| json!({ "messages": moved.moved, "status": moved.status })),
        }))
    }
}
