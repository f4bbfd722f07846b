//! The subcommand of consul-ecs that a container runs.

use super::image::is_consul_ecs;
use audit_read::definition::{Container, Field, Maybe, Text};

/// The word behind consul-ecs in the entry point and the command. Without an entry point, and without that word, it is the
/// first word of the command, because consul-ecs is the entry point of its image. Absent if that image certainly gets no
/// argument.
pub fn subcommand(container: &Container) -> Maybe<&str> {
    let (entry_point, command) = (&container.entry_point, &container.command);
    if !entry_point.is_complete || !command.is_complete {
        return Maybe::Unknown;
    }
    let is_program = |word: &Field<Text>| {
        word.text()
            .is_some_and(|word| word.rsplit('/').next() == Some("consul-ecs") && !word.contains(char::is_whitespace))
    };
    let mut words = entry_point.items.iter().chain(&command.items);
    let is_named = words.any(is_program);
    let next = if is_named { words.next() } else { command.items.first() };
    match next.map(Field::text) {
        Some(Some(word)) if is_named || entry_point.items.is_empty() => Maybe::Known(word),
        None if is_named || (entry_point.items.is_empty() && is_consul_ecs(container)) => Maybe::Absent,
        _ => Maybe::Unknown,
    }
}
