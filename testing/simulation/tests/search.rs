//! The promises, for the same schedules in every run. `make simulate` searches other schedules; `make mutants` proves that the
//! search finds mistakes.

#![allow(clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

use std::thread;

use simulation::{
    deployments,
    runner::{Budget, report, run, search, shrink},
    scenario::{BOUNDS, Limits},
};

/// The number of schedules that every test run searches.
const SCHEDULES: u64 = 10_000;

fn assert_unbroken(schedules: u64, limits: &Limits) {
    let found = search(Budget::Schedules(schedules), 1, limits);
    if let Some(failure) = found.failure {
        panic!("{}\n\nshrunk from seed {}: {}", report(&shrink(&failure)), failure.seed, failure.promise);
    }
    println!("{} schedules in {:.0?}", found.schedules, found.took);
}

#[test]
fn the_promises_hold_in_every_schedule() {
    assert_unbroken(SCHEDULES, &Limits::WIDEST);
}

#[test]
fn nothing_is_written_in_mode_observe() {
    assert_unbroken(SCHEDULES / 5, &Limits::OBSERVING);
}

/// What the promises about deployments are about is tried.
#[test]
fn deployments_of_every_kind_are_tried() {
    let traces: Vec<String> = (1..=SCHEDULES / 20).map(|seed| deployments::run(seed, true).trace.join("\n")).collect();
    for kind in [
        "\"stack-MeshSetup-",
        "does not run",
        "the answer is lost",
        "again or late",
        "Consul is down",
        "the stack is CREATE_FAILED",
        "the stack is ROLLBACK_FAILED",
        "the stack is DELETE_FAILED",
        "Update \"ecs-mesh-controller\" while UPDATE_ROLLBACK_IN_PROGRESS",
        "the stack is UPDATE_ROLLBACK_FAILED",
        "the stack is UPDATE_ROLLBACK_COMPLETE",
        "wrong settings",
        "the request came late",
        "could not be asked",
        "nothing was cleaned up: the stack is ROLLBACK_IN_PROGRESS",
        "cleaned up: true",
        "another controller sets Consul up",
        "Consul goes down after",
        "somebody removes",
        "Consul is set up for arn:aws:iam::123456789012",
        "Consul is set up for arn:aws:iam::999999999999",
    ] {
        let count = traces.iter().filter(|trace| trace.contains(kind)).count();
        println!("{kind}: {count}");
        assert!(count > 0, "no schedule has {kind:?}");
    }
}

/// Seeds that broke a promise when they were found. The scenarios that they draw have changed since.
const ONCE_BROKEN: [u64; 18] = [
    173,
    190,
    11_231,
    371_556_439_068,
    545_776_839_571,
    630_548_563_797,
    50_096_573_614,
    342_100_212_711,
    815_996_938_450,
    823_286_107_452,
    828_878_178_026,
    887_463_222_223,
    980_016_109_696,
    981_395_186_306,
    981_667_748_102,
    991_892_924_315,
    1_166_123_729_778,
    249_703_271_711_238,
];

#[test]
fn kept_seeds_break_no_promise() {
    for seed in ONCE_BROKEN {
        assert_eq!(run(seed, &Limits::WIDEST, false).broken, None, "seed {seed}");
    }
}

/// Each bound that the controller assumes is necessary: if it is exceeded, a task finds no token or loses its token, or a revoked
/// token is created again. Late convergence alone does not count.
#[test]
fn beyond_any_bound_a_promise_is_broken() {
    let harm = |bound| {
        (1..=SCHEDULES).find_map(|seed| {
            let broken = run(seed, &Limits::beyond(bound), false).broken?;
            let is_harm = ["never the living", "nothing lost", "revoked for good"]
                .iter()
                .any(|promise| broken.starts_with(promise));
            (is_harm && broken.contains("token")).then(|| format!("{broken} (schedule {seed})"))
        })
    };
    let found =
        thread::scope(|scope| BOUNDS.map(|bound| scope.spawn(move || harm(bound))).map(|it| it.join().unwrap()));
    for (bound, harm) in BOUNDS.iter().zip(&found) {
        println!("{bound:?}: {harm:?}");
    }
    assert!(found.iter().all(Option::is_some), "a bound was exceeded, and no promise was broken");
}

#[test]
fn one_seed_is_one_schedule() {
    for seed in 1..20 {
        assert_eq!(run(seed, &Limits::WIDEST, true).trace, run(seed, &Limits::WIDEST, true).trace, "seed {seed}");
        assert_eq!(deployments::run(seed, true).trace, deployments::run(seed, true).trace, "seed {seed}");
    }
}
