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

pub(super) static CONSUL_PROXY_SECTION: Rule =
    Rule::once_per_task(page!("consul-proxy-section"), Applies::ConsulDataplane, check_proxy_section);

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

pub(super) static CONSUL_RESILIENCE_OFF: Rule =
    Rule::once_per_task(page!("consul-resilience-off"), Applies::ConsulDataplane, check_resilience_off);

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

pub(super) static CONSUL_RESILIENCE_REFUSED: Rule =
    Rule::once_per_task(page!("consul-resilience-refused"), Applies::ConsulDataplane, check_resilience_refused);

fn check_resilience_refused(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    if consul.configuration.flag("service.networkResilienceConfig.enabled", false) != Some(true) {
        return None;
    }
    let (release, defect) = defect_of(consul, &CONSUL_RESILIENCE_REFUSED)?;
    let span = consul.configuration.place_of("service.networkResilienceConfig").span;
    Some(Draft::new(span, format!("consul-ecs {release}: {}", defect.what), defect.action.clone()))
}

pub(super) static CONSUL_RESTART_POLICY: Rule =
    Rule::of_task(page!("consul-restart-policy"), Applies::ConsulDataplane, check_restart_policy);

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
