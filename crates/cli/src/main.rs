//! `ecs-mesh`: checks whether ECS task definitions will work in the service mesh.

use std::{
    env,
    io::{self, IsTerminal},
    process::ExitCode,
};

use cli::Streams;

fn main() -> ExitCode {
    let in_colour = Streams::uses_colour(io::stdout().is_terminal());
    let mut streams = Streams {
        input: &mut io::stdin().lock(),
        output: &mut io::stdout().lock(),
        // Not locked: the progress of a live audit is drawn by another thread.
        errors: &mut io::stderr(),
        in_colour,
    };
    ExitCode::from(cli::run(env::args_os(), &mut streams).code())
}
