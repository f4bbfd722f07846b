//! No input takes memory out of proportion to its length.

use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// How much memory an input of some length may take, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    base: usize,
    per_byte: usize,
}

/// Messages, answers and settings: a few copies of what they hold. The base is for caches, connections and clients.
pub const OF_MESSAGES: Limit = Limit { base: 3 << 20, per_byte: 100 };
/// Documents whose every value knows its place: a byte may be a value (`[0,0,…`), and a value is some hundred bytes.
pub const OF_DOCUMENTS: Limit = Limit { base: 1 << 20, per_byte: 1_000 };
/// Audits: the documents, definitions made of them, their findings and drawings.
pub const OF_AUDITS: Limit = Limit { base: 16 << 20, per_byte: 8_000 };

/// Does the work, and watches what it takes at most.
pub fn within(limit: Limit, input: usize, work: impl FnOnce()) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    work();
    let taken = MEMORY.peak_usage().saturating_sub(before);
    let allowed = limit.base + limit.per_byte * input;
    assert!(taken <= allowed, "{input} bytes of input took {taken} bytes of memory; {allowed} would be in proportion");
}
