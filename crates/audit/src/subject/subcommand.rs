//! The subcommand of consul-ecs that a container runs.

use crate::definition::{Container, Field, Maybe, Text};

/// The first argument of consul-ecs, the entry point of its image. With another entry point, it is the word behind
/// consul-ecs. Absent if there certainly is no argument.
#[must_use]
pub fn subcommand(container: &Container) -> Maybe<&str> {
    let (entry_point, command) = (&container.entry_point, &container.command);
    let is_own = |word: &Field<Text>| word.text().is_some_and(|word| word.rsplit('/').next() == Some("consul-ecs"));
    let is_image_s = entry_point.items.is_empty() && entry_point.is_complete;
    let mut words = entry_point.items.iter().chain(&command.items);
    let is_found = is_image_s || words.any(is_own);
    match words.next().map(Field::text) {
        Some(Some(word)) if is_found => Maybe::Known(word),
        None if is_image_s && command.is_complete => Maybe::Absent,
        _ => Maybe::Unknown,
    }
}
