//! The format of what a command prints.

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};

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

/// A document that begins with the program and its version.
pub(super) fn document(content: &impl Serialize) -> Value {
    let mut document = json!({ "tool": { "name": "ecs-mesh", "version": env!("CARGO_PKG_VERSION") } });
    if let (Value::Object(document), Value::Object(content)) = (&mut document, json!(content)) {
        document.extend(content);
    }
    document
}
