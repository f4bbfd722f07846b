//! What the demo prints: one line for everything that happens, with the time since the demo's first event.

use std::time::{Duration, Instant};

use console::{Style, style};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;

/// Who does something.
#[derive(Clone, Copy)]
pub(crate) enum Actor {
    /// Amazon ECS.
    Ecs,
    /// The function.
    Controller,
    /// What Consul holds.
    Consul,
    /// What Secrets Manager holds.
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

    /// A new chapter of the story.
    pub(crate) fn chapter(title: &str) {
        println!("\n{}", style(title).bold());
    }

    /// One line about now.
    pub(crate) fn say(&self, actor: Actor, text: &str) {
        self.say_of(Timestamp::now(), actor, text);
    }

    /// One line about an earlier moment.
    pub(crate) fn say_of(&self, moment: Timestamp, actor: Actor, text: &str) {
        let at = format!("{:6.2} s", moment.duration_since(self.start).as_secs_f64());
        println!("  {}  {:<11}  {text}", style(at).dim(), actor.label());
    }

    /// How long the controller took from the event's arrival to its effect.
    pub(crate) fn reacted(&mut self, what: &str, took: Duration) {
        println!(
            "            {}  {what} {}",
            style("└─ after").dim(),
            style(format!("{:.2} s", took.as_secs_f64())).green()
        );
        self.reactions.push((what.to_owned(), took));
    }

    /// All reaction times once more.
    pub(crate) fn summary(&self) {
        Self::chapter("Reaction times, from the event's arrival in the queue to what Consul and Secrets Manager hold");
        for (what, took) in &self.reactions {
            println!("  {:6.2} s  {what}", took.as_secs_f64());
        }
    }
}

/// Does a step that takes a while, with a spinner and its time on a terminal, and a line when it is done.
pub(crate) async fn step<T>(what: &str, work: impl Future<Output = T>) -> T {
    let spinner = ProgressBar::new_spinner().with_message(what.to_owned());
    let look = ProgressStyle::with_template("  {spinner} {msg} {elapsed}").expect("a template");
    spinner.set_style(look);
    spinner.enable_steady_tick(Duration::from_millis(100));
    let start = Instant::now();
    let done = work.await;
    spinner.finish_and_clear();
    println!("  {} {what} {}", style("✔").green(), style(format!("({:.1} s)", start.elapsed().as_secs_f64())).dim());
    done
}
