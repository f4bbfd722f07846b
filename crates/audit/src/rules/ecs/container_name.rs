use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-container-name-duplicate",
    summary: "the names of containers are unique",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    is_fixable: false,
    effect: "ECS refuses to register the definition",
    explanation: "\
Dependencies, volumes from other containers, load balancers and overrides refer to a container by its name, so that \
names must be unique in a definition. Two containers with the same name often result from a merge.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html"],
    example: Some(Example {
        base: Base::Plain,
        given: &[],
        at: "containerDefinitions[archive]",
        fails: Some(r#"{ "name": "migrate", "image": "example/report:3.1", "essential": false }"#),
        repaired: Some(r#"{ "name": "archive", "image": "example/report:3.1", "essential": false }"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let containers = &subject.definition.containers.items;
    for (index, container) in containers.iter().enumerate() {
        let Some(name) = container.name.text() else { continue };
        let Some(first) = containers.iter().take(index).find(|other| other.is_called(name)) else { continue };
        let message = format!("a second container has the name {name}");
        let draft = Draft::new(container.name.span(), message, "rename one of them, or remove it");
        findings.add(draft.of(container).note(first.name.span(), "the first one"));
    }
}
