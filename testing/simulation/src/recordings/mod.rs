//! Simulated Consul against recorded answers of Consul 1.8.7 and of 1.21, row by row: the status and the text of every unsuccessful
//! answer, and every field of a successful one that the simulation has.
//!
//! A recorded call that the simulated Consul does not serve says so in the recording, with the reason.

mod acl;
mod catalog;
mod health_sync;
mod objects;

use serde_json::Value;

use crate::{
    dialect::{Answer, Dialect},
    direct::Direct,
    world::World,
};

/// Calls with their answers. Random IDs, indexes and times are masked.
const ANSWERS: &str = include_str!("../../../../crates/consul/tests/recordings/consul-answers.json");
/// What random IDs, hashes and times are masked with. Indexes are not compared.
const MASKS: [&str; 3] = ["<uuid>", "<hash>", "<time>"];

/// Puts a new world into the state that the call was recorded in.
type Given = fn(&mut World);

const NOTHING: Given = |_| {};

/// Makes the call. A successful answer has the fields that the simulation has, by their names in the recording.
type Serve = fn(&mut World) -> Result<Value, Answer>;

/// A recorded call, and how the simulated Consul serves it.
type Row = (&'static str, Given, Serve);

/// How the calls begin that were recorded a second time, with a token that does not exist.
const WITH_UNKNOWN_TOKEN: &str = "a token that is not there: ";

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
fn every_recorded_call_is_served_as_recorded_or_has_a_reason() {
    // Given the recorded calls without a reason why they are not simulated
    let mut recorded: Vec<Value> = serde_json::from_str(ANSWERS).unwrap();
    recorded.retain(|call| !call["notSimulated"].is_string());
    let mut rows = [acl::ROWS, objects::ACL_ROWS, catalog::ROWS, objects::ENTERPRISE_ROWS].concat().into_iter();
    for recorded in &recorded {
        let case = recorded["case"].as_str().unwrap();
        let (given, serve) = match case.strip_prefix(WITH_UNKNOWN_TOKEN) {
            Some(call) => (NOTHING, acl::with_unknown_token(call)),
            None => rows.next().filter(|row| row.0 == case).map(|row| (row.1, row.2)).expect(case),
        };
        assert_eq!(recorded["answers"].as_object().unwrap().len(), Dialect::ALL.len(), "{case}: the recorded versions");
        for dialect in Dialect::ALL {
            // When the simulated Consul serves the call
            let simulated = Direct::new(dialect).with(|world| {
                given(world);
                serve(world)
            });
            // Then its answer is that of the version
            let recorded = &recorded["answers"][dialect.version()];
            assert!(is_same(recorded, &simulated), "{case}, {dialect:?}: {simulated:?} instead of {recorded}");
        }
    }
    assert!(rows.next().is_none(), "a row is not recorded");
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
