//! Recorded answers of Consul 1.8.7 and 1.22, for tests.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;
use serde_json::Value;

const ANSWERS: &str = include_str!("../../../tests/recordings/mesh-answers.json");

const OLD: &str = "1.8.7";
pub(crate) const NEW: &str = "1.22";
pub(crate) const BOTH: [&str; 2] = [OLD, NEW];

#[derive(Deserialize)]
struct Row {
    case: String,
    answers: BTreeMap<String, Recorded>,
}

#[derive(Deserialize)]
struct Recorded {
    status: u16,
    body: Value,
}

/// What a release answered, with status 200.
pub(crate) fn answer(version: &str, case: &str) -> Value {
    answer_with(200, version, case)
}

/// What a release answered, with this status.
pub(crate) fn answer_with(expected: u16, version: &str, case: &str) -> Value {
    static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| serde_json::from_str(ANSWERS).unwrap());
    let row = ROWS.iter().find(|row| row.case == case).unwrap_or_else(|| panic!("{case}"));
    let Recorded { status, body } = &row.answers[version];
    assert_eq!(*status, expected, "{case}: {body}");
    body.clone()
}
