//! `ecs-mesh`: checks whether ECS task definitions will work in Consul's service mesh, and shows what runs in it.

use std::{
    env,
    io::{self, IsTerminal},
    process::ExitCode,
};

use cli::Streams;
use console::Term;

#[cfg(not(windows))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let in_colour = Streams::uses_colour(io::stdout().is_terminal());
    let mut streams = Streams {
        // Not locked: another thread of the language server reads it.
        input: &mut io::stdin(),
        output: &mut io::stdout().lock(),
        // Not locked: the progress of a live audit is drawn by another thread.
        errors: &mut io::stderr(),
        in_colour,
        terminal: Some(Term::stdout()).filter(Term::is_term),
        can_ask: io::stdin().is_terminal(),
    };
    ExitCode::from(cli::run(env::args_os(), &mut streams).code())
}
