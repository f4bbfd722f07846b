//! How a sweep grows with the number of tasks: `reconcile` against stand-ins that answer at once, and an ECS that throttles as it documents.

use std::time::Duration;

use local_stack::{
    functions::{self, Limits},
    pids,
};
use serde_json::{Value, json};
use test_harness::{
    function::{Function, RuntimeApi},
    installation::{Installation, RateLimit, settings},
};

/// The tasks that ECS lists. The exponent is the slope between the second and the last one.
const TASKS: [u32; 4] = [100, 1_000, 10_000, 50_000];

/// One sweep.
struct Sweep {
    wall: Duration,
    /// Of the whole process, with its start.
    processor: Duration,
    calls: usize,
    peak_mib: u64,
}

/// Sweeps an installation of each size, and prints how the processor time grows: what passes otherwise is ECS's rate.
pub(crate) async fn measure(binary: &str) -> Value {
    let limits = functions::limits("ReconcileFunction");
    println!("\n{:32}{:>10}{:>12}{:>10}{:>10}", "a sweep of", "s", "processor s", "calls", "MiB");
    let (mut rows, mut times) = (Vec::new(), Vec::new());
    for tasks in TASKS {
        let Sweep { wall, processor, calls, peak_mib } = sweep(binary, Installation::of(tasks as usize), limits).await;
        let (wall, processor) = (wall.as_secs_f64(), processor.as_secs_f64());
        println!("{:32}{wall:>10.2}{processor:>12.2}{calls:>10}{peak_mib:>10}", format!("{tasks} tasks"));
        rows.push(json!({
            "tasks": tasks,
            "seconds": wall,
            "processorSeconds": processor,
            "calls": calls,
            "peakMiB": peak_mib,
        }));
        times.push((f64::from(tasks), processor));
    }
    let (first, last) = (times[1], times[times.len() - 1]);
    let exponent = (last.1 / first.1).ln() / (last.0 / first.0).ln();
    println!("exponent {exponent:.2}; the function has {} s and {} MiB", limits.time.as_secs(), limits.memory_mib);
    json!({ "sweeps": rows, "exponent": exponent })
}

async fn sweep(binary: &str, installation: Installation, limits: Limits) -> Sweep {
    let (consul, aws) = tokio::join!(installation.consul(Duration::ZERO), installation.aws(RateLimit::Documented));
    let runtime = RuntimeApi::start_for(limits.time, vec![json!({ "scheduled": true })]).await;
    let function = Function::start(binary, &runtime, &settings(&consul, &aws));
    let answer = runtime.answers(1).await.remove(0);
    let (processor, peak) = (pids::processor_time(function.pid()), pids::peak_resident_kib(function.pid()));
    let printed = function.end();
    assert!(answer.uri.ends_with("/response"), "{}\n{printed}", answer.body);
    assert_eq!(answer.json()["outcome"], "done", "{}", answer.body);
    let asked = runtime.0.requests().remove(0).at;
    Sweep {
        wall: answer.at - asked,
        processor: processor.expect("the function runs"),
        calls: consul.requests().len() + aws.requests().len(),
        peak_mib: peak.expect("the function runs") / 1024,
    }
}
