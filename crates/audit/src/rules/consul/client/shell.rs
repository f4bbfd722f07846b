use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{AgentScript, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-client-shell",
    summary: "a shell runs the script of consul-client",
    severity: Severity::Error,
    applies: Applies::ConsulClient,
    is_fixable: true,
    effect: "the script is used as the name of a program, and the agent never starts",
    explanation: "\
The agent needs the task's address and a configuration file before it starts, so that the container runs a script. ECS \
does not start a shell by itself: the entry point has to be one that takes the script as an argument, such as \
`[\"/bin/sh\", \"-ec\"]`. With `-e`, the script stops at the first error instead of starting an agent with an \
incomplete configuration.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/v1.13.x/ecs/manual/install",
        "https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ContainerDefinition.html",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-client].entryPoint",
        fails: None,
        repaired: Some(r#"["/bin/sh", "-ec"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(client) = subject.consul.as_ref().and_then(|consul| consul.client) else { return };
    let Some(script) = AgentScript::of(client) else { return };
    // A word with unknown parts may be the shell or its flag.
    let words = client.entry_point.items.iter().chain(&client.command.items);
    let is_known = words.filter(|word| script.script().is_none_or(|script| script.span() != word.span()));
    if !script.is_script() || script.has_shell() || is_known.into_iter().any(|word| word.text().is_none()) {
        return;
    }
    let entry_point = &client.entry_point;
    let message = match entry_point.texts() {
        Some(words) if !words.is_empty() => {
            format!("{} has a script, and the entry point {}", client.label(), entry_point.shown_program())
        }
        _ => format!("{} has a script, but no shell to run it", client.label()),
    };
    // If the command has other words beside the script, the right entry point is unknown.
    let is_plain = client.command.items.len() == 1;
    let fix = Fix::set(&entry_point.place, vec!["/bin/sh", "-ec"]).filter(|_| is_plain);
    let help = "set the entry point to [\"/bin/sh\", \"-ec\"]";
    findings.add(Draft::new(entry_point.place.span, message, help).of(client).fix(fix));
}
