//! Memory limits in proportion to the length of the input.

use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The memory limit of an input, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    base: usize,
    per_byte: usize,
}

/// Messages, answers and settings: a few copies of their content. The base is for caches, connections and clients.
pub const OF_MESSAGES: Limit = Limit { base: 3 << 20, per_byte: 100 };
/// Documents with a span for each value: a byte may be a value (`[0,0,…`), and a value takes some hundred bytes.
pub const OF_DOCUMENTS: Limit = Limit { base: 1 << 20, per_byte: 1_000 };
/// Audits: the documents, their definitions, findings and drawings.
pub const OF_AUDITS: Limit = Limit { base: 16 << 20, per_byte: 8_000 };

/// Runs work, and asserts that its peak memory is within the limit.
pub fn within(limit: Limit, input: usize, work: impl FnOnce()) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    work();
    let taken = MEMORY.peak_usage().saturating_sub(before);
    let allowed = limit.base + limit.per_byte * input;
    assert!(taken <= allowed, "{input} bytes of input took {taken} bytes of memory; {allowed} would be in proportion");
}
