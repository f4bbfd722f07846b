//! The repository agrees with itself: the template with the crate, the pages with the tests, and the sources with what is
//! promised of them.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod circles;
mod logging;
mod redaction;
mod reliability_page;
mod template;
