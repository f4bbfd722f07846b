//! The command line, `ecs-mesh`: one module for each command.
//!
//! ```text
//!  check fix inject graph rules explain config  task definitions, by the crates `audit` and `audit-live`
//!  status inventory why compare doctor       what runs, and why it does not, by the crate `diagnosis`
//!  sweep redrive                             the operations by hand, by the deployed stack
//! ```

mod add_ignore;
mod by_hand;
mod changes;
mod check;
mod checked;
mod compare;
mod compare_text;
mod completions;
mod config;
mod config_text;
mod configuration;
mod connect;
mod consul_variables;
mod controller_log;
mod doctor;
mod doctor_text;
mod exit;
mod explain;
mod fix;
mod graph;
mod inject;
mod inventory;
mod inventory_text;
mod live;
mod man;
mod output;
mod progress;
mod reading;
mod reconcile;
mod redrive;
mod rule_page;
mod rules;
mod sheet;
mod span;
mod statistics;
mod status;
mod status_text;
mod streams;
mod sweep;
mod sweep_summary;
mod sweep_text;
mod upgrade_text;
mod why;
mod why_text;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use self::exit::Failure;
pub use self::{exit::Exit, streams::Streams};

#[derive(Debug, Parser)]
#[command(
    name = "ecs-mesh",
    version,
    about = "Checks ECS task definitions for Consul's service mesh, and shows and repairs what runs in it",
    after_help = "Examples:\n  ecs-mesh check\n  ecs-mesh check template.yaml --output sarif --output-file ecs-mesh.sarif\n  \
                  aws ecs describe-task-definition --task-definition web --include TAGS | ecs-mesh check -\n  \
                  ecs-mesh explain consul-network-mode\n  ecs-mesh status --cluster prod\n  ecs-mesh why web --cluster prod\n  \
                  ecs-mesh doctor\n  ecs-mesh sweep --dry-run",
    disable_help_subcommand = true
)]
struct Cli {
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto)]
    color: Colour,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Colour {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// In any case
    Always,
    /// In no case
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Arguments),
    Fix(fix::Arguments),
    Inject(inject::Arguments),
    Rules(rules::Arguments),
    Explain(explain::Arguments),
    Graph(graph::Arguments),
    Config(config::Arguments),
    Status(status::Arguments),
    Why(why::Arguments),
    Inventory(inventory::Arguments),
    Compare(compare::Arguments),
    Doctor(doctor::Arguments),
    Sweep(sweep::Arguments),
    Redrive(redrive::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

/// Runs `ecs-mesh` with these arguments, the program's name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>, streams: &mut Streams<'_>) -> Exit {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, streams),
    };
    streams.set_colour(match cli.color {
        Colour::Auto => None,
        Colour::Always => Some(true),
        Colour::Never => Some(false),
    });
    let ended = match &cli.command {
        Command::Check(arguments) => check::run(arguments, streams),
        Command::Fix(arguments) => fix::run(arguments, streams),
        Command::Inject(arguments) => inject::run(arguments, streams),
        Command::Rules(arguments) => rules::run(arguments, streams),
        Command::Explain(arguments) => explain::run(arguments, streams),
        Command::Graph(arguments) => graph::run(arguments, streams),
        Command::Config(arguments) => config::run(arguments, streams),
        Command::Status(arguments) => status::run(arguments, streams),
        Command::Inventory(arguments) => inventory::run(arguments, streams),
        Command::Doctor(arguments) => doctor::run(arguments, streams),
        Command::Why(arguments) => why::run(arguments, streams),
        Command::Compare(arguments) => compare::run(arguments, streams),
        Command::Sweep(arguments) => sweep::run(arguments, streams),
        Command::Redrive(arguments) => redrive::run(arguments, streams),
        Command::Completions(arguments) => completions::run(arguments, Cli::command(), streams),
        Command::Man(arguments) => man::run(arguments, Cli::command(), streams),
    };
    match ended {
        Ok(exit) => exit,
        Err(Failure::Closed) => Exit::Clean,
        Err(Failure::Message(reason)) => {
            streams.diagnostic(&format!("error: {reason}"));
            Exit::Unusable
        }
    }
}

/// Help and version are printed to standard output; everything else is an error.
fn refuse(error: &clap::Error, streams: &mut Streams<'_>) -> Exit {
    if error.use_stderr() {
        streams.diagnostic(error.render().to_string().trim_end());
        return Exit::Unusable;
    }
    // A closed output is not an error here.
    let _ = streams.print(&error.render().to_string());
    Exit::Clean
}
