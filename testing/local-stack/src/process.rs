//! Servers as child processes, which end with this process.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{pids, scratch};

/// How long a child, which is killed five seconds after its termination signal, may take to end.
const LONGEST_END: Duration = Duration::from_mins(2);

/// The supervisor between this process and a child. Its standard input is a pipe whose other end only this process has: when this
/// process ends, for any reason, the pipe closes, and the supervisor ends its process group with all that the child has started.
const SUPERVISOR: &str = r#"
exec 3<&0 </dev/null
"$@" 3<&- &
child=$!
trap : TERM
(
    trap : TERM
    read -r word <&3
    [ "$word" = keep ] && exit
    kill -s TERM 0
    sleep 5
    kill -s KILL 0
) &
# wait returns early when a signal comes.
while kill -s 0 "$child" 2>/dev/null; do wait "$child"; done
kill -s KILL 0
"#;

/// A running child, with its output in a log file.
pub struct Process {
    name: String,
    supervisor: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program. Its environment is `PATH`, its own home and temporary directory, and `env`.
    pub fn start(name: &str, program: &Path, args: &[&str], env: &[(&str, String)]) -> Self {
        let (log, output) = scratch::log(name);
        let home = scratch::directory().join(name);
        std::fs::create_dir_all(&home).unwrap();
        let supervisor = Command::new("sh")
            .args(["-c", SUPERVISOR, "sh"])
            .arg(program)
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env("TMPDIR", &home)
            .envs(env.iter().map(|(key, value)| (*key, value)))
            .current_dir(&home)
            .stdin(Stdio::piped())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {name}: {error}"));
        Self { name: name.into(), supervisor, log }
    }

    /// Its process group: `kill -TERM -- -<group>` ends it.
    pub fn group(&self) -> u32 {
        self.supervisor.id()
    }

    /// The program's process ID.
    pub fn pid(&self) -> u32 {
        // The supervisor's other child is a shell.
        let is_program = |pid: &u32| pids::program(*pid).is_some_and(|name| name != "sh");
        pids::children(self.group()).into_iter().find(is_program).expect("the program runs")
    }

    /// Panics with the end of the log if the process has ended.
    pub fn assert_running(&mut self) {
        if let Some(status) = self.supervisor.try_wait().unwrap() {
            panic!("{} has ended by itself ({status}); its log ends:\n{}", self.name, self.log_end());
        }
    }

    /// The last lines of its log.
    pub fn log_end(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Ends the process group, and waits for its end. (Dropping ends it as well, without waiting.)
    pub fn stop(mut self) {
        drop(self.supervisor.stdin.take());
        let start = Instant::now();
        while self.supervisor.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < LONGEST_END, "{} has not ended within {LONGEST_END:?}", self.name);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills the process group (`kill -9`).
    pub fn kill(mut self) {
        let group = format!("-{}", self.group());
        let killed = Command::new("kill").args(["-KILL", "--", &group]).status().unwrap();
        assert!(killed.success(), "{} cannot be killed", self.name);
        self.supervisor.wait().unwrap();
    }

    /// Keeps the process running after this process.
    pub fn keep(mut self) {
        if let Some(mut pipe) = self.supervisor.stdin.take() {
            pipe.write_all(b"keep\n").unwrap();
        }
    }
}
