//! The YAML reader: every value that it reads has its place in the text.

#![no_main]

use ecs_mesh_controller::audit::document::parse_yaml;
use libfuzzer_sys::fuzz_target;

mod places;

fuzz_target!(|text: &str| {
    if let Ok(node) = parse_yaml(text) {
        places::check(text, &node);
    }
});
