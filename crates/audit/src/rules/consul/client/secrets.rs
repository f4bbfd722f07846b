use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{AgentScript, Subject},
};

/// The variables that the agents' scripts expect, and their contents.
const EXPECTED: [(&str, &str); 6] = [
    ("CONSUL_CACERT", "the certificate of the CA that signed the Consul servers' certificates"),
    ("CONSUL_CACERT_PEM", "the certificate of the CA that signed the Consul servers' certificates"),
    ("CONSUL_HTTPS_CACERT_PEM", "the certificate of the CA that signed the certificate of Consul's HTTPS API"),
    ("CONSUL_GOSSIP_ENCRYPTION_KEY", "the key of the gossip encryption"),
    ("AGENT_TOKEN", "the client agents' ACL token"),
    ("CONSUL_HTTP_TOKEN", "an ACL token"),
];

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-client-secrets",
    summary: "the secrets that the script of consul-client uses are set",
    severity: Severity::Error,
    applies: Applies::ConsulClient,
    is_fixable: false,
    effect: "the variable is empty: the agent stops, trusts no server or has no permissions, and mesh-init waits until the task is stopped",
    explanation: "\
The script reads secrets from environment variables: with TLS the CA's certificate (`CONSUL_CACERT`, from 0.5 on \
`CONSUL_CACERT_PEM` and `CONSUL_HTTPS_CACERT_PEM`), with gossip encryption the key (`CONSUL_GOSSIP_ENCRYPTION_KEY`), \
with ACLs the agent's token (`AGENT_TOKEN`), unless the script logs in for one. A shell replaces an unset variable by \
nothing, so that only the errors of the agent show the problem. Each variable belongs under `secrets`.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/v1.11.x/ecs/manual/secure-configuration",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/specifying-sensitive-data.html",
    ],
    example: Some(Example {
        base: Base::Client,
        given: &[],
        at: "containerDefinitions[consul-client].secrets[CONSUL_CACERT]",
        fails: None,
        repaired: Some(
            r#"{ "name": "CONSUL_CACERT", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-ca-cert-GhIjKl" }"#,
        ),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(client) = subject.consul.as_ref().and_then(|consul| consul.client) else { return };
    let Some(script) = AgentScript::of(client).filter(AgentScript::has_shell) else { return };
    for (name, what) in EXPECTED {
        if script.needs_variable(name) && matches!(client.environment_has(name), Maybe::Absent) {
            let secrets = &client.secrets;
            let span = if secrets.is_present { secrets.place.span } else { client.span() };
            let message = format!("the script of {} uses {name}, which is not set", client.label());
            findings.add(Draft::new(span, message, format!("add the secret {name}: {what}")).of(client));
        }
    }
}
