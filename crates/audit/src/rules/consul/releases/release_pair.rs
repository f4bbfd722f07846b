use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::{ConsulTask, Software, Subject, image_of, line_of},
    versions::{Line, Program, lines_of, supports, supports_envoy, table},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-release-pair",
    summary: "the releases of the mesh's programs go together",
    severity: Severity::Warning,
    applies: Applies::Consul,
    is_fixable: false,
    effect: "no release of Consul supports both, so that registration or the proxy's configuration may fail",
    explanation: "\
Each line of consul-ecs and each line of Consul Dataplane goes with some lines of Consul. If no line of Consul goes with \
both, they are not tested together. With a client agent, consul-ecs and Envoy must go with the agent's Consul. \
The page `docs/support.md` has the table. The rule needs versions in the images' tags, and reports nothing about lines that the \
table does not have. The definition does not show the version of Consul's servers.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/upgrade/ecs",
        "https://developer.hashicorp.com/consul/docs/reference/proxy/envoy",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-dataplane].image",
        fails: Some(r#""hashicorp/consul-dataplane:1.3.5""#),
        repaired: Some(r#""hashicorp/consul-dataplane:2.0.1""#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.has_images_of_its_generation()) else { return };
    for (partner, program) in [(consul.dataplane, Program::Dataplane), (consul.client, Program::Consul)] {
        findings.extend(partner.and_then(|partner| of_consul_ecs(consul, partner, program)));
    }
    findings.extend(of_envoy(consul));
}

/// consul-ecs and the container with `program`.
fn of_consul_ecs(consul: &ConsulTask<'_>, partner: &Container, program: Program) -> Option<Draft> {
    let (holder, ours) = consul.consul_ecs_containers().find_map(|container| {
        let (program, line) = line_of(container)?;
        (program == Program::ConsulEcs).then_some((container, line))
    })?;
    let (_, theirs) = line_of(partner).filter(|(found, _)| *found == program)?;
    let fits = |line: Line| supports((Program::ConsulEcs, ours), (program, line)) == Some(true);
    if supports((Program::ConsulEcs, ours), (program, theirs))? {
        return None;
    }
    let choices = lines_of(program).into_iter().filter(|line| fits(*line));
    let message = format!("{program} {theirs} does not go together with consul-ecs {ours}");
    let draft = Draft::new(partner.image.span(), message, help(&program.to_string(), choices));
    Some(draft.of(partner).note(holder.image.span(), "consul-ecs"))
}

/// Envoy and the Consul of the client agent.
fn of_envoy(consul: &ConsulTask<'_>) -> Option<Draft> {
    let (client, proxy) = (consul.client?, consul.sidecar_proxy?);
    let image = image_of(proxy).filter(|image| image.software() == Some(Software::Envoy))?;
    let envoy = Line::of(&image.version()?);
    let (_, line) = line_of(client).filter(|(program, _)| *program == Program::Consul)?;
    if supports_envoy(line, envoy)? {
        return None;
    }
    let row = table().consul.iter().find(|row| row.line == line)?;
    let message = format!("Envoy {envoy} does not go together with Consul {line}");
    let draft = Draft::new(proxy.image.span(), message, help("Envoy", row.envoy.iter().copied()));
    Some(draft.of(proxy).note(client.image.span(), "Consul"))
}

fn help(program: &str, choices: impl Iterator<Item = Line>) -> String {
    let choices: Vec<String> = choices.map(|line| line.to_string()).collect();
    format!("use one of {program} {}, or update both", choices.join(", "))
}
