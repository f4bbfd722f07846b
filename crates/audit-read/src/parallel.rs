//! Work on many items with all processors.

use std::{
    num::NonZeroUsize,
    panic::resume_unwind,
    thread::{available_parallelism, scope},
};

/// Splits the items into one part for each processor, and works on all parts at once. The results are in the order of the
/// items, which they may borrow from.
pub fn on_all_processors<'i, T: Sync, R: Send>(items: &'i [T], work: impl Fn(&'i [T]) -> R + Sync) -> Vec<R> {
    let processors = available_parallelism().map_or(1, NonZeroUsize::get);
    let length = items.len().div_ceil(processors);
    if processors == 1 || length < 2 {
        return vec![work(items)];
    }
    scope(|scope| {
        let parts: Vec<_> = items.chunks(length).map(|part| scope.spawn(|| work(part))).collect();
        parts.into_iter().map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for length in 0..9 {
            let items: Vec<usize> = (0..length).collect();
            assert_eq!(on_all_processors(&items, <[usize]>::to_vec).concat(), items);
        }
    }
}
