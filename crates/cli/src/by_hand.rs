//! What the operations by hand have in common: the deployed stack, and the question before something is changed.

use clap::Args;

use crate::{exit::Failure, streams::Streams};

/// The stack of the controller
#[derive(Debug, Args)]
#[command(next_help_heading = "Stack")]
pub(super) struct StackArguments {
    /// The name of the controller's stack
    #[arg(long, value_name = "NAME", default_value = "ecs-mesh-controller")]
    pub(super) stack: String,
}

/// Whether to go on: `--yes` says so, or the answer to the question.
///
/// # Errors
/// Nobody can answer.
pub(super) fn may_go_on(is_told: bool, question: &str, streams: &mut Streams<'_>) -> Result<bool, Failure> {
    if is_told {
        return Ok(true);
    }
    let unanswered = || Failure::Message(format!("{question} There is no terminal to answer on: pass --yes"));
    let answer = streams.confirm(question)?.ok_or_else(unanswered)?;
    if !answer {
        streams.diagnostic("Nothing was changed");
    }
    Ok(answer)
}

/// A number with its noun.
pub(super) fn counted(count: usize, singular: &str, plural: &str) -> String {
    format!("{count} {}", if count == 1 { singular } else { plural })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(answer: &str, can_ask: bool) -> Result<bool, Failure> {
        let mut streams = Streams {
            input: &mut answer.as_bytes(),
            output: &mut Vec::new(),
            errors: &mut Vec::new(),
            in_colour: false,
            terminal: None,
            can_ask,
        };
        may_go_on(false, "Sweep, with 1 deletion?", &mut streams)
    }

    #[test]
    fn only_a_yes_goes_on() {
        for (answer, goes_on) in [("y\n", true), ("YES\n", true), ("n\n", false), ("\n", false), ("", false)] {
            assert_eq!(asked(answer, true).unwrap(), goes_on, "{answer:?}");
        }
    }

    #[test]
    fn question_that_nobody_can_answer_is_an_error() {
        let Err(Failure::Message(message)) = asked("y\n", false) else { panic!("it went on") };
        assert_eq!(message, "Sweep, with 1 deletion? There is no terminal to answer on: pass --yes");
    }
}
