//! Runs `ecs-mesh` in its own directory.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

pub(crate) const CLEAN: &str = include_str!("../../../audit/src/bases/dataplane.json");

/// A working directory with files.
pub(crate) struct Workspace(pub(crate) PathBuf);

impl Workspace {
    pub(crate) fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        for (name, text) in files {
            let path = path.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(path)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ecs-mesh"));
        command.args(arguments).current_dir(&self.0).env_remove("NO_COLOR");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Asserts that a run is refused, and that it says this.
    #[track_caller]
    pub(crate) fn assert_refused(&self, arguments: &[&str], why: &str) {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(errors(&output).contains(why), "{arguments:?}: {}", errors(&output));
    }

    /// The text of a file.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

/// The correct definition with one mistake: its network mode.
pub(crate) fn bridged() -> String {
    CLEAN.replace("\"awsvpc\"", "\"bridge\"")
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The correct definition with two mistakes: its network mode, and a dependency on a container that does not exist.
pub(crate) fn two_mistakes() -> String {
    bridged().replacen("\"containerName\": \"consul-dataplane\"", "\"containerName\": \"nobody\"", 1)
}
