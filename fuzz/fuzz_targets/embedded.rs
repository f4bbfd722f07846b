//! JSON in a string of JSON, as the configuration of consul-ecs is.

#![no_main]

use ecs_mesh_controller::audit::document::{Route, embedded_json, parse_json};
use libfuzzer_sys::fuzz_target;

mod places;

fuzz_target!(|text: &str| {
    let Ok(host) = parse_json(text, &Route::default()) else { return };
    if let Ok(node) = embedded_json(text, &host) {
        places::check(text, &node);
    }
});
