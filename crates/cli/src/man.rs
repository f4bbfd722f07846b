//! `ecs-mesh man`

use std::{fs, path::PathBuf};

use clap::Args;
use clap_mangen::{Man, generate_to};

use crate::{
    exit::{Exit, Failure},
    streams::Streams,
};

/// Print the manual page, or write a page for each command
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ecs-mesh man | man -l -\n  ecs-mesh man --output-dir ~/.local/share/man/man1")]
pub(super) struct Arguments {
    /// Write a page for each command to this directory
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, command: clap::Command, streams: &mut Streams<'_>) -> Result<Exit, Failure> {
    match &arguments.output_dir {
        Some(directory) => fs::create_dir_all(directory)
            .and_then(|()| generate_to(command, directory))
            .map_err(|error| Failure::of(directory, error))?,
        None => Man::new(command).render(streams.output)?,
    }
    Ok(Exit::Clean)
}
