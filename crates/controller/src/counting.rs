//! Metrics of what was done.

use mesh::mode::Mode;
use telemetry::Counted;

/// Counts what was done: in mode `observe`, nothing was.
pub(crate) fn count(operation: Mode, counted: Counted, number: usize) {
    if operation.acts() {
        counted.add(number);
    }
}
