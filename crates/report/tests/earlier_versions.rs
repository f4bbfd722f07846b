//! What commit 34de29d wrote is still read.

#![allow(clippy::unwrap_used)]

use jiff::Timestamp;
use report::{LogAction, LogLine, LogOutcome};
use serde_json::Value;

#[test]
fn each_line_of_the_log_keeps_its_action_its_outcome_and_its_fields() {
    for text in include_str!("written_by_34de29d/log.jsonl").lines() {
        let line = LogLine::parse(text, Timestamp::UNIX_EPOCH).unwrap();
        assert!(!matches!(line.action, Some(LogAction::Other(_))), "{text}");
        assert!(!matches!(line.outcome, Some(LogOutcome::Other(_))), "{text}");
        let read = format!("{line:?}");
        let written: Value = serde_json::from_str(text).unwrap();
        for (field, value) in written.as_object().unwrap() {
            // The level and the call of an `observe` are for people
            let is_kept = matches!(field.as_str(), "timestamp" | "level" | "call" | "action" | "outcome" | "error");
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            assert!(is_kept || read.contains(&value.escape_debug().to_string()), "{field} of {text}: {read}");
        }
    }
}
