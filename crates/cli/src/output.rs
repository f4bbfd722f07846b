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
    /// The format
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

    use diagnosis::{CompareReport, StatusReport, WhyReport, doctor::DoctorReport};
    use schemars::{JsonSchema, generate::SchemaSettings};
    use serde_json::json;

    use crate::inventory;

    /// The schema of what a command prints as JSON.
    fn schema<R: JsonSchema>(command: &str) -> String {
        let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let mut schema = generator.into_root_schema_for::<R>();
        schema.insert("$id".to_owned(), json!(format!("urn:ecs-mesh:{command}:1")));
        let title = format!("What `ecs-mesh {command} --output json` prints");
        schema.insert("title".to_owned(), json!(title));
        let rule = "Fields and values may be added; those that are here keep their meaning.";
        schema.insert("description".to_owned(), json!(rule));
        let text = json!({ "type": "string" });
        let tool = json!({ "type": "object", "required": ["name", "version"], "properties": { "name": text, "version": text } });
        let fields = schema.get_mut("properties").and_then(|fields| fields.as_object_mut()).unwrap();
        fields.insert("tool".to_owned(), tool);
        schema.get_mut("required").and_then(|names| names.as_array_mut()).unwrap().insert(0, json!("tool"));
        format!("{:#}\n", schema.as_value())
    }

    #[test]
    fn published_schemas_are_those_of_the_reports() {
        let schemas = [
            ("compare", schema::<CompareReport>("compare")),
            ("doctor", schema::<DoctorReport>("doctor")),
            ("inventory", schema::<inventory::Document>("inventory")),
            ("status", schema::<StatusReport>("status")),
            ("why", schema::<WhyReport>("why")),
        ];
        for (command, schema) in schemas {
            let file = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/{}.schema.json"), command);
            let file = Path::new(&file);
            if env::var_os("UPDATE_DOCS").is_some() {
                fs::write(file, &schema).unwrap();
            }
            assert!(fs::read_to_string(file).unwrap() == schema, "{} is stale: run make pages", file.display());
        }
    }
}
