//! What the rules find, what they do not find, and what their fixes do.

mod examples;
mod fixes;
mod secrecy;
mod silence;
