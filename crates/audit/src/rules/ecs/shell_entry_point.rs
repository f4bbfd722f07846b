use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-shell-entry-point",
    summary: "a shell that starts an app uses exec",
    severity: Severity::Info,
    applies: Applies::EveryTask,
    is_fixable: false,
    effect: "TERM reaches the shell and not the app, which is killed after the stop timeout, with its requests unfinished",
    explanation: "\
ECS sends TERM to the container's first process. If that is a shell with a script of several commands, the app is its \
child process: the shell does not forward the signal, the app keeps running, and KILL stops it `stopTimeout` seconds \
later. With `exec` before the last command, the app replaces the shell. An init process (`initProcessEnabled`) does \
not help, because it forwards signals only to the shell.",
    sources: &[
        "https://aws.amazon.com/blogs/containers/graceful-shutdowns-with-ecs/",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    ],
    example: Some(Example {
        base: Base::Plain,
        given: &[("containerDefinitions[report].entryPoint", r#"["/bin/sh", "-c"]"#)],
        at: "containerDefinitions[report].command",
        fails: Some(r#"["export TZ=UTC && ./report --daily"]"#),
        repaired: Some(r#"["export TZ=UTC && exec ./report --daily"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        if subject.is_of_the_mesh(container)
            || container.is_essential() != Some(true)
            || container.entry_point.items.is_empty()
        {
            continue;
        }
        if container.command_line().is_some_and(|words| keeps_the_signal(&words)) {
            let label = container.label();
            let place =
                if container.command.is_present { &container.command.place } else { &container.entry_point.place };
            let message = format!("{label} runs in a shell that does not exec it");
            findings
                .add(Draft::new(place.span, message, "write exec before the last command of the script").of(container));
        }
    }
}

/// Whether these words start a shell with a script of several commands that certainly keeps running. A script with
/// `exec` or `trap` is not reported.
fn keeps_the_signal(words: &[&str]) -> bool {
    let [shell, flags, script, ..] = words else { return false };
    let is_shell = matches!(shell.rsplit('/').next(), Some("sh" | "bash" | "ash" | "dash"));
    let is_script = flags.starts_with('-') && !flags.starts_with("--") && flags.ends_with('c');
    let takes_care =
        script.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| matches!(word, "exec" | "trap"));
    let plain = without_redirections(&without_quotes(script));
    let commands = plain.split(['\n', ';', '&']).filter(|command| !command.trim().is_empty()).count();
    is_shell && is_script && !takes_care && commands > 1
}

/// A script without its quoted parts: characters in quotes do not separate commands.
fn without_quotes(script: &str) -> String {
    let mut quote = None;
    let mut is_escaped = false;
    let is_outside = |c: &char| {
        let escaped = std::mem::take(&mut is_escaped);
        match (quote, *c) {
            _ if escaped => quote.is_none(),
            (None | Some('"'), '\\') => {
                is_escaped = true;
                false
            }
            (None, '\'' | '"') => {
                quote = Some(*c);
                // A placeholder for the quoted part.
                true
            }
            (Some(open), c) if c == open => {
                quote = None;
                true
            }
            (found, _) => found.is_none(),
        }
    };
    script.chars().filter(is_outside).collect()
}

/// A script without redirections such as `2>&1` and `>&-`.
fn without_redirections(script: &str) -> String {
    script.replace(">&", ">").replace("<&", "<").replace("&>", ">")
}
