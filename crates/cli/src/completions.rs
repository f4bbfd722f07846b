//! `ecs-mesh completions`

use clap::{Args, Command, builder::PossibleValuesParser};
use clap_complete::Shell;

use crate::{
    exit::{Exit, Failure},
    streams::Streams,
};
use audit::{ignore::rules_and_groups, rules::rules};

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ecs-mesh completions bash > /etc/bash_completion.d/ecs-mesh\n  \
                  ecs-mesh completions zsh > ~/.zfunc/_ecs-mesh\n  \
                  ecs-mesh completions fish > ~/.config/fish/completions/ecs-mesh.fish")]
pub(super) struct Arguments {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments, command: Command, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut with_rules(command), "ecs-mesh", &mut script);
    // clap_complete 4.6 spells a program's hyphen in two ways in one script of bash, so that no option of a command is
    // completed: https://github.com/clap-rs/clap/issues/6421
    streams.print(&String::from_utf8_lossy(&script).replace("ecs__subcmd__mesh", "ecs__mesh"))?;
    Ok(Exit::Clean)
}

/// The command with the names of rules as values of its arguments, which only completions list. The arguments themselves
/// have parsers whose errors suggest a name.
fn with_rules(command: Command) -> Command {
    command.mut_subcommands(with_rules).mut_args(|argument| match argument.get_id().as_str() {
        "select" | "ignore" => argument.value_parser(PossibleValuesParser::new(rules_and_groups())),
        "rule" => argument.value_parser(PossibleValuesParser::new(rules().map(|rule| rule.id))),
        _ => argument,
    })
}
