//! The command line, `ecs-mesh`: one module for each command.
//!
//! ```text
//!  check fix inject graph rules explain config  task definitions, by the crates `audit` and `audit-live`
//!  lsp                                       the same, for editors
//!  status inventory why path compare doctor  what runs, and why it does not, by the crate `diagnosis`
//!  survey                                    the same of a whole account, with the plan of a sweep, which `controller` makes
//!  sweep redrive                             the operations by hand, by the deployed stack
//! ```

mod account;
mod check;
mod clients;
mod compare;
mod config;
mod consul_variables;
mod doctor;
mod explain;
mod fix;
mod graph;
mod help;
mod history;
mod inject;
mod installation;
mod inventory;
mod live;
mod live_mesh;
mod lsp;
mod output;
mod path;
mod planner;
mod reconcile;
mod redrive;
mod rules;
mod sheet;
mod status;
mod streams;
mod survey;
mod sweep;
mod upgrade;
mod why;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use self::streams::Failure;
pub use self::streams::{Exit, Streams};

#[derive(Debug, Parser)]
#[command(
    name = "ecs-mesh",
    version,
    about = "Check ECS task definitions for Consul's service mesh, and diagnose and repair the running mesh",
    after_help = "Examples:\n  ecs-mesh check\n  ecs-mesh check template.yaml --output sarif --output-file ecs-mesh.sarif\n  \
                  aws ecs describe-task-definition --task-definition web --include TAGS | ecs-mesh check -\n  \
                  ecs-mesh explain consul-network-mode\n  ecs-mesh status --cluster prod\n  ecs-mesh why web --cluster prod\n  \
                  ecs-mesh path web api\n  ecs-mesh doctor\n  ecs-mesh sweep --dry-run",
    disable_help_subcommand = true
)]
struct Cli {
    /// Choose when to use colours
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto)]
    color: Colour,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Colour {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Also in pipes and files
    Always,
    /// Plain text everywhere
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
    Lsp(lsp::Arguments),
    Status(status::Arguments),
    Why(why::Arguments),
    Path(path::Arguments),
    Inventory(inventory::Arguments),
    Compare(compare::Arguments),
    Survey(survey::Arguments),
    Doctor(doctor::Arguments),
    Sweep(sweep::Arguments),
    Redrive(redrive::Arguments),
    Completions(help::CompletionArguments),
    Man(help::ManArguments),
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
        Command::Lsp(arguments) => lsp::run(arguments, streams),
        Command::Status(arguments) => status::run(arguments, streams),
        Command::Inventory(arguments) => inventory::run(arguments, streams),
        Command::Survey(arguments) => survey::run(arguments, streams),
        Command::Doctor(arguments) => doctor::run(arguments, streams),
        Command::Why(arguments) => why::run(arguments, streams),
        Command::Path(arguments) => path::run(arguments, streams),
        Command::Compare(arguments) => compare::run(arguments, streams),
        Command::Sweep(arguments) => sweep::run(arguments, streams),
        Command::Redrive(arguments) => redrive::run(arguments, streams),
        Command::Completions(arguments) => help::completions(arguments, Cli::command(), streams),
        Command::Man(arguments) => help::man(arguments, Cli::command(), streams),
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
