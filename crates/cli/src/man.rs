//! `ecs-mesh man`

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use clap_mangen::{
    Man,
    roff::{Roff, roman},
};

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

/// How the blocks of a command's `after_help` begin that are sections of their own, with the names of man-pages(7). The
/// others are part of the description.
const EXIT_STATUS: (&str, &str) = ("Exit codes: ", "EXIT STATUS");
const EXAMPLES: (&str, &str) = ("Examples:\n", "EXAMPLES");

pub(super) fn run(
    arguments: &Arguments,
    mut command: clap::Command,
    streams: &mut Streams<'_>,
) -> Result<Exit, Failure> {
    command.build();
    if let Some(directory) = &arguments.output_dir {
        let failed = |error: io::Error| Failure::of(directory, error);
        fs::create_dir_all(directory).map_err(failed)?;
        write_pages(&command, directory).map_err(failed)?;
        return Ok(Exit::Clean);
    }
    streams.print(&String::from_utf8_lossy(&page(&manual(&command), &command)?))?;
    Ok(Exit::Clean)
}

/// Writes the pages of a command and its subcommands.
fn write_pages(command: &clap::Command, directory: &Path) -> io::Result<()> {
    for subcommand in command.get_subcommands() {
        write_pages(subcommand, directory)?;
    }
    let manual = manual(command);
    fs::write(directory.join(manual.get_filename()), page(&manual, command)?)
}

fn manual(command: &clap::Command) -> Man {
    let version = concat!("ecs-mesh ", env!("CARGO_PKG_VERSION"));
    // The crate `roff` does not quote an empty date, so that the version would be taken for it.
    Man::new(command.clone()).date(" ").source(version).manual("ecs-mesh Manual")
}

fn page(manual: &Man, command: &clap::Command) -> io::Result<Vec<u8>> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let is_section = |block: &&str| [EXIT_STATUS, EXAMPLES].iter().any(|(beginning, _)| block.starts_with(beginning));
    let (sections, description): (Vec<&str>, Vec<&str>) = help.split("\n\n").partition(is_section);
    let mut page = Vec::new();
    manual.render_title(&mut page)?;
    manual.render_name_section(&mut page)?;
    manual.render_synopsis_section(&mut page)?;
    manual.render_description_section(&mut page)?;
    let mut rest = Roff::new();
    for block in description {
        paragraph(rest.control("PP", []), block);
    }
    rest.to_writer(&mut page)?;
    manual.render_options_section(&mut page)?;
    if command.has_subcommands() {
        manual.render_subcommands_section(&mut page)?;
    }
    let mut rest = Roff::new();
    for (beginning, heading) in [EXIT_STATUS, EXAMPLES] {
        for block in sections.iter().filter_map(|block| block.strip_prefix(beginning)) {
            paragraph(rest.control("SH", [heading]), block);
        }
    }
    rest.to_writer(&mut page)?;
    Ok(page)
}

/// Lines of text, and indented ones that stay as they are.
fn paragraph(roff: &mut Roff, block: &str) {
    let mut is_filled = true;
    for line in block.lines() {
        if is_filled == line.starts_with(' ') {
            is_filled = !is_filled;
            roff.control(if is_filled { "fi" } else { "nf" }, []);
        }
        roff.text([roman(line)]);
    }
    if !is_filled {
        roff.control("fi", []);
    }
}
