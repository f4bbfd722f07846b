//! A directory for the data and the logs of one run: `target/stack/<test>-<pid>`.
//!
//! It stays after the run, to be read, until a later run finds that nothing of it lives any more. A run lives as long
//! as one of its children does: each holds its log file open, and the log file locked.

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
        remove_dead(&runs, &run);
        run
    })
}

/// A new log file, locked for as long as a child that writes to it lives.
pub fn log(name: &str) -> (PathBuf, File) {
    let path = directory().join(format!("{name}.log"));
    let file = File::options().create(true).append(true).open(&path).unwrap();
    // Already locked by an earlier child of this run: that one does as well.
    let _ = file.try_lock();
    (path, file)
}

fn remove_dead(runs: &Path, own: &Path) {
    for run in fs::read_dir(runs).unwrap().flatten().map(|entry| entry.path()) {
        if run != own && is_dead(&run) {
            let _ = fs::remove_dir_all(run);
        }
    }
}

fn is_dead(run: &Path) -> bool {
    let pid = run.to_string_lossy().rsplit('-').next().map(str::to_owned);
    let owner_lives = pid.is_some_and(|pid| Path::new("/proc").join(pid).exists());
    let child_lives = || {
        fs::read_dir(run).into_iter().flatten().flatten().any(|entry| {
            let log = File::open(entry.path());
            log.is_ok_and(|log| log.metadata().is_ok_and(|it| it.is_file()) && log.try_lock().is_err())
        })
    };
    !owner_lives && !child_lives()
}
