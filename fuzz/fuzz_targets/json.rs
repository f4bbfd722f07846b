//! The JSON reader: every value that it reads has its place in the text.

#![no_main]

use ecs_mesh_controller::audit::document::{Route, parse_json};
use libfuzzer_sys::fuzz_target;

mod places;

fuzz_target!(|text: &str| {
    if let Ok(node) = parse_json(text, &Route::default()) {
        places::check(text, &node);
    }
});
