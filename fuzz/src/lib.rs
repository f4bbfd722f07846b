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
    run: fn(&[u8]),
    memory: memory::Limit,
}

/// All targets.
pub const TARGETS: [Target; 12] = [
    Target { name: "read_source", run: auditor::read_source, memory: memory::OF_AUDITS },
    Target { name: "json", run: auditor::json, memory: memory::OF_DOCUMENTS },
    Target { name: "yaml", run: auditor::yaml, memory: memory::OF_DOCUMENTS },
    Target { name: "embedded", run: auditor::embedded, memory: memory::OF_DOCUMENTS },
    Target { name: "configuration", run: auditor::configuration, memory: memory::OF_DOCUMENTS },
    Target { name: "repair", run: auditor::repair, memory: memory::OF_AUDITS },
    Target { name: "events", run: events::run, memory: memory::OF_MESSAGES },
    Target { name: "arns", run: arns::run, memory: memory::OF_MESSAGES },
    Target { name: "consul", run: consul::run, memory: memory::OF_MESSAGES },
    Target { name: "secrets", run: secrets::run, memory: memory::OF_MESSAGES },
    Target { name: "ecs_config", run: ecs_config::run, memory: memory::OF_MESSAGES },
    Target { name: "settings", run: settings::run, memory: memory::OF_MESSAGES },
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
        memory::within(self.memory, data.len(), || (self.run)(data));
    }
}

/// The input as text, if it is UTF-8.
fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}
