//! The memory of the function's processes.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use local_stack::{functions, pids};
use serde_json::{Value, json};
use test_harness::{
    fleet::Fleet,
    invocation::{FunctionSetup, Invocation},
};

/// The sampling interval.
const INTERVAL: Duration = Duration::from_millis(200);
/// The messages of each batch.
const BATCH: usize = 10;
/// The number of different batches.
const BATCHES: usize = 10;

/// Samples the memory of a `MiniStack`'s functions, on its own thread.
pub(crate) struct Memory {
    samples: Arc<Mutex<Vec<u64>>>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Memory {
    pub(crate) fn watch(ministack: u32) -> Self {
        let (samples, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (kept, is_done) = (Arc::clone(&samples), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            while !is_done.load(Ordering::SeqCst) {
                let functions = pids::children(ministack).into_iter();
                let functions = functions.filter(|pid| pids::program(*pid).as_deref() == Some("bootstrap"));
                kept.lock().unwrap().extend(functions.filter_map(pids::resident_kib).max());
                std::thread::sleep(INTERVAL);
            }
        });
        Self { samples, is_over, thread }
    }

    /// The minimum and the maximum memory of the largest process, in KiB.
    pub(crate) fn end(self) -> [u64; 2] {
        self.is_over.store(true, Ordering::SeqCst);
        self.thread.join().unwrap();
        let samples = self.samples.lock().unwrap();
        [samples.iter().min(), samples.iter().max()].map(|kib| kib.copied().unwrap_or_default())
    }
}

/// The memory of a process that has handled the same batches `rounds` times, in KiB.
pub(crate) async fn after_equal_rounds(fleet: &Fleet<'_>, events: &[Value], rounds: usize) -> u64 {
    let batches: Vec<Value> = events.chunks(BATCH).take(BATCHES).map(batch).collect();
    let batches: Vec<Value> = (0..rounds).flat_map(|_| batches.clone()).collect();
    let (count, binary) = (batches.len(), functions::binary("TaskEventsFunction"));
    let setup = FunctionSetup {
        binary: &binary,
        consul_address: &fleet.world.consul.address,
        aws_endpoint: &fleet.world.aws.endpoint,
    };
    let function = Invocation::of_events(&fleet.world, &setup, &[("BOOTSTRAP", "none")], batches).await;
    function.resident_kib_after(count).await
}

/// The event of a batch of messages.
fn batch(events: &[Value]) -> Value {
    let record = |(index, event): (usize, &Value)| json!({ "messageId": index.to_string(), "body": event.to_string() });
    json!({ "Records": events.iter().enumerate().map(record).collect::<Vec<_>>() })
}
