//! The directory for the data and the logs of one run: `target/stack/<test>-<pid>`.
//!
//! It stays after the run. A later run removes it once all processes of the run have ended: each child holds a lock on its log
//! file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::in_repository;

/// This run's directory.
pub fn directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let runs = in_repository("target/stack");
        let program = std::env::current_exe().unwrap();
        let name = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let run = runs.join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&run).unwrap();
        remove_ended(&runs, &run);
        run
    })
}

/// A log file, which is locked until the child that writes to it has ended.
pub fn log(name: &str) -> (PathBuf, File) {
    let path = directory().join(format!("{name}.log"));
    let file = File::options().create(true).append(true).open(&path).unwrap();
    // An earlier child of this run may hold the lock: that suffices.
    let _ = file.try_lock();
    (path, file)
}

fn remove_ended(runs: &Path, own: &Path) {
    for run in fs::read_dir(runs).unwrap().flatten().map(|entry| entry.path()) {
        if run != own && has_ended(&run) {
            let _ = fs::remove_dir_all(run);
        }
    }
}

fn has_ended(run: &Path) -> bool {
    let pid = run.to_string_lossy().rsplit('-').next().map(str::to_owned);
    let owner_is_running = pid.is_some_and(|pid| Path::new("/proc").join(pid).exists());
    let child_is_running = || {
        fs::read_dir(run).into_iter().flatten().flatten().any(|entry| {
            let log = File::open(entry.path());
            log.is_ok_and(|log| log.metadata().is_ok_and(|it| it.is_file()) && log.try_lock().is_err())
        })
    };
    !owner_is_running && !child_is_running()
}
