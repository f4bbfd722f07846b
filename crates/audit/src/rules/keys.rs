//! Keys of maps, in every task definition.

use super::prelude::*;
use document::Node;

pub(super) static ECS_DUPLICATE_KEY: Rule = Rule {
    id: "ecs-duplicate-key",
    summary: "no map has two equal keys",
    severity: Severity::Warning,
    effect: "the last value counts, and the others have no effect",
    explanation: "\
CloudFormation, Terraform and the AWS CLI accept a map with two equal keys, and use the last one without a message: an \
`Environment` that is written twice in one container loses the variables of the first list. The rules judge the last \
value as well. A map that functions such as `merge` make of others has no equal keys. Terraform refuses an argument \
that is twice in one block.",
    sources: &[
        "https://www.rfc-editor.org/rfc/rfc8259#section-4",
        "https://developer.hashicorp.com/terraform/language/expressions/types",
    ],
    example: None,
    ..Rule::of_task(Applies::EveryTask, check_duplicate_key)
};

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
}
