//! Defects of releases that depend on the definition.

use serde_json::json;

use super::{fixes::configure, prelude::*};
use crate::{
    subject::Release,
    versions::{Defect, Program, defects_of, table},
};

/// The task's release of consul-ecs, and the defect of it that `rule` reports.
fn defect_of(consul: &ConsulTask<'_>, rule: &Rule) -> Option<(Release, &'static Defect)> {
    let release = consul.release()?;
    let defects = defects_of(Program::ConsulEcs, release);
    let defect = defects.into_iter().find(|defect| defect.rule.as_deref() == Some(rule.id))?;
    Some((release, defect))
}

pub(super) static CONSUL_PROXY_SECTION: Rule = Rule {
    id: "consul-proxy-section",
    summary: "the configuration of a service has a section proxy",
    is_fixable: true,
    effect: "mesh-init ends with a panic, and the task never starts",
    explanation: "\
consul-ecs accepts a configuration without `proxy`, and one in which it is null, but 0.7.3 to 0.10.0 read it without \
looking whether it is there. An empty map is enough. The defect was recorded with 0.7.3, 0.8.1, 0.9.0 and 0.10.0; whether \
later releases have it is not known. Gateways need no `proxy`.",
    sources: &[
        "https://github.com/hashicorp/consul-ecs/blob/v0.10.0/subcommand/mesh-init/command.go",
        pages::CONSUL_CONFIGURATION,
    ],
    example: Some(Base::Dataplane.missing("config.proxy").given(IN_0_10_0)),
    ..Rule::once_per_task(Applies::ConsulDataplane, check_proxy_section)
};

const IN_0_10_0: &[(&str, &str)] = &[
    ("containerDefinitions[consul-ecs-mesh-init].image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
    ("containerDefinitions[consul-ecs-health-sync].image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
];

fn check_proxy_section(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref().filter(|consul| consul.is_service())?;
    if !matches!(consul.configuration.at("proxy"), Maybe::Absent) {
        return None;
    }
    let (release, defect) = defect_of(consul, &CONSUL_PROXY_SECTION)?;
    let span = consul.configuration.place_of("proxy").span;
    let message = format!("consul-ecs {release}: {}", defect.what);
    let fix = configure(consul, subject.definition, "proxy", json!({}));
    Some(Draft::new(span, message, defect.action.clone()).fix(fix))
}

pub(super) static CONSUL_RESILIENCE_OFF: Rule = Rule {
    id: "consul-resilience-off",
    summary: "networkResilienceConfig is enabled",
    severity: Severity::Warning,
    effect: "mesh-init ignores the settings of outlierDetection, and Envoy ejects no failing instances",
    explanation: "\
mesh-init writes `service.networkResilienceConfig` to Consul only if its `enabled` is true, which is not the default. \
Settings of `outlierDetection` alone have no effect. If they are to have none, set `enabled` to false.",
    sources: &["https://github.com/hashicorp/terraform-aws-consul-ecs/pull/425"],
    example: Some(
        Base::Dataplane
            .wrong("config.service.networkResilienceConfig", r#"{ "outlierDetection": { "maxFailures": 5 } }"#)
            .given(&[
                ("containerDefinitions[consul-dataplane].image", r#""hashicorp/consul-dataplane:1.9.3""#),
                ("containerDefinitions[consul-ecs-mesh-init].image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
                (
                    "containerDefinitions[consul-ecs-health-sync].image",
                    r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#,
                ),
            ])
            .repaired_to(r#"{ "enabled": false, "outlierDetection": { "maxFailures": 5 } }"#),
    ),
    ..Rule::once_per_task(Applies::ConsulDataplane, check_resilience_off)
};

fn check_resilience_off(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let configuration = &consul.configuration;
    let has_settings = matches!(configuration.at("service.networkResilienceConfig.outlierDetection"), Maybe::Known(_));
    if !has_settings || !matches!(configuration.at("service.networkResilienceConfig.enabled"), Maybe::Absent) {
        return None;
    }
    let (release, defect) = defect_of(consul, &CONSUL_RESILIENCE_OFF)?;
    let span = configuration.place_of("service.networkResilienceConfig").span;
    let message = format!("consul-ecs {release}: {}", defect.what);
    Some(Draft::new(span, message, "set networkResilienceConfig.enabled to true or false"))
}

pub(super) static CONSUL_RESILIENCE_REFUSED: Rule = Rule {
    id: "consul-resilience-refused",
    summary: "networkResilienceConfig needs servers that know its fields",
    severity: Severity::Info,
    effect: "with Consul 1.21, mesh-init fails after it has registered the service, and the task never starts",
    explanation: "\
For `service.networkResilienceConfig`, mesh-init of 0.10.0 writes a `service-defaults` entry with the field \
`EnforcingConsecutiveGatewayFailure`, also if the configuration does not set it. Consul 1.21 refuses this field with \
status 400. A definition does not show the version of the servers: ignore this rule if yours know the field.",
    sources: &["https://github.com/hashicorp/consul-ecs/pull/321", "https://github.com/hashicorp/consul/pull/23563"],
    example: Some(
        Base::Dataplane
            .wrong(
                "config.service.networkResilienceConfig",
                r#"{ "enabled": true, "outlierDetection": { "maxFailures": 5 } }"#,
            )
            .given(&[
                ("containerDefinitions[consul-ecs-mesh-init].image", r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#),
                (
                    "containerDefinitions[consul-ecs-health-sync].image",
                    r#""public.ecr.aws/hashicorp/consul-ecs:0.10.0""#,
                ),
            ]),
    ),
    ..Rule::once_per_task(Applies::ConsulDataplane, check_resilience_refused)
};

fn check_resilience_refused(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    if consul.configuration.flag("service.networkResilienceConfig.enabled", false) != Some(true) {
        return None;
    }
    let (release, defect) = defect_of(consul, &CONSUL_RESILIENCE_REFUSED)?;
    let span = consul.configuration.place_of("service.networkResilienceConfig").span;
    Some(Draft::new(span, format!("consul-ecs {release}: {}", defect.what), defect.action.clone()))
}

pub(super) static CONSUL_RESTART_POLICY: Rule = Rule {
    id: "consul-restart-policy",
    summary: "ECS does not restart mesh-init, nor a proxy that logs in",
    severity: Severity::Warning,
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
    example: Some(
        Base::Dataplane.wrong("containerDefinitions[consul-ecs-mesh-init].restartPolicy", r#"{ "enabled": true }"#),
    ),
    ..Rule::of_task(Applies::ConsulDataplane, check_restart_policy)
};

fn check_restart_policy(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = subject.consul.as_ref().filter(|consul| consul.generation == Generation::Dataplane) else {
        return;
    };
    let proxy = consul.dataplane.filter(|_| consul.logs_in() == Some(true));
    // Unknown with a moving tag or a mirror's own one. The defects of all releases of the generation count.
    let release = consul.release();
    for (container, id) in [(consul.mesh_init, "ecs-mesh-init-restart"), (proxy, "ecs-login-replay")] {
        let defect = table().defects.iter().find(|defect| defect.id == id);
        let has_it = |defect: &&Defect| release.is_none_or(|release| defect.is_in(release));
        let found = container.zip(defect.filter(has_it));
        findings.extend(found.and_then(|(container, defect)| draft(container, defect, release)));
    }
}

fn draft(container: &Container, defect: &Defect, release: Option<Release>) -> Option<Draft> {
    let policy = container.restart_policy.known().filter(|policy| policy.enabled.known() == Some(&true))?;
    let release = release.map(|release| format!(" of {} {release}", defect.program)).unwrap_or_default();
    let message = format!("ECS restarts {}{release}: {}", container.label(), defect.what);
    let fix = Fix::remove(&policy.place);
    Some(Draft::new(policy.place.span, message, defect.action.clone()).of(container).fix(fix))
}
