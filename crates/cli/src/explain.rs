//! `ecs-mesh explain`

use clap::Args;

use crate::{
    exit::{Exit, Failure},
    rule_page,
    streams::Streams,
};
use audit::{ignore::unknown_rule, rules::rule};

/// Explain a rule
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ecs-mesh explain consul-network-mode\n  ecs-mesh explain ecs-dependency-unknown | less"
)]
pub(super) struct Arguments {
    /// The rule's name, as findings show it
    #[arg(value_name = "RULE")]
    rule: String,
}

pub(super) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let rule = rule(&arguments.rule).ok_or_else(|| Failure::Message(unknown_rule(&arguments.rule)))?;
    streams.print(&rule_page::text(rule))?;
    Ok(Exit::Clean)
}
