//! Feeds its input to the target that the variable `TARGET` names.

#![no_main]

use std::{env, sync::LazyLock};

use ecs_mesh_controller_fuzz::Target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = env::var("TARGET").expect("TARGET is set");
    Target::named(&name).expect("TARGET is one of the targets")
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET.feed(data));
