//! The pages of reference name what functions take, answer and log.

use std::collections::BTreeSet;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, Visitor, value::Error},
    forward_to_deserialize_any,
};

use crate::{
    Cause, CheckReport, ClusterReport, ErrorLabel, LogAction, LogLine, LogOutcome, SetUpReport, SweepReport,
    TokenReport,
    reconcile::{AuditPayload, ReconcilePayload},
};

const ERRORS: &str = include_str!("../../../docs/reference/errors.md");
const LOGS: &str = include_str!("../../../docs/reference/logs.md");
const PAYLOADS: &str = include_str!("../../../docs/reference/payloads.md");

type Names = BTreeSet<&'static str>;

/// The names of a struct's fields, as serde reads them.
fn fields<T: Deserialize<'static>>() -> Names {
    struct Fields<'a>(&'a mut Names);

    impl<'de> Deserializer<'de> for Fields<'_> {
        type Error = Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
            Err(Error::custom("not a struct"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Error> {
            self.0.extend(fields);
            Err(Error::custom("only the names are read"))
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq
            tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut names = Names::new();
    let _: Result<T, Error> = T::deserialize(Fields(&mut names));
    assert!(!names.is_empty());
    names
}

/// The part of a page below a heading.
fn section(page: &'static str, heading: &str) -> &'static str {
    let (_, section) = page.split_once(&format!("\n{heading}\n")).expect(heading);
    section.split("\n#").next().unwrap()
}

/// The code spans in a text.
fn spans(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split('`').skip(1).step_by(2)
}

/// The code spans in the first column of a section's tables.
fn first_column(page: &'static str, heading: &str) -> Names {
    let rows = section(page, heading).lines().filter_map(|line| line.strip_prefix("| "));
    rows.flat_map(|row| spans(row.split(" | ").next().unwrap())).collect()
}

fn assert_named(names: &Names, page: &Names) {
    let missing: Vec<_> = names.difference(page).collect();
    assert!(missing.is_empty(), "not on the page: {missing:?}");
}

#[test]
fn errors_has_every_label_and_no_other() {
    assert_eq!(first_column(ERRORS, "## Labels"), ErrorLabel::ALL.iter().copied().collect());
}

#[test]
fn logs_has_every_field_action_and_outcome() {
    assert_named(&fields::<LogLine>(), &first_column(LOGS, "## Fields"));
    assert_named(&LogAction::ALL.iter().copied().collect(), &first_column(LOGS, "## Actions"));
    assert_named(&LogOutcome::ALL.iter().copied().collect(), &first_column(LOGS, "## Outcomes"));
}

#[test]
fn payloads_has_every_field_of_an_order_and_no_other() {
    assert_eq!(first_column(PAYLOADS, "## reconcile"), fields::<ReconcilePayload>());
    assert_eq!(first_column(PAYLOADS, "## audit"), fields::<AuditPayload>());
}

#[test]
fn payloads_has_every_kind_of_a_cause() {
    let reason = || "x".to_owned();
    let kinds = [
        Cause::Denied { permission: None },
        Cause::UnknownCluster,
        Cause::UnknownToken,
        Cause::UnusableToken,
        Cause::NoAnswer { reason: reason() },
        Cause::MalformedAnswer { reason: reason() },
    ];
    let page = first_column(PAYLOADS, "### Other answers");
    for cause in kinds {
        let written = serde_json::to_value(&cause).unwrap();
        assert!(page.contains(written["kind"].as_str().unwrap()), "{written} is not on the page");
    }
}

#[test]
fn payloads_has_every_field_of_an_answer() {
    let named = |heading| spans(section(PAYLOADS, heading)).collect::<Names>();
    let sweep = named("### The summary of a sweep");
    assert_named(&fields::<SweepReport>(), &sweep);
    assert_named(&fields::<ClusterReport>(), &sweep);
    let check = named("### Other answers");
    assert_named(&fields::<CheckReport>(), &check);
    assert_named(&fields::<TokenReport>(), &check);
    assert_named(&fields::<SetUpReport>(), &check);
}
