//! How much memory the function's processes have in use.

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
    crowd::Crowd,
    invocation::{Invocation, Place},
};

/// How often it is looked at.
const INTERVAL: Duration = Duration::from_millis(200);
/// How many messages there are in each of the equal batches.
const BATCH: usize = 10;
/// How many different batches there are.
const BATCHES: usize = 10;

/// Watches the functions of a `MiniStack` from a thread of its own.
pub(crate) struct Memory {
    samples: Arc<Mutex<Vec<u64>>>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Memory {
    pub(crate) fn watch(ministack: u32) -> Self {
        let (samples, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (kept, told) = (Arc::clone(&samples), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::SeqCst) {
                let functions = pids::children(ministack).into_iter();
                let functions = functions.filter(|pid| pids::program(*pid).as_deref() == Some("bootstrap"));
                kept.lock().unwrap().extend(functions.filter_map(pids::resident_kib).max());
                std::thread::sleep(INTERVAL);
            }
        });
        Self { samples, is_over, thread }
    }

    /// The least and the most that the largest process had in use, in KiB.
    pub(crate) fn end(self) -> [u64; 2] {
        self.is_over.store(true, Ordering::SeqCst);
        self.thread.join().unwrap();
        let samples = self.samples.lock().unwrap();
        [samples.iter().min(), samples.iter().max()].map(|kib| kib.copied().unwrap_or_default())
    }
}

/// What a process has in use that has done the same batches so many times over, and waits for the next, in KiB.
pub(crate) async fn after_equal_rounds(crowd: &Crowd<'_>, events: &[Value], rounds: usize) -> u64 {
    let batches: Vec<Value> = events.chunks(BATCH).take(BATCHES).map(batch).collect();
    let batches: Vec<Value> = (0..rounds).flat_map(|_| batches.clone()).collect();
    let (count, binary) = (batches.len(), functions::binary("TaskEventsFunction"));
    let place = Place {
        binary: binary.to_str().unwrap(),
        consul_address: &crowd.world.consul.address,
        aws_endpoint: &crowd.world.aws.endpoint,
    };
    let function = Invocation::of_events(&crowd.world, &place, &[("BOOTSTRAP", "none")], batches).await;
    function.resident_kib_after(count).await
}

/// As Lambda hands messages over.
fn batch(events: &[Value]) -> Value {
    let record = |(index, event): (usize, &Value)| json!({ "messageId": index.to_string(), "body": event.to_string() });
    json!({ "Records": events.iter().enumerate().map(record).collect::<Vec<_>>() })
}
