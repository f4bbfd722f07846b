//! The format of what a command prints, and the progress that it shows.

use std::{
    future::Future,
    pin::pin,
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    sheet::Medium,
    streams::{Failure, Streams},
};

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// For people
    Text,
    /// For programs
    Json,
}

/// The format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Listing {
    /// For people
    Text,
    /// For programs
    Json,
    /// A table for a page
    Markdown,
}

/// The argument of the commands that read a running account.
#[derive(Debug, Args)]
pub(super) struct OutputArguments {
    /// Set the output format
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t = Output::Text)]
    pub(super) output: Output,
}

impl OutputArguments {
    /// Prints a report: as JSON, or in the words of `text`.
    pub(super) fn show<R: Serialize>(
        &self,
        report: &R,
        text: fn(&R, Medium) -> String,
        streams: &mut Streams<'_>,
    ) -> Result<(), Failure> {
        streams.print(&match self.output {
            Output::Json => json(report),
            Output::Text => text(report, streams.medium()),
        })
    }
}

/// A document for programs, as it is printed.
pub(super) fn json(content: &impl Serialize) -> String {
    format!("{:#}\n", document(content))
}

/// A document that begins with the program and its version.
pub(super) fn document(content: &impl Serialize) -> Value {
    let mut document = serde_json::json!({ "tool": { "name": "ecs-mesh", "version": env!("CARGO_PKG_VERSION") } });
    if let (Value::Object(document), Value::Object(content)) = (&mut document, serde_json::json!(content)) {
        document.extend(content);
    }
    document
}

/// How long nothing is shown.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
/// How often the line is drawn.
const TICK: Duration = Duration::from_millis(120);

/// A line that says what is being done. It is drawn on standard error, if that is a terminal.
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new() -> Result<Self, Failure> {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
        bar.set_style(style.map_err(Failure::new)?);
        Ok(Self(bar))
    }

    pub(super) fn say(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }

    /// Does some work, and shows the line meanwhile if it takes long.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if let Ok(done) = timeout(SHOWN_AFTER, &mut work).await {
            return done;
        }
        self.show();
        let done = work.await;
        self.hide();
        done
    }

    /// Does some work on this thread, and shows the line meanwhile if it takes long.
    pub(super) fn during_blocking<T>(&self, work: impl FnOnce() -> T) -> T {
        let (working, ended) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                if ended.recv_timeout(SHOWN_AFTER) == Err(RecvTimeoutError::Timeout) {
                    self.show();
                    // Nothing is sent: it returns when the work has ended.
                    let _ = ended.recv();
                    self.hide();
                }
            });
            let done = work();
            drop(working);
            done
        })
    }

    fn show(&self) {
        self.0.reset();
        // The bar is shared: this sets the time of the same one.
        let _ = self.0.clone().with_elapsed(SHOWN_AFTER);
        self.0.set_draw_target(ProgressDrawTarget::stderr());
        self.0.enable_steady_tick(TICK);
    }

    fn hide(&self) {
        self.0.disable_steady_tick();
        self.0.finish_and_clear();
        self.0.set_draw_target(ProgressDrawTarget::hidden());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, path::Path};

    use diagnosis::{CompareReport, PathReport, StatusReport, SurveyReport, WhyReport, doctor::DoctorReport};
    use report::{Event, OWN_SOURCE};
    use schemars::{JsonSchema, generate::SchemaSettings};
    use serde_json::{Value, json};

    use crate::inventory;

    /// A schema with fields in front: what a constructor of the document adds.
    fn schema<R: JsonSchema>(name: &str, title: &str, first: (&str, Value)) -> String {
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let mut schema = generator.into_root_schema_for::<R>();
        schema.insert("$id".to_owned(), json!(format!("urn:ecs-mesh:{name}:1")));
        schema.insert("title".to_owned(), json!(title));
        let rule = "Later versions may add fields and values; existing ones keep their meaning.";
        schema.insert("description".to_owned(), json!(rule));
        let (key, field) = first;
        schema.ensure_object().entry("properties").or_insert_with(|| json!({}))[key] = field;
        let required = schema.ensure_object().entry("required").or_insert_with(|| json!([]));
        required.as_array_mut().unwrap().insert(0, json!(key));
        format!("{:#}\n", schema.as_value())
    }

    /// The schema of what a command prints as JSON.
    fn printed<R: JsonSchema>(command: &'static str) -> (&'static str, String) {
        let text = json!({ "type": "string" });
        let tool = json!({ "type": "object", "required": ["name", "version"], "properties": { "name": text, "version": text } });
        (command, schema::<R>(command, &format!("What `ecs-mesh {command} --output json` prints"), ("tool", tool)))
    }

    #[test]
    fn published_schemas_are_those_of_the_reports() {
        let schemas = [
            printed::<CompareReport>("compare"),
            printed::<DoctorReport>("doctor"),
            printed::<inventory::Document>("inventory"),
            printed::<PathReport>("path"),
            printed::<StatusReport>("status"),
            printed::<SurveyReport>("survey"),
            printed::<WhyReport>("why"),
            (
                "event",
                schema::<Event>("event", "An event of the controller", ("source", json!({ "const": OWN_SOURCE }))),
            ),
        ];
        for (name, schema) in schemas {
            let file =
                format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/schema/{}.schema.json"), name);
            let file = Path::new(&file);
            if env::var_os("UPDATE_DOCS").is_some() {
                fs::write(file, &schema).unwrap();
            }
            assert!(fs::read_to_string(file).unwrap() == schema, "{} is stale: run make pages", file.display());
        }
    }

    #[test]
    fn events_match_the_published_schema() {
        let schema = serde_json::from_str(include_str!("../../../docs/reference/schema/event.schema.json")).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for line in include_str!("../../report/src/event/written.jsonl").lines() {
            let mut event: Value = serde_json::from_str(line).unwrap();
            assert!(!validator.is_valid(&event), "an event without source: {event}");
            event["source"] = json!(OWN_SOURCE);
            assert!(validator.is_valid(&event), "{event}");
        }
    }
}
