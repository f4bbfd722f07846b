//! Simulated Consul against recorded answers of Consul 1.8.7 and of 1.21, row by row: the status and the text of every unsuccessful
//! answer, and every field of a successful one that the simulation has.
//!
//! The rows are listed in the order of the recording, those that the simulated Consul does not serve with the reason.

mod agents;
mod catalog;
mod credentials;
mod health_sync;
mod policies;
mod tokens;

use serde_json::Value;

use crate::{
    dialect::{Answer, Dialect},
    direct::Direct,
    world::World,
};

/// Calls with their answers. Random IDs, indexes and times are masked.
const ANSWERS: &str = include_str!("../../../crates/consul/tests/recordings/consul-answers.json");
/// What random IDs, hashes and times are masked with. Indexes are not compared.
const MASKS: [&str; 3] = ["<uuid>", "<hash>", "<time>"];

/// Puts a new world into the state that the call was recorded in, and makes the call. A successful answer has the fields that the
/// simulation has, by their names in the recording.
type Serve = fn(&mut World) -> Result<Value, Answer>;

/// A recorded call.
struct Row {
    case: String,
    /// How the simulated Consul serves it, or why it does not.
    serve: Result<Serve, &'static str>,
}

fn served(case: &str, serve: Serve) -> Row {
    Row { case: case.to_owned(), serve: Ok(serve) }
}

fn not_served(reason: &'static str, cases: &[&str]) -> Vec<Row> {
    cases.iter().map(|case| Row { case: (*case).to_owned(), serve: Err(reason) }).collect()
}

/// All rows, in the order of the recording.
fn rows() -> Vec<Row> {
    [tokens::rows(), credentials::rows(), policies::rows(), catalog::rows(), agents::rows()]
        .into_iter()
        .flatten()
        .collect()
}

fn version(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::V1_8 => "1.8.7",
        Dialect::V1_21 => "1.21",
    }
}

/// Whether an answer has everything that the simulated one has.
fn has(recorded: &Value, simulated: &Value) -> bool {
    match (recorded, simulated) {
        (Value::String(text), Value::String(_)) if MASKS.contains(&text.as_str()) => true,
        (Value::Object(fields), Value::Object(wanted)) => {
            wanted.iter().all(|(name, value)| fields.get(name).is_some_and(|field| has(field, value)))
        }
        (Value::Array(entries), Value::Array(wanted)) => {
            entries.len() == wanted.len() && entries.iter().zip(wanted).all(|(entry, value)| has(entry, value))
        }
        _ => recorded == simulated,
    }
}

/// Whether a simulated answer is the recorded one.
fn is_same(recorded: &Value, simulated: &Result<Value, Answer>) -> bool {
    let (status, body) = (&recorded["status"], &recorded["body"]);
    match simulated {
        Ok(fields) => *status == 200 && has(body, fields),
        Err(Answer { status: simulated, text }) => {
            let is_text = body.as_str() == Some(text);
            *status == *simulated && (is_text || serde_json::from_str::<Value>(text).is_ok_and(|json| json == *body))
        }
    }
}

#[test]
fn every_recorded_call_is_served_as_recorded_or_listed_with_a_reason() {
    // Given the recorded calls, each of which is listed
    let recorded: Vec<Value> = serde_json::from_str(ANSWERS).unwrap();
    let (rows, cases) = (rows(), recorded.iter().map(|row| row["case"].as_str().unwrap()));
    let listed: Vec<&str> = rows.iter().map(|row| row.case.as_str()).collect();
    assert_eq!(listed, cases.collect::<Vec<&str>>(), "left: listed, right: recorded");
    for (Row { case, serve }, recorded) in rows.iter().zip(&recorded) {
        assert_eq!(recorded["answers"].as_object().unwrap().len(), Dialect::ALL.len(), "{case}: the recorded versions");
        match serve {
            Ok(serve) => Dialect::ALL.into_iter().for_each(|dialect| {
                // When the simulated Consul serves the call
                let simulated = Direct::new(dialect).with(serve);
                // Then its answer is that of the version
                let recorded = &recorded["answers"][version(dialect)];
                assert!(is_same(recorded, &simulated), "{case}, {dialect:?}: {simulated:?} instead of {recorded}");
            }),
            Err(reason) => println!("not served: {case}: {reason}"),
        }
    }
}

#[test]
fn a_difference_from_a_recorded_answer_is_noticed() {
    let recorded: Value = serde_json::from_str(r#"{ "status": 500, "body": "No cluster leader" }"#).unwrap();
    assert!(is_same(&recorded, &Err(Answer::no_leader())));
    assert!(!is_same(&recorded, &Err(Answer { status: 503, ..Answer::no_leader() })));
    assert!(!is_same(&recorded, &Err(Answer { text: "No leader".to_owned(), ..Answer::no_leader() })));
    assert!(!is_same(&recorded, &Ok(Value::Bool(true))));
    let recorded: Value =
        serde_json::from_str(r#"{ "status": 200, "body": [{ "ID": "<uuid>", "Name": "a" }] }"#).unwrap();
    let named = |name: &str| serde_json::json!([{ "ID": "1", "Name": name }]);
    assert!(is_same(&recorded, &Ok(named("a"))));
    assert!(!is_same(&recorded, &Ok(named("b"))));
    assert!(!is_same(&recorded, &Ok(serde_json::json!([]))));
    assert!(!is_same(&recorded, &Err(Answer::no_leader())));
}
