use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "ecs-shell-entry-point",
    summary: "a shell that starts an app hands over to it with exec",
    severity: Severity::Info,
    applies: Applies::EveryTask,
    effect: "TERM reaches the shell and not the app, which is killed when the stop timeout is over, in the middle of its work",
    explanation: "\
ECS sends TERM to the container's first process. Where that is a shell with a script of several commands, the app is its child: \
the shell does not pass the signal on, the app works on as if nothing had happened, and KILL ends it `stopTimeout` seconds \
later. `exec` before the last command puts the app in the shell's place. An init process (`initProcessEnabled`) does not help, \
as it passes signals on to the shell only.",
    sources: &[
        "https://aws.amazon.com/blogs/containers/graceful-shutdowns-with-ecs/",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    ],
    examples: &[Example {
        base: Base::Plain,
        given: &[("containerDefinitions[report].entryPoint", r#"["/bin/sh", "-c"]"#)],
        at: "containerDefinitions[report].command",
        fails: Some(r#"["export TZ=UTC && ./report --daily"]"#),
        repaired: Some(r#"["export TZ=UTC && exec ./report --daily"]"#),
    }],
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
            let message = format!("{label} runs in a shell that does not hand over to it");
            findings
                .add(Draft::new(place.span, message, "write exec before the last command of the script").of(container));
        }
    }
}

/// Whether these words start a shell with a script of several commands that certainly stays in the shell. A script that
/// says `exec` or `trap` anywhere takes care of it.
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

/// A script without what stands in quotes: characters there separate no commands.
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
                // Something stands there, even if nothing is said of it.
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

/// A script without `2>&1`, `>&-` and the like.
fn without_redirections(script: &str) -> String {
    script.replace(">&", ">").replace("<&", "<").replace("&>", ">")
}
