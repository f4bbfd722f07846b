//! `simulate`: searches schedules for one that breaks a promise, or replays a schedule.

#![allow(clippy::print_stdout)]

use std::{process::ExitCode, time::Duration};

use clap::Parser;
use simulation::{
    deployments,
    runner::{Budget, report, run, search, shrink},
    scenario::Limits,
};

/// Search schedules of events, faults and crashes for one that breaks a promise
#[derive(Debug, Parser)]
#[command(
    after_help = "Examples:\n  simulate --seconds 600\n  simulate --schedules 1000000 --first-seed 1\n  simulate --seed 42\n\n\
                        Exit codes: 0 no promise was broken, 1 a promise was broken, 2 usage."
)]
struct Arguments {
    /// Search for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, conflicts_with_all = ["schedules", "seed"])]
    seconds: u64,
    /// Search this many schedules
    #[arg(long, value_name = "NUMBER", conflicts_with = "seed")]
    schedules: Option<u64>,
    /// The seed of the first schedule; seeds are consecutive [default: random]
    #[arg(long, value_name = "SEED")]
    first_seed: Option<u64>,
    /// Do not search for a smaller schedule that breaks the same promise
    #[arg(long)]
    no_shrink: bool,
    /// Replay the schedule of this seed, step by step
    #[arg(long, value_name = "SEED", conflicts_with = "first_seed")]
    seed: Option<u64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let broken = arguments.seed.map_or_else(|| search_for(&arguments), replay);
    if let Some(broken) = broken {
        println!("{broken}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn replay(seed: u64) -> Option<String> {
    let mut run = run(seed, &Limits::WIDEST, true);
    if run.broken.is_none() {
        run = deployments::run(seed, true);
    }
    println!("{}", run.trace.join("\n"));
    println!("{}", run.broken.as_ref().map_or_else(|| format!("seed {seed}: every promise held"), |_| String::new()));
    run.broken.map(|promise| format!("seed {seed}: {promise}"))
}

fn search_for(arguments: &Arguments) -> Option<String> {
    let budget = arguments.schedules.map_or(Budget::Time(Duration::from_secs(arguments.seconds)), Budget::Schedules);
    // Seeds are copied by hand: at most twelve digits.
    let first = arguments.first_seed.unwrap_or_else(|| fastrand::u64(..1_000_000_000_000));
    println!("searching, the first seed is {first}");
    let found = search(budget, first, &Limits::WIDEST);
    let (count, seconds) = (found.schedules, found.took.as_secs_f64());
    #[expect(clippy::cast_precision_loss, reason = "a rate to display")]
    let rate = count as f64 / seconds.max(0.001);
    println!("{count} schedules in {seconds:.0} s, {rate:.0} a second");
    let failure = found.failure?;
    println!("seed {} breaks a promise: {}", failure.seed, failure.promise);
    if arguments.no_shrink {
        return Some(format!("replay it with --seed {}", failure.seed));
    }
    println!(
        "replay it with --seed {}; searching for a smaller schedule that breaks the same promise ...",
        failure.seed
    );
    Some(report(&shrink(&failure)))
}
