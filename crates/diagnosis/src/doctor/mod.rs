//! Whether an installation works, or can be made: a list of checks, each with what was seen and the commands that mend it.
//!
//! ```text
//!  Doctor::installed, Doctor::before_install ─▶ readings ─▶ one function for each check ─▶ DoctorReport
//!        AWS, Consul, the functions              values            pure
//! ```

mod account;
mod alarm_topic;
mod answer;
mod commands;
mod consul_from_here;
mod controllers;
mod dead_letters;
mod functions;
mod other_stacks;
mod policy;
mod queue;
mod report;
mod rules;
mod stack;
mod surroundings;
mod trail;

pub use self::{
    commands::Commands,
    report::{Check, CheckOutcome, DoctorReport},
    surroundings::{Doctor, Sources},
};

/// What was read, or why it could not be.
type Read<T> = Result<T, String>;
