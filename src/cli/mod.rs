//! The command line of `mesh-audit`. Each command is a file; what all share is here.

mod changes;
mod check;
mod completions;
mod configuration;
mod explain;
mod fix;
mod graph;
mod inject;
mod live;
mod rule_page;
mod rules;
mod streams;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

pub use self::streams::Streams;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Nothing to complain about.
    Clean,
    /// Findings at or above the threshold.
    Findings,
    /// Input that could not be read, or a command line that makes no sense.
    Unusable,
}

impl Exit {
    /// As the shell sees it.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Findings => 1,
            Self::Unusable => 2,
        }
    }
}

/// Why a command gave up.
#[derive(Debug)]
enum Failure {
    /// Who reads our output has gone: nobody is left to tell anything to.
    Closed,
    /// What to tell.
    Told(String),
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Told(error.to_string()),
        }
    }
}

#[derive(Debug, Parser)]
#[command(
    name = "mesh-audit",
    version,
    about = "Tells whether ECS task definitions will really work in the service mesh",
    after_help = "Examples:\n  mesh-audit check\n  mesh-audit check template.yaml --format sarif --output mesh-audit.sarif\n  \
                  aws ecs describe-task-definition --task-definition web --include TAGS | mesh-audit check -\n  \
                  mesh-audit explain consul-network-mode",
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
    Completions(completions::Arguments),
}

/// Runs `mesh-audit` with these arguments, the program's name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>, streams: &mut Streams<'_>) -> Exit {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, streams),
    };
    streams.decide_colour(match cli.color {
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
        Command::Completions(arguments) => completions::run(arguments, Cli::command(), streams),
    };
    match ended {
        Ok(exit) => exit,
        Err(Failure::Closed) => Exit::Clean,
        Err(Failure::Told(reason)) => {
            streams.tell(&format!("error: {reason}"));
            Exit::Unusable
        }
    }
}

/// Help and version are answers; everything else that ends here is a mistake.
fn refuse(error: &clap::Error, streams: &mut Streams<'_>) -> Exit {
    if error.use_stderr() {
        streams.tell(error.render().to_string().trim_end());
        return Exit::Unusable;
    }
    // Whoever asked for help and left needs no answer.
    let _ = streams.answer(&error.render().to_string());
    Exit::Clean
}
