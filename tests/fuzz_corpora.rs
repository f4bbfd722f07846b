//! Regression tests without a fuzzer: every input of the corpora, and mutations of each, through the functions that the fuzzers
//! call.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "a test, and the fuzz targets' own library"
)]

#[path = "../fuzz/src/lib.rs"]
mod fuzz;

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use fuzz::{TARGETS, Target, memory};

/// The number of mutations of each input.
const DAMAGED: usize = 12;

/// The corpus of a target: names and inputs.
fn corpus(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target.name);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut inputs: Vec<_> = files
        .map(|file| file.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect();
    inputs.sort();
    inputs
}

/// A mutation of an input: truncated, with a byte replaced, with a part duplicated, or with another input's end.
fn damaged(input: &[u8], other: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let at = random.usize(..=input.len());
    let mut damaged = input.to_vec();
    match random.u8(..4) {
        0 => damaged.truncate(at),
        1 if at < input.len() => damaged[at] ^= 1 << random.u8(..8),
        2 => damaged.extend_from_slice(&input[at..]),
        _ => {
            damaged.truncate(at);
            damaged.extend_from_slice(&other[random.usize(..=other.len())..]);
        }
    }
    damaged
}

#[test]
fn kept_inputs_and_mutations_break_no_promise() {
    let mut count = 0;
    for target in &TARGETS {
        let inputs = corpus(target);
        assert!(inputs.len() >= 3, "{} has fewer than 3 inputs", target.name);
        let feed = |name: &str, input: &[u8]| {
            let outcome = catch_unwind(AssertUnwindSafe(|| target.feed(input)));
            assert!(outcome.is_ok(), "{}/{name}: {:?}", target.name, String::from_utf8_lossy(input));
        };
        // Caches, the runtime and the connection are created once, and do not count.
        feed("nothing", &[]);
        let mut random = fastrand::Rng::with_seed(5);
        for (index, (name, input)) in inputs.iter().enumerate() {
            feed(name, input);
            let (_, other) = &inputs[(index + 1) % inputs.len()];
            for _ in 0..DAMAGED {
                feed(name, &damaged(input, other, &mut random));
            }
            count += 1 + DAMAGED;
        }
    }
    assert!(count > 1_000, "only {count} inputs were fed");
    // And an input that takes too much memory is detected
    let greedy = || memory::within(memory::OF_MESSAGES, 10, || drop(std::hint::black_box(vec![1_u8; 8 << 20])));
    assert!(catch_unwind(greedy).is_err());
}

#[test]
fn the_script_runs_every_target() {
    let script = include_str!("../scripts/fuzz.sh");
    for target in &TARGETS {
        assert!(Target::named(target.name).is_some());
        assert!(script.split_whitespace().any(|word| word == target.name), "{} is not in fuzz.sh", target.name);
    }
}
