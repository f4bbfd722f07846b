//! `ecs-mesh man`

use std::{fs, io, path::PathBuf};

use clap::Args;

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
    if let Some(directory) = &arguments.output_dir {
        let failed = |error: io::Error| Failure::of(directory, error);
        fs::create_dir_all(directory).map_err(failed)?;
        clap_mangen::generate_to(command, directory).map_err(failed)?;
        return Ok(Exit::Clean);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    streams.print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Clean)
}
