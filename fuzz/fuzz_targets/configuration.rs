#![no_main]

use ecs_mesh_controller_fuzz::Target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| Target::named("configuration").expect("a target").feed(data));
