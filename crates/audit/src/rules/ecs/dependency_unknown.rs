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
    is_fixable: false,
    effect: "ECS refuses to register the definition",
    explanation: "\
`dependsOn` refers to containers of the same task definition by name. If there is no container of that name, it was \
usually renamed or moved; ECS returns a `ClientException` at registration.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html"],
    example: Some(Example {
        base: Base::Plain,
        given: &[],
        at: "containerDefinitions[report].dependsOn[cache].containerName",
        fails: Some(r#""redis""#),
        repaired: Some(r#""cache""#),
    }),
    check: Check::Task(check),
};

/// The maximum number of containers that the help lists: the API accepts ten.
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
                let message = format!("{} waits for {name}, which does not exist", container.label());
                let help = format!("use one of {}, or remove the dependency", known.join(", "));
                findings.add(Draft::new(dependency.container.span(), message, help).of(container));
            }
        }
    }
}
