use crate::{
    example::{Base, Example},
    finding::{Draft, Findings, Severity},
    rule::{Applies, Check, Rule},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-control-plane-health-check",
    summary: "the control plane's health check fails until the control plane is ready",
    severity: Severity::Warning,
    applies: Applies::ConsulDataplane,
    is_fixable: false,
    effect: "Consul Dataplane starts before its configuration and its entry point are on the shared volume, and fails",
    explanation: "\
The control plane of consul-ecs 0.7 answers on port 10000 at `/consul-ecs/health` when the proxy's configuration is \
written. ECS starts `consul-dataplane` when the health check passes. The first Terraform module of 0.7 used `curl` \
without `-f`, which also succeeds if the answer is an error; 0.7.1 fixed that.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/ecs/upgrade-to-dataplanes",
        "https://github.com/hashicorp/terraform-aws-consul-ecs/blob/main/CHANGELOG.md",
    ],
    example: Some(Example {
        base: Base::ControlPlane,
        given: &[],
        at: "containerDefinitions[consul-ecs-control-plane].healthCheck.command",
        fails: Some(r#"["CMD-SHELL", "curl localhost:10000/consul-ecs/health"]"#),
        repaired: Some(r#"["CMD-SHELL", "curl -f localhost:10000/consul-ecs/health"]"#),
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(control_plane) = subject.consul.as_ref().and_then(|consul| consul.control_plane) else { return };
    let help = "set it to [\"CMD-SHELL\", \"curl -f localhost:10000/consul-ecs/health\"]";
    if control_plane.has_health_check() == Some(false) {
        let message = format!("{} has no health check", control_plane.label());
        findings.add(Draft::new(control_plane.health_check.span(), message, help).of(control_plane));
        return;
    }
    let Some(health_check) = control_plane.health_check.known() else { return };
    let Some(words) = health_check.command.texts() else { return };
    let line = words.join(" ");
    // A user's own script may check it in another way.
    if !line.contains("curl") {
        return;
    }
    let fails_on_errors =
        line.split_whitespace().any(|word| word.starts_with("--fail") || is_short_flags_with(word, 'f'));
    let message = if !line.contains(":10000") {
        "the control plane's health check does not request port 10000, where the control plane answers"
    } else if !fails_on_errors {
        "the control plane's health check passes with every answer of the control plane: curl needs -f"
    } else {
        return;
    };
    findings.add(Draft::new(health_check.command.place.span, message, help).of(control_plane));
}

/// `-f`, `-sf`, `-fsS`.
fn is_short_flags_with(word: &str, flag: char) -> bool {
    word.strip_prefix('-').is_some_and(|flags| !flags.starts_with('-') && flags.contains(flag))
}
