//! Recordings of `ecs-mesh` in a terminal: the pictures of the documentation.

use std::{env, fs};

use anstyle_svg::{Term, WIN10_CONSOLE};
use local_stack::in_repository;

/// The arguments of a recorded command, after its own.
pub const IN_COLOUR: [&str; 2] = ["--color", "always"];
/// The variable with the width of a recorded terminal: at 800 pixels, its text is still 13 pixels high.
pub const WIDTH: (&str, &str) = ("COLUMNS", "100");

/// Asserts that a picture in `docs/images` shows this command and its output, apart from what `comparable` removes. With
/// `UPDATE_DOCS=1`, draws it.
#[track_caller]
pub fn assert_recorded(name: &str, command: &str, output: &str, comparable: impl Fn(&str) -> String) {
    let file = in_repository("docs/images").join(name);
    // What is faint in a terminal would be hard to read in a smaller picture.
    let drawn = Term::new()
        .palette(WIN10_CONSOLE)
        .render_svg(&format!("\u{1b}[2m$\u{1b}[0m \u{1b}[1m{command}\u{1b}[0m\n\n{}", output.trim_end()))
        .replace("opacity: 0.4", "opacity: 0.7");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &drawn).expect("a picture");
    }
    let published = fs::read_to_string(&file).unwrap_or_default();
    let is_current = comparable(&published) == comparable(&drawn);
    assert!(is_current, "docs/images/{name} is stale: run make recordings. {command}:\n{output}");
}
