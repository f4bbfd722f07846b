use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

/// The conditions of dependencies.
const CONDITIONS: [&str; 4] = ["START", "COMPLETE", "SUCCESS", "HEALTHY"];

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-dependency-condition",
    summary: "every condition of a dependency is START, COMPLETE, SUCCESS or HEALTHY",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    is_fixable: true,
    effect: "ECS refuses to register the definition",
    explanation: "\
A container can wait until another one has started (`START`), has stopped (`COMPLETE`), has stopped with exit code 0 \
(`SUCCESS`) or passes its health check (`HEALTHY`). There are no other conditions, and they have to be in capitals.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDependency.html"],
    example: Some(Example {
        base: Base::Plain,
        given: &[],
        at: "containerDefinitions[report].dependsOn[cache].condition",
        fails: Some(r#""healthy""#),
        repaired: Some(r#""HEALTHY""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        for dependency in &container.depends_on.items {
            let Some(condition) = dependency.condition.text().filter(|text| !CONDITIONS.contains(text)) else {
                continue;
            };
            let meant = CONDITIONS.iter().find(|known| known.eq_ignore_ascii_case(condition));
            let fix = meant.and_then(|meant| Fix::set(&dependency.condition.place, *meant));
            let label = container.label();
            let message = format!("{label} waits for the condition {condition}, which ECS does not know");
            let help = match meant {
                Some(meant) => format!("write {meant}"),
                None => format!("use one of {}", CONDITIONS.join(", ")),
            };
            findings.add(Draft::new(dependency.condition.span(), message, help).of(container).fix(fix));
        }
    }
}
