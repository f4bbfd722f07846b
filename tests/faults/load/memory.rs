//! How much memory the functions' processes have in use while they work.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use local_stack::pids;

/// How often it is looked at.
const INTERVAL: Duration = Duration::from_millis(200);

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

    /// The largest process of each quarter of the time, in KiB.
    pub(crate) fn end(self) -> [u64; 4] {
        self.is_over.store(true, Ordering::SeqCst);
        self.thread.join().unwrap();
        let samples = self.samples.lock().unwrap();
        std::array::from_fn(|quarter| {
            let (from, to) = (samples.len() * quarter / 4, samples.len() * (quarter + 1) / 4);
            samples[from..to].iter().copied().max().expect("some samples")
        })
    }
}
