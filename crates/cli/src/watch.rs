//! `ecs-mesh check --watch`: checks again whenever a file changes.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    process,
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use ignore::WalkBuilder;
use notify::{ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    connect::runtime,
    exit::{Exit, Failure},
    streams::Streams,
};
use audit::input::glob_base;

/// How long nothing must change before the files are checked again: editors write a file in several steps.
const PAUSE: Duration = Duration::from_millis(200);
const WATCHING: &str = "watching for changes; Ctrl-C ends it";

/// Runs `check` and prints what it prints; again after each change below `paths` that changes the result. The first
/// Ctrl-C ends the process.
pub(super) fn run(
    paths: &[PathBuf],
    check: &dyn Fn(&mut Streams<'_>) -> Result<Exit, Failure>,
    streams: &mut Streams<'_>,
) -> Result<Exit, Failure> {
    end_with_ctrl_c()?;
    let (sender, changes) = channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // Reading a file is an event, too.
        let Some(change) = event.map(|event| (!event.kind.is_access()).then_some(())).transpose() else { return };
        // It cannot be sent when the check has ended.
        let _ = sender.send(change);
    })
    .map_err(|error| failed(&error))?;
    let mut shown = None;
    loop {
        // Before reading: no change is missed.
        watch(&mut watcher, paths)?;
        let result = printed(check, streams)?;
        if shown.as_ref() != Some(&result) {
            streams.clear()?;
            streams.print(&result.0)?;
            streams.diagnostic(&format!("{}{WATCHING}", result.1));
            shown = Some(result);
        }
        settled(&changes).map_err(|error| failed(&error))?;
    }
}

/// Ends the process with the first Ctrl-C, also during a check.
fn end_with_ctrl_c() -> Result<(), Failure> {
    let runtime = runtime()?;
    let mut interrupt = runtime.block_on(async { signal(SignalKind::interrupt()) })?;
    thread::spawn(move || {
        runtime.block_on(interrupt.recv());
        process::exit(Exit::Clean.code().into());
    });
    Ok(())
}

/// What a check writes to standard output, and to standard error.
fn printed(
    check: &dyn Fn(&mut Streams<'_>) -> Result<Exit, Failure>,
    streams: &Streams<'_>,
) -> Result<(String, String), Failure> {
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let mut inner = Streams {
        input: &mut io::empty(),
        output: &mut output,
        errors: &mut errors,
        in_colour: streams.in_colour,
        terminal: streams.terminal.clone(),
        can_ask: false,
    };
    match check(&mut inner) {
        // A configuration that cannot be read may be right after the next change.
        Err(Failure::Message(reason)) => inner.diagnostic(&format!("error: {reason}")),
        ended => drop(ended?),
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok((text(output), text(errors)))
}

/// Waits for a change, and until no other one follows.
fn settled(changes: &Receiver<notify::Result<()>>) -> notify::Result<()> {
    let mut change = changes.recv().ok();
    while let Some(result) = change {
        result?;
        change = changes.recv_timeout(PAUSE).ok();
    }
    Ok(())
}

/// Watches the directories of `paths`, except those that Git ignores. One that is watched already stays so.
fn watch(watcher: &mut RecommendedWatcher, paths: &[PathBuf]) -> Result<(), Failure> {
    let directories: BTreeSet<PathBuf> = paths.iter().flat_map(|path| directories(path)).collect();
    for directory in directories {
        match watcher.watch(&directory, RecursiveMode::NonRecursive) {
            // It was removed meanwhile, which is a change of the directory above.
            Err(error) if is_missing(&error.kind) => {}
            result => result.map_err(|error| failed(&error))?,
        }
    }
    Ok(())
}

/// A directory and those below it; of a file, its directory, also if there is no such file yet. Of a glob, the directory
/// that its names begin with, and those below it.
fn directories(path: &Path) -> Vec<PathBuf> {
    let base = glob_base(&path.to_string_lossy());
    let fixed = match path.exists() {
        true => path.to_owned(),
        false if base.as_os_str().is_empty() => PathBuf::from("."),
        false => base,
    };
    if !fixed.is_dir() {
        let directory = fixed.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        return if directory.is_dir() { vec![directory.to_owned()] } else { Vec::new() };
    }
    let top = fixed.as_path();
    let entries = WalkBuilder::new(top).require_git(false).ignore(false).build().flatten();
    entries.filter(|entry| entry.path().is_dir()).map(ignore::DirEntry::into_path).collect()
}

fn is_missing(kind: &ErrorKind) -> bool {
    match kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => error.kind() == io::ErrorKind::NotFound,
        _ => false,
    }
}

fn failed(error: &notify::Error) -> Failure {
    Failure::Message(format!("changes cannot be watched: {error}"))
}
