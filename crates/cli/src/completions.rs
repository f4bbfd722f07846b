//! `ecs-mesh completions`

use clap::Args;
use clap_complete::Shell;

use crate::{
    exit::{Exit, Failure},
    streams::Streams,
};

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

pub(super) fn run(
    arguments: &Arguments,
    mut command: clap::Command,
    streams: &mut Streams<'_>,
) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "ecs-mesh", &mut script);
    // clap_complete 4.6 spells a program's hyphen in two ways in one script of bash, so that no option of a command is
    // completed: https://github.com/clap-rs/clap/issues/6421
    streams.print(&String::from_utf8_lossy(&script).replace("ecs__subcmd__mesh", "ecs__mesh"))?;
    Ok(Exit::Clean)
}
