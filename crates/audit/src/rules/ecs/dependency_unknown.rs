use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-dependency-unknown",
    summary: "containers wait only for containers of the same definition",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    effect: "ECS refuses to register the definition",
    explanation: "\
`dependsOn` names containers of the same task definition. A name that is not there is mostly a container that was renamed or \
moved elsewhere; ECS answers the registration with a `ClientException`.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html"],
    examples: &[Example {
        base: Base::Plain,
        given: &[],
        at: "containerDefinitions[report].dependsOn[cache].containerName",
        fails: Some(r#""redis""#),
        repaired: Some(r#""cache""#),
    }],
    check: Check::Task(check),
};

/// How many containers the mend names: the API takes ten.
const SHOWN: usize = 10;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let containers = &subject.definition.containers;
    for container in &containers.items {
        for dependency in &container.depends_on.items {
            let Some(name) = dependency.container.text() else { continue };
            let may_be = |other: &Container| other.is_called(name) || other.name.text().is_none();
            if containers.lacks(may_be) && !subject.misses(name) {
                let mut known: Vec<String> = containers.items.iter().take(SHOWN).map(Container::label).collect();
                if containers.items.len() > SHOWN {
                    known.push("…".to_owned());
                }
                let message = format!("{} waits for {name}, which is not there", container.label());
                let help = format!("name one of {}, or take the dependency away", known.join(", "));
                findings.add(Draft::new(dependency.container.span(), message, help).of(container));
            }
        }
    }
}
