//! Keys of maps, in every task definition.

use super::prelude::*;
use document::Node;

pub(super) static ECS_DUPLICATE_KEY: Rule =
    Rule::of_task(page!("ecs-duplicate-key"), Applies::EveryTask, check_duplicate_key);

fn check_duplicate_key(subject: &Subject<'_>, findings: &mut Findings) {
    let configuration = subject.consul.as_ref().and_then(|consul| consul.configuration.json());
    let repeated = subject.definition.repeated_keys.iter().cloned();
    let mut seen = Vec::new();
    for repeated in repeated.chain(configuration.into_iter().flat_map(Node::repeated_keys)) {
        // A local value may be in several containers.
        if seen.contains(&repeated.last) {
            continue;
        }
        seen.push(repeated.last);
        let message = format!("the key {:?} is repeated in one map, and only its last value counts", repeated.key);
        let draft = Draft::new(repeated.last, message, "remove one of the two");
        findings.extend([draft.note(repeated.ignored, "this value has no effect")]);
    }
    let tags = &subject.definition.tags.items;
    for (index, tag) in tags.iter().enumerate() {
        let Some(key) = tag.key.text() else { continue };
        if tags.iter().take(index).any(|other| other.key.text() == Some(key)) {
            let message = format!("the tag {key} is there twice, and ECS refuses the definition");
            findings.add(Draft::new(tag.place.span, message, "remove one of the two").severity(Severity::Error));
        }
    }
}
