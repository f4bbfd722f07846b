use crate::{
    definition::{Container, HealthCheck},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-health-check-command",
    summary: "the command of a health check has a valid form",
    severity: Severity::Error,
    applies: Applies::EveryTask,
    is_fixable: false,
    effect: "the check runs another program or none and fails, so that the container never becomes healthy",
    explanation: "\
The first item of a health check's command determines how the rest is run. `CMD` starts a program: its name and each \
argument are separate items, because there is no shell to split them. `CMD-SHELL` runs *one* item with the container's \
shell: every further item becomes a parameter of the shell and not of the command, so that `[\"CMD-SHELL\", \"curl\", \
\"-f\", …]` runs `curl` without arguments, which fails.",
    sources: &["https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_HealthCheck.html"],
    example: Some(Example {
        base: Base::Plain,
        given: &[],
        at: "containerDefinitions[cache].healthCheck.command",
        fails: Some(r#"["CMD-SHELL", "redis-cli", "ping"]"#),
        repaired: Some(r#"["CMD-SHELL", "redis-cli ping"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        if let Some(check) = container.health_check.known() {
            check_command(container, check, findings);
        }
    }
}

fn check_command(container: &Container, check: &HealthCheck, findings: &mut Findings) {
    let label = container.label();
    let Some(words) = check.command.texts() else { return };
    let (message, help) = match words.as_slice() {
        [] | ["CMD" | "CMD-SHELL"] => {
            (format!("the health check of {label} has no command to run"), "add the command after CMD or CMD-SHELL")
        }
        ["CMD-SHELL", line, rest @ ..] if !rest.is_empty() && !line.contains('$') => (
            format!("the health check of {label} runs one item and ignores the {} that follow it", rest.len()),
            "write the complete line as one item after CMD-SHELL, or begin with CMD",
        ),
        ["CMD", program] if program.contains(' ') => (
            format!("the health check of {label} runs a program whose name is the complete line"),
            "write every argument as a separate item, or begin with CMD-SHELL",
        ),
        [line] if *line != "NONE" && line.contains(' ') => (
            format!("the health check of {label} runs a program whose name is the complete line"),
            "put CMD-SHELL before the line",
        ),
        _ => return,
    };
    findings.add(Draft::new(check.command.place.span, message, help).of(container));
}
