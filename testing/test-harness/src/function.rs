//! A function's binary, with a server for the Lambda runtime API: it gets one event after the other; its answers and its output are
//! kept.

use std::{
    io::Read,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde_json::Value;
use tokio::time::sleep;

use crate::recorder::{Answer, RecordedRequest, Recorder};

/// How long tests wait for a function: far longer than its timeout.
pub(crate) const TIME_LIMIT: Duration = Duration::from_mins(5);

/// A server for the Lambda runtime API.
pub struct RuntimeApi(pub Recorder);

impl RuntimeApi {
    /// Starts a server that hands out these events, one after the other, and records the answers. Each invocation has 60
    /// seconds, as in `task-events`.
    pub async fn start(events: Vec<Value>) -> Self {
        Self::start_for(Duration::from_secs(60), events).await
    }

    /// The same, for a function with this timeout.
    pub async fn start_for(timeout: Duration, events: Vec<Value>) -> Self {
        let next = AtomicUsize::new(0);
        let recorder = Recorder::start(move |seen, _| {
            if !seen.uri.ends_with("/invocation/next") {
                return Answer::status(202, "");
            }
            let number = next.fetch_add(1, Ordering::SeqCst);
            let Some(event) = events.get(number) else { return Answer::Hang };
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            let deadline = (now + timeout).as_millis().to_string();
            let function = "arn:aws:lambda:us-east-1:123456789012:function:one-of-ours".to_owned();
            let headers = vec![
                ("lambda-runtime-aws-request-id", format!("request-{number}")),
                ("lambda-runtime-deadline-ms", deadline),
                ("lambda-runtime-invoked-function-arn", function),
            ];
            Answer::Reply(200, headers, event.to_string())
        });
        Self(recorder.await)
    }

    /// Waits until `count` events are answered, and returns all answers so far, including errors.
    pub async fn answers(&self, count: usize) -> Vec<RecordedRequest> {
        let is_answer = |seen: &RecordedRequest| seen.uri.ends_with("/response") || seen.uri.ends_with("/error");
        wait_for_requests(&self.0, count, is_answer).await
    }
}

/// Waits until a server has received `count` requests that match, and returns all that match.
pub async fn wait_for_requests(
    server: &Recorder,
    count: usize,
    matches: impl Fn(&RecordedRequest) -> bool,
) -> Vec<RecordedRequest> {
    let start = Instant::now();
    loop {
        let all = server.requests();
        let seen: Vec<RecordedRequest> = all.into_iter().filter(|seen| matches(seen)).collect();
        if seen.len() >= count {
            return seen;
        }
        assert!(
            start.elapsed() < TIME_LIMIT,
            "waited {TIME_LIMIT:?} for {count} requests; received: {seen:?}; all requests: {:?}",
            server.lines()
        );
        sleep(Duration::from_millis(20)).await;
    }
}

/// A command with Lambda's environment variables and `variables`, and no others.
pub fn command(program: &str, runtime: &RuntimeApi, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("AWS_LAMBDA_RUNTIME_API", runtime.0.url.trim_start_matches("http://"))
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_LAMBDA_FUNCTION_NAME", "one-of-ours")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
        .envs(variables.iter().copied())
        .stdin(Stdio::null());
    command
}

/// A running function, which ends with the test.
pub struct Function {
    child: Mutex<Child>,
    printed: Arc<Mutex<Vec<u8>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Function {
    /// Starts a binary with Lambda's environment variables and `variables`, and no others.
    pub fn start(binary: &str, runtime: &RuntimeApi, variables: &[(&str, &str)]) -> Self {
        let mut command = command(binary, runtime, variables);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let printed = Arc::new(Mutex::default());
        let readers = vec![
            keep(child.stdout.take().expect("a pipe"), &printed),
            keep(child.stderr.take().expect("a pipe"), &printed),
        ];
        Self { child: Mutex::new(child), printed, readers }
    }

    /// Its process ID.
    pub fn pid(&self) -> u32 {
        self.child.lock().unwrap().id()
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        self.child.lock().unwrap().try_wait().expect("the process can be waited for").is_some()
    }

    /// The output so far.
    pub fn printed(&self) -> String {
        String::from_utf8_lossy(&self.printed.lock().unwrap()).into_owned()
    }

    /// Ends the process, and returns its whole output.
    pub fn end(mut self) -> String {
        self.kill_and_wait();
        for reader in self.readers.drain(..) {
            reader.join().expect("a pipe is read to its end");
        }
        self.printed()
    }

    fn kill_and_wait(&self) {
        let mut child = self.child.lock().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        self.kill_and_wait();
    }
}

fn keep(mut pipe: impl Read + Send + 'static, printed: &Arc<Mutex<Vec<u8>>>) -> JoinHandle<()> {
    let printed = Arc::clone(printed);
    std::thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(length @ 1..) = pipe.read(&mut part) {
            printed.lock().unwrap().extend_from_slice(&part[..length]);
        }
    })
}
