use semver::Version;

use crate::{
    definition::Container,
    example::{Base, Example},
    finding::{Draft, Findings, Fix, Severity},
    rule::{Applies, Check, Rule},
    subject::{Generation, Subject},
    versions::{Defect, table},
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-restart-policy",
    summary: "ECS does not restart mesh-init, nor a proxy that logs in",
    severity: Severity::Warning,
    applies: Applies::ConsulDataplane,
    is_fixable: true,
    effect: "the service's checks become critical again, or the restarted proxy does not reach Consul while ECS keeps the task",
    explanation: "\
mesh-init registers the service with critical checks. If ECS runs it again, the checks are critical again, and health-sync, \
which writes only changes, leaves them so. ECS restarts a container that has run for `restartAttemptPeriod`, at least 60 \
seconds: a mesh-init that waited for Consul that long.\n\n\
With `consulLogin`, mesh-init signs a request with the task's IAM role and writes it to the configuration of Consul \
Dataplane, which logs in with it. AWS accepts a signed request for minutes only. After a restart later on, Consul Dataplane \
sends the same request, and its login fails. Without a restart policy and with `essential: true`, ECS replaces the task instead. \
health-sync signs its own request at each start, and may be restarted.",
    sources: &[
        "https://github.com/hashicorp/consul-ecs/pull/208",
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/container-restart-policy.html",
    ],
    example: Some(Example {
        base: Base::Dataplane,
        given: &[],
        at: "containerDefinitions[consul-ecs-mesh-init].restartPolicy",
        fails: Some(r#"{ "enabled": true }"#),
        repaired: None,
    }),
    check: Check::Task(check),
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.generation == Generation::Dataplane) else {
        return;
    };
    let logs_in = consul.configuration.flag("consulLogin.enabled", false) == Some(true);
    let proxy = consul.dataplane.filter(|_| logs_in);
    // Unknown with a moving tag or a mirror's own one. The defects are those of all releases of the generation so far.
    let release = consul.release();
    for (container, id) in [(consul.mesh_init, "ecs-mesh-init-restart"), (proxy, "ecs-login-replay")] {
        let defect = table().defects.iter().find(|defect| defect.id == id);
        let has_it = |defect: &&Defect| release.as_ref().is_none_or(|release| defect.releases.matches(release));
        let found = container.zip(defect.filter(has_it));
        findings.extend(found.and_then(|(container, defect)| draft(container, defect, release.as_ref())));
    }
}

fn draft(container: &Container, defect: &Defect, release: Option<&Version>) -> Option<Draft> {
    let policy = container.restart_policy.known().filter(|policy| policy.enabled.known() == Some(&true))?;
    let release = release.map(|release| format!(" of {} {release}", defect.program)).unwrap_or_default();
    let message = format!("ECS restarts {}{release}: {}", container.label(), defect.what);
    let fix = Fix::remove(&policy.place);
    Some(Draft::new(policy.place.span, message, defect.action.clone()).of(container).fix(fix))
}
