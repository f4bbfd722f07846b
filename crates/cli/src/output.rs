//! The format of what a command prints.

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;

use crate::{exit::Failure, sheet::Medium, streams::Streams};

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// For people
    Text,
    /// For programs
    Json,
}

/// The argument of the commands that read a running account.
#[derive(Debug, Args)]
pub(super) struct OutputArguments {
    /// The format
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t = Output::Text)]
    pub(super) output: Output,
}

impl OutputArguments {
    /// Prints a report: as JSON, or in the words of `text`.
    pub(super) fn show<R: Serialize>(
        &self,
        report: &R,
        text: fn(&R, Medium) -> String,
        streams: &mut Streams<'_>,
    ) -> Result<(), Failure> {
        streams.print(&match self.output {
            Output::Json => json(report),
            Output::Text => text(report, streams.medium()),
        })
    }
}

/// A document for programs, as it is printed.
pub(super) fn json(content: &impl Serialize) -> String {
    format!("{:#}\n", document(content))
}

/// A document that begins with the program and its version.
pub(super) fn document(content: &impl Serialize) -> Value {
    let mut document = serde_json::json!({ "tool": { "name": "ecs-mesh", "version": env!("CARGO_PKG_VERSION") } });
    if let (Value::Object(document), Value::Object(content)) = (&mut document, serde_json::json!(content)) {
        document.extend(content);
    }
    document
}
