//! `mesh-audit.toml`.

#![no_main]

use std::path::Path;

use ecs_mesh_controller::audit::{ignore::Config, source::SourceFile};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let file = SourceFile::new("mesh-audit.toml", text);
    if let Err(error) = Config::read(&file, Path::new("."), &["error", "warning", "info", "never"]) {
        assert!(!error.to_string().is_empty());
    }
});
