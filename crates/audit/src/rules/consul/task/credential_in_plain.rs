use crate::{
    definition::{Container, Variable},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{AgentScript, CREDENTIALS, ConsulTask, Subject},
};

/// The names of the agent's tokens in its configuration.
const TOKENS: [&str; 8] = [
    "agent",
    "agent_master",
    "agent_recovery",
    "config_file_service_registration",
    "default",
    "initial_management",
    "master",
    "replication",
];

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-credential-in-plain",
    summary: "no credential of Consul is in plain text",
    severity: Severity::Warning,
    applies: Applies::ConsulAndController,
    is_fixable: false,
    effect: "everyone with the permission to describe task definitions can read the credential, and this revision cannot be changed",
    explanation: "\
Values under `environment` are part of the task definition: they are visible to everyone with the permission \
`ecs:DescribeTaskDefinition`, in templates, in plans and in the console, and a revision cannot be changed afterwards. \
Under `secrets`, the definition contains only a reference to Secrets Manager or the Parameter Store, and ECS reads the \
value when the container starts. Replace a credential that was in a definition; to move it is not enough. This rule \
checks the well-known variables in each container of the task, the gossip key in the agent's script, and tokens in the \
commands of the mesh's containers and of consul-ecs's controller.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/specifying-sensitive-data.html",
        "https://developer.hashicorp.com/consul/docs/v1.11.x/ecs/manual/secure-configuration",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[web].environment",
        fails: Some(r#"[{ "name": "CONSUL_HTTP_TOKEN", "value": "00000000-0000-0000-0000-00000000beef" }]"#),
        repaired: Some("[]"),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for container in &subject.definition.containers.items {
        for variable in &container.environment.items {
            if let Some(name) = variable.name.text().filter(|name| CREDENTIALS.contains(name))
                && has_value(variable)
            {
                findings.add(finding(container, variable, name));
            }
        }
    }
    let consul = subject.consul.as_ref();
    if let Some(draft) = consul.and_then(|consul| consul.client).and_then(key_in_script) {
        findings.add(draft);
    }
    let of_mesh = consul.into_iter().flat_map(ConsulTask::own_containers);
    for container in of_mesh.chain(subject.controller.as_ref().map(|controller| controller.container)) {
        let words = container.entry_point.items.iter().chain(&container.command.items);
        let known: Vec<_> = words.filter_map(|word| Some((word, word.known()?.0.as_str()))).collect();
        let before = |at: usize| at.checked_sub(1).and_then(|at| known.get(at)).map_or("", |(_, text)| *text);
        let holding = known.iter().enumerate().find(|(at, (_, text))| has_token(before(*at), text));
        if let Some((_, (word, _))) = holding {
            let message = format!("the command of {} contains a token in plain text", container.label());
            let help = "put the token into Secrets Manager, refer to it under secrets, and replace the old token";
            findings.add(Draft::new(word.span(), message, help).of(container));
        }
    }
}

/// Whether `word` has a UUID after the name of a token: `agent = "…"`, `-token …`, `-static-token=…`. The flag may be
/// the previous word.
fn has_token(before: &str, word: &str) -> bool {
    let text = format!("{before} {word}");
    let starts = text.char_indices().map(|(at, _)| at).filter(|at| *at > before.len());
    let mut uuids = starts.filter(|at| text.get(*at..at + 36).is_some_and(is_uuid));
    uuids.any(|at| {
        let is_between = |c: char| c.is_whitespace() || "=:\"'\\".contains(c);
        let owner = text.get(..at).unwrap_or_default().trim_end_matches(is_between);
        let name = owner.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        TOKENS.contains(&name) || name.to_ascii_lowercase().ends_with("token")
    })
}

fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

/// The gossip key in the agent's script. Variables begin with a dollar sign, placeholders are short.
fn key_in_script(client: &Container) -> Option<Draft> {
    let script = AgentScript::of(client)?;
    let is_key =
        |value: &&str| value.len() >= 24 && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    script.setting("encrypt").or_else(|| script.flag("encrypt")).filter(is_key)?;
    let message = format!("the script of {} contains the gossip encryption key in plain text", client.label());
    let help = "put the key into Secrets Manager, refer to it under secrets as CONSUL_GOSSIP_ENCRYPTION_KEY, and replace the old key";
    Some(Draft::new(script.script()?.span(), message, help).of(client))
}

/// An empty value is not secret, an unknown one may come from anywhere.
fn has_value(variable: &Variable) -> bool {
    variable.value.known().is_some_and(|value| !value.shown().is_empty())
}

fn finding(container: &Container, variable: &Variable, name: &str) -> Draft {
    let message = format!("{} has {name} in plain text", container.label());
    let help =
        format!("put the value into Secrets Manager, refer to it under secrets as {name}, and replace the old value");
    Draft::new(variable.name.span(), message, help).of(container)
}
