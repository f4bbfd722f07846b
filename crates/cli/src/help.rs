//! `ecs-mesh completions` and `ecs-mesh man`

use std::{fs, path::PathBuf};

use audit::{ignore::rules_and_groups, rules::rules};
use clap::{Args, Command, builder::PossibleValuesParser};
use clap_complete::Shell;
use clap_mangen::{Man, generate_to};

use crate::streams::{Exit, Failure, Streams};

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ecs-mesh completions bash > /etc/bash_completion.d/ecs-mesh\n  \
                  ecs-mesh completions zsh > ~/.zfunc/_ecs-mesh\n  \
                  ecs-mesh completions fish > ~/.config/fish/completions/ecs-mesh.fish")]
pub(super) struct CompletionArguments {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn completions(
    arguments: &CompletionArguments,
    command: Command,
    streams: &mut Streams<'_>,
) -> Result<Exit, Failure> {
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

/// Print the manual page, or write a page for each command
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ecs-mesh man | man -l -\n  ecs-mesh man --output-dir ~/.local/share/man/man1")]
pub(super) struct ManArguments {
    /// Write a page for each command to this directory
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

pub(super) fn man(
    arguments: &ManArguments,
    command: clap::Command,
    streams: &mut Streams<'_>,
) -> Result<Exit, Failure> {
    match &arguments.output_dir {
        Some(directory) => fs::create_dir_all(directory)
            .and_then(|()| generate_to(command, directory))
            .map_err(|error| Failure::of(directory, error))?,
        None => Man::new(command).render(streams.output)?,
    }
    Ok(Exit::Clean)
}
