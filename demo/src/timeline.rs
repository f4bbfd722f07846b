//! The demo's output: numbered scenes with a line for each step, and a summary.

use std::time::{Duration, Instant};

use console::{Style, Term, style};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;

/// The subject of a line.
#[derive(Clone, Copy)]
pub(crate) enum Actor {
    /// Amazon ECS.
    Ecs,
    /// The programs of consul-ecs in a task.
    Task,
    /// A function of the controller.
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
            Self::Task => ("task", Style::new().yellow()),
            Self::Controller => ("controller", Style::new().cyan()),
            Self::Consul => ("Consul", Style::new().magenta()),
            Self::Secrets => ("Secrets Mgr", Style::new().blue()),
        };
        colour.apply_to(name)
    }
}

/// Where the text of a line begins.
const INDENT: usize = 25;
/// Where the text of the summary begins.
const SUMMARY_INDENT: usize = 22;
/// The columns of an output that is not a terminal, and at most of a terminal: what a page shows without a scroll bar.
const WIDEST: usize = 100;
/// At least so many columns are left for the text.
const NARROWEST_TEXT: usize = 30;

/// What has happened in a scene, and what the always-on controller of consul-ecs does there.
struct Outcome {
    what: &'static str,
    ours: String,
    always_on: &'static str,
}

/// The printed scenes, and the outcomes.
pub(crate) struct Timeline {
    start: Timestamp,
    scenes: usize,
    outcomes: Vec<Outcome>,
}

impl Timeline {
    pub(crate) fn start() -> Self {
        Self { start: Timestamp::now(), scenes: 0, outcomes: Vec::new() }
    }

    /// Prints the heading of the next scene.
    pub(crate) fn scene(&mut self, title: &str) {
        self.scenes += 1;
        heading(&format!("{}. {title}", self.scenes));
    }

    /// Prints a line with the current time.
    pub(crate) fn say(&self, actor: Actor, text: &str) {
        self.say_of(Timestamp::now(), actor, text);
    }

    /// Prints a line with an earlier time.
    pub(crate) fn say_of(&self, moment: Timestamp, actor: Actor, text: &str) {
        let at = format!("{:6.2} s", moment.duration_since(self.start).as_secs_f64());
        let head = format!("  {}  {:<11}  ", style(at).dim(), actor.label());
        print_wrapped(&head, INDENT, text);
    }

    /// Notes the outcome of this scene for the summary.
    pub(crate) fn outcome(&mut self, what: &'static str, ours: String, always_on: &'static str) {
        self.outcomes.push(Outcome { what, ours, always_on });
    }

    /// Prints all outcomes, next to what the always-on controller does.
    pub(crate) fn summary(&self) {
        heading("What the always-on controller of consul-ecs 0.10, which polls every 10 s, would have done");
        for (Outcome { what, ours, always_on }, number) in self.outcomes.iter().zip(1..) {
            println!("  {}", style(format!("{number}. {what}")).bold());
            print_wrapped(&format!("     {}  ", style("this controller").cyan()), SUMMARY_INDENT, ours);
            print_wrapped(&format!("     {}        ", style("always-on").dim()), SUMMARY_INDENT, always_on);
        }
        println!();
        let sources = "Measured: docs/explanation/performance.md#next-to-hashicorps-controller. A sweep runs every 5 \
                       minutes; the demo does not wait for the next one.";
        print_wrapped("  ", 2, sources);
    }
}

/// Prints what has happened so long after the event or the start of a sweep.
pub(crate) fn reacted(took: Duration, what: &str) {
    let head = format!("            {} {}: ", style("└─ after").dim(), style(seconds(took)).green());
    print_wrapped(&head, INDENT + 4, what);
}

/// A duration with two decimals, for example `0.11 s`.
pub(crate) fn seconds(took: Duration) -> String {
    format!("{:.2} s", took.as_secs_f64())
}

/// Prints a heading.
pub(crate) fn heading(title: &str) {
    println!();
    for line in wrapped(title, columns()) {
        println!("{}", style(line).bold());
    }
}

/// Prints a paragraph.
pub(crate) fn paragraph(text: &str) {
    print_wrapped("  ", 2, text);
}

fn print_wrapped(head: &str, indent: usize, text: &str) {
    let width = columns().saturating_sub(indent).max(NARROWEST_TEXT);
    let first = width.saturating_sub(console::measure_text_width(head).saturating_sub(indent));
    let mut lines = wrapped(text, first).into_iter();
    println!("{head}{}", lines.next().unwrap_or_default());
    for line in lines {
        println!("{:indent$}{line}", "");
    }
}

fn columns() -> usize {
    Term::stdout().size_checked().map_or(WIDEST, |(_, columns)| usize::from(columns).min(WIDEST))
}

/// The text in lines of at most so many columns. A longer word has a line of its own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
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
