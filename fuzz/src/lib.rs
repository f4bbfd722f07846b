//! The fuzz targets. `tests/fuzz_corpora.rs` feeds the corpora to the same functions on the stable toolchain, as regression tests.

mod arns;
mod auditor;
mod consul;
mod ecs_config;
mod events;
pub mod memory;
mod places;
mod secrets;
mod settings;

/// A target: its name, its function, and its memory limit.
pub struct Target {
    /// The name of its folder in `corpus/`.
    pub name: &'static str,
    run: Run,
    memory: memory::Limit,
}

/// What a target reads: any bytes, a text, or a text behind a digit that selects one of several.
enum Run {
    Bytes(fn(&[u8])),
    Text(fn(&str)),
    Selected(fn(usize, &str)),
}

/// All targets.
pub const TARGETS: [Target; 12] = [
    Target { name: "read_source", run: Run::Selected(auditor::read_source), memory: memory::OF_AUDITS },
    Target { name: "json", run: Run::Text(auditor::json), memory: memory::OF_DOCUMENTS },
    Target { name: "yaml", run: Run::Text(auditor::yaml), memory: memory::OF_DOCUMENTS },
    Target { name: "embedded", run: Run::Text(auditor::embedded), memory: memory::OF_DOCUMENTS },
    Target { name: "configuration", run: Run::Text(auditor::configuration), memory: memory::OF_DOCUMENTS },
    Target { name: "repair", run: Run::Text(auditor::repair), memory: memory::OF_AUDITS },
    Target { name: "events", run: Run::Selected(events::run), memory: memory::OF_MESSAGES },
    Target { name: "arns", run: Run::Text(arns::run), memory: memory::OF_MESSAGES },
    Target { name: "consul", run: Run::Bytes(consul::run), memory: memory::OF_MESSAGES },
    Target { name: "secrets", run: Run::Selected(secrets::run), memory: memory::OF_MESSAGES },
    Target { name: "ecs_config", run: Run::Text(ecs_config::run), memory: memory::OF_MESSAGES },
    Target { name: "settings", run: Run::Text(settings::run), memory: memory::OF_MESSAGES },
];

impl Target {
    /// The target with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Feeds one input to the target.
    ///
    /// # Panics
    /// If an assertion fails, or the input takes more memory than its length allows.
    pub fn feed(&self, data: &[u8]) {
        memory::within(self.memory, data.len(), || match (&self.run, data, str::from_utf8(data)) {
            (Run::Bytes(run), data, _) => run(data),
            (Run::Text(run), _, Ok(text)) => run(text),
            (Run::Selected(run), [first, rest @ ..], _) => {
                let _ = str::from_utf8(rest).map(|text| run(usize::from(first.wrapping_sub(b'0')), text));
            }
            _ => {}
        });
    }
}
