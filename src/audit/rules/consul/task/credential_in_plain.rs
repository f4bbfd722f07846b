use crate::audit::{
    definition::{Container, Variable},
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{AgentScript, CREDENTIALS, Subject},
};

pub(in crate::audit::rules) static RULE: Rule = Rule {
    id: "consul-credential-in-plain",
    summary: "no credential of Consul is in plain text",
    severity: Severity::Warning,
    applies: Applies::Consul,
    effect: "everybody who may describe task definitions reads the credential, in this revision for ever",
    explanation: "\
Values under `environment` are part of the task definition: whoever may call `ecs:DescribeTaskDefinition` sees them, they are in \
templates, plans and the console, and a revision cannot be changed afterwards. Under `secrets`, the definition holds only where \
the value is, in Secrets Manager or the Parameter Store, and ECS reads it when the container starts. A credential that has been \
in a definition should be replaced, not only moved. This looks at the well-known names in each container of the task, and at the gossip's key in the agent's script.",
    sources: &[
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/specifying-sensitive-data.html",
        "https://developer.hashicorp.com/consul/docs/ecs/manual/secure-configuration",
    ],
    examples: &[
        Example {
            base: Base::Client,
            given: &[],
            at: "containerDefinitions[web].environment",
            fails: Some(r#"[{ "name": "CONSUL_HTTP_TOKEN", "value": "00000000-0000-0000-0000-00000000beef" }]"#),
            repaired: Some("[]"),
        },
        Example {
            base: Base::Client,
            given: &[],
            at: "containerDefinitions[consul-client].environment",
            fails: Some(r#"[{ "name": "AGENT_TOKEN", "value": "00000000-0000-0000-0000-00000000beef" }]"#),
            repaired: Some(r#"[{ "name": "CONSUL_DATACENTER", "value": "dc1" }]"#),
        },
        Example {
            base: Base::Client,
            given: &[],
            at: "containerDefinitions[consul-client].command",
            fails: Some(
                r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -encrypt AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"]"#,
            ),
            repaired: Some(
                r#"["cp /bin/consul /bin/consul-inject/consul\nIP=$(curl -s $ECS_CONTAINER_METADATA_URI_V4 | jq -r '.Networks[0].IPv4Addresses[0]')\nexec consul agent -data-dir /consul/data -client 127.0.0.1 -advertise $IP -retry-join consul.example.internal -encrypt $CONSUL_GOSSIP_ENCRYPTION_KEY\n"]"#,
            ),
        },
        Example {
            base: Base::MeshGateway,
            given: &[],
            at: "containerDefinitions[consul-dataplane].environment",
            fails: Some(
                r#"[{ "name": "DP_CREDENTIAL_STATIC_TOKEN", "value": "00000000-0000-0000-0000-00000000beef" }]"#,
            ),
            repaired: Some("[]"),
        },
    ],
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for container in &subject.definition.containers.items {
        for variable in &container.environment.items {
            if let Some(name) = variable.name.text().filter(|name| CREDENTIALS.contains(name))
                && has_value(variable)
            {
                findings.add(finding(container, variable, name));
            }
        }
    }
    if let Some(draft) = subject.consul.as_ref().and_then(|consul| consul.client).and_then(key_in_script) {
        findings.add(draft);
    }
}

/// The gossip's key, written out in the agent's script. Variables begin with a dollar sign, placeholders are short.
fn key_in_script(client: &Container) -> Option<Draft> {
    let script = AgentScript::of(client)?;
    let is_key =
        |value: &&str| value.len() >= 24 && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    script.setting("encrypt").or_else(|| script.flag("encrypt")).filter(is_key)?;
    let message = format!("the script of {} holds the gossip's encryption key in plain text", client.label());
    let help = "put the key into Secrets Manager, name it under secrets as CONSUL_GOSSIP_ENCRYPTION_KEY, and replace the old key";
    Some(Draft::new(script.script()?.span(), message, help).of(client))
}

/// An empty value is no secret; of an unknown one nobody can tell.
fn has_value(variable: &Variable) -> bool {
    variable.value.known().is_some_and(|value| !value.shown().is_empty())
}

fn finding(container: &Container, variable: &Variable, name: &str) -> Draft {
    let message = format!("{} has {name} in plain text", container.label());
    let help =
        format!("put the value into Secrets Manager, name it under secrets as {name}, and replace the old value");
    Draft::new(variable.name.span(), message, help).of(container)
}
