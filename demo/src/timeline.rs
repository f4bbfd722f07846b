//! The demo's output: one line for each step, with the time since the first event.

use std::time::{Duration, Instant};

use console::{Style, style};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;

/// The subject of a line.
#[derive(Clone, Copy)]
pub(crate) enum Actor {
    /// Amazon ECS.
    Ecs,
    /// The function.
    Controller,
    /// The state of Consul.
    Consul,
    /// The state of Secrets Manager.
    Secrets,
}

impl Actor {
    fn label(self) -> console::StyledObject<&'static str> {
        let (name, colour) = match self {
            Self::Ecs => ("ECS", Style::new().yellow()),
            Self::Controller => ("controller", Style::new().cyan()),
            Self::Consul => ("Consul", Style::new().magenta()),
            Self::Secrets => ("Secrets Mgr", Style::new().blue()),
        };
        colour.apply_to(name)
    }
}

/// The printed timeline, and the reaction times on it.
pub(crate) struct Timeline {
    start: Timestamp,
    reactions: Vec<(String, Duration)>,
}

impl Timeline {
    pub(crate) fn start() -> Self {
        Self { start: Timestamp::now(), reactions: Vec::new() }
    }

    /// Prints a heading.
    pub(crate) fn chapter(title: &str) {
        println!("\n{}", style(title).bold());
    }

    /// Prints a line with the current time.
    pub(crate) fn say(&self, actor: Actor, text: &str) {
        self.say_of(Timestamp::now(), actor, text);
    }

    /// Prints a line with an earlier time.
    pub(crate) fn say_of(&self, moment: Timestamp, actor: Actor, text: &str) {
        let at = format!("{:6.2} s", moment.duration_since(self.start).as_secs_f64());
        println!("  {}  {:<11}  {text}", style(at).dim(), actor.label());
    }

    /// Prints the time from the event's arrival to its effect.
    pub(crate) fn reacted(&mut self, what: &str, took: Duration) {
        println!(
            "            {}  {what} {}",
            style("└─ after").dim(),
            style(format!("{:.2} s", took.as_secs_f64())).green()
        );
        self.reactions.push((what.to_owned(), took));
    }

    /// Prints all reaction times.
    pub(crate) fn summary(&self) {
        Self::chapter(
            "Reaction times, from the event's arrival in the queue to its effect in Consul and Secrets Manager",
        );
        for (what, took) in &self.reactions {
            println!("  {:6.2} s  {what}", took.as_secs_f64());
        }
    }
}

/// Runs a step, with a spinner and its time on a terminal, and prints a line at its end.
pub(crate) async fn step<T>(what: &str, work: impl Future<Output = T>) -> T {
    let spinner = ProgressBar::new_spinner().with_message(what.to_owned());
    let template = ProgressStyle::with_template("  {spinner} {msg} {elapsed}").expect("a template");
    spinner.set_style(template);
    spinner.enable_steady_tick(Duration::from_millis(100));
    let start = Instant::now();
    let done = work.await;
    spinner.finish_and_clear();
    println!("  {} {what} {}", style("✔").green(), style(format!("({:.1} s)", start.elapsed().as_secs_f64())).dim());
    done
}
