use crate::{
    definition::Maybe,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{Configuration, Subject},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-config-json",
    summary: "CONSUL_ECS_CONFIG_JSON is JSON",
    severity: Severity::Error,
    applies: Applies::ConsulAndController,
    is_fixable: false,
    effect: "the container ends at once with \"invalid config\", and the task never joins the mesh, or never runs the controller",
    explanation: "\
The configuration of consul-ecs is one JSON text in an environment variable. Lost quotes in a template, a trailing \
comma, an unescaped line break or a comment make it invalid. Generate it with a tool: `jsonencode` in Terraform, \
`Fn::ToJsonString` or a block scalar in CloudFormation.",
    sources: &["https://developer.hashicorp.com/consul/docs/reference/ecs"],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init].environment[CONSUL_ECS_CONFIG_JSON].value",
        fails: Some(r#""{bootstrapDir: /consul}""#),
        repaired: Some(CONFIGURATION),
    }),
    check: Check::Task(check),
};

/// The configuration in the base.
const CONFIGURATION: &str = r#""{\"bootstrapDir\":\"/consul\",\"consulLogin\":{\"enabled\":true},\"consulServers\":{\"hosts\":\"consul.example.internal\",\"defaults\":{\"tls\":true},\"grpc\":{\"port\":8503},\"http\":{\"https\":true,\"port\":8501}},\"transparentProxy\":{\"enabled\":false},\"healthSyncContainers\":[\"web\"],\"service\":{\"name\":\"web\",\"port\":9090,\"tags\":[],\"meta\":{}},\"proxy\":{\"publicListenerPort\":20000,\"healthCheckPort\":22000,\"upstreams\":[{\"destinationName\":\"orders\",\"localBindPort\":1234}]}}""#;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul_ecs) = subject.consul_ecs().filter(|program| program.configuration.is_some()) else { return };
    for container in consul_ecs.containers {
        let Maybe::Known(Err(error)) = Configuration::of(subject.definition, container).content else { continue };
        let message = format!("the configuration of {} cannot be read: {}", container.label(), error.reason);
        // At the end of the text, there is no byte to point at.
        let whole = Configuration::of(subject.definition, container).place.span;
        let span = if error.span.start < error.span.end { error.span } else { whole };
        findings.add(Draft::new(span, message, "fix the JSON, or generate it with a tool").of(container));
    }
}
