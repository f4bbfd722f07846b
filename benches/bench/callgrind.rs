//! Counts the instructions of a function.

use std::process::{Child, Command, Stdio};

use test_harness::function::{RuntimeApi, command};

/// A function that runs under callgrind.
pub(crate) struct Counted(Child);

impl Counted {
    pub(crate) fn start(binary: &str, runtime: &RuntimeApi, variables: &[(&str, &str)]) -> Self {
        let function = command("valgrind", runtime, variables)
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", binary])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        Self(function.expect("valgrind is installed"))
    }

    /// Ends the function, and returns the number of its instructions.
    #[expect(clippy::cast_precision_loss, reason = "a count of instructions is shown in millions")]
    pub(crate) fn instructions(self) -> f64 {
        let ended = Command::new("kill").arg(self.0.id().to_string()).status().expect("kill");
        assert!(ended.success());
        let printed = self.0.wait_with_output().expect("its output").stderr;
        let printed = String::from_utf8_lossy(&printed).into_owned();
        let collected = printed.lines().find_map(|line| line.split_once("Collected : "));
        let count: Option<u64> = collected.and_then(|(_, count)| count.trim().parse().ok());
        count.unwrap_or_else(|| panic!("{printed}")) as f64
    }
}
