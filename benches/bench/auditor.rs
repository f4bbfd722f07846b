//! How fast `ecs-mesh check` is: ten thousand files with a task definition each, and as many definitions in few templates.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use local_stack::{in_repository, pids, scratch};
use serde_json::{Map, Value, json};

use crate::median;

const DEFINITIONS: usize = 10_000;
/// The most resources that a template of CloudFormation has.
const RESOURCES: usize = 500;
/// Of so many definitions, one has an error.
const WITH_ERROR: usize = 10;
/// How often each is measured.
const RUNS: usize = 3;

/// One run of the command.
struct Run {
    wall: Duration,
    processor: Duration,
    peak_kib: u64,
}

/// Checks both folders, and prints how long it takes.
pub(crate) fn measure(binary: &str) -> Value {
    let (files, templates) = (scratch::directory().join("files"), scratch::directory().join("templates"));
    write(&files, &templates);
    println!(
        "\n{:32}{:>10}{:>12}{:>14}{:>10}",
        "the auditor, 10,000 definitions", "s", "processor s", "a second", "MiB"
    );
    let rows = [("in a file each", &files), ("in templates of 500", &templates)].map(|(name, folder)| {
        let runs: Vec<Run> = (0..RUNS).map(|_| check(binary, folder)).collect();
        let (wall, processor) =
            (median(&runs, |it| it.wall.as_secs_f64()), median(&runs, |it| it.processor.as_secs_f64()));
        #[expect(clippy::cast_precision_loss, reason = "ten thousand definitions, and mebibytes of memory")]
        let (rate, peak) = (DEFINITIONS as f64 / wall, median(&runs, |it| it.peak_kib as f64) / 1024.0);
        println!("{name:32}{wall:>10.2}{processor:>12.2}{rate:>14.0}{peak:>10.0}");
        json!({ "name": name, "seconds": wall, "processorSeconds": processor, "definitionsPerSecond": rate, "peakMiB": peak })
    });
    json!(rows)
}

fn check(binary: &str, folder: &Path) -> Run {
    let started = Instant::now();
    let mut command = Command::new(binary);
    let mut child = command.arg("check").arg(folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect(binary);
    let (mut processor, mut peak_kib) = (Duration::ZERO, 0);
    let status = loop {
        // Both only grow, and end with the process.
        processor = pids::processor_time(child.id()).unwrap_or(processor);
        peak_kib = pids::peak_resident_kib(child.id()).unwrap_or(peak_kib);
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        sleep(Duration::from_millis(2));
    };
    assert_eq!(status.code(), Some(1), "it finds the errors");
    Run { wall: started.elapsed(), processor, peak_kib }
}

/// Writes the definitions as files of ECS, and as resources of templates.
fn write(files: &Path, templates: &Path) {
    for folder in [files, templates] {
        fs::create_dir_all(folder).expect("a folder");
    }
    let example = fs::read_to_string(in_repository("crates/audit/src/bases/dataplane.json")).expect("an example");
    let definition = |number: usize| -> Value {
        let text = example.replace("\"web\"", &format!("\"web-{number}\""));
        let text = text.replace("\\\"web\\\"", &format!("\\\"web-{number}\\\""));
        // Each family has its own task role, as the rules want it.
        let text = text.replace("/web-task", &format!("/web-{number}-task"));
        let mut definition: Value = serde_json::from_str(&text).expect("a definition");
        if number.is_multiple_of(WITH_ERROR) {
            definition["networkMode"] = json!("bridge");
        }
        definition
    };
    for number in 0..DEFINITIONS {
        fs::write(files.join(format!("{number}.json")), format!("{:#}\n", definition(number))).expect("a file");
    }
    for first in (0..DEFINITIONS).step_by(RESOURCES) {
        let resources: Map<String, Value> = (first..first + RESOURCES)
            .map(|number| {
                let properties = in_template(&definition(number));
                let resource = json!({ "Type": "AWS::ECS::TaskDefinition", "Properties": properties });
                (format!("Task{number}"), resource)
            })
            .collect();
        let template = json!({ "AWSTemplateFormatVersion": "2010-09-09", "Resources": resources });
        fs::write(templates.join(format!("{first}.json")), format!("{template:#}\n")).expect("a file");
    }
}

/// A value as `CloudFormation` spells it: keys begin with a capital letter.
fn in_template(value: &Value) -> Value {
    let capitalised = |key: &String| key[..1].to_uppercase() + &key[1..];
    match value {
        Value::Object(entries) => entries.iter().map(|(key, value)| (capitalised(key), in_template(value))).collect(),
        Value::Array(items) => items.iter().map(in_template).collect(),
        other => other.clone(),
    }
}
