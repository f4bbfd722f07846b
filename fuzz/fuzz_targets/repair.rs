//! Mending: whatever the file, a second time there is nothing left to mend.

#![no_main]

use std::sync::Arc;

use ecs_mesh_controller::audit::{fix::repair, source::SourceFile};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let repaired = repair(Arc::new(SourceFile::new("file", text)), |_| true);
    let again = repair(repaired.after.clone(), |_| true);
    assert_eq!(repaired.after.text, again.after.text);
});
