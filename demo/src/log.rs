//! What the functions have logged, in short.

use jiff::Timestamp;
use local_stack::world::{World, task_id};
use serde_json::Value;

/// The fields of a line that say what it is about, the first one that it has.
const ABOUT: [&str; 7] = ["holder", "service_id", "check_id", "accessor_id", "task_id", "service", "secret"];

/// The logs of `task-events` and `reconcile`.
pub(crate) struct Log {
    /// The number of lines of each that were read.
    read: [usize; 2],
}

impl Log {
    /// Without what was logged before.
    pub(crate) async fn from_now(world: &World<'_>) -> Self {
        Self { read: logs_of(world).await.map(|lines| lines.len()) }
    }

    /// What the functions have done since the last call, consecutive lines with the same action as one.
    pub(crate) async fn news(&mut self, world: &World<'_>) -> Vec<(Timestamp, String)> {
        let mut news = Vec::new();
        for (lines, read) in logs_of(world).await.into_iter().zip(&mut self.read) {
            let mut last = String::new();
            for line in lines.iter().skip(*read) {
                let Some((moment, what, about)) = parsed(line) else { continue };
                match (news.last_mut(), about) {
                    (Some((_, text)), Some(about)) if last == what => {
                        *text = format!("{text}, {about}");
                    }
                    (_, Some(about)) => news.push((moment, format!("{what}: {about}"))),
                    (_, None) => news.push((moment, what.clone())),
                }
                last = what;
            }
            *read = lines.len();
        }
        news
    }
}

/// When a line was written, the action with its outcome, and what it is about; `None` if it has no action that the demo shows.
fn parsed(line: &str) -> Option<(Timestamp, String, Option<String>)> {
    let event: Value = serde_json::from_str(line).ok()?;
    // Each sweep looks whether the setup of Consul is complete.
    let action = event["action"].as_str().filter(|action| *action != "bootstrap")?;
    let what = format!("{action} {}", event["outcome"].as_str()?);
    let about = ABOUT.iter().find_map(|field| event[*field].as_str()).map(shortened);
    Some((event["timestamp"].as_str()?.parse().ok()?, what, about))
}

/// The log lines of `task-events` and `reconcile`.
async fn logs_of(world: &World<'_>) -> [Vec<String>; 2] {
    [world.aws.logs(&world.deployed.log_group).await, world.aws.logs(&world.deployed.reconcile_log_group).await]
}

/// The number of digits in a shortened ID.
const SHORT: usize = 8;

/// The beginning of a task's ID.
pub(crate) fn short(task: &str) -> String {
    shortened(task_id(task))
}

/// A text with the beginnings of the IDs in it: 32 digits of a task, or five groups of a token.
fn shortened(text: &str) -> String {
    let is_of_token = text.len() == 36 && text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    if is_of_token {
        return format!("{}…", text.chars().take(SHORT).collect::<String>());
    }
    let parts = text.split_inclusive(|c: char| !c.is_ascii_hexdigit());
    let parts = parts.map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_hexdigit).collect();
        if digits.len() == 32 {
            let start: String = digits.chars().take(SHORT).collect();
            part.replacen(&digits, &format!("{start}…"), 1)
        } else {
            part.to_owned()
        }
    });
    parts.collect()
}
