//! Checks that 1,000 definitions in a directory take less than a second: `cargo bench -p audit --bench audit`.
//!
//! Without `--bench`, it checks a few definitions without measuring the time.

#![allow(clippy::expect_used, clippy::print_stdout, clippy::unwrap_used)]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{self, ExitCode},
    time::{Duration, Instant},
};

use audit::{audit, example::Base};
use audit_read::input::gather;

/// The number of definitions, and the time limit.
const MANY: usize = 1_000;
const LIMIT: Duration = Duration::from_secs(1);
/// The factor of time that ten times as many definitions may take.
const RATIO: u32 = 15;

const YAML: &str = include_str!("../tests/audit_inputs/web.yaml");
const TEMPLATE: &str = include_str!("../tests/audit_inputs/web.template");
const SAM: &str = include_str!("../tests/audit_inputs/sam.yaml");
const PLAN: &str = include_str!("../tests/audit_inputs/plan.tfplan.json");
const MODULE: &str = include_str!("../tests/audit/terraform_source/modules/mesh-task-0.9-acls-tls.tf");

fn main() -> ExitCode {
    if !env::args().any(|argument| argument == "--bench") {
        let folder = Folder::with(20);
        println!("{} definitions are checked", check(&folder.path).definitions);
        return ExitCode::SUCCESS;
    }
    let (few, many) = (best(MANY / 10), best(MANY));
    println!("{MANY} definitions are checked in {many:?}, {} in {few:?}", MANY / 10);
    if many > LIMIT {
        println!("that is more than {LIMIT:?}");
        return ExitCode::FAILURE;
    }
    if many > few * RATIO {
        println!("that is more than {RATIO} times as long for ten times as many");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// The shortest time of several runs: disturbances make a run only slower.
fn best(count: usize) -> Duration {
    let folder = Folder::with(count);
    let run = || {
        let start = Instant::now();
        let checked = check(&folder.path);
        assert!(checked.definitions >= count && checked.findings > 0, "{checked:?}");
        start.elapsed()
    };
    (0..5).map(|_| run()).min().unwrap_or_default()
}

#[derive(Debug)]
struct Checked {
    definitions: usize,
    findings: usize,
}

fn check(folder: &Path) -> Checked {
    let gathered = gather(&[folder.display().to_string()], &mut std::io::empty());
    assert!(gathered.problems.is_empty(), "{:?}", gathered.problems);
    let findings = audit(&gathered.material).len();
    Checked { definitions: gathered.material.definitions.len(), findings }
}

/// A directory that is deleted when it is dropped.
struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A directory with `count` files of every format, each with one definition or more. Some have a defect.
    fn with(count: usize) -> Self {
        let path = env::temp_dir().join(format!("ecs-mesh-bench-{}-{count}", process::id()));
        fs::create_dir_all(&path).expect("a folder for temporary files");
        let bases: Vec<Base> = Base::ALL.into_iter().filter(|base| *base != Base::AppMeshResources).collect();
        for index in 0..count {
            let base = bases.iter().cycle().nth(index).expect("a base");
            let (name, text) = match index % 8 {
                0 => ("template.yaml", YAML),
                1 => ("stack.template", TEMPLATE),
                2 => ("sam.yaml", SAM),
                3 => ("tfplan.json", PLAN),
                4 => ("main.tf", MODULE),
                _ => ("task.json", base.json()),
            };
            let text = if index % 3 == 0 { text.replace("awsvpc", "bridge") } else { text.to_owned() };
            // The files of a directory are one module of Terraform.
            let directory = path.join(format!("{index:04}"));
            fs::create_dir_all(&directory).expect("a folder for a file");
            fs::write(directory.join(name), text).expect("a file");
        }
        Self { path }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it fails, a temporary file remains.
        let _ = fs::remove_dir_all(&self.path);
    }
}
